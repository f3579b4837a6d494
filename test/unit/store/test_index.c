/*
 * The sparse index: look-ups over many blocks, and what damage does to them.
 */
#include "store_fixture.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum {
    BASE = 1000,
    BLOCKS = 9,
    ENTRIES = BLOCKS * KL_STORE_INDEX_FANOUT,
    STEP = 10,       /* offsets from entry to entry */
    FRAME = 4096 * 2 /* bytes from entry to entry */
};

static struct store_fixture fx;
static struct kl_os_file *file;

/* Entry i: offset BASE + (i + 1) * STEP at position 4096 + (i + 1) * FRAME;
 * frames before it have timestamps up to (i + 1) * 100. */
static void setup(void)
{
    struct kl_store_index_entry e[KL_STORE_INDEX_FANOUT];
    uint8_t block[KL_STORE_BLOCK];
    struct kl_os_iovec part = {block, sizeof block};

    store_fixture_init(&fx);
    ck_assert_int_eq(fx.memory->ops->open(fx.memory, "index",
                                          KL_OS_WRITE | KL_OS_CREATE, &file),
                     0);
    for (uint32_t b = 0; b < BLOCKS; b++) {
        for (uint32_t i = 0; i < KL_STORE_INDEX_FANOUT; i++) {
            uint32_t n = b * KL_STORE_INDEX_FANOUT + i + 1;

            e[i].relative = n * STEP;
            e[i].position = KL_STORE_BLOCK + n * FRAME;
            e[i].max_timestamp = n * 100;
        }
        kl_store_index_block_encode(block, BASE, e, KL_STORE_INDEX_FANOUT);
        ck_assert_int_eq(fx.memory->ops->write(
                             file, &part, 1, (uint64_t)b * sizeof block, NULL),
                         0);
    }
}

static void teardown(void)
{
    fx.memory->ops->close(file);
    store_fixture_deinit(&fx);
}

static uint64_t by_offset(int64_t offset)
{
    uint64_t position;

    kl_store_index_by_offset(file, BLOCKS, BASE, offset, &position);
    return position;
}

static uint64_t by_time(int64_t timestamp)
{
    uint64_t position;

    kl_store_index_by_time(file, BLOCKS, BASE, timestamp, &position);
    return position;
}

static void damage(uint32_t block)
{
    uint8_t bad = 0xff;

    store_fixture_patch(&fx, "index", (uint64_t)block * KL_STORE_BLOCK + 100,
                        &bad, 1);
}

START_TEST(by_offset_exact_and_between)
{
    ck_assert_uint_eq(by_offset(BASE), KL_STORE_BLOCK);
    ck_assert_uint_eq(by_offset(BASE + STEP - 1), KL_STORE_BLOCK);
    for (uint32_t n = 1; n <= ENTRIES; n++) {
        uint64_t want = KL_STORE_BLOCK + (uint64_t)n * FRAME;

        ck_assert_uint_eq(by_offset(BASE + n * STEP), want);
        ck_assert_uint_eq(by_offset(BASE + n * STEP + STEP - 1), want);
    }
    ck_assert_uint_eq(by_offset(INT64_MAX),
                      KL_STORE_BLOCK + (uint64_t)ENTRIES * FRAME);
}
END_TEST

/* No record before the position may reach the timestamp. */
START_TEST(by_time_starts_before_the_first_candidate)
{
    ck_assert_uint_eq(by_time(-5), KL_STORE_BLOCK);
    ck_assert_uint_eq(by_time(100), KL_STORE_BLOCK);
    for (uint32_t n = 1; n <= ENTRIES; n++) {
        uint64_t want = KL_STORE_BLOCK + (uint64_t)n * FRAME;

        ck_assert_uint_eq(by_time(n * 100 + 1), want);
        ck_assert_uint_eq(by_time(n * 100 + 100), want);
    }
    ck_assert_uint_eq(by_time(INT64_MAX),
                      KL_STORE_BLOCK + (uint64_t)ENTRIES * FRAME);
}
END_TEST

START_TEST(look_ups_without_blocks_begin_at_the_start)
{
    uint64_t position = 0;

    kl_store_index_by_offset(file, 0, BASE, 99, &position);
    ck_assert_uint_eq(position, KL_STORE_BLOCK);
    kl_store_index_by_time(file, 0, BASE, 99, &position);
    ck_assert_uint_eq(position, KL_STORE_BLOCK);
}
END_TEST

START_TEST(look_ups_with_a_bad_block_walk_further)
{
    damage((uint32_t)_i);
    for (uint32_t n = 1; n <= ENTRIES; n += 7) {
        uint64_t right = KL_STORE_BLOCK + (uint64_t)n * FRAME;

        ck_assert_uint_le(by_offset(BASE + n * STEP), right);
        ck_assert_uint_le(by_time(n * 100 + 1), right);
    }
}
END_TEST

START_TEST(look_ups_with_bad_blocks_only)
{
    for (uint32_t b = 0; b < BLOCKS; b++)
        damage(b);
    ck_assert_uint_eq(by_offset(BASE + 500 * STEP), KL_STORE_BLOCK);
    ck_assert_uint_eq(by_time(5000), KL_STORE_BLOCK);
}
END_TEST

START_TEST(look_ups_of_another_segment)
{
    uint64_t position;

    kl_store_index_by_offset(file, BLOCKS, BASE + 1, BASE + 5000, &position);
    ck_assert_uint_eq(position, KL_STORE_BLOCK);
}
END_TEST

START_TEST(look_ups_in_a_short_file)
{
    ck_assert_int_eq(fx.memory->ops->truncate(file, 5 * KL_STORE_BLOCK - 100),
                     0);
    for (uint32_t n = 1; n <= ENTRIES; n += 7)
        ck_assert_uint_le(by_offset(BASE + n * STEP),
                          KL_STORE_BLOCK + (uint64_t)n * FRAME);
}
END_TEST

/* Blocks with a gap between them, as after reopenings. */
START_TEST(look_ups_over_a_gap)
{
    struct kl_store_index_entry e = {50000 * STEP, 50000000, 9000000};
    uint8_t block[KL_STORE_BLOCK];

    kl_store_index_block_encode(block, BASE, &e, 1);
    store_fixture_patch(&fx, "index", (BLOCKS - 1) * KL_STORE_BLOCK, block,
                        sizeof block);
    ck_assert_uint_eq(by_offset(BASE + 50000 * STEP - 1),
                      KL_STORE_BLOCK + (uint64_t)(BLOCKS - 1) *
                                           KL_STORE_INDEX_FANOUT * FRAME);
    ck_assert_uint_eq(by_offset(BASE + 50000 * STEP), 50000000);
    ck_assert_uint_eq(by_time(9000001), 50000000);
}
END_TEST

START_TEST(usable_counts_blocks_below_the_end)
{
    uint64_t block_bytes = (uint64_t)KL_STORE_INDEX_FANOUT * FRAME;

    ck_assert_uint_eq(kl_store_index_usable(file, BLOCKS, BASE, UINT64_MAX),
                      BLOCKS);
    ck_assert_uint_eq(kl_store_index_usable(file, 0, BASE, UINT64_MAX), 0);
    ck_assert_uint_eq(kl_store_index_usable(file, BLOCKS, BASE, KL_STORE_BLOCK),
                      0);
    for (uint32_t b = 1; b <= BLOCKS; b++) {
        uint64_t last = KL_STORE_BLOCK + b * block_bytes;

        ck_assert_uint_eq(kl_store_index_usable(file, BLOCKS, BASE, last),
                          b - 1);
        ck_assert_uint_eq(kl_store_index_usable(file, BLOCKS, BASE, last + 1),
                          b);
    }
    damage(BLOCKS - 1);
    ck_assert_uint_eq(kl_store_index_usable(file, BLOCKS, BASE, UINT64_MAX),
                      BLOCKS - 1);
}
END_TEST

/* ---- entries in memory ----------------------------------------------------
 */

static struct kl_store_log *log_with_files(void)
{
    struct kl_store_id id = store_fixture_id(0, 0);
    struct kl_store_log *log;

    ck_assert_int_eq(store_fixture_open(&fx), 0);
    log = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    ck_assert_int_eq(kl_store_files_new(log), 0);
    return log;
}

START_TEST(note_keeps_the_interval)
{
    struct kl_store_log *log = log_with_files();
    struct kl_store_segment seg = {.info = {.base = BASE}};
    struct kl_store_files *f = log->files;
    uint64_t position = 0;

    f->indexed_position = KL_STORE_BLOCK;
    ck_assert_int_eq(
        kl_store_index_note(log, &seg, BASE + 1, KL_STORE_BLOCK + 511), 0);
    ck_assert_uint_eq(f->tail_count, 0);
    for (int i = 0; i < KL_STORE_INDEX_FANOUT; i++) {
        seg.next_max_timestamp = i;
        ck_assert_int_eq(
            kl_store_index_note(log, &seg, BASE + 10 + i,
                                KL_STORE_BLOCK + 512 * (uint64_t)(i + 1)),
            i == KL_STORE_INDEX_FANOUT - 1);
    }
    ck_assert(kl_store_index_tail_by_offset(f, BASE, BASE + 10, &position));
    ck_assert_uint_eq(position, KL_STORE_BLOCK + 512);
    ck_assert(kl_store_index_tail_by_offset(f, BASE, BASE + 59, &position));
    ck_assert_uint_eq(position, KL_STORE_BLOCK + 512 * 50);
    ck_assert(!kl_store_index_tail_by_offset(f, BASE, BASE + 9, &position));
    ck_assert(kl_store_index_tail_by_time(f, 50, &position));
    ck_assert_uint_eq(position, KL_STORE_BLOCK + 512 * 50);
    ck_assert(!kl_store_index_tail_by_time(f, 0, &position));
}
END_TEST

START_TEST(note_without_memory_leaves_a_gap)
{
    struct kl_store_log *log = log_with_files();
    struct kl_store_segment seg = {.info = {.base = BASE}};

    fail_alloc_arm(&fx.alloc, 1);
    ck_assert_int_eq(kl_store_index_note(log, &seg, BASE + 1, 100000), 0);
    fail_alloc_arm(&fx.alloc, 0);
    ck_assert_uint_eq(log->files->tail_count, 0);
    ck_assert_int_eq(kl_store_index_note(log, &seg, BASE + 2, 200000), 0);
    ck_assert_uint_eq(log->files->tail_count, 1);
    ck_assert_uint_eq(log->files->tail[0].relative, 2);
}
END_TEST

/* ---- in the store ----------------------------------------------------------
 */

static void store_with_blocks(struct kl_store_log **log, int count)
{
    struct kl_store_id id = store_fixture_id(0, 0);

    fx.config.cache_bytes_max = 0;
    fx.config.ring_bytes = 4 << 20;
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    *log = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    for (int i = 0; i < count; i += 100) {
        store_fixture_fill(&fx, *log, 100, 500, 1);
        store_fixture_settle(&fx);
    }
}

START_TEST(reads_use_blocks_and_survive_their_damage)
{
    struct kl_store_id id = store_fixture_id(0, 0);
    struct kl_store_log *log;
    char path[KL_STORE_PATH_MAX];
    uint64_t before;
    size_t size;

    store_with_blocks(&log, 700);
    ck_assert_uint_ge(log->files->items[0]->index_blocks, 2);
    before = kl_base_stat_get(&kl_store_stats(fx.store)->read_bytes);
    store_fixture_expect(&fx, log, 690, 691, 500, 1);
    ck_assert_uint_le(kl_base_stat_get(&kl_store_stats(fx.store)->read_bytes) -
                          before,
                      64 * 1024);
    kl_store_path_segment(log, 0, "idx", path);
    store_fixture_close(&fx);
    free(store_fixture_load(&fx, path, &size));
    for (size_t at = 50; at < size; at += KL_STORE_BLOCK)
        store_fixture_patch(&fx, path, at, "damage", 6);
    log = store_fixture_reopen(&fx, &id);
    store_fixture_expect(&fx, log, 0, 700, 500, 1);
    store_fixture_expect(&fx, log, 650, 651, 500, 1);
    store_fixture_close(&fx);
    store_fixture_unlink(&fx, path);
    log = store_fixture_reopen(&fx, &id);
    store_fixture_expect(&fx, log, 650, 700, 500, 1);
    ck_assert_int_eq(kl_store_truncate(log, 300), 0);
    store_fixture_fill(&fx, log, 50, 500, 2);
    store_fixture_settle(&fx);
    store_fixture_expect(&fx, log, 0, 300, 500, 1);
    store_fixture_expect(&fx, log, 300, 350, 500, 2);
}
END_TEST

Suite *suite_store_index(void);

Suite *suite_store_index(void)
{
    Suite *suite = suite_create("store_index");
    TCase *t = tcase_create("index");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, by_offset_exact_and_between);
    tcase_add_test(t, by_time_starts_before_the_first_candidate);
    tcase_add_test(t, look_ups_without_blocks_begin_at_the_start);
    tcase_add_loop_test(t, look_ups_with_a_bad_block_walk_further, 0, BLOCKS);
    tcase_add_test(t, look_ups_with_bad_blocks_only);
    tcase_add_test(t, look_ups_of_another_segment);
    tcase_add_test(t, look_ups_in_a_short_file);
    tcase_add_test(t, look_ups_over_a_gap);
    tcase_add_test(t, usable_counts_blocks_below_the_end);
    tcase_add_test(t, note_keeps_the_interval);
    tcase_add_test(t, note_without_memory_leaves_a_gap);
    tcase_add_test(t, reads_use_blocks_and_survive_their_damage);
    suite_add_tcase(suite, t);
    return suite;
}
