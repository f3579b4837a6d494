/*
 * Growable bytes, printing and JSON text.
 */
#include "base/buf.h"

#include "base/endian.h"
#include "base/utf8.h"

#include <kraftlog/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BUF_CAPACITY_MIN = 64 };

void kl_base_buf_init(struct kl_base_buf *b, const struct kl_base_alloc *a)
{
    memset(b, 0, sizeof *b);
    b->alloc = a;
}

void kl_base_buf_deinit(struct kl_base_buf *b)
{
    kl_base_free(b->alloc, b->data, b->capacity);
    kl_base_buf_init(b, b->alloc);
}

void kl_base_buf_clear(struct kl_base_buf *b)
{
    b->size = 0;
    b->error = KL_OK;
}

/* Room for size more bytes behind those in use. 1, or 0 and a sticky error. */
static int buf_reserve(struct kl_base_buf *b, size_t size)
{
    size_t want;

    if (b->error)
        return 0;
    if (size > SIZE_MAX - b->size) {
        b->error = KL_ENOMEM;
        return 0;
    }
    want = b->size + size;
    if (want < BUF_CAPACITY_MIN)
        want = BUF_CAPACITY_MIN;
    b->error =
        kl_base_reserve(b->alloc, (void **)&b->data, &b->capacity, want, 1);
    return b->error == KL_OK;
}

uint8_t *kl_base_buf_extend(struct kl_base_buf *b, size_t size)
{
    uint8_t *p;

    if (!buf_reserve(b, size))
        return NULL;
    p = b->data + b->size;
    b->size += size;
    return p;
}

void kl_base_buf_append(struct kl_base_buf *b, const void *data, size_t size)
{
    uint8_t *p = kl_base_buf_extend(b, size);

    if (p && size)
        memcpy(p, data, size);
}

void kl_base_buf_put8(struct kl_base_buf *b, uint8_t v)
{
    uint8_t *p = kl_base_buf_extend(b, 1);

    if (p)
        *p = v;
}

void kl_base_buf_put_le16(struct kl_base_buf *b, uint16_t v)
{
    uint8_t *p = kl_base_buf_extend(b, sizeof v);

    if (p)
        kl_base_put_le16(p, v);
}

void kl_base_buf_put_le32(struct kl_base_buf *b, uint32_t v)
{
    uint8_t *p = kl_base_buf_extend(b, sizeof v);

    if (p)
        kl_base_put_le32(p, v);
}

void kl_base_buf_put_le64(struct kl_base_buf *b, uint64_t v)
{
    uint8_t *p = kl_base_buf_extend(b, sizeof v);

    if (p)
        kl_base_put_le64(p, v);
}

void kl_base_buf_printf(struct kl_base_buf *b, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    /* The terminator needs a byte, but is not in use. */
    if (length < 0 || !buf_reserve(b, (size_t)length + 1))
        return;
    va_start(args, format);
    vsnprintf((char *)b->data + b->size, (size_t)length + 1, format, args);
    va_end(args);
    b->size += (size_t)length;
}

/* One ASCII character inside a JSON string. */
static void buf_json_ascii(struct kl_base_buf *b, uint8_t c)
{
    static const char from[] = "\"\\\b\f\n\r\t";
    static const char to[] = "\"\\bfnrt";
    const char *found = c ? strchr(from, c) : NULL;

    if (found) {
        kl_base_buf_put8(b, '\\');
        kl_base_buf_put8(b, (uint8_t)to[found - from]);
    } else if (c < 0x20 || c == 0x7f) {
        kl_base_buf_printf(b, "\\u%04x", c);
    } else {
        kl_base_buf_put8(b, c);
    }
}

/* A byte that is not UTF-8 becomes U+FFFD, so the result is always JSON. */
void kl_base_buf_json(struct kl_base_buf *b, const char *text, size_t size)
{
    const uint8_t *s = (const uint8_t *)text;
    size_t i = 0;

    kl_base_buf_put8(b, '"');
    while (i < size) {
        size_t length = kl_base_utf8_sequence(s + i, size - i);

        if (length == 0) {
            kl_base_buf_append(b, "\\ufffd", 6);
            length = 1;
        } else if (length == 1) {
            buf_json_ascii(b, s[i]);
        } else {
            kl_base_buf_append(b, s + i, length);
        }
        i += length;
    }
    kl_base_buf_put8(b, '"');
}
