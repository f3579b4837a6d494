/*
 * Which partition a key belongs to.
 */
#include "base/assert.h"
#include "base/hash.h"
#include "pubsub/pubsub.h"

int32_t kl_pubsub_key_partition(const void *key, size_t size, int32_t count)
{
    uint32_t hash = (uint32_t)kl_base_murmur2(key, size);

    KL_ASSERT(count > 0);
    /* Kafka masks the sign away, it does not take the absolute value. */
    return (int32_t)((hash & 0x7fffffffu) % (uint32_t)count);
}
