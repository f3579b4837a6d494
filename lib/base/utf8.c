/*
 * Well-formed UTF-8.
 */
#include "base/utf8.h"

size_t kl_base_utf8_sequence(const uint8_t *s, size_t size)
{
    uint8_t low = 0x80, high = 0xbf;
    size_t length, i;

    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (length > size)
        return 0;
    if (s[0] == 0xe0)
        low = 0xa0;
    else if (s[0] == 0xed)
        high = 0x9f;
    else if (s[0] == 0xf0)
        low = 0x90;
    else if (s[0] == 0xf4)
        high = 0x8f;
    if (s[1] < low || s[1] > high)
        return 0;
    for (i = 2; i < length; i++) {
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    }
    return length;
}
