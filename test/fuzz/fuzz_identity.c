/*
 * The identity file. Input: what is put right, then the file.
 */
#include "fixup.h"
#include "fuzz.h"
#include "store/format.h"

#include <stdlib.h>

static void identity_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned how = fuzz_take8(&in);
    struct kl_store_identity id;
    struct kl_base_buf again;
    uint8_t *file = fuzz_take_copy(&in, &size);
    int rc;

    fixup_envelope(file, size, KL_STORE_MAGIC_IDENTITY, how);
    rc = kl_store_identity_decode(file, size, &id);
    FUZZ_CHECK(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
    if (rc == 0) {
        kl_base_buf_init(&again, &kl_base_alloc_libc);
        FUZZ_CHECK(kl_store_identity_encode(&again, &id) == 0);
        FUZZ_CHECK(again.size <= size &&
                   memcmp(again.data, file, again.size) == 0);
        kl_base_buf_deinit(&again);
    }
    free(file);
}

static void identity_seeds(struct fuzz_seeds *seeds)
{
    struct kl_store_identity id = {
        .cluster_id = {{1, 2}}, .directory_id = {{3, 4}}, .node_id = 5};
    struct kl_base_buf b, input;

    for (uint8_t how = 0; how < 8; how++) {
        if (how == 4) {
            memset(&id.cluster_id, 0, sizeof id.cluster_id);
            id.flags = KL_STORE_JOINS;
        }
        kl_base_buf_init(&b, &kl_base_alloc_libc);
        kl_base_buf_init(&input, &kl_base_alloc_libc);
        FUZZ_CHECK(kl_store_identity_encode(&b, &id) == 0);
        kl_base_buf_put8(&input, how);
        kl_base_buf_append(&input, b.data, b.size);
        seeds->emit(seeds, input.data, input.size);
        kl_base_buf_deinit(&input);
        kl_base_buf_deinit(&b);
    }
}

const struct fuzz_target fuzz_identity = {"identity", identity_run,
                                          identity_seeds, 20000};
