/*
 * Tasks over a folder that is not open, behind kl_inspect: each gives items one
 * after another. One thread at a time.
 *
 * A part of the door: runtime.h includes it.
 */
#ifndef KL_RUNTIME_INSPECT_H
#define KL_RUNTIME_INSPECT_H

#include "base/error.h"
#include "os/vfs.h"
#include "runtime/item.h"

struct kl_runtime_inspect;

enum { KL_RUNTIME_INSPECT_FORCE = 1, KL_RUNTIME_INSPECT_RECORDS = 2 };

int kl_runtime_inspect_new(struct kl_runtime_inspect **out,
                           const struct kl_base_alloc *alloc);
void kl_runtime_inspect_free(struct kl_runtime_inspect *in);
/* Ends the task; from now on another file system is looked at, which is the
 * caller's, or with NULL the real one. */
int kl_runtime_inspect_set_vfs(struct kl_runtime_inspect *in,
                               struct kl_os_vfs *vfs);
/* Also set by the caller, for what happens before a task. */
struct kl_base_error *kl_runtime_inspect_error(struct kl_runtime_inspect *in);

/* Each ends the task before. See kraftlog/inspect.h. */
int kl_runtime_inspect_verify(struct kl_runtime_inspect *in, const char *dir,
                              uint32_t flags);
int kl_runtime_inspect_doctor(struct kl_runtime_inspect *in, const char *dir,
                              uint32_t flags);
int kl_runtime_inspect_dump(struct kl_runtime_inspect *in, const char *dir,
                            uint32_t flags);
int kl_runtime_inspect_dump_wal(struct kl_runtime_inspect *in, const char *dir,
                                uint32_t flags);
int kl_runtime_inspect_dump_log(struct kl_runtime_inspect *in, const char *dir,
                                const char *topic, int32_t partition,
                                uint32_t flags);
int kl_runtime_inspect_dump_file(struct kl_runtime_inspect *in,
                                 const char *path, uint32_t flags);
int kl_runtime_inspect_salvage(struct kl_runtime_inspect *in, const char *dir,
                               const char *new_dir, uint32_t flags);

/* The next item, which lives until the next call. */
int kl_runtime_inspect_next(struct kl_runtime_inspect *in,
                            const struct kl_runtime_item **out);

#endif
