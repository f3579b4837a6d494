/*
 * Looking at a data folder without opening it as a node: is it whole, what is
 * in it, and saving what is good to a new one.
 *
 * A task is begun and then gives items one after another: lines of a report,
 * each with a type and fields that have names. What types and fields there are
 * is in kl_inspect(3); new ones may be added, and a program ignores those that
 * it does not know. Nothing of the folder is ever changed.
 *
 * A kl_inspect is used by one thread at a time; calls block while they read.
 * Different handles are independent.
 */
#ifndef KRAFTLOG_INSPECT_H
#define KRAFTLOG_INSPECT_H

#include <kraftlog/config.h>
#include <kraftlog/export.h>
#include <kraftlog/storage.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_inspect kl_inspect;
typedef struct kl_item kl_item;

enum {
    /* Look also where a node holds the folder. What it is writing meanwhile may
     * then seem damaged. */
    KL_INSPECT_FORCE = 1,
    KL_INSPECT_RECORDS = 2 /* kl_inspect_dump_log: records too, not batches
                              alone */
};

/* Makes a handle; touches no file. Its memory comes from the allocator of
 * config, which may be freed at once; NULL = the C library's. KL_EINVAL,
 * KL_ENOMEM. */
KL_API int kl_inspect_new(kl_inspect **out, const kl_config *config);

/* Ends the task and lets go of the folder. NULL is ignored. */
KL_API void kl_inspect_free(kl_inspect *inspect);

/* Looks at files in a storage of the host's in place of the operating system's;
 * NULL = back to that. Ends the task. The handle holds the storage. KL_EINVAL,
 * KL_ENOMEM. */
KL_API int kl_inspect_set_storage(kl_inspect *inspect, kl_storage *storage);

/* Copies one line about the last failure, cut to size and terminated; empty
 * where there was none. KL_EINVAL. */
KL_API int kl_inspect_errmsg(const kl_inspect *inspect, char *buf, size_t size);

/* ---- tasks -------------------------------------------------------------- */

/* Each of these ends the task before, reads what the folder is, and holds its
 * lock until the task ends, so that no node can open it meanwhile. KL_ENOSTORE
 * where there is no folder or no trace of a store in it, KL_EBUSY where a node
 * holds it and flags lack KL_INSPECT_FORCE, KL_EFORMAT where a later release
 * wrote it, KL_EACCESS, KL_EIO, KL_EINVAL (also for unknown flags), KL_ENOMEM.
 */

/* Reads every byte that counts and checks it. Items: "finding" for what is not
 * as it was written, at the end one "summary". */
KL_API int kl_inspect_verify(kl_inspect *inspect, const char *dir,
                             uint32_t flags);

/* The same for whoever has to act: what is lost for good, what another copy is
 * left of, and what to do next. Items: "finding" with what it costs, "summary",
 * "advice". */
KL_API int kl_inspect_doctor(kl_inspect *inspect, const char *dir,
                             uint32_t flags);

/* What the folder holds. Items: "store", "checkpoint", "log", "segment". */
KL_API int kl_inspect_dump(kl_inspect *inspect, const char *dir,
                           uint32_t flags);

/* What the write-ahead log holds. Items: "group", "entry". */
KL_API int kl_inspect_dump_wal(kl_inspect *inspect, const char *dir,
                               uint32_t flags);

/* One log: its segments, then its batches as far as they can be had, those that
 * only the write-ahead log has at the end. topic is a name or the 32 digits of
 * an identifier. Items: "log", "segment", "batch", "lost", with
 * KL_INSPECT_RECORDS also "record". KL_ENOTOPIC where there is no such log. */
KL_API int kl_inspect_dump_log(kl_inspect *inspect, const char *dir,
                               const char *topic, int32_t partition,
                               uint32_t flags);

/* One file alone, whatever is around it: identity, checkpoint, manifest,
 * segment, index or a file of the write-ahead log; its first bytes say which.
 * Items as above, of an index "index". flags: KL_INSPECT_RECORDS. KL_ENOENT,
 * KL_ECORRUPT where it is none of these. */
KL_API int kl_inspect_dump_file(kl_inspect *inspect, const char *path,
                                uint32_t flags);

/* Saves what is good to a new folder, which is absent or empty: all logs with
 * their identifiers, names, configuration, offsets and epochs, from segments
 * and write-ahead log, wherever a copy verifies. Offsets that are lost are a
 * gap there and give KL_ECORRUPT. Node and cluster stay the same; the directory
 * is a new one, which has no vote of the old. flags is 0. Items: "note", for
 * each log "lost" and "saved", or "skipped" where its topic was deleted, at the
 * end "summary". Only after that the new folder is a store. KL_EEXIST where the
 * new folder is not empty, KL_EDISKFULL. */
KL_API int kl_inspect_salvage(kl_inspect *inspect, const char *dir,
                              const char *new_dir, uint32_t flags);

/* The next item. It lives until the next call with this handle. KL_EEND behind
 * the last one, KL_ESTATE where no task was begun or it has failed, KL_EIO and
 * others where the task cannot go on, KL_EINVAL, KL_ENOMEM. */
KL_API int kl_inspect_next(kl_inspect *inspect, const kl_item **item_out);

/* ---- items -------------------------------------------------------------- */

/* The type of an item, static; NULL for NULL. */
KL_API const char *kl_item_type(const kl_item *item);

/* The name of field number index, from 0, static; NULL past the last and for
 * NULL. */
KL_API const char *kl_item_field_at(const kl_item *item, size_t index);

/* The value of a field that is a number. KL_ESTATE where the item has no such
 * number, KL_EINVAL for NULL. */
KL_API int kl_item_int(const kl_item *item, const char *field,
                       int64_t *value_out);

/* Lends the value of a field that is text or bytes, terminated behind its size;
 * NULL where it is null. size_out may be NULL. KL_ESTATE where the item has no
 * such field, KL_EINVAL for NULL. */
KL_API int kl_item_bytes(const kl_item *item, const char *field,
                         const void **data_out, size_t *size_out);

/* Lends the item as one line for people, terminated, without a line feed.
 * size_out may be NULL. KL_EINVAL for NULL. */
KL_API int kl_item_text(const kl_item *item, const char **text_out,
                        size_t *size_out);

/* Lends the item as one JSON object without a line feed, the type first; bytes
 * that are not UTF-8 are replaced. size_out may be NULL. KL_EINVAL for NULL. */
KL_API int kl_item_json(const kl_item *item, const char **json_out,
                        size_t *size_out);

#ifdef __cplusplus
}
#endif

#endif
