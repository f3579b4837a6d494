/*
 * Random bytes of the operating system: seeds the generators above.
 */
#ifndef KL_OS_ENTROPY_H
#define KL_OS_ENTROPY_H

#include <stddef.h>

/* 0 or KL_EIO. */
int kl_os_entropy(void *buf, size_t size);

#endif
