/*
 * Rot: one bit of one file of a small store is flipped, then the store is
 * opened, everything is read, and it goes on being used. No wrong byte is ever
 * handed out, nothing is lost in silence, nothing that another bit holds is
 * lost, and only the identity makes open refuse.
 *
 * KL_FLIPS=n takes about n flips of each image, KL_FLIPS=0 all of them.
 */
#include "need.h"
#include "sim_disk.h"
#include "store_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RESET_AT = 70,
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
};

struct flip
{
    struct store_fixture f;
    struct sim_disk *disk; /* the image that is spoilt again and again */
    struct run runs[RUNS_MAX];
    int run_count;
    struct target files[FILES_MAX];
    int file_count;
    uint64_t bits;
    /* What came of it. */
    uint64_t flips;
    uint64_t refused;
    uint64_t harmless;
    uint64_t damaged;
    uint64_t suspect;
    uint64_t rebuilt;
};

static struct flip w;

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

static void flip_checkpoint(void)
{
    kl_store_checkpoint_request(w.f.store);
    store_fixture_settle(&w.f);
}

/* What was in the log is nobody's any more. */
static void flip_reset(struct kl_store_log **log)
{
    need_ok(kl_store_reset(log, RESET_AT, 1));
}

/* A group, and no time for a checkpoint. */
static void flip_commit(void)
{
    for (int i = 0; i < 5; i++)
        store_fixture_turn(&w.f);
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
    g = store_fixture_create(&w.f, &ids[5], KL_STORE_FLUSH_COMMIT, 12000);
    h = store_fixture_create(&w.f, &ids[6], KL_STORE_FLUSH_COMMIT, 12000);
    store_fixture_fill(&w.f, g, 2, 10, 10);
    store_fixture_fill(&w.f, h, 2, 10, 10);
    flip_reset(&g);
    flip_fill(g, 2, 200, 11);
    flip_fill(c, 3, 100, 7);
    store_fixture_settle(&w.f);
    flip_checkpoint();
    /* What follows is in the WAL only, where the ring is large enough. An
     * interval log is only sure of what was synced before a checkpoint. */
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
    if (is_clean)
        store_fixture_close(&w.f);
    else
        store_fixture_crash(&w.f);
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
    w.bits += t->size * 8;
    w.file_count += t->size > 0;
    return 0;
}

static void flip_setup(int is_clean)
{
    char folder[] = "data";

    memset(&w, 0, sizeof w);
    store_fixture_init(&w.f);
    w.f.memory->ops->free(w.f.memory);
    w.disk = sim_disk_new(0);
    w.f.memory = w.f.trace.inner = &w.disk->base;
    if (!is_clean)
        w.f.config.ring_bytes = 512 * 1024;
    need_ok(store_fixture_open(&w.f));
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
    w.flips++;
    if (store_fixture_open(&w.f)) {
        need_msg(strstr(t->path, "identity") != NULL, "%s bit %llu: %s",
                 t->path, (unsigned long long)bit, w.f.error.text);
        w.refused++;
    } else {
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
        w.rebuilt += kl_base_stat_get(&kl_store_stats(w.f.store)->rebuilds) > 0;
        w.suspect += (uint64_t)suspect;
        w.damaged += (uint64_t)is_damaged;
        w.harmless += !is_damaged;
        if (w.flips % 16 == 0)
            flip_go_on(lost);
    }
    store_fixture_crash(&w.f);
    sim_disk_free(copy);
}

/* Every stride-th bit, over all files. */
static void flip_all(uint64_t stride)
{
    uint64_t next = stride / 2;

    for (int i = 0; i < w.file_count; i++) {
        struct target *t = &w.files[i];

        for (; next < t->size * 8; next += stride)
            flip_one(t, next);
        next -= t->size * 8;
    }
}

START_TEST(flipped_bits_cost_what_they_hold)
{
#ifdef KL_DEBUG
    uint64_t wanted = FLIPS_SANITIZED, stride;
#else
    uint64_t wanted = FLIPS, stride;
#endif
    const char *text = getenv("KL_FLIPS");

    flip_setup(_i);
    if (text)
        wanted = strtoull(text, NULL, 10);
    stride = wanted == 0 || wanted > w.bits ? 1 : w.bits / wanted;
    if (stride > 1 && stride % 2 == 0)
        stride++; /* all bits of a byte are met */
    flip_all(stride);
    printf("flip: %-7s %2d files, %llu bits, %llu flipped: %llu harmless, "
           "%llu damage, of these %llu suspect, %llu manifests rebuilt, "
           "%llu refused\n",
           _i ? "stopped" : "killed", w.file_count, (unsigned long long)w.bits,
           (unsigned long long)w.flips, (unsigned long long)w.harmless,
           (unsigned long long)w.damaged, (unsigned long long)w.suspect,
           (unsigned long long)w.rebuilt, (unsigned long long)w.refused);
    fflush(stdout);
    ck_assert_uint_gt(w.damaged, 0);
    ck_assert_uint_gt(w.harmless, 0);
    w.f.memory = w.f.trace.inner = &w.disk->base;
    store_fixture_deinit(&w.f);
}
END_TEST

Suite *suite_fault_flip(void);

Suite *suite_fault_flip(void)
{
    Suite *suite = suite_create("fault_flip");
    TCase *tcase = tcase_create("flip");

    tcase_set_timeout(tcase, 3600);
    tcase_add_loop_test(tcase, flipped_bits_cost_what_they_hold, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
