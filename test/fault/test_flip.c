/*
 * Rot: one bit of one file of a small store is flipped, then the store is
 * opened, everything is read, and it goes on being used. No wrong byte is ever
 * handed out, nothing is lost in silence, nothing that another bit holds is
 * lost, and only the identity makes open refuse.
 *
 * The ring has 64 KiB. The bytes of the reserve stand for themselves: nobody
 * reads them, which every flip checks, so one of each block is enough.
 *
 * KL_FLIPS=n takes about n flips of each image, KL_FLIPS=0 all of them, shared
 * by KL_FLIP_JOBS processes.
 */
#include "need.h"
#include "sim_disk.h"
#include "store_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RESET_AT = 70,
    JOBS_MAX = 64,
    SNAPSHOT = 66000,
    RUNS_MAX = 12,
    FILES_MAX = 64,
    FLIPS = 52000,
    FLIPS_SANITIZED = 3000
};

/* Records of one log that were made with one size and salt. */
struct run
{
    struct kl_store_id id;
    int64_t from;
    int64_t to;
    uint32_t size;
    uint64_t salt;
};

struct target
{
    char path[128];
    uint64_t size;
    uint64_t bits; /* that are flipped: every step-th */
    uint64_t step;
};

struct outcome;

struct flip
{
    struct store_fixture f;
    struct sim_disk *disk; /* the image that is spoilt again and again */
    struct run runs[RUNS_MAX];
    int run_count;
    struct target files[FILES_MAX];
    int file_count;
    uint64_t bits;
    struct outcome *out;
};

/* What came of the flips of one process. */
struct outcome
{
    uint64_t flips;
    uint64_t refused;
    uint64_t harmless;
    uint64_t damaged;
    uint64_t suspect;
    uint64_t rebuilt;
};

static struct flip w;
static struct outcome *outcomes; /* of JOBS_MAX processes, shared by them */

/* ---- the store that is spoilt ------------------------------------------- */

static void flip_fill(struct kl_store_log *log, int count, uint32_t size,
                      uint64_t salt)
{
    struct run *r = &w.runs[w.run_count++];

    need(w.run_count <= RUNS_MAX);
    r->id = *kl_store_log_id(log);
    r->from = store_fixture_view(log).leo;
    r->to = r->from + count;
    r->size = size;
    r->salt = salt;
    store_fixture_fill(&w.f, log, count, size, salt);
}

/* The last count records of a log are cut off. */
static void flip_truncate(struct kl_store_log *log, int count)
{
    struct run *r = &w.runs[w.run_count - 1];

    r->to -= count;
    need_ok(kl_store_truncate(log, r->to));
    need_ok(kl_store_start_epoch(log, 3));
}

/* Both slots, so that the ring is free. */
static void flip_checkpoints(void)
{
    for (int i = 0; i < 2; i++) {
        kl_store_checkpoint_request(w.f.store);
        store_fixture_settle(&w.f);
    }
}

/* A log with what nobody will look at. */
static struct kl_store_log *flip_before_reset(const struct kl_store_id *id)
{
    struct kl_store_log *log =
        store_fixture_create(&w.f, id, KL_STORE_FLUSH_COMMIT, 12000);

    store_fixture_fill(&w.f, log, 2, 10, 10);
    return log;
}

/* What was in the log is nobody's any more. */
static void flip_reset(struct kl_store_log **log)
{
    need_ok(kl_store_reset(log, RESET_AT, 1));
}

/* Turns until an event of this type comes. */
static struct kl_store_event flip_await(enum kl_store_event_type type)
{
    struct kl_store_event e;

    for (int turns = 0;; turns++) {
        need(turns < 100);
        w.f.now_ns += 1000000;
        kl_store_turn(w.f.store, w.f.now_ns, w.f.wall_ms);
        while (kl_store_next_event(w.f.store, &e))
            if (e.type == type)
                return e;
    }
}

static const struct kl_store_quorum flip_quorum = {
    .epoch = 5, .leader_id = 1, .voted_id = -1};

static void flip_make_quorum(void)
{
    need_ok(kl_store_quorum_put(w.f.store, &flip_quorum, NULL));
    (void)flip_await(KL_STORE_EVENT_QUORUM);
}

static uint8_t flip_content[SNAPSHOT];

static void flip_make_snapshot(void)
{
    struct kl_store_snapshot_writer *writer;

    for (size_t i = 0; i < sizeof flip_content; i++)
        flip_content[i] = (uint8_t)(i * 31 + i / 251);
    need_ok(kl_store_snapshot_begin(w.f.store, 9, 2, &writer));
    need_ok(kl_store_snapshot_append(writer, flip_content, SNAPSHOT));
    need_ok(flip_await(KL_STORE_EVENT_SNAPSHOT).code);
    need_ok(kl_store_snapshot_commit(writer));
    need_ok(flip_await(KL_STORE_EVENT_SNAPSHOT).code);
    kl_store_snapshot_close(writer);
    store_fixture_settle(&w.f);
}

/* A group, and no time for a checkpoint. */
static void flip_commit(void)
{
    for (int i = 0; i < 5; i++)
        store_fixture_turn(&w.f);
}

/* The disk as it is now; what is stalled is not done any more. */
static void flip_kill(void)
{
    struct sim_choice kept = {.fate = SIM_FATE_KEPT};
    struct sim_disk *killed = sim_disk_crash(w.disk, kept);

    store_fixture_crash(&w.f);
    sim_disk_free(w.disk);
    w.disk = killed;
}

static void flip_build(int is_clean)
{
    struct kl_store_id ids[] = {store_fixture_id(0, 0), store_fixture_id(0, 1),
                                store_fixture_id(1, 0), store_fixture_id(1, 1),
                                store_fixture_id(2, 0), store_fixture_id(2, 1),
                                store_fixture_id(2, 2)};
    struct kl_store_log *a, *b, *c, *d, *e, *g, *h;
    const struct kl_store_log_config config = {.segment_bytes = 12000,
                                               .segment_ms = -1,
                                               .retention_ms = -1,
                                               .retention_bytes = -1,
                                               .flush_ms = -1,
                                               .flush_bytes = 0,
                                               .index_interval_bytes = 1024};

    a = store_fixture_create(&w.f, &ids[0], KL_STORE_FLUSH_COMMIT, 12000);
    b = store_fixture_create(&w.f, &ids[1], KL_STORE_FLUSH_COMMIT, 12000);
    c = store_fixture_create(&w.f, &ids[2], KL_STORE_FLUSH_INTERVAL, 12000);
    kl_store_log_configure(a, &config);
    kl_store_log_configure(b, &config);
    kl_store_log_configure(c, &config);
    flip_fill(a, 16, 900, 1);
    flip_fill(c, 12, 1300, 2);
    store_fixture_settle(&w.f);
    flip_fill(b, 9, 700, 3);
    store_fixture_settle(&w.f);
    flip_truncate(b, 3);
    flip_fill(b, 4, 800, 4);
    store_fixture_settle(&w.f);
    e = store_fixture_create(&w.f, &ids[4], KL_STORE_FLUSH_COMMIT, 12000);
    store_fixture_fill(&w.f, e, 2, 10, 10);
    g = flip_before_reset(&ids[5]);
    h = flip_before_reset(&ids[6]);
    flip_reset(&g);
    flip_fill(g, 2, 200, 11);
    flip_fill(c, 3, 100, 7);
    store_fixture_settle(&w.f);
    flip_checkpoints();
    /* What follows is in the WAL only, where the process is killed: a disk that
     * stalls comes to no other checkpoint. An interval log is only sure of what
     * was synced before one. */
    if (!is_clean)
        trace_lanes_hold(&w.f.jobs, KL_OS_LANE_CLEAN, TRACE_LANES_BEFORE);
    flip_fill(a, 3, 500, 5);
    flip_commit();
    d = store_fixture_create(&w.f, &ids[3], KL_STORE_FLUSH_COMMIT, 12000);
    flip_fill(d, 2, 400, 9);
    flip_commit();
    flip_fill(b, 5, 300, 6);
    flip_commit();
    flip_truncate(b, 2);
    flip_commit();
    flip_reset(&h);
    flip_commit();
    flip_fill(h, 2, 200, 12);
    flip_commit();
    need_ok(kl_store_delete(e));
    flip_commit();
    e = store_fixture_create(&w.f, &ids[4], KL_STORE_FLUSH_COMMIT, 12000);
    flip_commit();
    flip_fill(a, 2, 600, 8);
    flip_commit();
    /* Nobody can tell rot from a torn end in the last group: let it hold
     * what is not looked at. */
    store_fixture_fill(&w.f, e, 1, 10, 10);
    flip_commit();
    is_clean ? store_fixture_close(&w.f) : flip_kill();
}

static int flip_list(const char *name, void *user)
{
    const char *folder = user;
    struct target *t = &w.files[w.file_count];
    struct kl_os_vfs *vfs = &w.disk->base;
    struct kl_os_file *file;
    char path[128];

    need((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) <
         sizeof path);
    if (vfs->ops->open(vfs, path, KL_OS_READ, &file)) {
        need_ok(vfs->ops->list(vfs, path, flip_list, path));
        return 0;
    }
    need(w.file_count < FILES_MAX);
    memcpy(t->path, path, sizeof path);
    need_ok(vfs->ops->size(file, &t->size));
    vfs->ops->close(file);
    t->step = strstr(path, "/reserve") ? 8 * KL_STORE_BLOCK + 1 : 1;
    t->bits = (t->size * 8 + t->step - 1) / t->step;
    w.bits += t->bits;
    w.file_count += t->size > 0;
    return 0;
}

static void flip_setup(int is_clean)
{
    char folder[] = "data";

    memset(&w, 0, sizeof w);
    w.out = &outcomes[0];
    store_fixture_init(&w.f);
    w.f.memory->ops->free(w.f.memory);
    w.disk = sim_disk_new(0);
    w.f.memory = w.f.trace.inner = &w.disk->base;
    need_ok(store_fixture_open(&w.f));
    flip_make_quorum();
    flip_make_snapshot();
    flip_build(is_clean);
    sim_disk_settle(w.disk);
    flip_list("", folder); /* "data/" is not a file */
}

/* ---- one flip -------------------------------------------------------------
 */

static void flip_bit(struct kl_os_vfs *vfs, const struct target *t,
                     uint64_t bit)
{
    struct kl_os_file *file;
    uint8_t byte;
    struct kl_os_iovec part = {&byte, 1};
    size_t got;

    need_ok(vfs->ops->open(vfs, t->path, KL_OS_WRITE, &file));
    need_ok(vfs->ops->read(file, &byte, 1, bit / 8, &got));
    byte ^= (uint8_t)(1u << (bit % 8));
    need_ok(vfs->ops->write(file, &part, 1, bit / 8, NULL));
    vfs->ops->close(file);
}

/* Reads all that there should be. Returns how many records are lost. */
static int flip_read(int *suspect_out)
{
    int lost = 0;

    *suspect_out = 0;
    for (int i = 0; i < w.run_count; i++) {
        const struct run *r = &w.runs[i];
        struct kl_store_log *log = kl_store_find(w.f.store, &r->id);
        struct kl_store_view view;
        int64_t to = r->to;

        if (!log) {
            lost += (int)(r->to - r->from);
            continue;
        }
        view = store_fixture_view(log);
        *suspect_out |= view.is_suspect;
        need(view.start == 0 || view.start == RESET_AT);
        if (to > view.leo) {
            lost += (int)(to - (view.leo > r->from ? view.leo : r->from));
            to = view.leo;
        }
        lost += store_fixture_endure(&w.f, log, r->from, to, r->size, r->salt);
    }
    return lost;
}

/* One copy of two is enough, and a bad snapshot is none. */
static void flip_check_others(const struct target *t, uint64_t bit)
{
    struct kl_store_snapshot_read read = {
        .end = 9, .epoch = 2, .bytes_max = SNAPSHOT};
    struct kl_store_quorum state;
    enum kl_store_quorum_verdict verdict =
        kl_store_quorum_get(w.f.store, &state, NULL);

    need(verdict == (strstr(t->path, "/quorum.") ? KL_STORE_QUORUM_REPAIRED
                                                 : KL_STORE_QUORUM_GOOD));
    need(memcmp(&state, &flip_quorum, sizeof state) == 0);
    if (kl_store_snapshot_read(w.f.store, &read) == KL_EAGAIN)
        (void)flip_await(KL_STORE_EVENT_SNAPSHOT_READ);
    if (strstr(t->path, "/snapshots/")) {
        need_msg(read.code == KL_ENOENT || read.code == KL_ECORRUPT,
                 "%s bit %llu: %d", t->path, (unsigned long long)bit,
                 read.code);
        need(kl_base_stat_get(&kl_store_stats(w.f.store)->damages) > 0);
    } else {
        need_ok(read.code);
        need(read.size == SNAPSHOT &&
             memcmp(read.data, flip_content, SNAPSHOT) == 0);
    }
    kl_store_snapshot_read_release(&read);
}

/* Appends to whatever takes it, stops, opens again. */
static void flip_go_on(int lost)
{
    struct kl_store_log *log;
    int suspect;

    for (log = kl_store_next(w.f.store, NULL); log;
         log = kl_store_next(w.f.store, log)) {
        int32_t epoch = kl_batch_epochs_last(store_fixture_view(log).epochs);
        int rc = store_fixture_append(&w.f, log, 1, 50, 99,
                                      epoch < 0 ? 0 : epoch, w.f.wall_ms);

        need_ok(store_fixture_view(log).is_suspect ? rc != KL_ECORRUPT : rc);
    }
    store_fixture_close(&w.f);
    need_ok(store_fixture_open(&w.f));
    need(flip_read(&suspect) == lost);
}

static void flip_one(const struct target *t, uint64_t bit)
{
    struct sim_choice kept = {.fate = SIM_FATE_KEPT};
    struct sim_disk *copy = sim_disk_crash(w.disk, kept);
    int lost, suspect, is_damaged;

    w.f.memory = w.f.trace.inner = &copy->base;
    flip_bit(&copy->base, t, bit);
    w.out->flips++;
    trace_vfs_fail_path(&w.f.trace, TRACE_VFS_READ, "/reserve", KL_EIO);
    if (store_fixture_open(&w.f)) {
        need_msg(strstr(t->path, "identity") != NULL, "%s bit %llu: %s",
                 t->path, (unsigned long long)bit, w.f.error.text);
        w.out->refused++;
    } else {
        flip_check_others(t, bit);
        lost = flip_read(&suspect);
        is_damaged = kl_store_verdict(w.f.store) == KL_STORE_VERDICT_DAMAGED;
        /* Never in silence; never a loss that one bit cannot explain. */
        need_msg(lost == 0 || is_damaged, "%s bit %llu: %d records gone",
                 t->path, (unsigned long long)bit, lost);
        if (strstr(t->path, ".seg"))
            need_msg(lost <= 1, "%s bit %llu: %d records", t->path,
                     (unsigned long long)bit, lost);
        else if (!strstr(t->path, "/wal/"))
            need_msg(lost == 0, "%s bit %llu: %d records", t->path,
                     (unsigned long long)bit, lost);
        w.out->rebuilt +=
            kl_base_stat_get(&kl_store_stats(w.f.store)->rebuilds) > 0;
        w.out->suspect += (uint64_t)suspect;
        w.out->damaged += (uint64_t)is_damaged;
        w.out->harmless += !is_damaged;
        if (w.out->flips % 16 == 0)
            flip_go_on(lost);
    }
    need(trace_vfs_failed(&w.f.trace) == 0); /* nobody reads the reserve */
    store_fixture_crash(&w.f);
    sim_disk_free(copy);
}

/* Every stride-th bit, over all files; of these those that are job's. */
static void flip_all(uint64_t stride, uint64_t job, uint64_t jobs)
{
    uint64_t next = stride / 2, number = 0;

    for (int i = 0; i < w.file_count; i++) {
        struct target *t = &w.files[i];

        for (; next < t->bits; next += stride)
            if (number++ % jobs == job)
                flip_one(t, next * t->step);
        next -= t->bits;
    }
}

static void flip_share(uint64_t stride, uint64_t jobs)
{
    int status, bad = 0;

    for (uint64_t job = 0; job < jobs; job++) {
        pid_t pid = jobs == 1 ? 0 : fork();

        need(pid >= 0);
        if (pid)
            continue;
        w.out = &outcomes[job];
        flip_all(stride, job, jobs);
        if (jobs > 1)
            _exit(0);
    }
    while (jobs > 1 && wait(&status) > 0)
        bad += status != 0;
    ck_assert_int_eq(bad, 0);
}

static struct outcome flip_sum(void)
{
    struct outcome sum = {0};

    for (int i = 0; i < JOBS_MAX; i++) {
        sum.flips += outcomes[i].flips;
        sum.refused += outcomes[i].refused;
        sum.harmless += outcomes[i].harmless;
        sum.damaged += outcomes[i].damaged;
        sum.suspect += outcomes[i].suspect;
        sum.rebuilt += outcomes[i].rebuilt;
    }
    return sum;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(flipped_bits_cost_what_they_hold)
{
#ifdef KL_DEBUG
    uint64_t wanted = FLIPS_SANITIZED, stride;
#else
    uint64_t wanted = FLIPS, stride;
#endif
    uint64_t jobs = number_of("KL_FLIP_JOBS", 1);
    struct outcome o;

    outcomes = mmap(NULL, JOBS_MAX * sizeof *outcomes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(outcomes != MAP_FAILED);
    flip_setup(_i);
    wanted = number_of("KL_FLIPS", wanted);
    stride = wanted == 0 || wanted > w.bits ? 1 : w.bits / wanted;
    if (stride > 1 && stride % 2 == 0)
        stride++; /* all bits of a byte are met */
    flip_share(stride, jobs == 0 || jobs > JOBS_MAX ? JOBS_MAX : jobs);
    o = flip_sum();
    printf("flip: %-7s %2d files, %llu bits, %llu flipped: %llu harmless, "
           "%llu damage, of these %llu suspect, %llu manifests rebuilt, "
           "%llu refused\n",
           _i ? "stopped" : "killed", w.file_count, (unsigned long long)w.bits,
           (unsigned long long)o.flips, (unsigned long long)o.harmless,
           (unsigned long long)o.damaged, (unsigned long long)o.suspect,
           (unsigned long long)o.rebuilt, (unsigned long long)o.refused);
    fflush(stdout);
    ck_assert_uint_ge(o.flips, w.bits / stride);
    ck_assert_uint_gt(o.damaged, 0);
    ck_assert_uint_gt(o.harmless, 0);
    w.f.memory = w.f.trace.inner = &w.disk->base;
    store_fixture_deinit(&w.f);
    munmap(outcomes, JOBS_MAX * sizeof *outcomes);
}
END_TEST

Suite *suite_fault_flip(void);

Suite *suite_fault_flip(void)
{
    Suite *suite = suite_create("fault_flip");
    TCase *tcase = tcase_create("flip");

    tcase_set_timeout(tcase, getenv("KL_FLIPS") ? 0 : 600);
    tcase_add_loop_test(tcase, flipped_bits_cost_what_they_hold, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
