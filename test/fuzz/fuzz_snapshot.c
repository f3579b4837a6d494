/*
 * The header of a snapshot. Input: what is put right, then the header. What is
 * taken is encoded to the same bytes, and its size can be reckoned with.
 */
#include "fixup.h"
#include "fuzz.h"
#include "store/format.h"

#include <stdlib.h>

static void snapshot_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned how = fuzz_take8(&in);
    struct kl_store_snapshot_header h;
    struct kl_base_buf again;
    uint8_t *file = fuzz_take_copy(&in, &size);
    int rc;

    fixup_envelope(file, size, KL_STORE_MAGIC_SNAPSHOT, how);
    rc = kl_store_snapshot_decode(file, size, &h);
    FUZZ_CHECK(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
    if (rc == 0) {
        FUZZ_CHECK(h.info.end >= 0 && h.info.epoch >= 0);
        FUZZ_CHECK(kl_store_snapshot_file_size(h.info.size) > h.info.size);
        kl_base_buf_init(&again, &kl_base_alloc_libc);
        FUZZ_CHECK(kl_store_snapshot_encode(&again, &h) == 0);
        FUZZ_CHECK(again.size == size && memcmp(again.data, file, size) == 0);
        kl_base_buf_deinit(&again);
    }
    free(file);
}

static void snapshot_seeds(struct fuzz_seeds *seeds)
{
    struct kl_store_snapshot_header h = {{{1, 2}}, {100, 3, 70000, 5}};
    struct kl_base_buf b, input;

    for (uint8_t how = 0; how < 4; how++) {
        kl_base_buf_init(&b, &kl_base_alloc_libc);
        kl_base_buf_init(&input, &kl_base_alloc_libc);
        FUZZ_CHECK(kl_store_snapshot_encode(&b, &h) == 0);
        kl_base_buf_put8(&input, how);
        kl_base_buf_append(&input, b.data, b.size);
        seeds->emit(seeds, input.data, input.size);
        kl_base_buf_deinit(&input);
        kl_base_buf_deinit(&b);
    }
}

const struct fuzz_target fuzz_snapshot = {"snapshot", snapshot_run,
                                          snapshot_seeds, 20000};
