/*
 * Output: bytes in large writes, and records by a format with the letters of
 * kcat(1).
 */
#include "kraftlog_tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- writing ----------------------------------------------------------- */

static void output_write(struct output *o, const char *data, size_t size)
{
    while (size > 0 && o->error == 0) {
        ssize_t n = write(o->fd, data, size);

        if (n > 0) {
            data += n;
            size -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            o->error = n < 0 ? errno : EIO;
        }
    }
}

int output_flush(struct output *o)
{
    output_write(o, o->buf, o->size);
    o->size = 0;
    return o->error == 0 ? 0 : -1;
}

void output_bytes(struct output *o, const void *data, size_t size)
{
    if (size > sizeof o->buf - o->size) {
        output_flush(o);
        if (size >= sizeof o->buf) {
            output_write(o, data, size);
            return;
        }
    }
    if (size > 0)
        memcpy(o->buf + o->size, data, size);
    o->size += size;
}

void output_number(struct output *o, int64_t value)
{
    char text[24];
    size_t at = sizeof text;
    uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do
        text[--at] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    if (value < 0)
        text[--at] = '-';
    output_bytes(o, text + at, sizeof text - at);
}

/* ---- reading a format -------------------------------------------------- */

static const char format_letters[] = "sSRkKhtpoT";

static int format_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One escape behind the backslash; the bytes it takes, or 0. */
static size_t format_escape(const char *text, char *out)
{
    static const char letters[] = "nrt\\0";
    static const char meanings[] = "\n\r\t\\\0";
    const char *at;

    if (text[0] == 'x' && format_hex(text[1]) >= 0 &&
        format_hex(text[2]) >= 0) {
        *out = (char)(format_hex(text[1]) * 16 + format_hex(text[2]));
        return 3;
    }
    at = text[0] ? strchr(letters, text[0]) : NULL;
    if (!at)
        return 0;
    *out = meanings[at - letters];
    return 1;
}

int format_unescape(const char *text, char *out, size_t *size_out)
{
    size_t size = 0;

    while (*text) {
        char c = *text++;

        if (c == '\\') {
            size_t taken = format_escape(text, &c);

            if (taken == 0)
                return -1;
            text += taken;
        }
        out[size++] = c;
    }
    *size_out = size;
    return 0;
}

static int format_add(struct format *f, char letter, const char *text,
                      size_t size)
{
    struct format_part *part = &f->parts[f->count];

    if (f->count == FORMAT_PARTS)
        return -1;
    part->letter = letter;
    part->text = text;
    part->size = size;
    f->count++;
    return 0;
}

static int format_add_text(struct format *f, const char *start, const char *end)
{
    return end > start ? format_add(f, 0, start, (size_t)(end - start)) : 0;
}

/* Cuts text into parts. Escapes are replaced in place, which makes it no
 * longer. */
static int format_parse(struct format *f, char *text)
{
    char *out = text;
    char *start = text;

    while (*text) {
        if (*text == '%' && text[1] != '%') {
            if (!text[1] || !strchr(format_letters, text[1]))
                return tool_misuse("consume: -f: no letter %.2s", text);
            if (format_add_text(f, start, out) != 0 ||
                format_add(f, text[1], NULL, 0) != 0)
                return tool_misuse("consume: -f: too long");
            text += 2;
            start = out;
        } else if (*text == '\\') {
            size_t taken = format_escape(text + 1, out);

            if (taken == 0)
                return tool_misuse("consume: -f: no escape %.2s", text);
            text += 1 + taken;
            out++;
        } else {
            text += *text == '%'; /* the first of two */
            *out++ = *text++;
        }
    }
    if (format_add_text(f, start, out) != 0)
        return tool_misuse("consume: -f: too long");
    return TOOL_OK;
}

int format_init(struct format *f, const char *text)
{
    f->count = 0;
    f->text = strdup(text);
    if (!f->text)
        return tool_fail_code("consume", "format", KL_ENOMEM, NULL);
    return format_parse(f, f->text);
}

void format_deinit(struct format *f)
{
    free(f->text);
    f->text = NULL;
}

/* ---- writing a record -------------------------------------------------- */

/* Null is -1. */
static int64_t format_length(const void *data, size_t size)
{
    return data ? (int64_t)size : -1;
}

/* Four bytes, big-endian. */
static void format_frame(struct output *o, int64_t length)
{
    uint32_t v = (uint32_t)length;
    unsigned char bytes[4] = {(unsigned char)(v >> 24),
                              (unsigned char)(v >> 16), (unsigned char)(v >> 8),
                              (unsigned char)v};

    output_bytes(o, bytes, sizeof bytes);
}

/* name=value,name=value */
static void format_headers(struct output *o, const kl_record *record)
{
    const char *name;
    const void *value;
    size_t name_size;
    size_t value_size;

    for (size_t i = 0; kl_record_header_at(record, i, &name, &name_size, &value,
                                           &value_size) == KL_OK;
         i++) {
        if (i > 0)
            output_bytes(o, ",", 1);
        output_bytes(o, name, name_size);
        output_bytes(o, "=", 1);
        if (value)
            output_bytes(o, value, value_size);
        else
            output_bytes(o, "NULL", 4);
    }
}

static void format_letter(char letter, struct output *o, const char *topic,
                          int32_t partition, const kl_record *record)
{
    const void *data;
    size_t size;

    switch (letter) {
    case 's':
        data = kl_record_value(record, &size);
        output_bytes(o, data, size);
        break;
    case 'S':
        data = kl_record_value(record, &size);
        output_number(o, format_length(data, size));
        break;
    case 'R':
        data = kl_record_value(record, &size);
        format_frame(o, format_length(data, size));
        break;
    case 'k':
        data = kl_record_key(record, &size);
        output_bytes(o, data, size);
        break;
    case 'K':
        data = kl_record_key(record, &size);
        output_number(o, format_length(data, size));
        break;
    case 'h':
        format_headers(o, record);
        break;
    case 't':
        output_bytes(o, topic, strlen(topic));
        break;
    case 'p':
        output_number(o, partition);
        break;
    case 'o':
        output_number(o, kl_record_offset(record));
        break;
    case 'T':
        output_number(o, kl_record_timestamp(record));
        break;
    }
}

void format_record(const struct format *f, struct output *o, const char *topic,
                   int32_t partition, const kl_record *record)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct format_part *part = &f->parts[i];

        if (part->letter)
            format_letter(part->letter, o, topic, partition, record);
        else
            output_bytes(o, part->text, part->size);
    }
}
