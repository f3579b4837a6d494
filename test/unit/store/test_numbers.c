/*
 * Numbers at their ends: the last offsets there are, timestamps that 32 bits of
 * seconds do not hold, a wall clock at either end of them, and records of every
 * size.
 */
#include "need.h"
#include "store_fixture.h"

#include <check.h>
#include <string.h>

enum { VALUE = 700, RECORDS = 30 };

static struct store_fixture fx;
static struct kl_store_id id;
static struct kl_store_log *subject;

static void setup(void)
{
    store_fixture_init(&fx);
    fx.config.ring_bytes = 1 << 20;
    id = store_fixture_id(0, 0);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

/* ---- offsets ----------------------------------------------------------- */

static const int64_t first = INT64_MAX - RECORDS;

/* A log whose last offset is in use, in several segments. */
static void fill_to_the_end(enum kl_store_flush flush)
{
    subject = store_fixture_create(&fx, &id, flush, 8192);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_reset(&subject, first, -1), 0);
    store_fixture_settle(&fx);
    store_fixture_fill(&fx, subject, RECORDS, VALUE, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(store_fixture_view(subject).leo, INT64_MAX);
    ck_assert_uint_gt(subject->files->count, 2);
}

static void check_full(void)
{
    struct kl_store_view view = store_fixture_view(subject);

    ck_assert_int_eq(view.leo, INT64_MAX);
    ck_assert_int_eq(view.durable_leo, INT64_MAX);
    store_fixture_expect(&fx, subject, view.start, INT64_MAX, VALUE, 1);
    ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
}

START_TEST(last_offsets)
{
    int64_t found;

    fill_to_the_end(_i ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT);
    for (int life = 0; life < 3; life++) {
        check_full();
        ck_assert_int_eq(
            store_fixture_lookup(&fx, subject, 0, INT64_MAX, &found), 0);
        ck_assert_int_eq(found, first);
        if (life == 0)
            store_fixture_crash(&fx);
        else
            store_fixture_close(&fx);
        subject = store_fixture_reopen(&fx, &id);
    }
}
END_TEST

START_TEST(last_offsets_cut_and_deleted)
{
    fill_to_the_end(_i ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT);
    ck_assert_int_eq(kl_store_truncate(subject, INT64_MAX - 7), 0);
    store_fixture_settle(&fx);
    store_fixture_fill(&fx, subject, 7, VALUE, 1);
    store_fixture_settle(&fx);
    check_full();
    ck_assert_int_eq(kl_store_set_start(subject, INT64_MAX - 3), 0);
    store_fixture_settle(&fx);
    check_full();
    store_fixture_close(&fx);
    subject = store_fixture_reopen(&fx, &id);
    ck_assert_int_eq(store_fixture_view(subject).start, INT64_MAX - 3);
    check_full();
    ck_assert_int_eq(kl_store_set_start(subject, INT64_MAX), 0);
    store_fixture_settle(&fx);
    store_fixture_crash(&fx);
    subject = store_fixture_reopen(&fx, &id);
    ck_assert_int_eq(store_fixture_view(subject).start, INT64_MAX);
    check_full();
}
END_TEST

/* ---- times ------------------------------------------------------------- */

/* Seconds that 31 and 32 bits hold, and the last ones of years with four
 * digits. */
static const int64_t times[] = {0,
                                1,
                                999,
                                INT64_C(2147483647999),
                                INT64_C(2147483648000),
                                INT64_C(4294967295999),
                                INT64_C(4294967296000),
                                INT64_C(253402300799999),
                                INT64_MAX};
enum { TIMES = sizeof times / sizeof times[0] };

START_TEST(timestamps)
{
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 8192);
    for (int i = 0; i < TIMES; i++)
        for (int n = 0; n < 4; n++)
            ck_assert_int_eq(
                store_fixture_append(&fx, subject, 1, VALUE, 0, 0, times[i]),
                0);
    store_fixture_settle(&fx);
    for (int life = 0; life < 3; life++) {
        for (int i = 0; i < TIMES; i++) {
            int64_t found;

            ck_assert_int_eq(
                store_fixture_lookup(&fx, subject, times[i], INT64_MAX, &found),
                0);
            ck_assert_int_eq(found, 4 * i);
            if (i == 0)
                continue;
            ck_assert_int_eq(store_fixture_lookup(&fx, subject,
                                                  times[i - 1] + 1, INT64_MAX,
                                                  &found),
                             0);
            ck_assert_int_eq(found, 4 * i);
        }
        if (life == 0)
            store_fixture_crash(&fx);
        else
            store_fixture_close(&fx);
        subject = store_fixture_reopen(&fx, &id);
    }
}
END_TEST

/* A wall clock that begins in 1970, or goes past 2106: segments roll and go at
 * their age. */
START_TEST(wall_clock)
{
    static const int64_t starts[] = {1, INT64_C(2147483647000),
                                     INT64_C(4294967295000)};
    const int64_t minute = 60000;
    struct kl_store_log_config config;

    fx.wall_ms = starts[_i];
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    config = subject->config;
    config.segment_ms = minute;
    config.retention_ms = 3 * minute;
    kl_store_log_configure(subject, &config);
    for (int i = 0; i < 10; i++) {
        store_fixture_fill(&fx, subject, 1, VALUE, 1);
        store_fixture_settle(&fx);
        fx.now_ns += (minute + 1) * 1000000;
        fx.wall_ms += minute + 1;
        store_fixture_settle(&fx);
    }
    ck_assert_int_eq(store_fixture_view(subject).start, 8);
    ck_assert_uint_eq(subject->files->count, 2);
    store_fixture_crash(&fx);
    subject = store_fixture_reopen(&fx, &id);
    store_fixture_expect(&fx, subject, 8, 10, VALUE, 1);
}
END_TEST

/* ---- sizes ------------------------------------------------------------- */

enum { LARGEST = 65536, BATCH = 1 << 20 };

static uint8_t bytes[2 * LARGEST]; /* a value of size n begins at bytes + n */

/* Appends records of the sizes from the given one up, as many as one batch
 * takes; the size of the next one. */
static uint32_t append_sizes(uint32_t size)
{
    uint64_t seed = kl_store_log_seed(subject);
    struct kl_batch_builder builder;
    struct kl_base_chunk *chunk;

    kl_batch_builder_init(&builder, &fx.caller);
    for (; size <= LARGEST; size++) {
        struct kl_batch_input in = {
            .timestamp = size, .value = bytes + size, .value_size = size};

        if (kl_batch_builder_append(&builder, BATCH, BATCH, &in))
            break;
    }
    need_ok(kl_batch_builder_finish(&builder, seed, 0, &chunk));
    kl_batch_builder_deinit(&builder);
    kl_batch_frame_stamp(chunk->data, seed, store_fixture_view(subject).leo, 0);
    need_ok(kl_store_append(subject, chunk));
    return size;
}

/* The batch of these sizes, which are its offsets too. */
static void expect_sizes(uint32_t from, uint32_t to)
{
    struct kl_batch_record record;
    struct kl_store_read read;
    struct kl_batch_iter it;

    store_fixture_read(&fx, subject, from, to, BATCH, &read);
    need_ok(read.code);
    need(read.slice_count == 1);
    need_ok(kl_batch_iter_init(&it, &fx.alloc.alloc, read.slices[0].data,
                               read.slices[0].size, BATCH));
    for (uint32_t size = from; size < to; size++) {
        need_ok(kl_batch_iter_next(&it, &record));
        need(record.offset == size && record.timestamp == size);
        need(record.value_size == size);
        need(memcmp(record.value, bytes + size, size) == 0);
    }
    need(kl_batch_iter_next(&it, &record) == KL_EEND);
    kl_batch_iter_deinit(&it);
    kl_store_read_release(&read);
}

START_TEST(every_record_size)
{
    uint32_t next;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    store_fixture_crash(&fx);
    fx.config.path = "sizes";
    fx.config.ring_bytes = 16 << 20;
    fx.config.pending_bytes_max = 4 << 20;
    fx.config.cache_bytes_max = 0;
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 8 << 20);
    for (uint32_t size = 0; size <= LARGEST; size = next) {
        next = append_sizes(size);
        store_fixture_settle(&fx);
        expect_sizes(size, next);
        need_ok(kl_store_set_start(subject, next)); /* keeps the disk small */
    }
}
END_TEST

Suite *suite_store_numbers(void);

Suite *suite_store_numbers(void)
{
    Suite *suite = suite_create("store_numbers");
    TCase *t = tcase_create("numbers");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, last_offsets, 0, 2);
    tcase_add_loop_test(t, last_offsets_cut_and_deleted, 0, 2);
    tcase_add_test(t, timestamps);
    tcase_add_loop_test(t, wall_clock, 0, 3);
    tcase_add_test(t, every_record_size);
    suite_add_tcase(suite, t);
    return suite;
}
