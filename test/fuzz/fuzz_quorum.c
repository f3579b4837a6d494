/*
 * A copy of the quorum state. Input: what is put right, then the file. What is
 * taken is encoded to the same bytes, where it is of the newest version.
 */
#include "fixup.h"
#include "fuzz.h"
#include "store/format.h"

#include <stdlib.h>

static void quorum_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned how = fuzz_take8(&in);
    struct kl_store_quorum_record r;
    struct kl_base_buf again;
    uint8_t *file = fuzz_take_copy(&in, &size);
    int rc;

    fixup_envelope(file, size, KL_STORE_MAGIC_QUORUM, how);
    rc = kl_store_quorum_decode(file, size, &r);
    FUZZ_CHECK(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
    if (rc == 0) {
        FUZZ_CHECK(r.state.epoch >= 0 && r.state.leader_id >= -1 &&
                   r.state.voted_id >= -1);
        kl_base_buf_init(&again, &kl_base_alloc_libc);
        FUZZ_CHECK(kl_store_quorum_encode(&again, &r) == 0);
        FUZZ_CHECK(file[4] == 1 ||
                   (again.size == size && memcmp(again.data, file, size) == 0));
        kl_base_buf_deinit(&again);
    }
    free(file);
}

static void quorum_seeds(struct fuzz_seeds *seeds)
{
    struct kl_store_quorum_record r = {
        5, {{3, 4}}, {7, 1, 2, {{9}}}, 11, {{12}}};
    struct kl_base_buf b, input;

    for (uint8_t how = 0; how < 4; how++) {
        kl_base_buf_init(&b, &kl_base_alloc_libc);
        kl_base_buf_init(&input, &kl_base_alloc_libc);
        FUZZ_CHECK(kl_store_quorum_encode(&b, &r) == 0);
        kl_base_buf_put8(&input, how);
        kl_base_buf_append(&input, b.data, b.size);
        seeds->emit(seeds, input.data, input.size);
        kl_base_buf_deinit(&input);
        kl_base_buf_deinit(&b);
    }
}

const struct fuzz_target fuzz_quorum = {"quorum", quorum_run, quorum_seeds,
                                        20000};
