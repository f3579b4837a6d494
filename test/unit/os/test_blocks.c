/*
 * Bytes in blocks, compared with plain bytes.
 */
#include "base/rng.h"
#include "fail_alloc.h"
#include "os/blocks.h"

#include <check.h>
#include <kraftlog/error.h>
#include <string.h>

#define BLOCK KL_OS_BLOCK_SIZE
#define MODEL_SIZE (6 * BLOCK)

struct model
{
    uint8_t bytes[MODEL_SIZE];
    size_t size;
};

static void model_check(const struct model *m, const struct kl_os_blocks *b)
{
    static uint8_t buf[MODEL_SIZE + 1];

    ck_assert_uint_eq(b->size, m->size);
    memset(buf, 0xee, sizeof buf);
    ck_assert_uint_eq(kl_os_blocks_read(b, buf, sizeof buf, 0), m->size);
    ck_assert_mem_eq(buf, m->bytes, m->size);
}

/* What lies behind the end of the model is zero, as a hole must read. */
static void model_step(struct model *m, struct kl_os_blocks *b,
                       struct kl_base_rng *rng)
{
    static uint8_t data[MODEL_SIZE];
    size_t at = kl_base_rng_below(rng, MODEL_SIZE);
    size_t size = kl_base_rng_below(rng, MODEL_SIZE - at);

    switch (kl_base_rng_below(rng, 4)) {
    case 0:
        kl_os_blocks_resize(b, at);
        if (at < m->size)
            memset(m->bytes + at, 0, m->size - at);
        m->size = at;
        break;
    case 1:
        ck_assert_int_eq(kl_os_blocks_reserve(b, at, size), 0);
        if (at + size > m->size)
            m->size = at + size;
        break;
    default:
        memset(data, (int)kl_base_rng_below(rng, 255) + 1, size);
        ck_assert_uint_eq(kl_os_blocks_write(b, data, size, at), size);
        memcpy(m->bytes + at, data, size);
        if (size && at + size > m->size)
            m->size = at + size;
    }
}

START_TEST(blocks_like_plain_bytes)
{
    struct kl_base_rng rng;
    struct kl_os_blocks b;
    struct model m = {.size = 0};

    kl_base_rng_seed(&rng, (uint64_t)_i);
    kl_os_blocks_init(&b, &kl_base_alloc_libc);
    for (int i = 0; i < 200; i++) {
        model_step(&m, &b, &rng);
        model_check(&m, &b);
    }
    kl_os_blocks_deinit(&b);
}
END_TEST

START_TEST(read_at_the_edges)
{
    struct kl_os_blocks b;
    uint8_t data[BLOCK + 2];
    uint8_t buf[4];

    memset(data, 'x', sizeof data);
    kl_os_blocks_init(&b, &kl_base_alloc_libc);
    ck_assert_uint_eq(kl_os_blocks_read(&b, buf, 4, 0), 0);
    ck_assert_uint_eq(kl_os_blocks_write(&b, data, sizeof data, 0), BLOCK + 2);
    ck_assert_uint_eq(kl_os_blocks_read(&b, buf, 4, BLOCK - 2), 4);
    ck_assert_uint_eq(kl_os_blocks_read(&b, buf, 4, BLOCK - 1), 3);
    ck_assert_uint_eq(kl_os_blocks_read(&b, buf, 4, BLOCK + 2), 0);
    ck_assert_uint_eq(kl_os_blocks_read(&b, buf, 4, UINT64_MAX), 0);
    kl_os_blocks_deinit(&b);
}
END_TEST

START_TEST(resize_leaves_a_hole_without_blocks)
{
    struct fail_alloc f;
    struct kl_os_blocks b;
    uint8_t buf[3] = {1, 2, 3};

    fail_alloc_init(&f);
    fail_alloc_arm(&f, 1);
    kl_os_blocks_init(&b, &f.alloc);
    kl_os_blocks_resize(&b, (uint64_t)1 << 40);
    ck_assert_uint_eq(kl_os_blocks_read(&b, buf, 3, (1ULL << 40) - 2), 2);
    ck_assert_uint_eq(buf[0] + buf[1], 0);
    ck_assert_uint_eq(f.calls, 0);
    kl_os_blocks_deinit(&b);
    fail_alloc_deinit(&f);
}
END_TEST

START_TEST(write_without_memory)
{
    static uint8_t data[3 * BLOCK];
    struct fail_alloc f;
    struct kl_os_blocks b;
    uint64_t fail_at = 1;

    memset(data, 7, sizeof data);
    do {
        size_t n;

        fail_alloc_init(&f);
        fail_alloc_arm(&f, fail_at++);
        kl_os_blocks_init(&b, &f.alloc);
        n = kl_os_blocks_write(&b, data, sizeof data, 10);
        ck_assert_uint_eq(b.size, n ? 10 + n : 0);
        ck_assert(f.failed ? n < sizeof data : n == sizeof data);
        kl_os_blocks_deinit(&b);
        fail_alloc_deinit(&f);
    } while (f.failed);
    ck_assert_uint_gt(fail_at, 3);
}
END_TEST

START_TEST(reserve_without_memory)
{
    struct fail_alloc f;
    struct kl_os_blocks b;
    uint64_t fail_at = 1;
    int rc;

    do {
        fail_alloc_init(&f);
        fail_alloc_arm(&f, fail_at++);
        kl_os_blocks_init(&b, &f.alloc);
        rc = kl_os_blocks_reserve(&b, 5, 3 * BLOCK);
        ck_assert_int_eq(rc, f.failed ? KL_ENOMEM : 0);
        ck_assert_uint_eq(b.size, rc ? 0 : 5 + 3 * BLOCK);
        kl_os_blocks_deinit(&b);
        fail_alloc_deinit(&f);
    } while (rc);
}
END_TEST

START_TEST(reserve_saves_later_allocations)
{
    static uint8_t data[2 * BLOCK];
    struct fail_alloc f;
    struct kl_os_blocks b;

    fail_alloc_init(&f);
    kl_os_blocks_init(&b, &f.alloc);
    ck_assert_int_eq(kl_os_blocks_reserve(&b, 0, sizeof data), 0);
    fail_alloc_arm(&f, 1);
    ck_assert_uint_eq(kl_os_blocks_write(&b, data, sizeof data, 0),
                      sizeof data);
    ck_assert_uint_eq(f.calls, 0);
    kl_os_blocks_deinit(&b);
    fail_alloc_deinit(&f);
}
END_TEST

Suite *suite_os_blocks(void);
Suite *suite_os_blocks(void)
{
    Suite *s = suite_create("os_blocks");
    TCase *tc = tcase_create("blocks");

    tcase_add_loop_test(tc, blocks_like_plain_bytes, 0, 5);
    tcase_add_test(tc, read_at_the_edges);
    tcase_add_test(tc, resize_leaves_a_hole_without_blocks);
    tcase_add_test(tc, write_without_memory);
    tcase_add_test(tc, reserve_without_memory);
    tcase_add_test(tc, reserve_saves_later_allocations);
    suite_add_tcase(s, tc);
    return s;
}
