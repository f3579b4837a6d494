/*
 * Walking over the frames of a segment file.
 */
#include "store_fixture.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 300, BASE = 50 };

static struct store_fixture fx;
static struct kl_os_file *file;
static uint64_t seed;
static uint64_t positions[FRAMES + 1];
static int64_t offsets[FRAMES + 1];

/* A file of frames of 1 to 3 records and of many sizes, one larger than what
 * the walk reads at once. */
static void write_frames(void)
{
    uint64_t at = KL_STORE_BLOCK;
    int64_t offset = BASE;

    for (int i = 0; i < FRAMES; i++) {
        uint32_t size = i == 150 ? 300000 : (uint32_t)(i * 37 % 3000);
        uint8_t *value = calloc(1, size + 1);
        struct kl_batch_builder b;
        struct kl_base_chunk *chunk;
        struct kl_batch_input in = {
            .timestamp = i, .value = value, .value_size = size};
        struct kl_os_iovec part;

        kl_batch_builder_init(&b, &fx.alloc.alloc);
        for (int k = 0; k <= i % 3; k++)
            ck_assert_int_eq(kl_batch_builder_append(&b, 1 << 20, 1024, &in),
                             0);
        ck_assert_int_eq(kl_batch_builder_finish(&b, seed, 0, &chunk), 0);
        kl_batch_frame_stamp(chunk->data, seed, offset, i / 100);
        positions[i] = at;
        offsets[i] = offset;
        part.data = chunk->data;
        part.size = chunk->size;
        ck_assert_int_eq(fx.memory->ops->write(file, &part, 1, at, NULL), 0);
        at += chunk->size;
        offset += i % 3 + 1;
        kl_base_chunk_unref(chunk);
        free(value);
    }
    positions[FRAMES] = at;
    offsets[FRAMES] = offset;
}

static void setup(void)
{
    struct kl_base_uuid topic = {{1}};

    store_fixture_init(&fx);
    seed = kl_batch_seed(&topic, 0);
    ck_assert_int_eq(fx.memory->ops->open(fx.memory, "segment",
                                          KL_OS_WRITE | KL_OS_CREATE, &file),
                     0);
    write_frames();
}

static void teardown(void)
{
    fx.memory->ops->close(file);
    store_fixture_deinit(&fx);
}

static struct kl_store_scan whole(void)
{
    struct kl_store_scan scan = {
        .file = file,
        .alloc = &fx.alloc.alloc,
        .seed = seed,
        .position = KL_STORE_BLOCK,
        .limit = positions[FRAMES],
        .offset = BASE,
        .verify_body = 1,
    };

    return scan;
}

static int visit(const struct kl_batch_info *info, uint64_t position,
                 void *user)
{
    int *count = user;

    ck_assert_uint_eq(position, positions[*count]);
    ck_assert_int_eq(info->base_offset, offsets[*count]);
    ++*count;
    return 0;
}

START_TEST(run_visits_all_frames_in_order)
{
    struct kl_store_scan scan = whole();
    int count = 0;

    scan.verify_body = _i;
    ck_assert_int_eq(kl_store_scan_run(&scan, visit, &count), 0);
    ck_assert_int_eq(count, FRAMES);
    ck_assert_uint_eq(scan.position, positions[FRAMES]);
    ck_assert_int_eq(scan.offset, offsets[FRAMES]);
}
END_TEST

START_TEST(run_starts_in_the_middle)
{
    struct kl_store_scan scan = whole();
    int count = 100;

    scan.position = positions[100];
    scan.offset = -1;
    ck_assert_int_eq(kl_store_scan_run(&scan, visit, &count), 0);
    ck_assert_int_eq(count, FRAMES);
}
END_TEST

START_TEST(run_ends_where_the_offset_is_another)
{
    struct kl_store_scan scan = whole();
    int count = 0;

    scan.offset = BASE + 1;
    ck_assert_int_eq(kl_store_scan_run(&scan, visit, &count), 0);
    ck_assert_int_eq(count, 0);
    ck_assert_uint_eq(scan.position, KL_STORE_BLOCK);
}
END_TEST

START_TEST(run_ends_for_frames_of_another_log)
{
    struct kl_store_scan scan = whole();
    int count = 0;

    scan.seed++;
    ck_assert_int_eq(kl_store_scan_run(&scan, visit, &count), 0);
    ck_assert_int_eq(count, 0);
}
END_TEST

/* No frame that ends above the limit. */
START_TEST(run_ends_at_the_limit)
{
    for (int i = 0; i < FRAMES; i += 13) {
        for (int less = 0; less < 2; less++) {
            struct kl_store_scan scan = whole();
            int count = 0;

            scan.limit = positions[i + 1] - (uint64_t)less;
            ck_assert_int_eq(kl_store_scan_run(&scan, visit, &count), 0);
            ck_assert_int_eq(count, i + 1 - less);
            ck_assert_uint_eq(scan.position, positions[i + 1 - less]);
        }
    }
}
END_TEST

START_TEST(run_ends_at_a_torn_frame)
{
    struct kl_store_scan scan = whole();
    int count = 0, at = _i * 30;
    uint64_t middle = (positions[at] + positions[at + 1]) / 2;

    scan.limit = UINT64_MAX / 2;
    ck_assert_int_eq(fx.memory->ops->truncate(file, middle), 0);
    ck_assert_int_eq(kl_store_scan_run(&scan, visit, &count), 0);
    ck_assert_int_eq(count, at);
    ck_assert_uint_eq(scan.position, positions[at]);
    ck_assert_int_eq(scan.offset, offsets[at]);
}
END_TEST

/* A bad body ends the walk only where it is looked at. */
START_TEST(run_ends_at_a_bad_body)
{
    struct kl_store_scan scan = whole();
    int count = 0;

    store_fixture_patch(&fx, "segment", positions[151] - 1, "\xee", 1);
    ck_assert_int_eq(kl_store_scan_run(&scan, visit, &count), 0);
    ck_assert_int_eq(count, 150);
    count = 0;
    scan = whole();
    scan.verify_body = 0;
    ck_assert_int_eq(kl_store_scan_run(&scan, visit, &count), 0);
    ck_assert_int_eq(count, FRAMES);
}
END_TEST

static int stop_visit(const struct kl_batch_info *info, uint64_t position,
                      void *user)
{
    (void)info;
    (void)position;
    return *(int *)user;
}

START_TEST(run_ends_with_the_code_of_the_visitor)
{
    struct kl_store_scan scan = whole();
    int code = KL_ECORRUPT;

    ck_assert_int_eq(kl_store_scan_run(&scan, stop_visit, &code), KL_ECORRUPT);
    ck_assert_uint_eq(scan.position, positions[0]);
    code = KL_EEND;
    ck_assert_int_eq(kl_store_scan_run(&scan, stop_visit, &code), 0);
}
END_TEST

START_TEST(run_without_memory_or_with_a_failing_disk)
{
    struct kl_os_file *traced;
    int count = 0, rc;

    ck_assert_int_eq(
        fx.trace.base.ops->open(&fx.trace.base, "segment", KL_OS_READ, &traced),
        0);
    for (uint64_t n = 1; n <= 2; n++) {
        struct kl_store_scan scan = whole();

        count = 0;
        fail_alloc_arm(&fx.alloc, n);
        ck_assert_int_eq(kl_store_scan_run(&scan, visit, &count), KL_ENOMEM);
    }
    fail_alloc_arm(&fx.alloc, 0);
    for (uint64_t n = 1;; n++) {
        struct kl_store_scan scan = whole();

        scan.file = traced;
        count = 0;
        trace_vfs_fail(&fx.trace, TRACE_VFS_READ, n, KL_EIO);
        rc = kl_store_scan_run(&scan, visit, &count);
        if (rc == 0)
            break;
        ck_assert_int_eq(rc, KL_EIO);
        ck_assert_int_lt(count, FRAMES);
    }
    ck_assert_int_eq(count, FRAMES);
    trace_vfs_heal(&fx.trace);
    traced->vfs->ops->close(traced);
}
END_TEST

/* ---- positions ------------------------------------------------------------
 */

static struct kl_store_find find_whole(void)
{
    struct kl_store_find find = {
        .file = file,
        .alloc = &fx.alloc.alloc,
        .seed = seed,
        .base = BASE,
        .limit = positions[FRAMES],
    };

    return find;
}

START_TEST(find_position_of_every_boundary)
{
    struct kl_store_find find = find_whole();
    uint64_t position;

    for (int i = 0; i <= FRAMES; i += 5) {
        ck_assert_int_eq(kl_store_find_position(&find, offsets[i], &position),
                         0);
        ck_assert_uint_eq(position, positions[i]);
    }
}
END_TEST

START_TEST(find_position_that_is_none)
{
    struct kl_store_find find = find_whole();
    uint64_t position;

    ck_assert_int_eq(kl_store_find_position(&find, offsets[1] + 1, &position),
                     KL_ECORRUPT);
    /* The segment should have it, but ends before it. */
    ck_assert_int_eq(
        kl_store_find_position(&find, offsets[FRAMES] + 1, &position), 0);
    ck_assert_uint_eq(position, positions[FRAMES]);
    ck_assert_int_eq(kl_store_find_position(&find, BASE - 1, &position),
                     KL_ECORRUPT);
}
END_TEST

/* The index only saves time, also where it points beyond the segment. */
START_TEST(find_position_with_an_index)
{
    struct kl_store_index_entry e[2] = {
        {(uint32_t)(offsets[50] - BASE), (uint32_t)positions[50], 0},
        {(uint32_t)(offsets[200] - BASE), (uint32_t)positions[200], 0}};
    struct kl_store_find find = find_whole();
    uint8_t block[KL_STORE_BLOCK];
    uint64_t position;

    kl_store_index_block_encode(block, BASE, e, 2);
    store_fixture_save(&fx, "index", block, sizeof block);
    ck_assert_int_eq(
        fx.memory->ops->open(fx.memory, "index", KL_OS_READ, &find.index), 0);
    find.blocks = 1;
    for (int i = 0; i <= FRAMES; i += 5) {
        ck_assert_int_eq(kl_store_find_position(&find, offsets[i], &position),
                         0);
        ck_assert_uint_eq(position, positions[i]);
    }
    find.limit = positions[120];
    ck_assert_int_eq(kl_store_find_position(&find, offsets[120], &position), 0);
    ck_assert_uint_eq(position, positions[120]);
    find.limit = positions[40];
    ck_assert_int_eq(kl_store_find_position(&find, offsets[40], &position), 0);
    ck_assert_uint_eq(position, positions[40]);
    ck_assert_int_eq(kl_store_find_position(&find, offsets[60], &position), 0);
    ck_assert_uint_eq(position, positions[40]);
    fx.memory->ops->close(find.index);
}
END_TEST

Suite *suite_store_scan(void);

Suite *suite_store_scan(void)
{
    Suite *suite = suite_create("store_scan");
    TCase *t = tcase_create("scan");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, run_visits_all_frames_in_order, 0, 2);
    tcase_add_test(t, run_starts_in_the_middle);
    tcase_add_test(t, run_ends_where_the_offset_is_another);
    tcase_add_test(t, run_ends_for_frames_of_another_log);
    tcase_add_test(t, run_ends_at_the_limit);
    tcase_add_loop_test(t, run_ends_at_a_torn_frame, 0, 10);
    tcase_add_test(t, run_ends_at_a_bad_body);
    tcase_add_test(t, run_ends_with_the_code_of_the_visitor);
    tcase_add_test(t, run_without_memory_or_with_a_failing_disk);
    tcase_add_test(t, find_position_of_every_boundary);
    tcase_add_test(t, find_position_that_is_none);
    tcase_add_test(t, find_position_with_an_index);
    suite_add_tcase(suite, t);
    return suite;
}
