/*
 * Saving what is good to a new folder: everything that exists in a valid form
 * anywhere is found, nothing else, and what is lost is told exactly.
 */
#include "need.h"
#include "salvage_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define fx wal.fx

/* ---- what is whole --------------------------------------------------------
 */

START_TEST(clean_folder)
{
    struct kl_store_view before;

    salvage_fill(200);
    kl_store_log_view(salv.a, &before);
    store_fixture_close(&fx);
    salvage_run();
    salvage_all_of(200);
    ck_assert_uint_eq(store_fixture_view(salv.a).instance, before.instance);
    ck_assert_int_eq(fx.store->identity.node_id, 1);
    ck_assert_int_eq(fx.store->identity.cluster_id.bytes[0], 7);
    ck_assert_int_eq(fx.store->identity.directory_id.bytes[0], 2);
    ck_assert_uint_eq(salv.log_count, 2);
    ck_assert_uint_eq(salv.logs[0].records, 200);
    salvage_goes_on(200, 0);
    store_fixture_close(&fx);
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

/* The folder of a node that joins, or has joined, a cluster. */
static void joins(uint16_t flags)
{
    struct kl_store_identity id = *kl_store_identity(fx.store);
    struct kl_base_buf buf;

    store_fixture_close(&fx);
    id.flags = flags;
    if (flags & KL_STORE_JOINS)
        memset(&id.cluster_id, 0, sizeof id.cluster_id);
    kl_base_buf_init(&buf, &fx.alloc.alloc);
    need_ok(kl_store_identity_encode(&buf, &id));
    store_fixture_save(&fx, "data/identity", buf.data, buf.size);
    kl_base_buf_deinit(&buf);
}

/* The new one is nobody's voter, and waits for nobody; where no cluster is
 * known it is one of its own. */
START_TEST(folder_that_joins)
{
    salvage_fill(20);
    joins(_i ? KL_STORE_JOINED : KL_STORE_JOINS);
    salvage_run();
    salvage_all_of(20);
    ck_assert_int_eq(kl_store_identity(fx.store)->flags, 0);
    ck_assert_int_eq(kl_store_identity(fx.store)->node_id, 1);
    ck_assert_int_eq(kl_store_identity(fx.store)->cluster_id.bytes[0],
                     _i ? 7 : 1);
}
END_TEST

START_TEST(crashed_folder)
{
    salvage_fill(200);
    store_fixture_fill(&fx, salv.a, 7, SALVAGE_SIZE, 1);
    store_fixture_fill(&fx, salv.b, 7, SALVAGE_SIZE, 2);
    wal.subject = salv.a;
    wal_commit();
    store_fixture_turn(&fx);
    store_fixture_crash(&fx);
    salvage_run();
    ck_assert_uint_eq(salv.count, 0);
    ck_assert_int_eq(store_fixture_view(salv.a).leo, 207);
    store_fixture_expect(&fx, salv.a, 0, 207, SALVAGE_SIZE, 1);
    salvage_goes_on(207, 0);
}
END_TEST

START_TEST(epochs_and_start)
{
    struct kl_store_view view;

    salvage_fill(50);
    need_ok(kl_store_start_epoch(salv.a, 3));
    salvage_fill(50);
    need_ok(kl_store_start_epoch(salv.a, 9));
    salvage_fill(100);
    need_ok(kl_store_set_start(salv.a, 33));
    need_ok(kl_store_start_epoch(salv.a, 11));
    store_fixture_settle(&fx);
    store_fixture_close(&fx);
    salvage_run();
    kl_store_log_view(salv.a, &view);
    ck_assert_int_eq(view.start, 33);
    ck_assert_int_eq(view.leo, 200);
    ck_assert_int_eq(kl_batch_epochs_at(view.epochs, 60), 3);
    ck_assert_int_eq(kl_batch_epochs_at(view.epochs, 100), 9);
    ck_assert_int_eq(kl_batch_epochs_last(view.epochs), 11);
    store_fixture_expect(&fx, salv.a, 33, 200, SALVAGE_SIZE, 1);
    ck_assert_uint_eq(salv.count, 0);
}
END_TEST

START_TEST(empty_logs)
{
    store_fixture_close(&fx);
    salvage_run();
    salvage_all_of(0);
    salvage_goes_on(0, 0);
}
END_TEST

/* ---- damage in segments ----------------------------------------------------
 */

START_TEST(frame_that_is_lost)
{
    salvage_fill(400);
    store_fixture_close(&fx);
    salvage_damage(_i & 1 ? &salv.loose : &salv.durable, 5, _i & 2 ? 200 : 20);
    salvage_run();
    salvage_all_but(_i & 1 ? salv.b : salv.a, _i & 1 ? 2 : 1, 5, 6, 400);
    ck_assert_int_eq(salv.lost[0].why,
                     _i & 2 ? KL_STORE_FINDING_BODY : KL_STORE_FINDING_FRAME);
    salvage_goes_on(400, 1);
    store_fixture_close(&fx);
    inspect_look(&fx);
    inspect_range(inspect_only(KL_STORE_FINDING_GAP, KL_STORE_DAMAGE, ""), 5,
                  6);
}
END_TEST

/* The ring has a copy, though a checkpoint has passed it long ago. */
START_TEST(frame_that_the_ring_still_has)
{
    salvage_fill(30);
    store_fixture_close(&fx);
    salvage_damage(&salv.durable, 25, 200);
    salvage_run();
    salvage_all_of(30);
}
END_TEST

START_TEST(segment_that_is_lost)
{
    int64_t from, to;

    salvage_fill(400);
    if (_i == 2) { /* the last one */
        from = kl_store_files_active(salv.a)->info.base;
        to = 400;
    } else {
        from = salv.a->files->items[_i]->info.base;
        to = salv.a->files->items[_i]->info.end;
    }
    store_fixture_close(&fx);
    {
        char name[40];

        snprintf(name, sizeof name, "%020lld.seg", (long long)from);
        store_fixture_unlink(&fx, inspect_path(&fx, &salv.durable, name));
    }
    salvage_run();
    if (_i == 2) { /* the ring has it */
        salvage_all_of(400);
        return;
    }
    salvage_all_but(salv.a, 1, from, to, 400);
    ck_assert_int_eq(salv.lost[0].why, KL_STORE_FINDING_SEGMENT);
    salvage_goes_on(400, (int)(to - from));
}
END_TEST

/* Nobody appends where records were lost, however many of them. */
START_TEST(end_that_is_lost)
{
    salvage_fill(400);
    store_fixture_close(&fx);
    for (int i = 0; i < 4; i++) {
        char path[32];
        uint8_t zeros[16 * 1024] = {0};

        snprintf(path, sizeof path, "data/wal/%d", i);
        store_fixture_save(&fx, path, zeros, sizeof zeros);
    }
    {
        char name[40];

        snprintf(name, sizeof name, "%020d.seg", 392);
        for (int i = 300; i < 400; i++) {
            snprintf(name, sizeof name, "%020d.seg", i);
            if (store_fixture_exists(&fx,
                                     inspect_path(&fx, &salv.durable, name)))
                store_fixture_unlink(&fx,
                                     inspect_path(&fx, &salv.durable, name));
        }
    }
    salvage_run();
    ck_assert_uint_eq(salv.count, 1);
    ck_assert_int_eq(salv.lost[0].end, 400);
    ck_assert_int_eq(store_fixture_view(salv.a).leo, 400);
    salvage_goes_on(400, (int)(400 - salv.lost[0].from));
}
END_TEST

START_TEST(manifest_that_is_lost)
{
    salvage_fill(400);
    store_fixture_close(&fx);
    inspect_flip(&fx, inspect_path(&fx, &salv.durable, "manifest"), 40);
    store_fixture_unlink(&fx, inspect_path(&fx, &salv.loose, "manifest"));
    salvage_run();
    salvage_all_of(400);
    salvage_goes_on(400, 0);
}
END_TEST

START_TEST(headers_and_indexes_that_are_damaged)
{
    salvage_fill(400);
    store_fixture_close(&fx);
    inspect_flip(
        &fx, inspect_path(&fx, &salv.durable, "00000000000000000000.seg"), 30);
    inspect_flip(
        &fx, inspect_path(&fx, &salv.loose, "00000000000000000000.seg"), 30);
    inspect_flip(
        &fx, inspect_path(&fx, &salv.durable, "00000000000000000000.idx"), 30);
    salvage_run();
    salvage_all_of(400);
}
END_TEST

/* ---- damage in the ring ----------------------------------------------------
 */

/* No time passes, so that nothing is written behind. */
static void commit_at_once(void)
{
    do {
        store_fixture_turn(&fx);
        fx.now_ns -= 1000000;
    } while (store_fixture_view(salv.a).durable_leo <
             store_fixture_view(salv.a).leo);
}

/* A group of five records of a, one of more behind it; both are in the ring
 * alone, or with spare in a segment too. */
static struct kl_store_position rotten(struct kl_store_group_header *h,
                                       int spare)
{
    struct kl_store_position at;

    /* So large that no checkpoint comes in between. */
    salvage_teardown();
    salvage_setup_ring(1 << 20);
    salvage_fill(50);
    wal.subject = salv.a;
    at = fx.store->wal.next;
    store_fixture_fill(&fx, salv.a, 5, SALVAGE_SIZE, 1);
    commit_at_once();
    if (spare)
        store_fixture_settle(&fx);
    store_fixture_fill(&fx, salv.a, 5, SALVAGE_SIZE, 1);
    commit_at_once();
    store_fixture_crash(&fx);
    {
        /* The store is closed: the group is read as it is. */
        char path[32];
        size_t size;
        uint8_t *file;

        snprintf(path, sizeof path, "data/wal/%u", (unsigned)at.file);
        file = store_fixture_load(&fx, path, &size);
        if (kl_store_group_decode(file + at.offset, h)) {
            free(file);
            at.file = (at.file + 1) % 4;
            at.offset = 0;
            snprintf(path, sizeof path, "data/wal/%u", (unsigned)at.file);
            file = store_fixture_load(&fx, path, &size);
            need_ok(kl_store_group_decode(file, h));
        }
        free(file);
    }
    return at;
}

START_TEST(group_whose_header_is_lost)
{
    struct kl_store_group_header h;
    struct kl_store_position at = rotten(&h, _i);

    /* Its frames are still there, and tell themselves whose they are. */
    wal_spoil(&at, h.size, 20, WAL_FLIP);
    salvage_run();
    ck_assert_uint_eq(salv.count, 0);
    store_fixture_expect(&fx, salv.a, 0, 60, SALVAGE_SIZE, 1);
}
END_TEST

START_TEST(group_whose_frame_is_lost)
{
    struct kl_store_group_header h;
    struct kl_store_position at = rotten(&h, _i & 1);
    uint32_t frames =
        KL_STORE_GROUP_HEADER + h.entry_count * KL_STORE_ENTRY_HEADER;

    wal_spoil(&at, h.size, frames + 150, WAL_FLIP);
    if (_i & 2)
        wal_spoil(&at, h.size, 20, WAL_FLIP);
    salvage_run();
    if (_i & 1) {
        ck_assert_uint_eq(salv.count, 0);
        store_fixture_expect(&fx, salv.a, 0, 60, SALVAGE_SIZE, 1);
    } else {
        salvage_all_but(salv.a, 1, 50, 51, 60);
        ck_assert_int_eq(salv.lost[0].why, _i & 2 ? KL_STORE_FINDING_WAL_ROT
                                                  : KL_STORE_FINDING_WAL_FRAME);
    }
}
END_TEST

START_TEST(group_that_is_all_lost)
{
    struct kl_store_group_header h;
    struct kl_store_position at = rotten(&h, _i);

    wal_spoil(&at, h.size, 0, WAL_ZEROS);
    salvage_run();
    if (_i) {
        ck_assert_uint_eq(salv.count, 0);
        store_fixture_expect(&fx, salv.a, 0, 60, SALVAGE_SIZE, 1);
    } else {
        salvage_all_but(salv.a, 1, 50, 55, 60);
    }
}
END_TEST

START_TEST(torn_end_is_no_loss)
{
    struct kl_store_group_header h;
    struct kl_store_position at = rotten(&h, 0);

    at.offset += h.size;
    wal_spoil(&at, 4096, 100, WAL_GARBAGE);
    salvage_run();
    ck_assert_uint_eq(salv.count, 0);
    ck_assert_int_eq(store_fixture_view(salv.a).leo, 55);
}
END_TEST

/* What an earlier open has put aside is looked through as well. */
START_TEST(copies_in_quarantine)
{
    const char *path;
    struct kl_batch_info info;
    size_t size;
    uint8_t *data;
    uint64_t at;

    salvage_fill(400);
    store_fixture_close(&fx);
    path = inspect_path(&fx, &salv.durable, "00000000000000000000.seg");
    at = inspect_frame(&fx, path, &salv.durable, 5, &info);
    data = store_fixture_load(&fx, path, &size);
    store_fixture_save(&fx, "data/quarantine/wal.7", data + at - 3,
                       info.frame_size + 8);
    free(data);
    salvage_damage(&salv.durable, 5, 200);
    salvage_run();
    salvage_all_of(400);
}
END_TEST

Suite *suite_store_salvage(void);

Suite *suite_store_salvage(void)
{
    Suite *s = suite_create("store_salvage");
    TCase *t = tcase_create("salvage");

    tcase_add_checked_fixture(t, salvage_setup, salvage_teardown);
    tcase_add_test(t, clean_folder);
    tcase_add_loop_test(t, folder_that_joins, 0, 2);
    tcase_add_test(t, crashed_folder);
    tcase_add_test(t, epochs_and_start);
    tcase_add_test(t, empty_logs);
    tcase_add_loop_test(t, frame_that_is_lost, 0, 4);
    tcase_add_test(t, frame_that_the_ring_still_has);
    tcase_add_loop_test(t, segment_that_is_lost, 0, 3);
    tcase_add_test(t, end_that_is_lost);
    tcase_add_test(t, manifest_that_is_lost);
    tcase_add_test(t, headers_and_indexes_that_are_damaged);
    tcase_add_loop_test(t, group_whose_header_is_lost, 0, 2);
    tcase_add_loop_test(t, group_whose_frame_is_lost, 0, 4);
    tcase_add_loop_test(t, group_that_is_all_lost, 0, 2);
    tcase_add_test(t, torn_end_is_no_loss);
    tcase_add_test(t, copies_in_quarantine);
    suite_add_tcase(s, t);
    return s;
}
