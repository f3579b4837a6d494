/*
 * 128-bit identifiers: cluster, directory, topic.
 */
#ifndef KL_BASE_UUID_H
#define KL_BASE_UUID_H

#include <stddef.h>
#include <stdint.h>

struct kl_base_rng;

struct kl_base_uuid
{
    uint8_t bytes[16];
};

#define KL_BASE_UUID_TEXT 32 /* hex digits, without the terminator */

/* A random (version 4) identifier. */
struct kl_base_uuid kl_base_uuid_random(struct kl_base_rng *rng);
int kl_base_uuid_equal(const struct kl_base_uuid *a,
                       const struct kl_base_uuid *b);
int kl_base_uuid_is_zero(const struct kl_base_uuid *a);
/* Writes 32 lower-case hex digits and a terminator. */
void kl_base_uuid_format(const struct kl_base_uuid *id,
                         char out[KL_BASE_UUID_TEXT + 1]);
/* 0, or KL_EINVAL where text does not start with 32 hex digits. */
int kl_base_uuid_parse(const char *text, struct kl_base_uuid *out);

#endif
