/*
 * A bounded reader over little-endian bytes with a sticky error: past the end
 * every read gives zero and sets failed, so a decoder checks once.
 */
#ifndef KL_BASE_CURSOR_H
#define KL_BASE_CURSOR_H

#include <stddef.h>
#include <stdint.h>

struct kl_base_cursor
{
    const uint8_t *data;
    size_t size;
    size_t pos;
    int failed;
};

void kl_base_cursor_init(struct kl_base_cursor *c, const void *data,
                         size_t size);
uint8_t kl_base_cursor_get8(struct kl_base_cursor *c);
uint16_t kl_base_cursor_get_le16(struct kl_base_cursor *c);
uint32_t kl_base_cursor_get_le32(struct kl_base_cursor *c);
uint64_t kl_base_cursor_get_le64(struct kl_base_cursor *c);
/* Borrowed bytes, or NULL past the end. */
const uint8_t *kl_base_cursor_bytes(struct kl_base_cursor *c, size_t size);

#endif
