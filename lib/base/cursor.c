/*
 * Bounded reading with a sticky error.
 */
#include "base/cursor.h"

#include "base/endian.h"

void kl_base_cursor_init(struct kl_base_cursor *c, const void *data,
                         size_t size)
{
    c->data = data;
    c->size = size;
    c->pos = 0;
    c->failed = 0;
}

const uint8_t *kl_base_cursor_bytes(struct kl_base_cursor *c, size_t size)
{
    const uint8_t *p;

    if (c->failed || size > c->size - c->pos) {
        c->failed = 1;
        return NULL;
    }
    p = c->data + c->pos;
    c->pos += size;
    return p;
}

uint8_t kl_base_cursor_get8(struct kl_base_cursor *c)
{
    const uint8_t *p = kl_base_cursor_bytes(c, 1);

    return p ? *p : 0;
}

uint16_t kl_base_cursor_get_le16(struct kl_base_cursor *c)
{
    const uint8_t *p = kl_base_cursor_bytes(c, 2);

    return p ? kl_base_get_le16(p) : 0;
}

uint32_t kl_base_cursor_get_le32(struct kl_base_cursor *c)
{
    const uint8_t *p = kl_base_cursor_bytes(c, 4);

    return p ? kl_base_get_le32(p) : 0;
}

uint64_t kl_base_cursor_get_le64(struct kl_base_cursor *c)
{
    const uint8_t *p = kl_base_cursor_bytes(c, 8);

    return p ? kl_base_get_le64(p) : 0;
}
