/*
 * Records and events.
 *
 * A kl_record is what a program fills to send a record with headers, and what
 * an event lends while it is iterated over. A kl_event is what a consumer's
 * poll returns: a run of whole batches of one partition, the end of a
 * partition, or an error.
 *
 * Null is a NULL pointer, empty is a pointer that is not NULL with size 0.
 * Sizes are bytes, timestamps are milliseconds since 1970-01-01 UTC.
 */
#ifndef KRAFTLOG_RECORD_H
#define KRAFTLOG_RECORD_H

#include <kraftlog/config.h>
#include <kraftlog/export.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_record kl_record;
typedef struct kl_event kl_event;

enum {
    /* The time at which the producer takes the record, to a tick of the
     * system's clock: at most 10 ms, mostly 1 to 4, too early. */
    KL_TIMESTAMP_NOW = -1
};

/* ---- a record to be sent ----------------------------------------------- */

/* Makes an empty record: null key, null value, no headers, timestamp
 * KL_TIMESTAMP_NOW. It is filled by setters, which copy, sent as often as
 * wanted by kl_producer_send_record and freed by kl_record_free. Its memory
 * comes from the allocator of config, which may be freed at once; NULL = the C
 * library's. One thread at a time; different records are independent.
 * KL_EINVAL for a NULL out, KL_ENOMEM. */
KL_API int kl_record_new(kl_record **out, const kl_config *config);

/* Frees a record made by kl_record_new. NULL is ignored. A record lent by an
 * event is never freed: it is ignored too. */
KL_API void kl_record_free(kl_record *record);

/* Makes the record empty again and keeps its memory for the next filling.
 * KL_EINVAL for NULL, KL_ESTATE for a record lent by an event. */
KL_API int kl_record_clear(kl_record *record);

/* Copies size bytes as the key; data NULL makes the key null. On failure the
 * record is unchanged. KL_EINVAL (NULL record, NULL data with a size, more
 * than 64 MiB), KL_ENOMEM, KL_ESTATE for a record lent by an event. */
KL_API int kl_record_set_key(kl_record *record, const void *data, size_t size);

/* Copies size bytes as the value; otherwise as kl_record_set_key. A null value
 * is a tombstone where the topic is compacted. */
KL_API int kl_record_set_value(kl_record *record, const void *data,
                               size_t size);

/* Sets the timestamp in ms, at least 0, or KL_TIMESTAMP_NOW. KL_EINVAL for
 * others and for NULL, KL_ESTATE for a record lent by an event. */
KL_API int kl_record_set_timestamp(kl_record *record, int64_t timestamp_ms);

/* Appends a header. name is a terminated UTF-8 text, copied, and may appear
 * more than once; value is copied, NULL = null. On failure the record is
 * unchanged. KL_EINVAL (NULL record or name, NULL value with a size, more than
 * 64 MiB), KL_ENOMEM, KL_ESTATE for a record lent by an event. */
KL_API int kl_record_add_header(kl_record *record, const char *name,
                                const void *value, size_t value_size);

/* ---- reading a record -------------------------------------------------- */

/* The record's offset in its partition; -1 for one made by kl_record_new and
 * for NULL. */
KL_API int64_t kl_record_offset(const kl_record *record);

/* Milliseconds since 1970-01-01 UTC; KL_TIMESTAMP_NOW where none is set and
 * for NULL. */
KL_API int64_t kl_record_timestamp(const kl_record *record);

/* The epoch of the leader that appended the record; -1 for one made by
 * kl_record_new and for NULL. */
KL_API int32_t kl_record_epoch(const kl_record *record);

/* The key, borrowed; NULL where it is null. Its size goes to *size_out (0 where
 * null; size_out may be NULL). The bytes of a lent record live until its event
 * is freed, those of an own record until the next change of it. */
KL_API const void *kl_record_key(const kl_record *record, size_t *size_out);

/* The value; as kl_record_key. */
KL_API const void *kl_record_value(const kl_record *record, size_t *size_out);

/* Number of headers; 0 for NULL. */
KL_API size_t kl_record_header_count(const kl_record *record);

/* Lends header number index, counted from 0: name and value are borrowed as the
 * key is. The name is not terminated. Each out pointer may be NULL. *value_out
 * is NULL where the value is null. The headers of a lent record are walked from
 * the first. KL_EINVAL for a NULL record, KL_EEND past the last header. */
KL_API int kl_record_header_at(const kl_record *record, size_t index,
                               const char **name_out, size_t *name_size_out,
                               const void **value_out, size_t *value_size_out);

/* ---- events ------------------------------------------------------------ */

/* What an event is. New kinds may be added: a program ignores those it does
 * not know. */
enum {
    KL_EVENT_RECORDS = 1, /* records of one partition, in order of offset */
    KL_EVENT_END = 2,     /* nothing more is stored behind the position */
    KL_EVENT_ERROR = 3    /* see kl_event_code; the partition stands still */
};

/* KL_EVENT_RECORDS, KL_EVENT_END or KL_EVENT_ERROR; 0 for NULL. An event
 * belongs to the caller of kl_consumer_poll. It is used by one thread at a
 * time, which need not be the consumer's, and may outlive its consumer and the
 * node. */
KL_API int kl_event_type(const kl_event *event);

/* The topic's name, borrowed from the event; NULL for NULL. */
KL_API const char *kl_event_topic(const kl_event *event);

/* The partition, counted from 0; -1 for NULL. */
KL_API int32_t kl_event_partition(const kl_event *event);

/* The offset the event is about: of an event with records the first offset
 * that it may give, else the consumer's position. -1 for NULL. */
KL_API int64_t kl_event_offset(const kl_event *event);

/* The offset at which reading goes on: behind the last record of an event that
 * has some; of KL_ECORRUPT the first offset behind what is damaged, where
 * kl_consumer_seek skips it; else kl_event_offset. -1 for NULL. */
KL_API int64_t kl_event_next_offset(const kl_event *event);

/* Why a KL_EVENT_ERROR was raised: KL_EOFFSETRANGE (the position is not within
 * the log and auto.offset.reset is none), KL_ENOTOPIC (topic or partition is
 * gone), KL_ECORRUPT (the records from the position up to
 * kl_event_next_offset are damaged or missing), KL_EIO, KL_ENOMEM. 0 for
 * every other event, KL_EINVAL for NULL. */
KL_API int kl_event_code(const kl_event *event);

/* Copies one line about the error, cut to size and terminated; an empty text
 * where there is none. KL_EINVAL for a NULL event, a NULL buf or size 0. */
KL_API int kl_event_errmsg(const kl_event *event, char *buf, size_t size);

/* The end of what could be read when the event was fetched: the offset behind
 * the last record. -1 where it is not known, and for NULL. */
KL_API int64_t kl_event_high_watermark(const kl_event *event);

/* Number of records that kl_event_next and kl_event_columns give: those at and
 * behind kl_event_offset. 0 for events without records and for NULL. */
KL_API size_t kl_event_record_count(const kl_event *event);

/* Lends the next record. *record_out is valid until the next call with the same
 * event; the bytes that it points to live until the event is freed. Checksums
 * were verified when the event was fetched. Records before the consumer's
 * position are left out. KL_EEND behind the last record and for events without
 * records; KL_ECORRUPT for a malformed batch and KL_EBATCH for one that is
 * larger than 64 MiB when decompressed, both of which end the iteration;
 * KL_ENOMEM, after which the call may be repeated; KL_EINVAL for NULL. */
KL_API int kl_event_next(kl_event *event, const kl_record **record_out);

/* Lends all records as columns: arrays of *count_out elements each, in order of
 * offset, that live until the event is freed and are built at the first call.
 * Each out pointer but count_out may be NULL.
 *   offsets_out       offsets in the partition
 *   timestamps_out    milliseconds
 *   keys_out          pointers to the keys, NULL = null
 *   key_sizes_out     bytes, 0 where null
 *   values_out        pointers to the values, NULL = null
 *   value_sizes_out   bytes, 0 where null
 * Independent of how far kl_event_next has come. Events without records give a
 * count of 0. Codes as kl_event_next; on failure the outputs are unchanged. */
KL_API int kl_event_columns(kl_event *event, size_t *count_out,
                            const int64_t **offsets_out,
                            const int64_t **timestamps_out,
                            const void *const **keys_out,
                            const uint64_t **key_sizes_out,
                            const void *const **values_out,
                            const uint64_t **value_sizes_out);

/* Lends the bytes as they are stored, without copying: run number index, from
 * 0, of whole frames that follow each other (kraftlog-format(5)), verified. The
 * first frame may begin before the position. They live until the event is
 * freed. KL_EEND past the last run and for events without records, KL_EINVAL
 * for NULL. */
KL_API int kl_event_bytes(const kl_event *event, size_t index,
                          const void **data_out, size_t *size_out);

/* Frees the event and all that it has lent. NULL is ignored. In a child process
 * after fork it does nothing. Any thread. */
KL_API void kl_event_free(kl_event *event);

#ifdef __cplusplus
}
#endif

#endif
