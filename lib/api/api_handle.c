/*
 * What the functions of this room share.
 */
#include "api/api_handle.h"

#include <string.h>

void kl_api_text_copy(const char *text, size_t text_size, char *buf,
                      size_t size, size_t *size_out)
{
    if (size_out)
        *size_out = text_size;
    if (!size)
        return;
    if (text_size > size - 1)
        text_size = size - 1;
    memcpy(buf, text, text_size);
    buf[text_size] = 0;
}
