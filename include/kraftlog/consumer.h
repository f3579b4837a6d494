/*
 * The consumer: reads partitions that the program assigns to it, each from a
 * position of its own, and gives out events.
 *
 * The next chunk of a partition is read while the program works on the one
 * before (fetch.prefetch). Partitions take turns.
 *
 * A consumer is used by one thread at a time. Its functions do not block, but
 * for kl_consumer_poll. Handles may be freed in any order: with its node gone
 * a consumer answers KL_ECLOSED.
 */
#ifndef KRAFTLOG_CONSUMER_H
#define KRAFTLOG_CONSUMER_H

#include <kraftlog/client.h>
#include <kraftlog/config.h>
#include <kraftlog/export.h>
#include <kraftlog/record.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_consumer kl_consumer;

/* Makes a consumer that talks through the client. config may be NULL
 * (defaults) and is copied; its keys are fetch.max.bytes, fetch.prefetch,
 * auto.offset.reset. The consumer is freed by kl_consumer_free. KL_EINVAL for a
 * NULL out or client, KL_ENOMEM, KL_ESTATE where the node is not open yet,
 * KL_ECLOSED where it is gone; *out is NULL on failure. */
KL_API int kl_consumer_new(kl_consumer **out, kl_client *client,
                           const kl_config *config);

/* Frees the consumer; NULL is ignored. Events that were polled stay valid until
 * they are freed. */
KL_API void kl_consumer_free(kl_consumer *consumer);

/* Adds a partition, to be read from offset: at least 0, KL_OFFSET_BEGIN (the
 * first record there is) or KL_OFFSET_END (only records written from now on).
 * Whether the offset is within the log shows when it is polled for. Where the
 * topic is deleted and another one gets its name, the partition stays that of
 * the old one (KL_ENOTOPIC is polled, also after a seek): unassign and assign
 * it again. flags must be 0. KL_ENOTOPIC; KL_ESTATE where the partition is
 * assigned already; KL_EINVAL, KL_ENOMEM, KL_ECLOSED, KL_EFORK. */
KL_API int kl_consumer_assign(kl_consumer *consumer, const char *topic,
                              int32_t partition, int64_t offset,
                              uint32_t flags);

/* Takes a partition away; events not yet polled are dropped. KL_ENOTOPIC where
 * it is not assigned, KL_EINVAL, KL_ECLOSED, KL_EFORK. */
KL_API int kl_consumer_unassign(kl_consumer *consumer, const char *topic,
                                int32_t partition);

/* Goes to another offset, as in kl_consumer_assign; events not yet polled are
 * dropped, and an error that stopped the partition is forgotten. KL_ENOTOPIC
 * where it is not assigned, KL_EINVAL, KL_ECLOSED, KL_EFORK. */
KL_API int kl_consumer_seek(kl_consumer *consumer, const char *topic,
                            int32_t partition, int64_t offset);

/* Goes to the first record whose timestamp is timestamp_ms or later; to the end
 * where there is none. timestamp_ms is at least 0. Otherwise as
 * kl_consumer_seek. */
KL_API int kl_consumer_seek_timestamp(kl_consumer *consumer, const char *topic,
                                      int32_t partition, int64_t timestamp_ms);

/* Stops giving out events of a partition; its position stays. Pausing twice is
 * fine. KL_ENOTOPIC where it is not assigned, KL_EINVAL, KL_ECLOSED, KL_EFORK.
 */
KL_API int kl_consumer_pause(kl_consumer *consumer, const char *topic,
                             int32_t partition);

/* Goes on with a paused partition. KL_ENOTOPIC where it is not assigned,
 * KL_EINVAL, KL_ECLOSED, KL_EFORK. */
KL_API int kl_consumer_resume(kl_consumer *consumer, const char *topic,
                              int32_t partition);

/* The offset behind the last record that was polled. KL_EAGAIN while
 * KL_OFFSET_BEGIN, KL_OFFSET_END or a timestamp has not been looked up yet:
 * poll first. KL_ENOTOPIC where the partition is not assigned, KL_EINVAL,
 * KL_ECLOSED, KL_EFORK. */
KL_API int kl_consumer_position(kl_consumer *consumer, const char *topic,
                                int32_t partition, int64_t *offset_out);

/* Records between the position and the end of the partition, as of the last
 * answer of its leader. Codes as kl_consumer_position. */
KL_API int kl_consumer_lag(kl_consumer *consumer, const char *topic,
                           int32_t partition, int64_t *records_out);

/* Waits at most timeout_ms (< 0 = no limit, 0 = not at all) for the next event
 * and gives it to the caller, who frees it with kl_event_free; the position of
 * its partition moves behind it. 0 with *event_out NULL when the time is over.
 * The end of a partition is told once per arrival there. After an error its
 * partition stands still until kl_consumer_seek, which may go to the same
 * position to try again. The thread that owns the node polls it meanwhile, also
 * with a timeout of 0. KL_EREENTRY in a callback where there is no event yet,
 * KL_EINVAL, KL_ENOMEM (nothing is lost), KL_ECLOSED, KL_EFORK; *event_out is
 * NULL then. */
KL_API int kl_consumer_poll(kl_consumer *consumer, int32_t timeout_ms,
                            kl_event **event_out);

/* Copies one line about the last failure of a function of this consumer, cut to
 * size and terminated; an empty text where there was none. KL_EINVAL for a NULL
 * consumer, a NULL buf or size 0; KL_EFORK. */
KL_API int kl_consumer_errmsg(const kl_consumer *consumer, char *buf,
                              size_t size);

#ifdef __cplusplus
}
#endif

#endif
