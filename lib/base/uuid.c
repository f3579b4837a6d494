/*
 * 128-bit identifiers and their text.
 */
#include "base/uuid.h"

#include "base/endian.h"
#include "base/rng.h"

#include <kraftlog/error.h>
#include <string.h>

struct kl_base_uuid kl_base_uuid_random(struct kl_base_rng *rng)
{
    struct kl_base_uuid id;

    kl_base_put_le64(id.bytes, kl_base_rng_next(rng));
    kl_base_put_le64(id.bytes + 8, kl_base_rng_next(rng));
    /* Version 4, variant 1 (RFC 9562), which also makes it never zero. */
    id.bytes[6] = (uint8_t)((id.bytes[6] & 0x0f) | 0x40);
    id.bytes[8] = (uint8_t)((id.bytes[8] & 0x3f) | 0x80);
    return id;
}

int kl_base_uuid_equal(const struct kl_base_uuid *a,
                       const struct kl_base_uuid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

int kl_base_uuid_is_zero(const struct kl_base_uuid *a)
{
    static const struct kl_base_uuid zero;

    return kl_base_uuid_equal(a, &zero);
}

void kl_base_uuid_format(const struct kl_base_uuid *id,
                         char out[KL_BASE_UUID_TEXT + 1])
{
    static const char digits[] = "0123456789abcdef";
    size_t i;

    for (i = 0; i < sizeof id->bytes; i++) {
        out[2 * i] = digits[id->bytes[i] >> 4];
        out[2 * i + 1] = digits[id->bytes[i] & 15];
    }
    out[KL_BASE_UUID_TEXT] = '\0';
}

/* Value of a hex digit, or -1. */
static int uuid_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int kl_base_uuid_parse(const char *text, struct kl_base_uuid *out)
{
    struct kl_base_uuid id;
    size_t i;

    for (i = 0; i < sizeof id.bytes; i++) {
        int high = uuid_digit(text[2 * i]), low;

        if (high < 0)
            return KL_EINVAL;
        low = uuid_digit(text[2 * i + 1]);
        if (low < 0)
            return KL_EINVAL;
        id.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out = id;
    return KL_OK;
}
