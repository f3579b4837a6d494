/*
 * Looking at the write-ahead log: torn, rotten, and what it costs.
 */
#include "inspect_help.h"
#include "need.h"
#include "wal_help.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Two groups, of which the second, with offsets 3 to 7, is to be spoilt, and a
 * small one behind them; crashed. With spare, segments have a copy. */
static struct kl_store_position rotten(struct kl_store_group_header *h,
                                       uint32_t *used, int spare)
{
    struct kl_store_position at = wal_two_groups(h, used);

    if (spare)
        store_fixture_settle(&wal.fx);
    store_fixture_fill(&wal.fx, wal.subject, 1, 10, 1);
    wal_commit();
    store_fixture_crash(&wal.fx);
    return at;
}

START_TEST(torn_end)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    const struct kl_store_finding *f;
    uint32_t used;

    at = wal_two_groups(&h, &used);
    store_fixture_crash(&wal.fx);
    inspect_look(&wal.fx);
    ck_assert_uint_eq(found.count, 0);
    wal_spoil(&at, h.size, used - 1, WAL_FLIP);
    inspect_look(&wal.fx);
    f = inspect_only(KL_STORE_FINDING_WAL_TORN, KL_STORE_HARMLESS, "wal/1");
    ck_assert(!f->has_log);
    ck_assert_uint_eq(f->position, at.offset);
    /* Only zeros where the next group would be: nothing was begun. */
    wal_spoil(&at, h.size, 0, WAL_ZEROS);
    inspect_look(&wal.fx);
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

START_TEST(rotten_frame)
{
    struct kl_store_group_header h;
    const struct kl_store_finding *f;
    struct kl_store_position at;
    uint32_t used;

    at = rotten(&h, &used, _i);
    wal_spoil(&at, h.size, used - 1, WAL_FLIP);
    inspect_look(&wal.fx);
    f = inspect_find(KL_STORE_FINDING_WAL_FRAME);
    ck_assert_ptr_nonnull(f);
    ck_assert(f->has_log);
    ck_assert_int_eq(f->severity, _i ? KL_STORE_COVERED : KL_STORE_DAMAGE);
    inspect_range(f, 7, 8);
    ck_assert_str_eq(f->file, "wal/1");
    ck_assert_uint_gt(f->position, at.offset);
    ck_assert_uint_lt(f->position, at.offset + used);
    /* The group is one finding, the frame another. */
    ck_assert_uint_eq(found.count, 2);
    f = inspect_find(KL_STORE_FINDING_WAL_ROT);
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(f->severity, _i ? KL_STORE_COVERED : KL_STORE_DAMAGE);
    ck_assert_uint_eq(f->position, at.offset);
    ck_assert_uint_eq(f->size, h.size);
}
END_TEST

START_TEST(rotten_header)
{
    struct kl_store_group_header h;
    const struct kl_store_finding *f;
    struct kl_store_position at;
    uint32_t used;

    at = rotten(&h, &used, _i);
    wal_spoil(&at, h.size, 20, WAL_FLIP);
    inspect_look(&wal.fx);
    ck_assert_uint_eq(found.count, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(found.items[i].kind, KL_STORE_FINDING_WAL_ROT);
    f = &found.items[0]; /* the log, as the later group proves it */
    ck_assert(f->has_log);
    inspect_range(f, 3, 8);
    ck_assert_int_eq(f->severity, _i ? KL_STORE_COVERED : KL_STORE_DAMAGE);
    f = &found.items[1]; /* the group */
    ck_assert(!f->has_log);
    ck_assert_str_eq(f->file, "wal/1");
    ck_assert_uint_eq(f->position, at.offset);
    ck_assert_uint_eq(f->size, h.size);
    ck_assert_int_eq(f->severity, KL_STORE_DAMAGE);
}
END_TEST

/* Only the seal proves that the last group had been durable: how far the log
 * went nobody can say. */
START_TEST(rotten_before_a_seal)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    uint32_t used;

    at = wal_two_groups(&h, &used);
    wal_idle();
    store_fixture_crash(&wal.fx);
    wal_spoil(&at, h.size, 20, WAL_FLIP);
    inspect_look(&wal.fx);
    ck_assert_ptr_nonnull(inspect_find(KL_STORE_FINDING_WAL_ROT));
    inspect_range(inspect_find(KL_STORE_FINDING_SUSPECT), 3, -1);
    ck_assert_uint_eq(found.count, 2);
}
END_TEST

START_TEST(clean_stop_is_the_last_word)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    uint32_t used;

    at = wal_two_groups(&h, &used);
    store_fixture_close(&wal.fx);
    wal_spoil(&at, h.size, 0, WAL_GARBAGE);
    inspect_look(&wal.fx);
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

START_TEST(group_that_only_the_older_checkpoint_needs)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    uint32_t used;

    at = wal_two_groups(&h, &used);
    kl_store_checkpoint_request(wal.fx.store);
    store_fixture_settle(&wal.fx);
    store_fixture_fill(&wal.fx, wal.subject, 1, 10, 1);
    wal_commit();
    store_fixture_crash(&wal.fx);
    inspect_look(&wal.fx);
    ck_assert_uint_eq(found.count, 0);
    wal_spoil(&at, h.size, _i ? used - 1 : 20, WAL_FLIP);
    inspect_look(&wal.fx);
    ck_assert_uint_eq(
        inspect_only(KL_STORE_FINDING_WAL_OLD, KL_STORE_COVERED, "wal/1")
            ->position,
        at.offset);
}
END_TEST

START_TEST(file_of_the_ring_is_missing_or_short)
{
    store_fixture_close(&wal.fx);
    inspect_cut(&wal.fx, "data/wal/2", 8192);
    inspect_look(&wal.fx);
    inspect_only(KL_STORE_FINDING_WAL_FILE, KL_STORE_DAMAGE, "wal/2");
    store_fixture_unlink(&wal.fx, "data/wal/3");
    store_fixture_unlink(&wal.fx, "data/wal/0");
    inspect_look(&wal.fx);
    ck_assert_uint_eq(found.count, 3);
}
END_TEST

/* Any byte of what was durable: either it does not matter, or it is told. */
START_TEST(any_flipped_byte)
{
    struct kl_store_group_header h;
    struct kl_store_position at;
    uint32_t used;

    at = rotten(&h, &used, 0);
    for (uint32_t i = 0; i < h.size; i += 13) {
        wal_spoil(&at, h.size, i, WAL_FLIP);
        inspect_look(&wal.fx);
        ck_assert_msg((found.stats.findings[KL_STORE_DAMAGE] > 0) == (i < used),
                      "byte %u of %u", i, used);
        wal_spoil(&at, h.size, i, WAL_FLIP);
    }
}
END_TEST

Suite *suite_store_inspect_wal(void);

Suite *suite_store_inspect_wal(void)
{
    Suite *s = suite_create("store_inspect_wal");
    TCase *t = tcase_create("wal");

    tcase_add_checked_fixture(t, wal_setup, wal_teardown);
    tcase_add_test(t, torn_end);
    tcase_add_loop_test(t, rotten_frame, 0, 2);
    tcase_add_loop_test(t, rotten_header, 0, 2);
    tcase_add_test(t, rotten_before_a_seal);
    tcase_add_test(t, clean_stop_is_the_last_word);
    tcase_add_loop_test(t, group_that_only_the_older_checkpoint_needs, 0, 2);
    tcase_add_test(t, file_of_the_ring_is_missing_or_short);
    tcase_add_test(t, any_flipped_byte);
    suite_add_tcase(s, t);
    return s;
}
