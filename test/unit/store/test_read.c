/*
 * Reading: from memory and from disk, at every edge, and while the log changes.
 */
#include "store_fixture.h"

#include <check.h>
#include <string.h>

static struct store_fixture fx;
static struct kl_store_id id;
static struct kl_store_log *subject;

/* 40 records of 700 bytes, five to a segment; _i of some tests: where. */
enum { MEMORY, DISK, COLD, PLACES, LEO = 40, PER_SEGMENT = 5 };

static void make(int place)
{
    store_fixture_init(&fx);
    fx.config.ring_bytes = 1 << 20;
    fx.config.cache_bytes_max = place == MEMORY ? 1 << 20 : 0;
    id = store_fixture_id(0, 0);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 8192);
    store_fixture_fill(&fx, subject, LEO, 700, 1);
    store_fixture_settle(&fx);
    if (place == COLD) {
        store_fixture_close(&fx);
        subject = store_fixture_reopen(&fx, &id);
    }
}

static void setup(void)
{
    make(DISK);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

static void remake(int place)
{
    teardown();
    make(place);
}

static struct kl_store_read read_at(int64_t offset, int64_t end,
                                    uint32_t bytes_max)
{
    struct kl_store_read read;

    store_fixture_read(&fx, subject, offset, end, bytes_max, &read);
    return read;
}

static uint64_t read_size(const struct kl_store_read *read)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < read->slice_count; i++)
        size += read->slices[i].size;
    return size;
}

/* ---- places and limits
 * -------------------------------------------------------- */

START_TEST(read_from_every_offset)
{
    const struct kl_store_stats *st;

    remake(_i);
    st = kl_store_stats(fx.store);
    for (int64_t from = 0; from < LEO; from += 3)
        store_fixture_expect(&fx, subject, from, LEO, 700, 1);
    ck_assert_int_eq(kl_base_stat_get(&st->reads_disk) == 0, _i == MEMORY);
    ck_assert_int_eq(kl_base_stat_get(&st->reads_memory) == 0, _i != MEMORY);
}
END_TEST

START_TEST(read_of_what_is_only_queued)
{
    store_fixture_fill(&fx, subject, 3, 700, 1);
    store_fixture_expect(&fx, subject, LEO, LEO + 3, 700, 1);
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, LEO);
    store_fixture_expect(&fx, subject, LEO - 2, LEO + 3, 700, 1);
}
END_TEST

/* At least one frame is returned, never more than asked for otherwise. */
START_TEST(read_bytes_max)
{
    struct kl_store_read read;
    uint64_t one;

    remake(_i);
    read = read_at(7, LEO, 1);
    ck_assert_int_eq(read.code, 0);
    ck_assert_int_eq(read.next_offset, 8);
    one = read_size(&read);
    ck_assert_uint_gt(one, 700);
    kl_store_read_release(&read);
    for (uint32_t bytes = 1; bytes < 8 * one; bytes += 211) {
        read = read_at(5, LEO, bytes);
        ck_assert_int_eq(read.code, 0);
        ck_assert_uint_gt(read.slice_count, 0);
        if (read_size(&read) > bytes)
            ck_assert_int_eq(read.next_offset, 6);
        ck_assert_uint_eq(read_size(&read),
                          one * (uint64_t)(read.next_offset - 5));
        kl_store_read_release(&read);
    }
}
END_TEST

START_TEST(read_bytes_max_far_below_a_large_frame)
{
    struct kl_store_read read;
    struct kl_batch_info info;

    ck_assert_int_eq(
        store_fixture_append(&fx, subject, 60, 4000, 9, 0, fx.wall_ms), 0);
    store_fixture_fill(&fx, subject, 1, 700, 1);
    store_fixture_settle(&fx);
    read = read_at(LEO + 30, LEO + 61, 100);
    ck_assert_int_eq(read.code, 0);
    ck_assert_uint_eq(read.slice_count, 1);
    ck_assert_int_eq(kl_batch_frame_verify(read.slices[0].data,
                                           read.slices[0].size,
                                           kl_store_log_seed(subject), &info),
                     0);
    ck_assert_int_eq(info.base_offset, LEO);
    ck_assert_int_eq(read.next_offset, LEO + 60);
    kl_store_read_release(&read);
}
END_TEST

/* Frames that end above the end are not returned. */
START_TEST(read_end_inside_a_frame)
{
    struct kl_store_read read;

    remake(_i);
    ck_assert_int_eq(
        store_fixture_append(&fx, subject, 10, 100, 9, 0, fx.wall_ms), 0);
    store_fixture_settle(&fx);
    read = read_at(LEO - 1, LEO + 5, 1 << 20);
    ck_assert_int_eq(read.code, 0);
    ck_assert_int_eq(read.next_offset, LEO);
    kl_store_read_release(&read);
    read = read_at(LEO, LEO + 9, 1 << 20);
    ck_assert_int_eq(read.code, 0);
    ck_assert_uint_eq(read.slice_count, 0);
    ck_assert_int_eq(read.next_offset, LEO);
    kl_store_read_release(&read);
    read = read_at(LEO + 3, LEO + 10, 1 << 20);
    ck_assert_int_eq(read.next_offset, LEO + 10);
    kl_store_read_release(&read);
}
END_TEST

START_TEST(read_out_of_range)
{
    struct kl_store_read read;

    ck_assert_int_eq(kl_store_set_start(subject, 7), 0);
    store_fixture_settle(&fx);
    read = read_at(6, LEO, 1000);
    ck_assert_int_eq(read.code, KL_EOFFSETRANGE);
    ck_assert_uint_eq(read.slice_count, 0);
    read = read_at(-1, LEO, 1000);
    ck_assert_int_eq(read.code, KL_EOFFSETRANGE);
    read = read_at(LEO + 1, LEO + 9, 1000);
    ck_assert_int_eq(read.code, KL_EOFFSETRANGE);
    read = read_at(LEO, LEO, 1000);
    ck_assert_int_eq(read.code, 0);
    ck_assert_uint_eq(read.slice_count, 0);
    read = read_at(LEO, LEO + 5, 1000);
    ck_assert_int_eq(read.code, 0);
    ck_assert_uint_eq(read.slice_count, 0);
    read = read_at(9, 9, 1000);
    ck_assert_int_eq(read.code, 0);
    ck_assert_uint_eq(read.slice_count, 0);
}
END_TEST

START_TEST(read_more_slices_than_there_is_room_for)
{
    struct kl_store_read read;

    remake(MEMORY);
    read = read_at(0, LEO, UINT32_MAX);
    ck_assert_uint_eq(read.slice_count, KL_STORE_SLICES);
    ck_assert_int_eq(read.next_offset, KL_STORE_SLICES);
    kl_store_read_release(&read);
}
END_TEST

/* ---- cursor and buffer
 * ------------------------------------------------------------ */

/* As read_at, with a cursor and a buffer carried along. */
static void read_on(struct kl_store_read *read, int64_t end)
{
    int finished = 0;

    read->log = subject;
    read->offset = read->next_offset;
    read->end = end;
    read->bytes_max = 1000;
    read->user = &finished;
    if (kl_store_read(read) == 0)
        finished = 1;
    for (int i = 0; i < 1000 && !finished; i++)
        store_fixture_turn(&fx);
    ck_assert(finished);
}

START_TEST(read_with_a_cursor)
{
    struct kl_store_read read = {0};
    uint64_t opens, reads;

    for (int64_t i = 0; i < LEO; i++) {
        read_on(&read, LEO);
        ck_assert_int_eq(read.code, 0);
        ck_assert_int_eq(read.next_offset, i + 1);
        ck_assert_int_eq(read.cursor.offset, i + 1);
        ck_assert_uint_eq(read.cursor.instance, subject->instance);
        kl_store_read_release(&read);
    }
    /* In the middle of a segment it spares all other reads. */
    read.next_offset = 6;
    read_on(&read, LEO);
    kl_store_read_release(&read);
    opens = trace_vfs_count(&fx.trace, TRACE_VFS_OPEN);
    reads = trace_vfs_count(&fx.trace, TRACE_VFS_READ);
    read_on(&read, LEO);
    kl_store_read_release(&read);
    ck_assert_uint_eq(trace_vfs_count(&fx.trace, TRACE_VFS_OPEN), opens);
    ck_assert_uint_eq(trace_vfs_count(&fx.trace, TRACE_VFS_READ), reads + 1);
}
END_TEST

/* Only a hint: of another life, of a cut log or of anywhere it does no harm. */
START_TEST(read_with_a_cursor_that_is_void)
{
    struct kl_store_read read = {.next_offset = 12};

    read_on(&read, LEO);
    kl_store_read_release(&read);
    ck_assert_int_eq(kl_store_truncate(subject, 11), 0);
    store_fixture_fill(&fx, subject, 20, 333, 2);
    store_fixture_settle(&fx);
    read.next_offset = 13;
    read_on(&read, 31);
    ck_assert_int_eq(read.code, 0);
    kl_store_read_release(&read);
    ck_assert_int_eq(kl_store_delete(subject), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 8192);
    store_fixture_fill(&fx, subject, 20, 555, 2);
    store_fixture_settle(&fx);
    read_on(&read, 20);
    ck_assert_int_eq(read.code, 0);
    ck_assert_uint_gt(read.slice_count, 0);
    kl_store_read_release(&read);
}
END_TEST

START_TEST(read_into_a_buffer)
{
    struct kl_store_read read = {0};
    struct kl_base_chunk *buffer;

    ck_assert_int_eq(kl_base_chunk_new(&buffer, &fx.alloc.alloc, 8192), 0);
    read.buffer = buffer;
    read_on(&read, LEO);
    ck_assert_uint_eq(read.slice_count, 1);
    ck_assert_ptr_eq(read.slices[0].chunk, buffer);
    ck_assert_ptr_null(read.buffer);
    /* Handed on for the next read. */
    read.buffer = kl_base_chunk_ref(buffer);
    kl_base_chunk_unref(read.slices[0].chunk);
    read.slice_count = 0;
    read_on(&read, LEO);
    ck_assert_ptr_eq(read.slices[0].chunk, buffer);
    kl_store_read_release(&read);
    /* One that is too small is given back, not written over. */
    ck_assert_int_eq(kl_base_chunk_new(&buffer, &fx.alloc.alloc, 100), 0);
    read.buffer = buffer;
    read_on(&read, LEO);
    ck_assert_int_eq(read.code, 0);
    ck_assert_ptr_ne(read.slices[0].chunk, buffer);
    kl_store_read_release(&read);
    /* And one that was not needed is released with the read. */
    ck_assert_int_eq(kl_base_chunk_new(&buffer, &fx.alloc.alloc, 100), 0);
    read.buffer = buffer;
    read.next_offset = LEO;
    read_on(&read, LEO);
    ck_assert_ptr_eq(read.buffer, buffer);
    kl_store_read_release(&read);
}
END_TEST

/* ---- damage and faults
 * --------------------------------------------------------------- */

START_TEST(read_of_a_damaged_frame)
{
    struct kl_store_read read;
    char path[KL_STORE_PATH_MAX];
    uint64_t frame;

    read = read_at(0, 1, 1);
    frame = read_size(&read);
    kl_store_read_release(&read);
    kl_store_path_segment(subject, 10, "seg", path);
    store_fixture_patch(
        &fx, path, KL_STORE_BLOCK + 2 * frame + (_i ? frame - 3 : 9), "!", 1);
    read = read_at(10, LEO, 1 << 20); /* the good ones before it */
    ck_assert_int_eq(read.code, 0);
    ck_assert_int_eq(read.next_offset, 12);
    kl_store_read_release(&read);
    read = read_at(12, LEO, 1 << 20);
    ck_assert_int_eq(read.code, KL_ECORRUPT);
    ck_assert_uint_eq(read.slice_count, 0);
    kl_store_read_release(&read);
    /* What is not damaged is served. */
    store_fixture_expect(&fx, subject, 0, 12, 700, 1);
    store_fixture_expect(&fx, subject, 15, LEO, 700, 1);
    ck_assert_int_eq(kl_store_failure(fx.store, NULL), 0);
}
END_TEST

START_TEST(read_of_a_segment_that_is_short_or_gone)
{
    struct kl_store_read read;
    char path[KL_STORE_PATH_MAX];

    remake(COLD);
    kl_store_path_segment(subject, 10, "seg", path);
    if (_i == 0)
        store_fixture_unlink(&fx, path);
    else
        store_fixture_save(&fx, path, "short", _i == 1 ? 5 : 0);
    read = read_at(10, LEO, 1 << 20);
    ck_assert_int_eq(read.code, KL_ECORRUPT);
    ck_assert_int_eq(read.next_offset, 15);
    store_fixture_expect(&fx, subject, 15, LEO, 700, 1);
    kl_store_read_release(&read);
    store_fixture_expect(&fx, subject, 5, 10, 700, 1);
}
END_TEST

START_TEST(read_with_faults)
{
    for (uint64_t n = 1;; n++) {
        struct kl_store_read read;
        uint64_t failed;
        int code;

        remake(COLD);
        if (_i)
            fail_alloc_arm(&fx.alloc, n);
        else
            trace_vfs_fail(&fx.trace, TRACE_VFS_ANY, n, KL_EIO);
        read = read_at(17, LEO, 5000);
        code = read.code;
        kl_store_read_release(&read);
        failed = _i ? fx.alloc.failed : trace_vfs_failed(&fx.trace);
        fail_alloc_arm(&fx.alloc, 0);
        trace_vfs_heal(&fx.trace);
        if (!failed)
            break;
        ck_assert(code == 0 || code == (_i ? KL_ENOMEM : KL_EIO));
        store_fixture_expect(&fx, subject, 17, LEO, 700, 1);
        ck_assert_uint_lt(n, 100);
    }
}
END_TEST

/* ---- while the log changes
 * --------------------------------------------------------- */

START_TEST(read_of_a_log_that_is_deleted)
{
    struct kl_store_read read = {.log = subject, .end = LEO, .bytes_max = 5000};
    int finished = 0;

    remake(_i);
    read.log = subject;
    read.user = &finished;
    ck_assert_int_eq(kl_store_read(&read), KL_EAGAIN);
    ck_assert_int_eq(kl_store_delete(subject), 0);
    for (int i = 0; i < 200 && !finished; i++)
        store_fixture_turn(&fx);
    ck_assert(finished);
    ck_assert_int_eq(read.code, KL_ECLOSED);
    ck_assert_uint_eq(read.slice_count, 0);
    kl_store_read_release(&read);
    for (int i = 0; i < 5; i++)
        store_fixture_settle(&fx);
}
END_TEST

START_TEST(read_of_a_log_that_is_deleted_already)
{
    struct kl_store_read read = {.log = subject, .end = LEO, .bytes_max = 5000};

    ck_assert_int_eq(kl_store_delete(subject), 0);
    ck_assert_int_eq(kl_store_read(&read), 0);
    ck_assert_int_eq(read.code, KL_ECLOSED);
}
END_TEST

/* The job has read what is cut before it is looked at: it counts not. */
START_TEST(read_of_a_log_that_is_truncated)
{
    struct kl_store_read read = {.offset = 17, .bytes_max = 5000};
    int finished = 0;

    remake(_i);
    read.log = subject;
    read.user = &finished;
    read.end = LEO;
    ck_assert_int_eq(kl_store_read(&read), KL_EAGAIN);
    ck_assert_int_eq(kl_store_truncate(subject, 15), 0);
    for (int i = 0; i < 200 && !finished; i++)
        store_fixture_turn(&fx);
    ck_assert(finished);
    ck_assert_int_eq(read.code, KL_EOFFSETRANGE);
    ck_assert_uint_eq(read.slice_count, 0);
    kl_store_read_release(&read);
}
END_TEST

START_TEST(read_of_a_log_that_is_truncated_and_goes_on)
{
    struct kl_store_read read = {.offset = 17, .bytes_max = 5000};
    int finished = 0;

    remake(_i);
    read.log = subject;
    read.user = &finished;
    read.end = LEO;
    ck_assert_int_eq(kl_store_read(&read), KL_EAGAIN);
    ck_assert_int_eq(kl_store_truncate(subject, 15), 0);
    store_fixture_fill(&fx, subject, 10, 700, 2);
    for (int i = 0; i < 200 && !finished; i++)
        store_fixture_turn(&fx);
    ck_assert(finished);
    ck_assert_int_eq(read.code, 0);
    ck_assert_uint_gt(read.slice_count, 0);
    kl_store_read_release(&read);
    store_fixture_expect(&fx, subject, 15, 25, 700, 2);
}
END_TEST

/* Records below cut are those of fill with salt 1, others with salt 2. */
static void check_frames(const struct kl_store_read *read, int64_t offset,
                         int64_t cut)
{
    for (uint32_t i = 0; i < read->slice_count; i++) {
        const struct kl_store_slice *slice = &read->slices[i];
        const uint8_t *p = slice->data;

        for (; p < slice->data + slice->size; offset++) {
            struct kl_batch_iter it;
            struct kl_batch_record record;
            uint8_t want[700];

            ck_assert_int_eq(
                kl_batch_iter_init(&it, &fx.alloc.alloc, p,
                                   (size_t)(slice->data + slice->size - p),
                                   1 << 20),
                0);
            ck_assert_int_eq(kl_batch_iter_next(&it, &record), 0);
            ck_assert_int_eq(record.offset, offset);
            store_fixture_value((offset < cut ? 1 : 2) * 1000003ULL +
                                    (uint64_t)offset,
                                0, want, sizeof want);
            ck_assert_msg(memcmp(record.value, want, sizeof want) == 0,
                          "offset %lld was cut", (long long)offset);
            p += it.info.frame_size;
            kl_batch_iter_deinit(&it);
        }
    }
    ck_assert_int_eq(read->next_offset, offset);
    ck_assert_int_le(offset, store_fixture_view(subject).leo);
}

/* The truncation is accepted, even durable, and other records have come, but
 * the segment still holds what was cut. */
START_TEST(read_across_a_truncation_on_its_way)
{
    for (int turns = 0; turns < 12; turns++) {
        struct kl_store_read read;

        remake(DISK);
        ck_assert_int_eq(kl_store_truncate(subject, 23), 0);
        if (_i)
            store_fixture_fill(&fx, subject, 10, 700, 2);
        for (int i = 0; i < turns; i++)
            store_fixture_turn(&fx);
        /* Both at once, as the index or a cursor would lead to it. */
        read = read_at(21, INT64_MAX, 1 << 20);
        ck_assert_int_eq(read.code, 0);
        check_frames(&read, 21, 23);
        kl_store_read_release(&read);
        store_fixture_expect(&fx, subject, 21, 23, 700, 1);
        store_fixture_expect(&fx, subject, 23, _i ? 33 : 23, 700, 2);
    }
}
END_TEST

/* The segment that is read loses its place in the log. */
START_TEST(read_of_a_segment_that_is_dropped)
{
    struct kl_store_read read = {.offset = 2, .bytes_max = 5000};
    int finished = 0;

    read.log = subject;
    read.user = &finished;
    read.end = LEO;
    ck_assert_int_eq(kl_store_set_start(subject, 30), 0);
    ck_assert_int_eq(kl_store_read(&read), 0);
    ck_assert_int_eq(read.code, KL_EOFFSETRANGE);
    store_fixture_turn(&fx);
    read.offset = 31;
    ck_assert_int_eq(kl_store_read(&read), KL_EAGAIN);
    ck_assert_int_eq(kl_store_set_start(subject, LEO), 0);
    for (int i = 0; i < 200 && !finished; i++)
        store_fixture_turn(&fx);
    ck_assert(finished);
    ck_assert(read.code == 0 || read.code == KL_EOFFSETRANGE);
    kl_store_read_release(&read);
    for (int i = 0; i < 5; i++) {
        fx.now_ns += 300000000;
        store_fixture_settle(&fx);
    }
    ck_assert_uint_eq(subject->files->count, 1);
}
END_TEST

/* A crash stop with reads under way leaks nothing. */
START_TEST(read_under_way_at_a_crash)
{
    struct kl_store_read reads[4];
    int finished = 0;

    remake(_i);
    memset(reads, 0, sizeof reads);
    for (int i = 0; i < 4; i++) {
        reads[i].log = subject;
        reads[i].offset = i * 5;
        reads[i].end = LEO;
        reads[i].bytes_max = 1000;
        reads[i].user = &finished;
        ck_assert_int_eq(kl_store_read(&reads[i]), KL_EAGAIN);
    }
    store_fixture_crash(&fx);
    for (int i = 0; i < 4; i++)
        kl_store_read_release(&reads[i]);
}
END_TEST

/* ---- handles
 * -------------------------------------------------------------------------- */

START_TEST(read_of_many_segments_with_few_handles)
{
    fx.config.file_max = 8;
    store_fixture_close(&fx);
    subject = store_fixture_reopen(&fx, &id);
    for (int i = 0; i < 3; i++) {
        store_fixture_expect(&fx, subject, 0, LEO, 700, 1);
        store_fixture_settle(&fx);
        /* lock, two slots, four WAL files, and what is allowed */
        ck_assert_uint_le(fx.trace.open_count, 7 + 8 + 2);
    }
}
END_TEST

Suite *suite_store_read(void);

Suite *suite_store_read(void)
{
    Suite *suite = suite_create("store_read");
    TCase *t = tcase_create("read");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, read_from_every_offset, 0, PLACES);
    tcase_add_test(t, read_of_what_is_only_queued);
    tcase_add_loop_test(t, read_bytes_max, 0, PLACES);
    tcase_add_test(t, read_bytes_max_far_below_a_large_frame);
    tcase_add_loop_test(t, read_end_inside_a_frame, 0, PLACES);
    tcase_add_test(t, read_out_of_range);
    tcase_add_test(t, read_more_slices_than_there_is_room_for);
    tcase_add_test(t, read_with_a_cursor);
    tcase_add_test(t, read_with_a_cursor_that_is_void);
    tcase_add_test(t, read_into_a_buffer);
    tcase_add_loop_test(t, read_of_a_damaged_frame, 0, 2);
    tcase_add_loop_test(t, read_of_a_segment_that_is_short_or_gone, 0, 3);
    tcase_add_loop_test(t, read_with_faults, 0, 2);
    tcase_add_loop_test(t, read_of_a_log_that_is_deleted, DISK, PLACES);
    tcase_add_test(t, read_of_a_log_that_is_deleted_already);
    tcase_add_loop_test(t, read_of_a_log_that_is_truncated, DISK, PLACES);
    tcase_add_loop_test(t, read_of_a_log_that_is_truncated_and_goes_on, DISK,
                        PLACES);
    tcase_add_loop_test(t, read_across_a_truncation_on_its_way, 0, 2);
    tcase_add_test(t, read_of_a_segment_that_is_dropped);
    tcase_add_loop_test(t, read_under_way_at_a_crash, DISK, PLACES);
    tcase_add_test(t, read_of_many_segments_with_few_handles);
    suite_add_tcase(suite, t);
    return suite;
}
