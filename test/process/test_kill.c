/*
 * kill -9 of a producing process, again and again on one folder. The moment is
 * drawn from a seed and counted in acknowledgements seen on its standard
 * output; KL_SEED=n in the environment takes another seed.
 */
#include "kill_model.h"
#include "run.h"
#include "tmpdir.h"

#include "base/endian.h"
#include "base/rng.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_process_kill(void);

enum {
    KILL_ROUNDS = 50,
    KILL_TORN_ROUNDS = 20,
    KILL_ACKS = 3000, /* of a round, at most */
    KILL_FEED = 256 * 1024,
    KILL_BLOCK = 4096,
    KILL_PATH = 512
};

/* One process, and what is between it and the test. */
struct victim
{
    struct process process;
    struct kill_round *round;
    char *feed; /* bytes not yet written */
    size_t feed_at;
    size_t feed_size;
    char acks[8192]; /* bytes of the last lines, not yet whole */
    size_t acks_size;
};

/* ---- one life ---------------------------------------------------------- */

static void victim_start(struct victim *v, const char *dir,
                         const struct kill_topic *t, struct kill_round *r,
                         const char *codec)
{
    const char *args[] = {"-D", dir,   "produce", t->name, "-v",
                          "-z", codec, NULL,      NULL,    NULL};

    if (r->with_keys) {
        args[7] = "-K";
        args[8] = ":";
    }
    memset(v, 0, sizeof *v);
    v->round = r;
    v->feed = malloc(KILL_FEED);
    ck_assert_ptr_nonnull(v->feed);
    process_start(&v->process, NULL, args);
}

/* Lines without end: the process is always killed in the middle of its work. */
static void victim_feed(struct victim *v)
{
    ssize_t n;

    if (v->feed_at == v->feed_size) {
        v->feed_at = v->feed_size = 0;
        while (v->feed_size + KILL_LINE <= KILL_FEED)
            v->feed_size +=
                kill_line(v->round, v->round->fed++, v->feed + v->feed_size);
    }
    n = write(v->process.in, v->feed + v->feed_at, v->feed_size - v->feed_at);
    if (n > 0)
        v->feed_at += (size_t)n;
    else
        ck_assert(errno == EAGAIN || errno == EPIPE);
}

/* Takes the whole lines out of v->acks. */
static void victim_parse(struct victim *v)
{
    char *line = v->acks;
    char *feed;

    while (
        (feed = memchr(line, '\n', v->acks_size - (size_t)(line - v->acks)))) {
        int partition;
        long long offset;
        int used = 0;

        *feed = '\0';
        ck_assert_int_eq(sscanf(line, "%d %lld%n", &partition, &offset, &used),
                         2);
        ck_assert_ptr_eq(line + used, feed);
        kill_round_add_ack(v->round, partition, offset);
        line = feed + 1;
    }
    v->acks_size -= (size_t)(line - v->acks);
    memmove(v->acks, line, v->acks_size);
}

/* Reads once; 0 at the end. */
static int victim_read(struct victim *v)
{
    ssize_t n = read(v->process.out, v->acks + v->acks_size,
                     sizeof v->acks - v->acks_size);

    ck_assert_int_ge(n, 0);
    v->acks_size += (size_t)n;
    victim_parse(v);
    return n > 0;
}

/* What the process says before it should have died, it says for the log of the
 * test; then the test has failed. */
static void victim_must_live(struct victim *v)
{
    char text[512];
    ssize_t n = read(v->process.err, text, sizeof text - 1);

    text[n > 0 ? n : 0] = '\0';
    ck_abort_msg("the process has ended: %s", text);
}

/* Kills it when that many records are known to be acknowledged. What it had
 * printed by then still counts. */
static void victim_live(struct victim *v, size_t acks)
{
    while (v->round->ack_count < acks) {
        struct pollfd fds[2] = {{v->process.in, POLLOUT, 0},
                                {v->process.out, POLLIN, 0}};

        ck_assert(poll(fds, 2, -1) >= 0 || errno == EINTR);
        if (fds[0].revents)
            victim_feed(v);
        if (fds[1].revents && !victim_read(v))
            victim_must_live(v);
    }
    ck_assert_int_eq(kill(v->process.pid, SIGKILL), 0);
    while (victim_read(v))
        continue;
    free(v->feed);
    ck_assert_int_eq(WTERMSIG(process_finish(&v->process)), SIGKILL);
}

/* ---- the folder -------------------------------------------------------- */

struct folder
{
    char dir[TEST_TMPDIR_SIZE];
    kl_node *node;
    kl_client *client;
};

static void folder_open(struct folder *f, uint32_t flags, const char *wal)
{
    char text[256] = "";
    kl_config *config;

    ck_assert_int_eq(kl_config_new(&config, NULL, NULL), KL_OK);
    ck_assert_int_eq(kl_config_set(config, "wal.bytes", wal), KL_OK);
    ck_assert_int_eq(kl_node_new(&f->node, config), KL_OK);
    if (kl_node_open(f->node, f->dir, flags) != KL_OK) {
        kl_node_errmsg(f->node, text, sizeof text);
        ck_abort_msg("open: %s", text);
    }
    ck_assert_int_eq(kl_node_client(f->node, &f->client), KL_OK);
    kl_config_free(config);
}

/* Without a stop it is as if this process had been killed too. */
static void folder_close(struct folder *f, int stop)
{
    if (stop)
        ck_assert_int_eq(kl_node_stop(f->node, -1), KL_OK);
    kl_client_free(f->client);
    kl_node_free(f->node);
}

static void folder_create_topic(struct folder *f, const struct kill_topic *t,
                                const char *flush)
{
    kl_config *config;
    kl_op *op;

    ck_assert_int_eq(kl_config_new(&config, NULL, NULL), KL_OK);
    ck_assert_int_eq(kl_config_set(config, "flush", flush), KL_OK);
    /* Small, so that segments are rolled. */
    ck_assert_int_eq(kl_config_set(config, "segment.bytes", "256k"), KL_OK);
    ck_assert_int_eq(kl_admin_create_topic(f->client, t->name,
                                           t->partition_count, 1, config, 0,
                                           &op),
                     KL_OK);
    ck_assert_int_eq(kl_op_wait(op, -1), KL_OK);
    ck_assert_int_eq(kl_op_code(op), KL_OK);
    kl_op_free(op);
    kl_config_free(config);
}

static uint64_t test_seed(void)
{
    const char *text = getenv("KL_SEED");

    return text ? strtoull(text, NULL, 10) : 20240229;
}

/* A round on one topic: live, die, look. Half of the verifying nodes end
 * without a stop, so that the next process recovers over two deaths. */
static void round_run(struct folder *f, struct kill_topic *t, uint32_t number,
                      struct kl_base_rng *rng,
                      void (*between)(struct folder *, struct kl_base_rng *))
{
    static const char *const codecs[] = {"none", "none", "lz4", "zstd"};
    struct kill_round r = {.number = number};
    struct victim v;
    size_t acks = (size_t)kl_base_rng_below(rng, KILL_ACKS);

    /* Some die while they open the folder. */
    if (kl_base_rng_below(rng, 8) == 0)
        acks = 0;
    r.with_keys = kl_base_rng_below(rng, 3) > 0;
    victim_start(&v, f->dir, t, &r, codecs[kl_base_rng_below(rng, 4)]);
    victim_live(&v, acks);
    if (between)
        between(f, rng);
    folder_open(f, 0, "0");
    kill_topic_verify(t, &r, f->client);
    folder_close(f, (int)kl_base_rng_below(rng, 2));
    kill_round_deinit(&r);
}

/* ---- tests ------------------------------------------------------------- */

START_TEST(produce_killed_at_random_moments)
{
    static const char *const flush[] = {"commit", "commit", "interval"};
    struct kill_topic topics[3];
    struct kl_base_rng rng;
    struct folder f;

    kl_base_rng_seed(&rng, test_seed());
    kill_topic_init(&topics[0], "three", 3);
    kill_topic_init(&topics[1], "one", 1);
    kill_topic_init(&topics[2], "interval", 2);
    test_tmpdir_make(f.dir);
    folder_open(&f, KL_OPEN_CREATE, "1m");
    for (int i = 0; i < 3; i++)
        folder_create_topic(&f, &topics[i], flush[i]);
    folder_close(&f, 1);
    for (uint32_t i = 0; i < KILL_ROUNDS; i++)
        round_run(&f, &topics[kl_base_rng_below(&rng, 3)], i, &rng, NULL);
    for (int i = 0; i < 3; i++)
        kill_topic_deinit(&topics[i]);
    test_tmpdir_remove(f.dir);
}
END_TEST

/* ---- bytes behind the end of the WAL ----------------------------------- */

/* The group header of kraftlog-format(5): what is needed of it here. */
enum { GROUP_MAGIC = 0x47574c4b, GROUP_SEQUENCE = 24, GROUP_SIZE = 60 };

struct torn_end
{
    int file; /* -1 = no group was found */
    uint64_t sequence;
    size_t at; /* behind the group of the highest sequence */
    size_t group_at;
};

/* Looks for the newest group of one WAL file. */
static void torn_scan(const uint8_t *data, size_t size, int file,
                      struct torn_end *end)
{
    for (size_t at = 0; at + KILL_BLOCK <= size; at += KILL_BLOCK) {
        uint64_t sequence = kl_base_get_le64(data + at + GROUP_SEQUENCE);

        if (kl_base_get_le32(data + at) != GROUP_MAGIC ||
            (end->file >= 0 && sequence <= end->sequence))
            continue;
        end->file = file;
        end->sequence = sequence;
        end->group_at = at;
        end->at = at + kl_base_get_le32(data + at + GROUP_SIZE);
    }
}

/* A WAL file in memory; NULL where there is none of this number. */
static uint8_t *torn_read(const char *dir, int file, size_t *size)
{
    char path[KILL_PATH];
    struct stat st;
    uint8_t *data;
    int fd;

    snprintf(path, sizeof path, "%s/wal/%d", dir, file);
    fd = open(path, O_RDONLY);
    if (fd < 0)
        return NULL;
    ck_assert_int_eq(fstat(fd, &st), 0);
    *size = (size_t)st.st_size;
    data = malloc(*size);
    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(read(fd, data, *size), (ssize_t)*size);
    close(fd);
    return data;
}

/* Bytes that a torn write or an old lap may have left there: noise, ones, or
 * groups that are whole but belong elsewhere. */
static void torn_make(uint8_t *out, size_t size, const uint8_t *data,
                      const struct torn_end *end, struct kl_base_rng *rng)
{
    size_t group_size = end->at - end->group_at;

    switch (kl_base_rng_below(rng, 4)) {
    case 0:
        for (size_t i = 0; i < size; i++)
            out[i] = (uint8_t)kl_base_rng_next(rng);
        break;
    case 1:
        memset(out, 0xff, size);
        break;
    case 2: /* the first group of the file, again */
        memcpy(out, data, size < end->at ? size : end->at);
        break;
    default: /* the newest group, again */
        memcpy(out, data + end->group_at,
               size < group_size ? size : group_size);
    }
}

static void torn_write(const char *dir, const struct torn_end *end,
                       const uint8_t *bytes, size_t size)
{
    char path[KILL_PATH];
    int fd;

    snprintf(path, sizeof path, "%s/wal/%d", dir, end->file);
    fd = open(path, O_WRONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, size, (off_t)end->at), (ssize_t)size);
    close(fd);
}

/* Writes over bytes behind the newest group, up to the end of its file: nothing
 * there can have been acknowledged. */
static void torn_scribble(struct folder *f, struct kl_base_rng *rng)
{
    struct torn_end end = {.file = -1};
    uint8_t *bytes;
    uint8_t *data;
    size_t size;

    for (int i = 0; (data = torn_read(f->dir, i, &size)); i++) {
        torn_scan(data, size, i, &end);
        free(data);
    }
    ck_assert_int_ge(end.file, 0);
    data = torn_read(f->dir, end.file, &size);
    if (end.at < size) {
        size = 1 + (size_t)kl_base_rng_below(rng, size - end.at);
        bytes = calloc(1, size);
        ck_assert_ptr_nonnull(bytes);
        torn_make(bytes, size, data, &end, rng);
        torn_write(f->dir, &end, bytes, size);
        free(bytes);
    }
    free(data);
}

START_TEST(open_with_garbage_behind_the_wal)
{
    struct kill_topic topic;
    struct kl_base_rng rng;
    struct folder f;

    kl_base_rng_seed(&rng, test_seed() + 1);
    kill_topic_init(&topic, "three", 3);
    test_tmpdir_make(f.dir);
    folder_open(&f, KL_OPEN_CREATE, "1m");
    folder_create_topic(&f, &topic, "commit");
    folder_close(&f, 1);
    for (uint32_t i = 0; i < KILL_TORN_ROUNDS; i++)
        round_run(&f, &topic, i, &rng, torn_scribble);
    kill_topic_deinit(&topic);
    test_tmpdir_remove(f.dir);
}
END_TEST

Suite *suite_process_kill(void)
{
    Suite *s = suite_create("process_kill");
    TCase *tc = tcase_create("kill");

    tcase_add_test(tc, produce_killed_at_random_moments);
    tcase_add_test(tc, open_with_garbage_behind_the_wal);
    suite_add_tcase(s, tc);
    return s;
}
