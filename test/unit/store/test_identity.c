/*
 * Who a folder belongs to: a store that joins a cluster, folders of an older
 * format, and an identity that is gone.
 */
#include "store_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct store_fixture f;
static struct kl_store_id id;
static const struct kl_base_uuid found = {{5, 5, 5}}, other = {{6}}, zero;

static void setup(void)
{
    store_fixture_init(&f);
    store_fixture_simulate(&f, 1);
    id = store_fixture_id(1, 0);
    f.config.format.cluster_id = zero;
    f.config.format.flags = KL_STORE_JOINS;
}

static void teardown(void)
{
    store_fixture_deinit(&f);
}

/* A store that joins, with some records. */
static void make(void)
{
    struct kl_store_log *log;

    ck_assert_int_eq(store_fixture_open(&f), 0);
    log = store_fixture_create(&f, &id, KL_STORE_FLUSH_COMMIT, 8192);
    store_fixture_fill(&f, log, 3, 100, 1);
    store_fixture_settle(&f);
}

static void expect_cluster(const struct kl_base_uuid *cluster)
{
    const struct kl_store_identity *seen = kl_store_identity(f.store);

    ck_assert(kl_base_uuid_equal(&seen->cluster_id, cluster));
    ck_assert_int_eq(seen->flags == KL_STORE_JOINS,
                     kl_base_uuid_is_zero(cluster));
    ck_assert_mem_eq(&seen->directory_id, &f.config.format.directory_id, 16);
    ck_assert_int_eq(seen->node_id, 1);
    ck_assert_int_eq(seen->version, KL_STORE_FORMAT);
}

static void expect_records(void)
{
    struct kl_store_log *log = kl_store_find(f.store, &id);

    ck_assert_ptr_nonnull(log);
    store_fixture_expect(&f, log, 0, 3, 100, 1);
}

/* Whether the next turns tell of the adoption; with which code. */
static int is_told(int *code_out)
{
    struct kl_store_event e;
    int told = 0;

    for (int i = 0; i < 200 && !told; i++) {
        f.now_ns += 50000000;
        kl_store_turn(f.store, f.now_ns, f.wall_ms);
        while (kl_store_next_event(f.store, &e)) {
            if (e.type != KL_STORE_EVENT_IDENTITY)
                continue;
            *code_out = e.code;
            told++;
        }
    }
    return told;
}

/* ---- adoption ------------------------------------------------------------ */

START_TEST(adoption_is_durable_when_told)
{
    struct sim_choice lost = {.profile = SIM_ADVERSARY, .fate = SIM_FATE_LOST};
    int code = -1;

    make();
    expect_cluster(&zero);
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &found), 0);
    expect_cluster(&zero);
    ck_assert_int_eq(is_told(&code), 1);
    ck_assert_int_eq(code, 0);
    expect_cluster(&found);
    store_fixture_cut_power(&f, lost);
    ck_assert_int_eq(store_fixture_open(&f), 0);
    expect_cluster(&found);
    expect_records();
}
END_TEST

START_TEST(adoption_refused)
{
    int code;

    make();
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &zero), KL_EINVAL);
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &found), 0);
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &found), 0);
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &other), KL_EEXIST);
    ck_assert_int_eq(is_told(&code), 1);
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &found), KL_EEXIST);
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &other), KL_EEXIST);
    store_fixture_crash(&f);
    ck_assert_int_eq(store_fixture_open(&f), 0);
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &other), KL_EEXIST);
    expect_cluster(&found);
}
END_TEST

/* A store that never wanted to join stays what it is. */
START_TEST(adoption_by_another_cluster)
{
    f.config.format.cluster_id = other;
    f.config.format.flags = 0;
    make();
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &found), KL_EEXIST);
    expect_cluster(&other);
}
END_TEST

START_TEST(adoption_without_memory)
{
    int rc, code;

    make();
    fail_alloc_arm(&f.alloc, 1);
    rc = kl_store_adopt_cluster(f.store, &found);
    fail_alloc_arm(&f.alloc, 0);
    ck_assert_int_eq(rc, KL_ENOMEM);
    ck_assert_int_eq(is_told(&code), 0);
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &other), 0);
    ck_assert_int_eq(is_told(&code), 1);
    expect_cluster(&other);
}
END_TEST

START_TEST(adoption_and_stop)
{
    make();
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &found), 0);
    store_fixture_close(&f);
    ck_assert_int_eq(store_fixture_open(&f), 0);
    expect_cluster(&found);
    ck_assert_int_eq(kl_store_verdict(f.store), KL_STORE_VERDICT_CLEAN);
    kl_store_stop(f.store);
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &found), KL_ECLOSED);
}
END_TEST

/* A snapshot says whose it is. */
START_TEST(no_snapshot_before_adoption)
{
    struct kl_store_snapshot_writer *w;
    int code;

    make();
    ck_assert_int_eq(kl_store_snapshot_begin(f.store, 3, 0, &w), KL_EINVAL);
    ck_assert_int_eq(kl_store_adopt_cluster(f.store, &found), 0);
    ck_assert_int_eq(is_told(&code), 1);
    ck_assert_int_eq(kl_store_snapshot_begin(f.store, 3, 0, &w), 0);
    kl_store_snapshot_close(w);
    store_fixture_settle(&f);
}
END_TEST

/* The power fails at any call, with all that this may leave. */
START_TEST(adoption_survives_every_cut)
{
    int seen[2] = {0, 0}, was_cut = 1;

    teardown();
    for (uint64_t calls = 0; was_cut; calls++) {
        for (int fate = SIM_FATE_LOST; fate < SIM_FATES; fate++) {
            struct sim_choice choice = {.profile = SIM_ADVERSARY,
                                        .fate = (enum sim_fate)fate,
                                        .number = calls};
            int told, code = -1, is_adopted;

            setup();
            make();
            trace_vfs_cut(&f.trace, calls);
            ck_assert_int_eq(kl_store_adopt_cluster(f.store, &found), 0);
            told = is_told(&code) && code == 0;
            was_cut = kl_store_failure(f.store, NULL) != 0;
            store_fixture_cut_power(&f, choice);
            trace_vfs_heal(&f.trace);
            ck_assert_int_eq(store_fixture_open(&f), 0);
            is_adopted =
                !kl_base_uuid_is_zero(&kl_store_identity(f.store)->cluster_id);
            ck_assert(is_adopted || !told);
            expect_cluster(is_adopted ? &found : &zero);
            expect_records();
            seen[is_adopted]++;
            teardown();
        }
    }
    ck_assert_int_gt(seen[0], 8);
    ck_assert_int_gt(seen[1], 4);
    setup();
}
END_TEST

/* Each call fails; what passes is waited for, everything else ends the store
 * with the same word to whoever waits for the adoption. */
START_TEST(adoption_with_failing_calls)
{
    static const int codes[] = {KL_EIO, KL_EDISKFULL, KL_ENOFILES, KL_EACCESS};
    uint64_t failed = 1;

    teardown();
    for (uint64_t nth = 1; failed; nth++) {
        struct trace_vfs_fault fault = {.kinds = trace_vfs_kinds_of(codes[_i]),
                                        .nth = nth,
                                        .code = codes[_i]};
        int code = -1;

        setup();
        make();
        trace_vfs_arm(&f.trace, &fault);
        ck_assert_int_eq(kl_store_adopt_cluster(f.store, &found), 0);
        ck_assert_int_eq(is_told(&code), 1);
        failed = trace_vfs_failed(&f.trace);
        ck_assert_int_eq(code, kl_store_failure(f.store, NULL));
        if (code == 0)
            expect_cluster(&found);
        else
            expect_cluster(&zero);
        trace_vfs_heal(&f.trace);
        store_fixture_crash(&f);
        ck_assert_int_eq(store_fixture_open(&f), 0);
        if (code == 0)
            expect_cluster(&found);
        expect_records();
        teardown();
        ck_assert_uint_lt(nth, 100);
    }
    setup();
}
END_TEST

/* ---- older folders ------------------------------------------------------- */

/* As a release with format 2 left it: without flags. */
static void downgrade(void)
{
    store_fixture_close(&f);
    store_fixture_set_version(&f, 2);
    sim_disk_settle(f.disk);
}

START_TEST(format_2_is_upgraded)
{
    int was_cut = 1, upgraded = 0;

    teardown();
    for (uint64_t calls = 0; was_cut; calls++) {
        for (int fate = SIM_FATE_LOST; fate < SIM_FATES; fate++) {
            struct sim_choice choice = {.profile = SIM_ADVERSARY,
                                        .fate = (enum sim_fate)fate,
                                        .number = calls};
            struct kl_store_identity seen;
            uint8_t *data;
            size_t size;

            setup();
            f.config.format.cluster_id = other;
            f.config.format.flags = 0;
            make();
            downgrade();
            trace_vfs_cut(&f.trace, calls);
            was_cut = store_fixture_open(&f) != 0;
            store_fixture_cut_power(&f, choice);
            trace_vfs_heal(&f.trace);
            data = store_fixture_load(&f, "data/identity", &size);
            ck_assert_int_eq(kl_store_identity_decode(data, size, &seen), 0);
            free(data);
            upgraded += seen.version == KL_STORE_FORMAT;
            ck_assert(seen.version == 2 || seen.version == KL_STORE_FORMAT);
            ck_assert_int_eq(store_fixture_open(&f), 0);
            expect_cluster(&other);
            expect_records();
            ck_assert_int_eq(kl_store_adopt_cluster(f.store, &found),
                             KL_EEXIST);
            teardown();
        }
    }
    ck_assert_int_gt(upgraded, SIM_FATES - 1 - SIM_FATE_LOST);
    setup();
}
END_TEST

/* ---- gone ---------------------------------------------------------------- */

static void expect_lost(void)
{
    uint64_t hash = store_fixture_hash(&f);

    ck_assert_int_eq(store_fixture_open(&f), KL_ECORRUPT);
    ck_assert_ptr_nonnull(strstr(f.error.text, "lost its identity"));
    store_fixture_crash(&f);
    ck_assert_uint_eq(store_fixture_hash(&f), hash);
}

/* Nothing is made over what is left; with the file back it is a store again. */
START_TEST(lost_identity)
{
    uint8_t *data;
    size_t size;

    make();
    if (_i == 1)
        store_fixture_crash(&f);
    else
        store_fixture_close(&f);
    data = store_fixture_load(&f, "data/identity", &size);
    store_fixture_unlink(&f, "data/identity");
    expect_lost();
    store_fixture_unlink(&f, "data/lock");
    ck_assert_int_eq(store_fixture_open(&f), KL_ECORRUPT);
    store_fixture_crash(&f);
    store_fixture_save(&f, "data/identity", data, size);
    free(data);
    ck_assert_int_eq(store_fixture_open(&f), 0);
    expect_records();
}
END_TEST

/* What there is may be in the ring alone. */
START_TEST(lost_identity_of_a_new_store)
{
    struct kl_store_log *log;

    teardown();
    store_fixture_init(&f);
    ck_assert_int_eq(store_fixture_open(&f), 0);
    log = store_fixture_create(&f, &id, KL_STORE_FLUSH_COMMIT, 8192);
    store_fixture_fill(&f, log, 3, 100, 1);
    trace_vfs_fail_path(&f.trace, TRACE_VFS_MKDIR, "logs/", KL_EDISKFULL);
    for (int i = 0; i < 5; i++)
        store_fixture_turn(&f);
    ck_assert_int_eq(store_fixture_view(log).durable_leo, 3);
    store_fixture_crash(&f);
    trace_vfs_heal(&f.trace);
    ck_assert_int_eq(store_fixture_count(&f, "data/logs", ""), 0);
    store_fixture_unlink(&f, "data/identity");
    expect_lost();
}
END_TEST

/* A cut may leave any bytes where the ring was being made: no group, no store.
 */
START_TEST(garbage_of_an_unfinished_format)
{
    uint8_t garbage[2 * KL_STORE_BLOCK];

    teardown();
    store_fixture_init(&f);
    ck_assert_int_eq(store_fixture_open(&f), 0);
    store_fixture_crash(&f);
    store_fixture_value(77, 0, garbage, sizeof garbage);
    for (int i = 0; i < 4; i++) {
        char path[32];

        snprintf(path, sizeof path, "data/wal/%d", i);
        store_fixture_patch(&f, path, 0, garbage, sizeof garbage);
    }
    store_fixture_unlink(&f, "data/identity");
    ck_assert_msg(store_fixture_open(&f) == 0, "%s", f.error.text);
    store_fixture_crash(&f);
    make();
    expect_records();
}
END_TEST

Suite *suite_store_identity(void);

Suite *suite_store_identity(void)
{
    Suite *suite = suite_create("store_identity");
    TCase *t = tcase_create("identity");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, adoption_is_durable_when_told);
    tcase_add_test(t, adoption_refused);
    tcase_add_test(t, adoption_by_another_cluster);
    tcase_add_test(t, adoption_without_memory);
    tcase_add_test(t, adoption_and_stop);
    tcase_add_test(t, no_snapshot_before_adoption);
    tcase_add_test(t, adoption_survives_every_cut);
    tcase_add_loop_test(t, adoption_with_failing_calls, 0, 4);
    tcase_add_test(t, format_2_is_upgraded);
    tcase_add_loop_test(t, lost_identity, 0, 2);
    tcase_add_test(t, lost_identity_of_a_new_store);
    tcase_add_test(t, garbage_of_an_unfinished_format);
    suite_add_tcase(suite, t);
    return suite;
}
