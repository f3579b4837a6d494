/*
 * A host's functions that pass everything on to another file system, so that
 * the port over them can be tested like the others. The optional ones are left
 * out, but for space.
 */
#ifndef TEST_HOST_CALLS_H
#define TEST_HOST_CALLS_H

#include "os/vfs_host.h"

void host_calls_fill(struct kl_os_host_calls *calls, struct kl_os_vfs *inner);

#endif
