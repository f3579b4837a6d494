/*
 * The only door to xxHash. One-shot XXH3-64 for checksums and tables, and
 * CRC-32C and murmur2 where Kafka's formats ask for them.
 */
#ifndef KL_BASE_HASH_H
#define KL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t kl_base_hash(const void *data, size_t size, uint64_t seed);
uint32_t kl_base_crc32c(const void *data, size_t size);
/* Kafka's default partitioner hash: murmur2 with its seed, not masked. */
int32_t kl_base_murmur2(const void *data, size_t size);

#endif
