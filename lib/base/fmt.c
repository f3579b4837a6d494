/*
 * Bounded printing.
 */
#include "base/fmt.h"

#include <stdint.h>
#include <stdio.h>

/* Where to cut a text of which size characters fit: not inside a character.
 * Bytes that are not UTF-8 are cut anywhere. */
static size_t fmt_cut(const char *text, size_t size)
{
    size_t start = size, length;
    uint8_t lead;

    while (start > 0 && size - start < 3 &&
           ((uint8_t)text[start - 1] & 0xc0) == 0x80)
        start--;
    if (start == 0)
        return size;
    lead = (uint8_t)text[start - 1];
    length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return size - start + 1 < length ? start - 1 : size;
}

size_t kl_base_fmt_v(char *buf, size_t size, const char *format, va_list args)
{
    int length = vsnprintf(buf, size, format, args);
    size_t written;

    if (length < 0) {
        buf[0] = '\0';
        return 0;
    }
    if ((size_t)length < size)
        return (size_t)length;
    written = fmt_cut(buf, size - 1);
    buf[written] = '\0';
    return written;
}

size_t kl_base_fmt(char *buf, size_t size, const char *format, ...)
{
    va_list args;
    size_t written;

    va_start(args, format);
    written = kl_base_fmt_v(buf, size, format, args);
    va_end(args);
    return written;
}
