/*
 * Saving a folder that nobody knows the end of, and what must not come back;
 * and the new folder itself.
 */
#include "need.h"
#include "salvage_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define fx wal.fx

/* ---- without checkpoints ---------------------------------------------------
 */

START_TEST(no_checkpoint)
{
    salvage_fill(400);
    if (_i & 1) {
        store_fixture_fill(&fx, salv.a, 7, SALVAGE_SIZE, 1);
        wal.subject = salv.a;
        wal_commit();
        store_fixture_crash(&fx);
    } else {
        store_fixture_close(&fx);
    }
    salvage_lose_slots();
    if (_i & 2)
        inspect_flip(&fx, "data/identity", 40);
    salvage_run();
    ck_assert_uint_eq(salv.count, 0);
    ck_assert_int_eq(store_fixture_view(salv.a).leo, _i & 1 ? 407 : 400);
    store_fixture_expect(&fx, salv.a, 0, _i & 1 ? 407 : 400, SALVAGE_SIZE, 1);
    store_fixture_expect(&fx, salv.b, 0, 400, SALVAGE_SIZE, 2);
    ck_assert_int_eq(fx.store->identity.node_id, _i & 2 ? 77 : 1);
}
END_TEST

START_TEST(no_checkpoint_and_no_manifest)
{
    salvage_fill(400);
    store_fixture_close(&fx);
    salvage_lose_slots();
    inspect_flip(&fx, inspect_path(&fx, &salv.durable, "manifest"), 40);
    inspect_flip(&fx, inspect_path(&fx, &salv.loose, "manifest"), 40);
    salvage_damage(&salv.durable, 5, 200);
    salvage_run();
    salvage_all_but(salv.a, 1, 5, 6, 400);
    store_fixture_expect(&fx, salv.b, 0, 400, SALVAGE_SIZE, 2);
}
END_TEST

/* A log that only the ring knows, and one that it says is deleted. */
START_TEST(no_checkpoint_but_a_ring)
{
    struct kl_store_id fresh = store_fixture_id(5, 0);
    struct kl_store_log *log;

    salvage_fill(20);
    log = store_fixture_create(&fx, &fresh, KL_STORE_FLUSH_COMMIT, 16 * 1024);
    store_fixture_fill(&fx, log, 3, SALVAGE_SIZE, 5);
    need_ok(kl_store_delete(salv.b));
    wal.subject = log;
    wal_commit();
    store_fixture_crash(&fx);
    salvage_lose_slots();
    need_ok(salvage_try("saved"));
    fx.config.path = "saved";
    log = store_fixture_reopen(&fx, &fresh);
    store_fixture_expect(&fx, log, 0, 3, SALVAGE_SIZE, 5);
    ck_assert_ptr_null(kl_store_find(fx.store, &salv.loose));
    store_fixture_expect(&fx, kl_store_find(fx.store, &salv.durable), 0, 20,
                         SALVAGE_SIZE, 1);
}
END_TEST

/* ---- what was truncated stays so --------------------------------------------
 */

/* Twenty records, cut to twelve, eight others behind them. */
static void truncate_and_go_on(int is_settled)
{
    salvage_fill(20);
    need_ok(kl_store_truncate(salv.a, 12));
    need_ok(kl_store_truncate(salv.b, 12));
    need_ok(kl_store_start_epoch(salv.a, 2));
    need_ok(kl_store_start_epoch(salv.b, 2));
    if (is_settled)
        store_fixture_settle(&fx);
    store_fixture_fill(&fx, salv.a, 8, SALVAGE_SIZE, 8);
    store_fixture_fill(&fx, salv.b, 8, SALVAGE_SIZE, 8);
    wal.subject = salv.a;
    wal_commit();
    if (is_settled)
        store_fixture_settle(&fx);
}

START_TEST(truncated_log)
{
    truncate_and_go_on(_i & 1);
    if (_i & 2)
        store_fixture_close(&fx);
    else
        store_fixture_crash(&fx);
    if (_i & 4)
        salvage_lose_slots();
    salvage_run();
    ck_assert_uint_eq(salv.count, 0);
    store_fixture_expect(&fx, salv.a, 0, 12, SALVAGE_SIZE, 1);
    store_fixture_expect(&fx, salv.a, 12, 20, SALVAGE_SIZE, 8);
    ck_assert_int_eq(store_fixture_view(salv.a).leo, 20);
    if (_i & 3) { /* else what was written to b may be nowhere yet */
        store_fixture_expect(&fx, salv.b, 0, 12, SALVAGE_SIZE, 2);
        store_fixture_expect(&fx, salv.b, 12, 20, SALVAGE_SIZE, 8);
    }
}
END_TEST

/* A segment that was cut off and came back: it begins behind the new end, so
 * that nothing overlaps with it, but it was made before the truncation. The log
 * has twelve records, and eight others behind them. */
static void bring_back(struct kl_store_log *log)
{
    const struct kl_store_id id = *kl_store_log_id(log);
    char name[40];
    uint8_t *data;
    size_t size;

    salvage_fill(100);
    snprintf(name, sizeof name, "%020lld.seg",
             (long long)log->files->items[log->files->count - 1]->info.base);
    data = store_fixture_load(&fx, inspect_path(&fx, &id, name), &size);
    need_ok(kl_store_truncate(log, 12));
    need_ok(kl_store_start_epoch(log, 2));
    store_fixture_settle(&fx);
    log->roll_next = 1; /* a segment of its own */
    store_fixture_fill(&fx, log, 8, SALVAGE_SIZE, 8);
    for (int i = 0; i < 3; i++) {
        store_fixture_settle(&fx);
        kl_store_checkpoint_request(fx.store);
    }
    store_fixture_close(&fx);
    store_fixture_save(&fx, inspect_path(&fx, &id, name), data, size);
    free(data);
}

static void past_stays_away(struct kl_store_log *log, uint64_t salt)
{
    ck_assert_int_eq(store_fixture_view(log).leo, 20);
    store_fixture_expect(&fx, log, 0, 12, SALVAGE_SIZE, salt);
    store_fixture_expect(&fx, log, 12, 20, SALVAGE_SIZE, 8);
}

START_TEST(segment_of_a_truncated_past)
{
    const struct kl_store_id *id = _i & 1 ? &salv.loose : &salv.durable;

    bring_back(_i & 1 ? salv.b : salv.a);
    if (_i & 2)
        inspect_flip(&fx, inspect_path(&fx, id, "manifest"), 40);
    if (_i & 4)
        salvage_lose_slots();
    salvage_run();
    ck_assert_uint_eq(salv.count, 0);
    past_stays_away(_i & 1 ? salv.b : salv.a, _i & 1 ? 2 : 1);
}
END_TEST

/* The same where a node makes the manifest anew. */
START_TEST(open_with_a_truncated_past)
{
    const struct kl_store_id *id = _i & 1 ? &salv.loose : &salv.durable;
    struct kl_store_log *log;

    bring_back(_i & 1 ? salv.b : salv.a);
    inspect_flip(&fx, inspect_path(&fx, id, "manifest"), 40);
    log = store_fixture_reopen(&fx, id);
    past_stays_away(log, _i & 1 ? 2 : 1);
    store_fixture_fill(&fx, log, 80, SALVAGE_SIZE, 8);
    store_fixture_settle(&fx);
    store_fixture_expect(&fx, log, 12, 100, SALVAGE_SIZE, 8);
    store_fixture_crash(&fx);
    log = store_fixture_reopen(&fx, id);
    ck_assert_int_eq(store_fixture_view(log).leo, 100);
    store_fixture_expect(&fx, log, 12, 100, SALVAGE_SIZE, 8);
}
END_TEST

/* ---- the new folder --------------------------------------------------------
 */

START_TEST(new_folder_must_be_empty)
{
    salvage_fill(20);
    store_fixture_close(&fx);
    need_ok(fx.memory->ops->mkdir(fx.memory, "full"));
    store_fixture_save(&fx, "full/letter", "dear", 4);
    ck_assert_int_eq(salvage_try("full"), KL_EFOREIGN);
    ck_assert_int_eq(store_fixture_count(&fx, "full", ""), 1);
    ck_assert_int_ne(salvage_try("data"), 0);
    need_ok(salvage_try("saved"));
    ck_assert_int_eq(salvage_try("saved"), KL_EEXIST);
    need_ok(fx.memory->ops->mkdir(fx.memory, "empty"));
    need_ok(salvage_try("empty"));
}
END_TEST

/* Until all of it is there it is no store. */
START_TEST(power_cut_anywhere)
{
    static char path[32], identity[48];
    int rc = KL_EIO;

    salvage_fill(40);
    store_fixture_close(&fx);
    for (uint64_t at = 0; rc; at += 7) {
        snprintf(path, sizeof path, "saved%d", (int)at);
        snprintf(identity, sizeof identity, "%s/identity", path);
        trace_vfs_cut(&fx.trace, at);
        rc = salvage_try(path);
        trace_vfs_heal(&fx.trace);
        if (!store_fixture_exists(&fx, identity))
            continue;
        /* Only opening it can be left to be done. */
        fx.config.path = path;
        salv.a = store_fixture_reopen(&fx, &salv.durable);
        salv.b = kl_store_find(fx.store, &salv.loose);
        salvage_all_of(40);
        store_fixture_crash(&fx);
    }
}
END_TEST

START_TEST(without_memory)
{
    int rc = KL_ENOMEM;

    salvage_fill(40);
    store_fixture_close(&fx);
    salvage_damage(&salv.durable, 5, 200);
    inspect_flip(&fx, inspect_path(&fx, &salv.loose, "manifest"), 50);
    for (uint64_t at = 1; rc == KL_ENOMEM; at++) {
        char path[32];

        snprintf(path, sizeof path, "saved%d", (int)at);
        fail_alloc_arm(&fx.alloc, at);
        rc = salvage_try(path);
        if (rc)
            ck_assert_int_eq(rc, KL_ENOMEM);
    }
    fail_alloc_arm(&fx.alloc, 0);
    ck_assert_int_eq(rc, 0);
    ck_assert_uint_eq(salv.count, 0); /* the ring has it */
}
END_TEST

START_TEST(pauses_change_nothing)
{
    salvage_fill(400);
    store_fixture_close(&fx);
    salvage_damage(&salv.durable, 11, 200);
    salvage_damage(&salv.durable, 5, 200);
    salv.pause = 1;
    salvage_run();
    ck_assert_uint_eq(salv.count, 2);
    ck_assert_int_eq(store_fixture_endure(&fx, salv.a, 0, 400, SALVAGE_SIZE, 1),
                     2);
}
END_TEST

Suite *suite_store_salvage_past(void);

Suite *suite_store_salvage_past(void)
{
    Suite *s = suite_create("store_salvage_past");
    TCase *t = tcase_create("salvage");

    tcase_add_checked_fixture(t, salvage_setup, salvage_teardown);
    tcase_add_loop_test(t, no_checkpoint, 0, 4);
    tcase_add_test(t, no_checkpoint_and_no_manifest);
    tcase_add_test(t, no_checkpoint_but_a_ring);
    tcase_add_loop_test(t, truncated_log, 0, 8);
    tcase_add_loop_test(t, segment_of_a_truncated_past, 0, 8);
    tcase_add_loop_test(t, open_with_a_truncated_past, 0, 2);
    tcase_add_test(t, new_folder_must_be_empty);
    tcase_add_test(t, power_cut_anywhere);
    tcase_add_test(t, without_memory);
    tcase_add_test(t, pauses_change_nothing);
    suite_add_tcase(s, t);
    return s;
}
