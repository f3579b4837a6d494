/*
 * What the operating system grants this process.
 */
#ifndef KL_OS_LIMIT_H
#define KL_OS_LIMIT_H

#include <stdint.h>

/* How many descriptors may be open; UINT32_MAX = unlimited or unknown. */
uint32_t kl_os_limit_files(void);

#endif
