/*
 * Limits by getrlimit.
 */
#include "os/limit.h"

#include <sys/resource.h>

uint32_t kl_os_limit_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > UINT32_MAX)
        return UINT32_MAX;
    return (uint32_t)limit.rlim_cur;
}
