/*
 * Interval logs: acknowledged once written, kept after a crash as far as the
 * frames are whole, never with anything that had been cut.
 */
#include "sim_disk.h"
#include "store_fixture.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct store_fixture fx;
static struct kl_store_id id;
static struct kl_store_log *subject;

static void setup(void)
{
    store_fixture_init(&fx);
    fx.config.ring_bytes = 1 << 20;
    fx.config.cache_bytes_max = 0;
    id = store_fixture_id(0, 0);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_INTERVAL, 8192);
    store_fixture_settle(&fx);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

static void checkpoint(void)
{
    kl_store_checkpoint_request(fx.store);
    store_fixture_settle(&fx);
}

static void reopen(void)
{
    subject = store_fixture_reopen(&fx, &id);
}

static void configure(int64_t flush_ms, int64_t flush_bytes)
{
    struct kl_store_log_config config = subject->config;

    config.flush_ms = flush_ms;
    config.flush_bytes = flush_bytes;
    kl_store_log_configure(subject, &config);
}

static void segment_path(int64_t base, char out[KL_STORE_PATH_MAX])
{
    kl_store_path_segment(subject, base, "seg", out);
}

/* ---- acknowledging ----------------------------------------------------------
 */

START_TEST(appends_are_acknowledged_without_the_wal)
{
    const struct kl_store_stats *st = kl_store_stats(fx.store);
    uint64_t groups = kl_base_stat_get(&st->groups);

    store_fixture_fill(&fx, subject, 3, 700, 1);
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, 0);
    store_fixture_settle(&fx);
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, 3);
    ck_assert_uint_eq(kl_base_stat_get(&st->groups), groups);
    store_fixture_expect(&fx, subject, 0, 3, 700, 1);
    store_fixture_crash(&fx);
    reopen();
    ck_assert_int_eq(store_fixture_view(subject).leo, 3);
    store_fixture_expect(&fx, subject, 0, 3, 700, 1);
}
END_TEST

/* A new segment is in the manifest before its first byte. */
START_TEST(segments_are_in_the_manifest_from_the_start)
{
    struct kl_store_manifest m;
    int rebuilt;

    for (int i = 0; i < 30; i++) {
        store_fixture_fill(&fx, subject, 1, 700, 1);
        for (int k = 0; k < 8; k++)
            store_fixture_turn(&fx);
        ck_assert_int_eq(store_fixture_view(subject).durable_leo, i + 1);
        trace_vfs_job_begin();
        ck_assert_int_eq(kl_store_load_manifest(subject, 0, &m, &rebuilt), 0);
        trace_vfs_job_end();
        ck_assert_uint_eq(m.count, subject->files->count);
        for (uint32_t s = 0; s < m.count; s++)
            ck_assert_int_eq(m.segments[s].base,
                             subject->files->items[s]->info.base);
        kl_base_free(&fx.alloc.alloc, m.segments, m.count * sizeof *m.segments);
    }
    ck_assert_uint_gt(subject->files->count, 2);
}
END_TEST

/* A segment that an opening has found in no manifest stays behind; what comes
 * in its place is another file, through which its frames cannot shine. */
START_TEST(leftover_segment_is_not_written_over)
{
    struct kl_os_vfs *vfs = fx.memory;
    struct kl_os_file *leftover;
    struct kl_os_iovec part = {"left over", 10};
    char path[KL_STORE_PATH_MAX], bytes[10];
    size_t got;

    kl_store_path_log(subject, path);
    ck_assert_int_eq(vfs->ops->mkdir(vfs, path), 0);
    segment_path(0, path);
    ck_assert_int_eq(
        vfs->ops->open(vfs, path, KL_OS_WRITE | KL_OS_CREATE, &leftover), 0);
    ck_assert_int_eq(vfs->ops->write(leftover, &part, 1, KL_STORE_BLOCK, NULL),
                     0);
    store_fixture_fill(&fx, subject, 3, 700, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(
        vfs->ops->read(leftover, bytes, sizeof bytes, KL_STORE_BLOCK, &got), 0);
    ck_assert_uint_eq(got, sizeof bytes);
    ck_assert_str_eq(bytes, "left over");
    vfs->ops->close(leftover);
    store_fixture_expect(&fx, subject, 0, 3, 700, 1);
    store_fixture_crash(&fx);
    reopen();
    store_fixture_expect(&fx, subject, 0, 3, 700, 1);
}
END_TEST

/* ---- syncing
 * ----------------------------------------------------------------- */

/* The first frame of the log, which begins a segment, and all that follows
 * from that. */
static void first_segment(void)
{
    store_fixture_fill(&fx, subject, 1, 700, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, 1);
}

START_TEST(flush_by_time)
{
    uint64_t syncs;

    first_segment();
    configure(500, -1);
    store_fixture_fill(&fx, subject, 2, 700, 1);
    store_fixture_settle(&fx);
    syncs = trace_vfs_count(&fx.trace, TRACE_VFS_SYNC);
    ck_assert_int_eq(kl_store_log_synced_leo(subject), 1);
    ck_assert_int_le(kl_store_deadline(fx.store), fx.now_ns + 500000000);
    store_fixture_settle(&fx);
    ck_assert_uint_eq(trace_vfs_count(&fx.trace, TRACE_VFS_SYNC), syncs);
    fx.now_ns += 500000000;
    store_fixture_turn(&fx);
    store_fixture_turn(&fx);
    ck_assert_uint_eq(trace_vfs_count(&fx.trace, TRACE_VFS_SYNC), syncs + 1);
    ck_assert_int_eq(kl_store_log_synced_leo(subject), 3);
}
END_TEST

START_TEST(flush_by_bytes)
{
    first_segment();
    configure(-1, 2000);
    store_fixture_fill(&fx, subject, 1, 700, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_log_synced_leo(subject), 1);
    store_fixture_fill(&fx, subject, 2, 700, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_log_synced_leo(subject), 4);
}
END_TEST

START_TEST(sealing_syncs)
{
    first_segment();
    store_fixture_fill(&fx, subject, 2, 700, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_log_synced_leo(subject), 1);
    store_fixture_fill(&fx, subject, 10, 700, 1); /* several segments */
    store_fixture_settle(&fx);
    ck_assert_uint_gt(subject->files->count, 1);
    ck_assert_int_gt(kl_store_log_synced_leo(subject), 3);
    for (size_t i = 0; i + 1 < subject->files->count; i++)
        ck_assert_uint_ge(subject->files->items[i]->synced_size,
                          subject->files->items[i]->info.size);
}
END_TEST

START_TEST(failed_sync_fails_the_store)
{
    configure(0, -1);
    trace_vfs_fail(&fx.trace, TRACE_VFS_SYNC, 3, KL_EIO);
    store_fixture_fill(&fx, subject, 3, 700, 1);
    store_fixture_settle(&fx);
    store_fixture_fill(&fx, subject, 3, 700, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_failure(fx.store, NULL), KL_EIO);
    ck_assert_int_eq(store_fixture_append(&fx, subject, 1, 1, 1, 0, 0),
                     KL_EFAILED);
}
END_TEST

/* ---- after a crash
 * ------------------------------------------------------------ */

/* Five frames, which is all of a segment, three of them synced as the slot
 * says. */
static void half_synced(void)
{
    configure(-1, 0);
    store_fixture_fill(&fx, subject, 3, 700, 1);
    store_fixture_settle(&fx);
    checkpoint();
    ck_assert_int_eq(kl_store_log_synced_leo(subject), 3);
    configure(-1, -1);
    store_fixture_fill(&fx, subject, 2, 700, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_log_synced_leo(subject), 3);
    ck_assert_uint_eq(subject->files->count, 1);
}

START_TEST(valid_prefix_above_the_synced_end_is_kept)
{
    half_synced();
    store_fixture_crash(&fx);
    for (int twice = 0; twice < 2; twice++) {
        reopen();
        ck_assert_int_eq(store_fixture_view(subject).leo, 5);
        ck_assert_int_eq(store_fixture_view(subject).durable_leo, 5);
        store_fixture_expect(&fx, subject, 0, 5, 700, 1);
        store_fixture_crash(&fx);
    }
}
END_TEST

/* What the slot says of times survives, also where nothing came after it. */
START_TEST(times_of_the_synced_part_survive)
{
    int64_t first = fx.wall_ms, last, found;

    configure(-1, 0);
    store_fixture_fill(&fx, subject, 1, 700, 1);
    store_fixture_settle(&fx);
    fx.wall_ms += 100000;
    store_fixture_fill(&fx, subject, 1, 700, 1);
    store_fixture_settle(&fx);
    checkpoint();
    ck_assert_int_eq(kl_store_log_synced_leo(subject), 2);
    last = subject->files->items[0]->info.last_ms;
    ck_assert_int_ge(last, first + 100000);
    if (_i) {
        configure(-1, -1);
        ck_assert_int_eq(store_fixture_append(&fx, subject, 1, 700, 9, 0, 5),
                         0);
        store_fixture_settle(&fx);
    }
    store_fixture_crash(&fx);
    reopen();
    ck_assert_int_eq(store_fixture_view(subject).leo, 2 + _i);
    ck_assert_int_eq(
        store_fixture_lookup(&fx, subject, first, INT64_MAX, &found), 0);
    ck_assert_int_eq(found, 0);
    ck_assert_int_eq(
        store_fixture_lookup(&fx, subject, first + 50000, INT64_MAX, &found),
        0);
    ck_assert_int_eq(found, 1);
    ck_assert_int_ge(subject->files->items[0]->info.last_ms, last);
}
END_TEST

/* Cut at the first bad frame whatever follows, header or body. */
START_TEST(cut_at_the_first_bad_frame)
{
    char path[KL_STORE_PATH_MAX];
    uint64_t frame;
    size_t size;

    half_synced();
    segment_path(0, path);
    free(store_fixture_load(&fx, path, &size));
    frame = (size - KL_STORE_BLOCK) / 5; /* five frames fit into it */
    store_fixture_crash(&fx);
    store_fixture_patch(&fx, path,
                        KL_STORE_BLOCK + frame * 3 + (_i & 1 ? frame - 5 : 5),
                        "!", 1);
    for (int twice = 0; twice < 2; twice++) {
        reopen();
        ck_assert_int_eq(store_fixture_view(subject).leo, 3);
        store_fixture_expect(&fx, subject, 0, 3, 700, 1);
        store_fixture_crash(&fx);
    }
    reopen();
    store_fixture_fill(&fx, subject, 4, 700, 2);
    store_fixture_settle(&fx);
    store_fixture_crash(&fx);
    reopen();
    store_fixture_expect(&fx, subject, 0, 3, 700, 1);
    store_fixture_expect(&fx, subject, 3, 7, 700, 2);
}
END_TEST

START_TEST(cut_at_a_torn_end)
{
    char path[KL_STORE_PATH_MAX];
    uint64_t frame;
    size_t size;
    uint8_t *data;

    for (uint64_t less = 0; less < 2000; less += 97) {
        int64_t left;

        store_fixture_deinit(&fx);
        setup();
        store_fixture_fill(&fx, subject, 5, 700, 1);
        store_fixture_settle(&fx);
        segment_path(0, path);
        store_fixture_crash(&fx);
        data = store_fixture_load(&fx, path, &size);
        frame = (size - KL_STORE_BLOCK) / 5;
        store_fixture_save(&fx, path, data, size - less);
        free(data);
        left = 5 - (int64_t)((less + frame - 1) / frame);
        reopen();
        ck_assert_int_eq(store_fixture_view(subject).leo, left);
        store_fixture_expect(&fx, subject, 0, left, 700, 1);
    }
}
END_TEST

/* Names that never reached the medium: the log ends where the file is not. */
START_TEST(segment_that_is_missing)
{
    char path[KL_STORE_PATH_MAX];

    store_fixture_fill(&fx, subject, 20, 700, 1);
    store_fixture_turn(&fx);
    store_fixture_settle(&fx);
    ck_assert_uint_gt(subject->files->count, 3);
    segment_path(subject->files->items[2]->info.base, path);
    store_fixture_crash(&fx);
    store_fixture_unlink(&fx, path);
    reopen();
    ck_assert_int_eq(store_fixture_view(subject).leo, 10);
    store_fixture_expect(&fx, subject, 0, 10, 700, 1);
    store_fixture_fill(&fx, subject, 10, 700, 2);
    store_fixture_settle(&fx);
    store_fixture_crash(&fx);
    reopen();
    store_fixture_expect(&fx, subject, 0, 10, 700, 1);
    store_fixture_expect(&fx, subject, 10, 20, 700, 2);
}
END_TEST

/* A file of another life under the name of a segment. */
START_TEST(segment_of_another_life)
{
    struct kl_store_segment_header h;
    char path[KL_STORE_PATH_MAX];
    uint8_t block[KL_STORE_BLOCK];

    store_fixture_fill(&fx, subject, 9, 700, 1);
    store_fixture_settle(&fx);
    ck_assert_uint_eq(subject->files->count, 2);
    h = (struct kl_store_segment_header){id, subject->instance, 5, 0};
    if (_i == 0)
        h.instance++;
    if (_i == 1)
        h.base++;
    if (_i == 2)
        h.truncation++;
    if (_i == 3)
        h.id.partition++;
    kl_store_segment_header_encode(block, &h);
    segment_path(5, path);
    store_fixture_crash(&fx);
    store_fixture_patch(&fx, path, 0, block, sizeof block);
    reopen();
    ck_assert_int_eq(store_fixture_view(subject).leo, _i < 4 ? 5 : 9);
    store_fixture_expect(&fx, subject, 0, _i < 4 ? 5 : 9, 700, 1);
}
END_TEST

START_TEST(clean_stop_needs_no_walk)
{
    uint64_t reads;

    store_fixture_fill(&fx, subject, 20, 700, 1);
    store_fixture_close(&fx);
    reads = trace_vfs_count(&fx.trace, TRACE_VFS_OPEN);
    reopen();
    /* lock, identity, reserve, two slots and two copies of the quorum state
     * twice, four WAL files: no segment. */
    ck_assert_uint_le(trace_vfs_count(&fx.trace, TRACE_VFS_OPEN) - reads, 15);
    ck_assert_int_eq(store_fixture_view(subject).leo, 20);
    store_fixture_expect(&fx, subject, 0, 20, 700, 1);
}
END_TEST

/* A manifest that is found lost only when somebody reads: it is written again,
 * and the checkpoint that waits for it goes on. */
START_TEST(manifest_that_a_reader_misses)
{
    const kl_base_stat *checkpoints;
    char path[KL_STORE_PATH_MAX];
    uint64_t before;

    store_fixture_fill(&fx, subject, 30, 700, 1);
    store_fixture_settle(&fx);
    kl_store_path_in_log(subject, "manifest", path);
    store_fixture_close(&fx);
    store_fixture_unlink(&fx, path);
    reopen();
    checkpoints = &kl_store_stats(fx.store)->checkpoints;
    before = kl_base_stat_get(checkpoints);
    store_fixture_expect(&fx, subject, 0, 30, 700, 1);
    checkpoint();
    ck_assert_uint_gt(kl_base_stat_get(checkpoints), before);
    ck_assert_int_eq(store_fixture_exists(&fx, path), 1);
}
END_TEST

/* ---- truncation
 * ----------------------------------------------------------------- */

START_TEST(truncation_starts_a_new_segment)
{
    store_fixture_fill(&fx, subject, 4, 700, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_truncate(subject, 2), 0);
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, 2);
    store_fixture_fill(&fx, subject, 1, 700, 2);
    store_fixture_settle(&fx);
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, 3);
    ck_assert_uint_eq(subject->files->count, 2);
    ck_assert_int_eq(subject->files->items[1]->info.base, 2);
    store_fixture_expect(&fx, subject, 0, 2, 700, 1);
    store_fixture_expect(&fx, subject, 2, 3, 700, 2);
}
END_TEST

/* Truncation in every state of writing and syncing, and a crash after it. */
START_TEST(what_was_cut_stays_cut)
{
    static const int64_t cuts[] = {0, 1, 3, 5, 8, 9};

    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        int64_t leo;

        store_fixture_deinit(&fx);
        setup();
        half_synced();
        store_fixture_fill(&fx, subject, 5, 700, 1);
        if (_i & 1)
            store_fixture_settle(&fx);
        if (_i & 2)
            checkpoint();
        ck_assert_int_eq(kl_store_truncate(subject, cuts[i]), 0);
        store_fixture_fill(&fx, subject, 3, 400, 2);
        for (int k = 0; k < (_i & 4 ? 60 : 3); k++)
            store_fixture_turn(&fx);
        if (_i & 8)
            checkpoint();
        leo = store_fixture_view(subject).durable_leo;
        store_fixture_crash(&fx);
        for (int twice = 0; twice < 2; twice++) {
            int64_t now;

            reopen();
            now = store_fixture_view(subject).leo;
            if (leo == cuts[i] + 3) {
                ck_assert_int_eq(now, leo);
                store_fixture_expect(&fx, subject, 0, cuts[i], 700, 1);
                store_fixture_expect(&fx, subject, cuts[i], now, 400, 2);
            } else {
                ck_assert_int_ge(now, cuts[i]);
            }
            store_fixture_crash(&fx);
        }
    }
}
END_TEST

START_TEST(start_moves_and_drops_segments)
{
    char path[KL_STORE_PATH_MAX];

    store_fixture_fill(&fx, subject, 20, 700, 1);
    store_fixture_settle(&fx);
    segment_path(0, path);
    ck_assert_int_eq(kl_store_set_start(subject, 12), 0);
    for (int i = 0; i < 8; i++) {
        fx.now_ns += 300000000;
        store_fixture_settle(&fx);
    }
    ck_assert(!store_fixture_exists(&fx, path));
    store_fixture_crash(&fx);
    for (int twice = 0; twice < 2; twice++) {
        reopen();
        ck_assert_int_eq(store_fixture_view(subject).start, 12);
        ck_assert_int_eq(store_fixture_view(subject).leo, 20);
        store_fixture_expect(&fx, subject, 12, 20, 700, 1);
        store_fixture_crash(&fx);
    }
}
END_TEST

/* Many logs after a kill, each with records above its synced end, some cut in
 * a frame: what an open has shown survives a power cut right behind it. */
START_TEST(many_logs_keep_what_was_shown)
{
    enum { LOGS = 40, RECORDS = 12 };
    struct sim_choice lost = {.profile = SIM_ADVERSARY, .fate = SIM_FATE_LOST};
    struct kl_store_id other;
    int64_t leo[LOGS];

    store_fixture_crash(&fx);
    store_fixture_simulate(&fx, (uint64_t)_i);
    fx.config.file_max = 512;
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    for (int i = 0; i < LOGS; i++) {
        other = store_fixture_id(1, i);
        subject =
            store_fixture_create(&fx, &other, KL_STORE_FLUSH_INTERVAL, 8192);
        store_fixture_settle(&fx);
        store_fixture_fill(&fx, subject, i % RECORDS, 1000, (uint64_t)i);
        store_fixture_settle(&fx);
        if (i == LOGS / 2)
            checkpoint();
    }
    for (int i = 0; i < LOGS; i++) {
        other = store_fixture_id(1, i);
        subject = kl_store_find(fx.store, &other);
        store_fixture_fill(&fx, subject, 1 + i % 3, 1000, (uint64_t)i);
        store_fixture_settle(&fx);
        if (i % 5 == 0) {
            char path[KL_STORE_PATH_MAX];
            size_t size;
            uint8_t *data;

            segment_path(kl_store_files_active(subject)->info.base, path);
            data = store_fixture_load(&fx, path, &size);
            store_fixture_save(&fx, path, data, size - 100);
            free(data);
        }
    }
    for (int life = 0; life < 3; life++) {
        if (life == 0)
            store_fixture_crash(&fx); /* a kill: all is still there */
        else
            store_fixture_cut_power(&fx, lost);
        ck_assert_int_eq(store_fixture_open(&fx), 0);
        for (int i = 0; i < LOGS; i++) {
            other = store_fixture_id(1, i);
            subject = kl_store_find(fx.store, &other);
            if (life == 0) {
                leo[i] = store_fixture_view(subject).leo;
                ck_assert_int_eq(leo[i],
                                 i % RECORDS + 1 + i % 3 - (i % 5 == 0));
            }
            ck_assert_int_eq(store_fixture_view(subject).leo, leo[i]);
            store_fixture_expect(&fx, subject, 0, leo[i], 1000, (uint64_t)i);
        }
    }
}
END_TEST

Suite *suite_store_interval(void);

Suite *suite_store_interval(void)
{
    Suite *suite = suite_create("store_interval");
    TCase *t = tcase_create("interval");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, appends_are_acknowledged_without_the_wal);
    tcase_add_test(t, segments_are_in_the_manifest_from_the_start);
    tcase_add_test(t, leftover_segment_is_not_written_over);
    tcase_add_test(t, flush_by_time);
    tcase_add_test(t, flush_by_bytes);
    tcase_add_test(t, sealing_syncs);
    tcase_add_test(t, failed_sync_fails_the_store);
    tcase_add_test(t, valid_prefix_above_the_synced_end_is_kept);
    tcase_add_loop_test(t, times_of_the_synced_part_survive, 0, 2);
    tcase_add_loop_test(t, cut_at_the_first_bad_frame, 0, 2);
    tcase_add_test(t, cut_at_a_torn_end);
    tcase_add_test(t, segment_that_is_missing);
    tcase_add_loop_test(t, segment_of_another_life, 0, 5);
    tcase_add_test(t, clean_stop_needs_no_walk);
    tcase_add_test(t, manifest_that_a_reader_misses);
    tcase_add_test(t, truncation_starts_a_new_segment);
    tcase_add_loop_test(t, what_was_cut_stays_cut, 0, 16);
    tcase_add_test(t, start_moves_and_drops_segments);
    tcase_add_loop_test(t, many_logs_keep_what_was_shown, 0, 4);
    suite_add_tcase(suite, t);
    return suite;
}
