/*
 * Batches that compaction has thinned out: few records, many offsets. Offsets
 * in an index are 32 bits wide and count from the segment's first one: a
 * segment ends before they would not fit.
 */
#include "store_fixture.h"

#include "base/endian.h"

#include <check.h>
#include <stdlib.h>

enum { LAST_DELTA = 55, FRAMES = 9, VALUE = 600 };

static struct store_fixture f;
static struct kl_store_id id;
static struct kl_store_log *subject;

static void setup(void)
{
    store_fixture_init(&f);
    ck_assert_int_eq(store_fixture_open(&f), 0);
    id = store_fixture_id(1, 0);
}

static void teardown(void)
{
    store_fixture_deinit(&f);
}

/* A record at the LEO in a batch of so many offsets. */
static void append(uint32_t offsets, uint64_t tag)
{
    struct kl_store_view view = store_fixture_view(subject);
    struct kl_batch_builder builder;
    struct kl_base_chunk *chunk;
    uint8_t value[VALUE];
    struct kl_batch_input in = {
        .timestamp = (int64_t)tag, .value = value, .value_size = VALUE};

    store_fixture_value(tag, 0, value, VALUE);
    kl_batch_builder_init(&builder, &f.alloc.alloc);
    ck_assert_int_eq(kl_batch_builder_append(&builder, 1 << 20, 1024, &in), 0);
    ck_assert_int_eq(kl_batch_builder_finish(
                         &builder, kl_store_log_seed(subject), 0, &chunk),
                     0);
    kl_batch_builder_deinit(&builder);
    kl_base_put_be32(chunk->data + LAST_DELTA, offsets - 1);
    kl_batch_frame_stamp(chunk->data, kl_store_log_seed(subject), view.leo, 0);
    ck_assert_int_eq(kl_store_append(subject, chunk), 0);
    store_fixture_settle(&f);
}

static void check_segments(void)
{
    const struct kl_store_files *files = subject->files;

    ck_assert_uint_gt(files->count, 1);
    for (size_t i = 0; i < files->count; i++) {
        const struct kl_store_segment_info *info = &files->items[i]->info;

        ck_assert_int_le(info->end - info->base, INT32_MAX);
    }
}

static void check_index(const struct kl_store_segment *seg)
{
    struct kl_store_index_entry entries[KL_STORE_INDEX_FANOUT];
    char path[KL_STORE_PATH_MAX];
    uint8_t *data;
    uint32_t count;
    size_t size;

    kl_store_path_segment(subject, seg->info.base, "idx", path);
    if (!store_fixture_exists(&f, path))
        return;
    data = store_fixture_load(&f, path, &size);
    for (size_t at = 0; at < size; at += KL_STORE_BLOCK)
        ck_assert_int_eq(kl_store_index_block_decode(data + at, seg->info.base,
                                                     entries, &count),
                         0);
    free(data);
}

static void check_record(int64_t offset, uint64_t tag)
{
    struct kl_store_read read;
    struct kl_batch_record record;
    struct kl_batch_iter it;
    uint8_t value[VALUE];
    int64_t found;

    store_fixture_read(&f, subject, offset, store_fixture_view(subject).leo, 1,
                       &read);
    ck_assert_int_eq(read.code, 0);
    ck_assert_uint_eq(read.slice_count, 1);
    ck_assert_int_eq(kl_batch_iter_init(&it, &f.alloc.alloc,
                                        read.slices[0].data,
                                        read.slices[0].size, 0),
                     0);
    ck_assert_int_eq(kl_batch_iter_next(&it, &record), 0);
    ck_assert_int_eq(record.offset, offset);
    store_fixture_value(tag, 0, value, VALUE);
    ck_assert_mem_eq(record.value, value, VALUE);
    kl_batch_iter_deinit(&it);
    kl_store_read_release(&read);
    ck_assert_int_eq(store_fixture_lookup(&f, subject, (int64_t)tag,
                                          store_fixture_view(subject).leo,
                                          &found),
                     0);
    ck_assert_int_eq(found, offset);
}

START_TEST(offsets_in_a_segment_fit_its_index)
{
    /* As many offsets as a batch can have, a few, just too many for two. */
    static const uint32_t counts[FRAMES] = {
        10, INT32_MAX, INT32_MAX, 5, 1 << 30, (1 << 30) - 5, 1, INT32_MAX, 3};
    int64_t offsets[FRAMES];

    subject = store_fixture_create(
        &f, &id, _i ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT, 1 << 20);
    for (int i = 0; i < FRAMES; i++) {
        offsets[i] = store_fixture_view(subject).leo;
        append(counts[i], (uint64_t)i + 1);
    }
    check_segments();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < FRAMES; i++)
            check_record(offsets[i], (uint64_t)i + 1);
        for (size_t i = 0; i < subject->files->count; i++)
            check_index(subject->files->items[i]);
        store_fixture_crash(&f);
        subject = store_fixture_reopen(&f, &id);
    }
}
END_TEST

Suite *suite_store_far(void);

Suite *suite_store_far(void)
{
    Suite *suite = suite_create("store_far");
    TCase *t = tcase_create("far");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, offsets_in_a_segment_fit_its_index, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
