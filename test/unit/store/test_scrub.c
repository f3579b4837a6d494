/*
 * The scrub: it sees everything in the end, at its rate, finds what is rotten,
 * and repairs what can be made again.
 */
#include "store_fixture.h"

#include <check.h>
#include <stdlib.h>

static struct store_fixture fx;
static struct kl_store_id ids[3];

enum { RATE = 100000, MINUTE_MS = 60000 };

static void setup(void)
{
    store_fixture_init(&fx);
    fx.config.scrub_bytes_per_second = RATE;
    fx.config.scrub_interval_ms = 3600 * 1000;
    fx.config.cache_bytes_max = 0;
    for (int i = 0; i < 3; i++)
        ids[i] = store_fixture_id(i, 0);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

static uint64_t stat_of(const kl_base_stat *s)
{
    return kl_base_stat_get(s);
}

/* Goes from deadline to deadline for a while. */
static void pass_time(int64_t ms)
{
    int64_t end = fx.now_ns + ms * 1000000;

    while (fx.now_ns < end) {
        int64_t at = kl_store_deadline(fx.store);

        if (at > end)
            at = end;
        if (at > fx.now_ns) {
            fx.wall_ms += (at - fx.now_ns) / 1000000;
            fx.now_ns = at;
        }
        store_fixture_turn(&fx);
    }
}

static struct kl_store_log *fill(int i, enum kl_store_flush flush)
{
    struct kl_store_log *log = store_fixture_create(&fx, &ids[i], flush, 10000);

    store_fixture_fill(&fx, log, 40, 900, (uint64_t)i);
    store_fixture_settle(&fx);
    return log;
}

static void spoil(struct kl_store_log *log, const char *name, uint64_t at)
{
    char path[KL_STORE_PATH_MAX];
    size_t size;
    uint8_t *data;

    kl_store_path_in_log(log, name, path);
    data = store_fixture_load(&fx, path, &size);
    data[at] ^= 4;
    store_fixture_save(&fx, path, data, size);
    free(data);
}

START_TEST(scrub_sees_everything_at_its_rate)
{
    const struct kl_store_stats *stats = kl_store_stats(fx.store);
    uint64_t bytes, early;

    fill(0, KL_STORE_FLUSH_COMMIT);
    fill(1, KL_STORE_FLUSH_INTERVAL);
    fill(2, KL_STORE_FLUSH_COMMIT);
    bytes = stat_of(&stats->append_bytes);
    pass_time(MINUTE_MS - 1000);
    ck_assert_uint_eq(stat_of(&stats->scrub_bytes), 0);
    pass_time(1300);
    early = stat_of(&stats->scrub_bytes);
    ck_assert_uint_gt(early, 0);
    ck_assert_uint_lt(early, bytes);
    pass_time(MINUTE_MS);
    ck_assert_uint_eq(stat_of(&stats->scrub_passes), 1);
    ck_assert_uint_ge(stat_of(&stats->scrub_bytes), bytes);
    ck_assert_uint_eq(stat_of(&stats->damages), 0);
    /* And again, an hour after it had begun. */
    pass_time(3600 * 1000 - 2 * MINUTE_MS);
    ck_assert_uint_eq(stat_of(&stats->scrub_passes), 1);
    pass_time(3 * MINUTE_MS);
    ck_assert_uint_eq(stat_of(&stats->scrub_passes), 2);
}
END_TEST

/* Also in logs that nobody has touched since open, without keeping them open.
 */
START_TEST(scrub_finds_damage)
{
    struct kl_store_log *log = fill(0, KL_STORE_FLUSH_COMMIT);
    struct kl_store_range range;

    fill(1, KL_STORE_FLUSH_COMMIT);
    spoil(log, "00000000000000000000.seg", KL_STORE_BLOCK + 3 * 1000 + 300);
    if (_i) {
        store_fixture_close(&fx);
        log = store_fixture_reopen(&fx, &ids[0]);
    }
    pass_time(2 * MINUTE_MS);
    ck_assert_uint_eq(kl_store_log_damage(log, 0, &range), 1);
    ck_assert_int_eq(range.from, 3);
    ck_assert_int_eq(range.to, 4);
    ck_assert_int_eq(kl_store_verdict(fx.store), KL_STORE_VERDICT_DAMAGED);
    ck_assert_uint_eq(
        kl_store_log_damage(kl_store_find(fx.store, &ids[1]), 0, NULL), 0);
    if (_i)
        ck_assert_ptr_null(log->files);
}
END_TEST

START_TEST(scrub_repairs_manifests_and_slots)
{
    const struct kl_store_stats *stats;
    struct kl_store_log *log;

    fill(0, KL_STORE_FLUSH_COMMIT);
    store_fixture_close(&fx);
    log = store_fixture_reopen(&fx, &ids[0]);
    spoil(log, "manifest", 40);
    store_fixture_patch(&fx, "data/checkpoint.a", 30, "rot", 3);
    pass_time(2 * MINUTE_MS);
    stats = kl_store_stats(fx.store);
    ck_assert_uint_eq(stat_of(&stats->rebuilds), 1);
    ck_assert_int_eq(kl_store_verdict(fx.store), KL_STORE_VERDICT_CLEAN);
    /* Both are whole again: nothing is rebuilt any more. */
    store_fixture_crash(&fx);
    store_fixture_patch(&fx, "data/checkpoint.b", 30, "rot", 3);
    log = store_fixture_reopen(&fx, &ids[0]);
    store_fixture_expect(&fx, log, 0, 40, 900, 0);
    ck_assert_uint_eq(stat_of(&kl_store_stats(fx.store)->rebuilds), 0);
}
END_TEST

/* What is deleted, cut or stopped while it looks at it is not damage. */
START_TEST(scrub_of_what_changes)
{
    struct kl_store_log *log = fill(0, KL_STORE_FLUSH_COMMIT);
    const struct kl_store_stats *stats = kl_store_stats(fx.store);

    fill(1, KL_STORE_FLUSH_COMMIT);
    pass_time(MINUTE_MS + _i * 20);
    switch (_i % 4) {
    case 0:
        ck_assert_int_eq(kl_store_delete(log), 0);
        break;
    case 1:
        ck_assert_int_eq(kl_store_truncate(log, 7), 0);
        break;
    case 2:
        ck_assert_int_eq(kl_store_set_start(log, 35), 0);
        break;
    default:
        store_fixture_close(&fx);
        return;
    }
    pass_time(MINUTE_MS);
    ck_assert_uint_eq(stat_of(&stats->damages), 0);
    ck_assert_uint_eq(stat_of(&stats->scrub_passes), 1);
}
END_TEST

START_TEST(scrub_without_memory_or_files)
{
    fill(0, KL_STORE_FLUSH_COMMIT);
    store_fixture_close(&fx);
    store_fixture_reopen(&fx, &ids[0]);
    if (_i % 2)
        fail_alloc_arm(&fx.alloc, 1 + (uint64_t)_i / 2);
    else
        trace_vfs_fail(&fx.trace, TRACE_VFS_OPEN, 1 + (uint64_t)_i / 2,
                       KL_ENOFILES);
    pass_time(3 * MINUTE_MS);
    fail_alloc_arm(&fx.alloc, 0);
    trace_vfs_heal(&fx.trace);
    ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
    pass_time(3600 * 1000);
    ck_assert_uint_eq(stat_of(&kl_store_stats(fx.store)->damages), 0);
    ck_assert_uint_ge(stat_of(&kl_store_stats(fx.store)->scrub_passes), 1);
}
END_TEST

Suite *suite_store_scrub(void);

Suite *suite_store_scrub(void)
{
    Suite *suite = suite_create("store_scrub");
    TCase *t = tcase_create("scrub");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, scrub_sees_everything_at_its_rate);
    tcase_add_loop_test(t, scrub_finds_damage, 0, 2);
    tcase_add_test(t, scrub_repairs_manifests_and_slots);
    tcase_add_loop_test(t, scrub_of_what_changes, 0, 24);
    tcase_add_loop_test(t, scrub_without_memory_or_files, 0, 24);
    suite_add_tcase(suite, t);
    return suite;
}
