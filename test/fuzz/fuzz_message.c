/*
 * A message between nodes. Input: a byte that says what to repair (its size and
 * magic, its checksum), then the message. What is decoded is encoded to the
 * same bytes, and can be printed; lists take no more memory than the message
 * could mean.
 */
#include "base/hash.h"
#include "fixup.h"
#include "fuzz.h"
#include "wire/fields.h"
#include "wire_sample.h"

#include <kraftlog/error.h>
#include <stdlib.h>

static void message_fixup(uint8_t *data, size_t size, unsigned how)
{
    if (size < KL_WIRE_MESSAGE_HEADER)
        return;
    if (how & FIXUP_SIZES) {
        kl_base_put_le32(data, (uint32_t)size);
        memcpy(data + 4, "KLM\1", 4);
    }
    if (how & FIXUP_SUMS)
        kl_base_put_le64(data + 8, kl_base_hash(data + KL_WIRE_MESSAGE_PREFIX,
                                                size - KL_WIRE_MESSAGE_PREFIX,
                                                kl_base_get_le64(data)));
}

static void message_check(const struct kl_wire_message *m, const uint8_t *data,
                          size_t size)
{
    struct kl_base_error error;
    struct kl_base_buf out;

    kl_base_buf_init(&out, &kl_base_alloc_libc);
    FUZZ_CHECK(kl_wire_message_size(m) == size);
    FUZZ_CHECK(kl_wire_message_encode(m, &out, &error) == 0);
    FUZZ_CHECK(out.size == size && memcmp(out.data, data, size) == 0);
    kl_wire_message_print(m, &out);
    FUZZ_CHECK(out.size > size && out.error == 0);
    kl_base_buf_deinit(&out);
}

static void message_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned how = fuzz_take8(&in);
    uint8_t *bytes = fuzz_take_copy(&in, &size);
    struct kl_base_error error = {0};
    struct kl_wire_message m;
    struct kl_base_buf lists;
    int rc;

    message_fixup(bytes, size, how);
    /* An item of a list is at most 32 times as large as its bytes. */
    fuzz_alloc_begin(1024 + 64 * size);
    kl_base_buf_init(&lists, &fuzz_alloc);
    rc = kl_wire_message_decode(&m, bytes, size, &lists, &error);
    FUZZ_CHECK(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
    if (rc)
        FUZZ_CHECK(error.code == rc && error.text[0]);
    else
        message_check(&m, bytes, size);
    kl_base_buf_deinit(&lists);
    fuzz_alloc_end();
    free(bytes);
}

static void message_seeds(struct fuzz_seeds *seeds)
{
    static struct wire_sample sample;
    const struct kl_wire_table *t;

    for (size_t i = 0; (t = kl_wire_message_table_at(i)) != NULL; i++) {
        struct kl_base_error error;
        struct kl_wire_message m;
        struct kl_base_buf out;

        kl_base_buf_init(&out, &kl_base_alloc_libc);
        kl_base_buf_put8(&out, FIXUP_SUMS | FIXUP_SIZES);
        wire_sample_seed(&sample, i);
        wire_sample_message(&sample, t, (int)(i & 1), &m);
        FUZZ_CHECK(kl_wire_message_encode(&m, &out, &error) == 0);
        seeds->emit(seeds, out.data, out.size);
        kl_base_buf_deinit(&out);
    }
}

const struct fuzz_target fuzz_message = {"message", message_run, message_seeds,
                                         10000};
