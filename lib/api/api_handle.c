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

int kl_api_error_text(const struct kl_runtime_node *node,
                      struct kl_os_mutex *mutex,
                      const struct kl_base_error *error, char *buf, size_t size)
{
    if (!buf || size == 0)
        return KL_EINVAL;
    if (kl_runtime_check(node) == KL_EFORK)
        return KL_EFORK;
    kl_os_mutex_lock(mutex);
    (void)kl_base_error_copy(error, buf, size);
    kl_os_mutex_unlock(mutex);
    return KL_OK;
}
