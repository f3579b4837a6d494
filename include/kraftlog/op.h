/*
 * Operations: one handle for every result that comes later. Where a function
 * has an op_out argument it may be NULL if nobody asks; otherwise the handle
 * must be freed. Freeing does not cancel what is under way.
 *
 * All functions may be called by any thread. The results below can be read once
 * kl_op_done says 1; before that, and where the operation has no such result,
 * they give KL_ESTATE.
 */
#ifndef KRAFTLOG_OP_H
#define KRAFTLOG_OP_H

#include <kraftlog/export.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_op kl_op;

/* op is the finished operation; it may be freed inside. */
typedef void (*kl_op_fn)(kl_op *op, void *user);

/* Waits until the operation is finished, whatever its result; timeout_ms < 0 =
 * without limit, 0 = only looks. The thread that owns the node polls it
 * meanwhile (callbacks may run); where no thread does yet, the caller becomes
 * the owner. Other threads sleep. KL_ETIMEDOUT, KL_ECLOSED, KL_EREENTRY where
 * it would wait inside a callback, KL_EFORK in a child process, KL_EINVAL. */
KL_API int kl_op_wait(kl_op *op, int32_t timeout_ms);

/* 1 where the operation is finished. */
KL_API int kl_op_done(const kl_op *op);

/* 0 where it succeeded, why not otherwise, KL_EAGAIN while it is under way.
 * KL_EUNKNOWN: it may or may not have happened. */
KL_API int kl_op_code(const kl_op *op);

/* Copies a line of text about the failure into buf, cut to size and terminated;
 * empty where there was none. KL_ESTATE, KL_EINVAL. */
KL_API int kl_op_errmsg(const kl_op *op, char *buf, size_t size);

/* fn is called once, by the thread that polls the node, when the operation is
 * finished, also where it is already. Once per operation: KL_ESTATE the second
 * time. A callback that was set is called even if the handle was freed before;
 * then fn must not free it. Where the node is closed already, fn is called
 * inside this function, or by another thread that is inside a function of a
 * handle of this node just then; one callback at a time. KL_EINVAL, KL_ENOMEM,
 * KL_EFORK. */
KL_API int kl_op_set_callback(kl_op *op, kl_op_fn fn, void *user);

/* Gives the handle up. NULL is ignored; a child process after fork leaves the
 * handle alone. */
KL_API void kl_op_free(kl_op *op);

/* ---- results of a send, and of looking up an offset --------------------- */

/* Offset of the record; the offset that was asked for. */
KL_API int kl_op_offset(const kl_op *op, int64_t *offset_out);

/* Partition that the record went to. */
KL_API int kl_op_partition(const kl_op *op, int32_t *partition_out);

/* Leader epoch under which the record was appended. */
KL_API int kl_op_epoch(const kl_op *op, int32_t *epoch_out);

/* Level that was reached: KL_LEVEL_MEMORY, _DURABLE or _REPLICATED. */
KL_API int kl_op_level(const kl_op *op, int *level_out);

/* Number of replicas that had the record at that level. */
KL_API int kl_op_replica_count(const kl_op *op, int32_t *count_out);

/* Of looking up an offset and of deleting records: the first offset that is
 * still there. */
KL_API int kl_op_log_start(const kl_op *op, int64_t *offset_out);

/* Of looking up an offset: the offset behind the last readable record. */
KL_API int kl_op_high_watermark(const kl_op *op, int64_t *offset_out);

/* ---- results of a bulk send --------------------------------------------- */

/* Partition of every record, in the order of the records; borrowed until the
 * operation is freed. */
KL_API int kl_op_partitions(const kl_op *op, const int32_t **partitions_out,
                            size_t *count_out);

/* Offset of every record, in the order of the records, -1 for a record that was
 * not acknowledged; borrowed until the operation is freed. */
KL_API int kl_op_offsets(const kl_op *op, const int64_t **offsets_out,
                         size_t *count_out);

/* ---- results in words ---------------------------------------------------- */

/* JSON text, UTF-8 and terminated; size_out (may be NULL) is its length.
 * Borrowed until the operation is freed. */
KL_API int kl_op_json(const kl_op *op, const char **text_out, size_t *size_out);

#ifdef __cplusplus
}
#endif

#endif
