/*
 * The producer: accumulates records into batches, one per partition at a time,
 * and hands whole batches to the node.
 *
 * A batch is sent when it is full (batch.size), or when no other batch of its
 * partition is under way and linger.ms has passed; with linger.ms 0 a batch
 * grows while the one before it is being written. Records of one partition
 * keep the order in which they were accepted.
 *
 * A producer may be used by several threads at once. Records are copied; the
 * caller's bytes are free again when a function returns. Handles may be freed
 * in any order: with its node gone a producer answers KL_ECLOSED.
 */
#ifndef KRAFTLOG_PRODUCER_H
#define KRAFTLOG_PRODUCER_H

#include <kraftlog/client.h>
#include <kraftlog/config.h>
#include <kraftlog/export.h>
#include <kraftlog/op.h>
#include <kraftlog/record.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_producer kl_producer;

enum {
    /* The partition is chosen by the key, as Kafka's default partitioner does
     * it (murmur2); without a key by round robin, a whole batch each. */
    KL_PARTITION_ANY = -1
};

/* Makes a producer that talks through the client. config may be NULL
 * (defaults) and is copied; its keys are batch.size, linger.ms, buffer.memory,
 * max.in.flight.requests.per.connection and compression.type. The producer is
 * freed by kl_producer_free. Any thread. KL_EINVAL for a NULL out or client,
 * KL_ENOMEM, KL_ESTATE where the node is not open yet, KL_ECLOSED where it is
 * gone, KL_EUNSUPPORTED for a codec that this build lacks; *out is NULL on
 * failure. */
KL_API int kl_producer_new(kl_producer **out, kl_client *client,
                           const kl_config *config);

/* Frees the producer; NULL is ignored. Records that were accepted but not yet
 * handed to the node are dropped: their operations finish with KL_ECLOSED.
 * Those already handed over are written, and their operations finish as usual
 * (KL_EUNKNOWN where the node ends first). Call kl_producer_flush before to
 * lose nothing. Any thread, but no other call may be in progress or follow. */
KL_API void kl_producer_free(kl_producer *producer);

/* Accepts one record: key and value are copied, NULL = null. partition counts
 * from 0 or is KL_PARTITION_ANY. timestamp_ms is at least 0, or
 * KL_TIMESTAMP_NOW. flags must be 0. op_out may be NULL; otherwise *op_out is
 * an operation that the caller frees and that finishes when the record is
 * acknowledged (its partition, offset, epoch and level are set then) or has
 * failed; it is NULL on failure of this call. Never blocks. Any thread.
 *   KL_EAGAIN       buffer.memory is used up: nothing was accepted; wait for an
 *                   operation or with kl_producer_wait, and send again
 *   KL_ENOTOPIC     no such topic, or not that many partitions
 *   KL_ERECORDSIZE  larger than the topic's max.message.bytes or buffer.memory
 *   KL_ECLOSED      the node is stopped or freed
 * KL_EINVAL for NULL handles or names, NULL data with a size, bad flags,
 * partitions or timestamps; KL_ENOMEM; KL_EFORK in a child process. */
KL_API int kl_producer_send(kl_producer *producer, const char *topic,
                            int32_t partition, const void *key, size_t key_size,
                            const void *value, size_t value_size,
                            int64_t timestamp_ms, uint32_t flags,
                            kl_op **op_out);

/* Accepts one record with headers. The record is copied and may be changed or
 * freed at once; a record lent by an event can be sent as it is. Otherwise as
 * kl_producer_send. */
KL_API int kl_producer_send_record(kl_producer *producer, const char *topic,
                                   int32_t partition, const kl_record *record,
                                   uint32_t flags, kl_op **op_out);

/* Accepts count records from arrays of count elements.
 *   partition     for all, or KL_PARTITION_ANY
 *   keys          pointers to keys, NULL = null; the array may be NULL
 *   key_sizes     bytes; may be NULL where keys is
 *   values        pointers to values, NULL = null; the array may be NULL
 *   value_sizes   bytes; may be NULL where values is
 *   timestamps    ms or KL_TIMESTAMP_NOW; the array may be NULL: now
 * The records are accepted in order until one cannot be; *accepted_out (may be
 * NULL) is how many were. The code is 0 when all were, else why the next one
 * was not, as in kl_producer_send; after KL_EAGAIN send the rest later. One
 * operation covers the records that were accepted: it finishes when all of them
 * have, and holds arrays of their partitions and offsets. Where batches of it
 * fail its code is that of the first that did, but KL_EUNKNOWN where that is
 * the code of any. *op_out is NULL where none was accepted. flags must be 0.
 * Any thread. */
KL_API int kl_producer_send_bulk(kl_producer *producer, const char *topic,
                                 int32_t partition, const void *const *keys,
                                 const uint64_t *key_sizes,
                                 const void *const *values,
                                 const uint64_t *value_sizes,
                                 const int64_t *timestamps, size_t count,
                                 uint32_t flags, size_t *accepted_out,
                                 kl_op **op_out);

/* Sends what has been accepted without waiting for linger.ms, and waits until
 * all of it is acknowledged or has failed. timeout_ms < 0 = no limit, 0 = only
 * send. Records that other threads send meanwhile are not waited for. The
 * thread that owns the node polls it meanwhile. Any thread; from a callback
 * only where nothing is to be waited for.
 * 0 when every record accepted since the last flush that returned something
 * else than KL_ETIMEDOUT was acknowledged; else the code of the first that
 * failed, but KL_EUNKNOWN where that is the code of any. KL_ETIMEDOUT,
 * KL_ECLOSED, KL_EREENTRY where it would wait in a callback, KL_EFORK,
 * KL_EINVAL for NULL. */
KL_API int kl_producer_flush(kl_producer *producer, int32_t timeout_ms);

/* Waits until at most half of buffer.memory is in use and the record that was
 * refused last has room: what to do after KL_EAGAIN where nothing else is to be
 * waited for. Batches are sent without waiting for linger.ms until then.
 * timeout_ms < 0 = no limit. The thread that owns the node polls it meanwhile.
 * Any thread; from a callback only where nothing is to be waited for.
 * KL_ETIMEDOUT, KL_ECLOSED, KL_EREENTRY where it would wait in a callback,
 * KL_EFORK, KL_EINVAL for NULL. */
KL_API int kl_producer_wait(kl_producer *producer, int32_t timeout_ms);

/* Bytes of buffer.memory that are in use, for back-pressure by the host; 0 for
 * NULL and in a child process. Any thread. */
KL_API uint64_t kl_producer_buffered(const kl_producer *producer);

/* Copies one line about the last record that was refused (but for KL_EAGAIN) or
 * batch that failed, cut to size and terminated; an empty text where there was
 * none. KL_EINVAL for a NULL producer, a NULL buf or size 0; KL_EFORK. Any
 * thread. */
KL_API int kl_producer_errmsg(const kl_producer *producer, char *buf,
                              size_t size);

#ifdef __cplusplus
}
#endif

#endif
