/*
 * The manifest of a log. Input: what is put right, then the file. What is
 * taken is encoded to the same bytes, and its segments ascend.
 */
#include "fixup.h"
#include "fuzz.h"
#include "store/format.h"

#include <stdlib.h>

static void manifest_check(const struct kl_store_manifest *m,
                           const uint8_t *file, size_t size)
{
    struct kl_base_buf again;

    for (uint32_t i = 0; i < m->count; i++) {
        FUZZ_CHECK(m->segments[i].base >= 0);
        FUZZ_CHECK(i == 0 || m->segments[i].base > m->segments[i - 1].base);
    }
    kl_base_buf_init(&again, &fuzz_alloc);
    FUZZ_CHECK(kl_store_manifest_encode(&again, m) == 0);
    FUZZ_CHECK(again.size <= size && memcmp(again.data, file, again.size) == 0);
    kl_base_buf_deinit(&again);
}

static void manifest_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned how = fuzz_take8(&in);
    struct kl_store_manifest m;
    uint8_t *file = fuzz_take_copy(&in, &size);
    int rc;

    fixup_envelope(file, size, KL_STORE_MAGIC_MANIFEST, how);
    fuzz_alloc_begin(SIZE_MAX);
    rc = kl_store_manifest_decode(file, size, &fuzz_alloc, &m);
    FUZZ_CHECK(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
    FUZZ_CHECK(fuzz_alloc_peak() <= 2 * size);
    if (rc == 0) {
        manifest_check(&m, file, size);
        kl_base_free(&fuzz_alloc, m.segments, m.count * sizeof *m.segments);
    }
    fuzz_alloc_end();
    free(file);
}

static void manifest_seeds(struct fuzz_seeds *seeds)
{
    struct kl_store_segment_info segments[3] = {
        {0, 10, 9000, 77, 1, 2, 0},
        {10, 20, 9000, 78, 3, 4, 1},
        {20, -1, 0, -1, 5, 6, 1},
    };
    struct kl_store_manifest m = {{{{7}}, 3}, 0x10001, 1, 0, segments};
    struct kl_base_buf b, input;

    for (uint8_t i = 0; i < 16; i++) {
        m.count = i / 4u;
        kl_base_buf_init(&b, &kl_base_alloc_libc);
        kl_base_buf_init(&input, &kl_base_alloc_libc);
        FUZZ_CHECK(kl_store_manifest_encode(&b, &m) == 0);
        kl_base_buf_put8(&input, i % 4);
        kl_base_buf_append(&input, b.data, b.size);
        seeds->emit(seeds, input.data, input.size);
        kl_base_buf_deinit(&input);
        kl_base_buf_deinit(&b);
    }
}

const struct fuzz_target fuzz_manifest = {"manifest", manifest_run,
                                          manifest_seeds, 6000};
