/*
 * What is behind a kl_storage, for the node that is given one.
 */
#ifndef KL_API_API_STORAGE_H
#define KL_API_API_STORAGE_H

#include "base/error.h"
#include "os/vfs_host.h"

void kl_api_storage_ref(kl_storage *s);
struct kl_os_vfs *kl_api_storage_vfs(const kl_storage *s);
/* Checks that it is complete, and keeps it as it is from now on. KL_EINVAL with
 * a text. */
int kl_api_storage_use(kl_storage *s, struct kl_base_error *error);

#endif
