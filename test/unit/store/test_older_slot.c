/*
 * The older of the two slots is enough at any moment: as long as no later one
 * is written, the ring keeps what it needs, and a full ring is waited for.
 */
#include "store_fixture.h"

#include <check.h>
#include <stdlib.h>

enum { VALUE = 1500 };

static const char *const names[2] = {"data/checkpoint.a", "data/checkpoint.b"};

static struct store_fixture f;
static struct kl_store_id id;
static struct kl_store_log *subject;

static void setup(void)
{
    store_fixture_init(&f);
    f.config.pending_bytes_max = 4 << 20;
    ck_assert_int_eq(store_fixture_open(&f), 0);
    id = store_fixture_id(1, 0);
    subject = store_fixture_create(&f, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);
}

static void teardown(void)
{
    store_fixture_deinit(&f);
}

static struct kl_store_slot slot_read(int index)
{
    struct kl_base_cursor c;
    struct kl_store_slot slot;
    size_t size;
    uint8_t *data = store_fixture_load(&f, names[index], &size);

    ck_assert_int_eq(kl_store_slot_decode(data, size, &c, &slot), 0);
    free(data);
    return slot;
}

static int newest(void)
{
    return slot_read(1).generation > slot_read(0).generation;
}

static void append_and_turn(void)
{
    int64_t leo = store_fixture_view(subject).leo;
    int rc = store_fixture_append(&f, subject, 1, VALUE,
                                  1000003 + (uint64_t)leo, 0, f.wall_ms);

    ck_assert(rc == 0 || rc == KL_EAGAIN);
    store_fixture_turn(&f);
}

/* Until the slots are in different files of the ring, the older one behind. */
static void spread_slots(void)
{
    for (int i = 0; i < 1000; i++) {
        struct kl_store_position older = slot_read(!newest()).position;
        struct kl_store_position newer = slot_read(newest()).position;

        if (older.file != newer.file && older.sequence < newer.sequence)
            return;
        append_and_turn();
    }
    ck_abort_msg("the slots stay together");
}

START_TEST(ring_keeps_what_the_older_slot_needs)
{
    uint8_t *older;
    int64_t durable;
    size_t size;
    int lost;

    spread_slots();
    /* No slot from now on; appends until the ring is full. */
    trace_lanes_hold(&f.jobs, KL_OS_LANE_CLEAN, TRACE_LANES_BEFORE);
    for (int i = 0; i < 200; i++)
        append_and_turn();
    durable = store_fixture_view(subject).durable_leo;
    ck_assert_int_gt(durable, 5);
    lost = newest();
    older = store_fixture_load(&f, names[!lost], &size);
    store_fixture_crash(&f); /* which writes the slot that was held */
    store_fixture_save(&f, names[!lost], older, size);
    store_fixture_unlink(&f, names[lost]);
    free(older);
    subject = store_fixture_reopen(&f, &id);
    ck_assert_int_ne(kl_store_verdict(f.store), KL_STORE_VERDICT_DAMAGED);
    ck_assert_int_ge(store_fixture_view(subject).leo, durable);
    store_fixture_expect(&f, subject, 0, durable, VALUE, 1);
}
END_TEST

Suite *suite_store_older_slot(void);

Suite *suite_store_older_slot(void)
{
    Suite *suite = suite_create("store_older_slot");
    TCase *t = tcase_create("older_slot");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, ring_keeps_what_the_older_slot_needs);
    suite_add_tcase(suite, t);
    return suite;
}
