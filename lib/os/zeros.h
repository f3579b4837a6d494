/*
 * Zeros behind the end of a file, where blocks cannot be reserved.
 */
#ifndef KL_OS_ZEROS_H
#define KL_OS_ZEROS_H

#include "os/vfs.h"

/* Writes zeros from the end of the file up to a position. What the file holds
 * already stays as it is, holes too: writing there could race with a writer.
 * On failure the file has its old size. */
int kl_os_zeros_append(struct kl_os_file *file,
                       const struct kl_base_alloc *alloc, uint64_t end);

#endif
