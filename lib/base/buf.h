/*
 * Growable bytes with a sticky error: many appends, one check at the end.
 */
#ifndef KL_BASE_BUF_H
#define KL_BASE_BUF_H

#include "base/alloc.h"

#include <stdint.h>

struct kl_base_buf
{
    const struct kl_base_alloc *alloc;
    uint8_t *data;
    size_t size;
    size_t capacity;
    int error; /* 0 or KL_ENOMEM */
};

void kl_base_buf_init(struct kl_base_buf *b, const struct kl_base_alloc *a);
void kl_base_buf_deinit(struct kl_base_buf *b);
void kl_base_buf_clear(struct kl_base_buf *b);
/* Room for size more bytes, uninitialised, counted as in use; NULL and a
 * sticky error when there is no memory. */
uint8_t *kl_base_buf_extend(struct kl_base_buf *b, size_t size);
void kl_base_buf_append(struct kl_base_buf *b, const void *data, size_t size);
void kl_base_buf_put8(struct kl_base_buf *b, uint8_t v);
void kl_base_buf_put_le16(struct kl_base_buf *b, uint16_t v);
void kl_base_buf_put_le32(struct kl_base_buf *b, uint32_t v);
void kl_base_buf_put_le64(struct kl_base_buf *b, uint64_t v);
/* Appends formatted text, without a terminator. */
void kl_base_buf_printf(struct kl_base_buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Appends text as a JSON string with its quotes. */
void kl_base_buf_json(struct kl_base_buf *b, const char *text, size_t size);

#endif
