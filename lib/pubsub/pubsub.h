/*
 * The engines of producer and consumer, without locks, threads or a clock: who
 * calls them holds whatever lock there is, and carries out what they ask for.
 *
 *   partitioner  key -> partition
 *   accumulator  records -> batches, in order, one open batch per partition
 *   position     where a consumer stands in one partition, what to ask for next
 */
#ifndef KL_PUBSUB_PUBSUB_H
#define KL_PUBSUB_PUBSUB_H

#include "base/alloc.h"
#include "base/chunk.h"
#include "base/list.h"
#include "base/map.h"
#include "base/uuid.h"
#include "batch/batch.h"

#include <stdint.h>

/* ---- partitioner ------------------------------------------------------- */

/* Kafka's default partitioner: the same key lands where a Kafka client puts it.
 * count > 0. */
int32_t kl_pubsub_key_partition(const void *key, size_t size, int32_t count);

/* ---- accumulator ------------------------------------------------------- */

struct kl_pubsub_config
{
    uint32_t batch_size;    /* bytes of a frame that closes a batch */
    uint32_t in_flight_max; /* batches of a partition on their way */
    uint64_t memory_max;    /* bytes of all batches together */
    int64_t linger_ns;
    int16_t attributes; /* the codec */
    size_t user_size;   /* bytes behind every batch for who sends it */
    uint32_t seed;      /* which partition keyless records begin with */
    /* A chunk of at least capacity bytes, or NULL: no memory. */
    struct kl_base_chunk *(*chunk_get)(size_t capacity, void *user);
    void *user;
};

/* Slot of an operation that is about one record only. */
#define KL_PUBSUB_SLOT_NONE UINT32_MAX

/* Records of one operation that follow each other in one batch. */
struct kl_pubsub_part
{
    void *op;
    uint32_t record; /* the first's index in the batch */
    uint32_t slot;   /* the first's index in the operation, or NONE */
    uint32_t count;
};

struct kl_pubsub_topic;

struct kl_pubsub_partition
{
    struct kl_pubsub_topic *topic;
    struct kl_pubsub_batch *open; /* takes records, or NULL */
    struct kl_base_list queue;    /* closed or built, in order, not sent */
    struct kl_base_list opened;   /* in the accumulator's list while open */
    uint64_t seed;                /* of the log's checksums */
    uint32_t hint;                /* capacity to begin the next batch with */
    uint32_t pending;             /* batches closed and not finished */
    uint32_t in_flight;           /* batches sent and not finished */
    int32_t index;
};

struct kl_pubsub_topic
{
    struct kl_base_list link; /* in the accumulator's list of topics */
    char *name;
    size_t name_size;
    struct kl_base_uuid id;
    uint32_t batch_max;
    uint32_t batch_count; /* live batches that point here */
    uint64_t version;     /* the caller's: of the metadata it was made from */
    int32_t partition_count;
    int32_t sticky; /* partition for records without a key */
    int retired;    /* another topic has its name: goes with its last batch */
    size_t capacity;
    struct kl_pubsub_partition **partitions; /* NULL until used */
};

enum kl_pubsub_stage {
    KL_PUBSUB_OPEN,   /* takes records */
    KL_PUBSUB_CLOSED, /* to be built, or being built without the lock */
    KL_PUBSUB_BUILT,  /* waits for its turn */
    KL_PUBSUB_SENT    /* in the outbox or beyond */
};

struct kl_pubsub_batch
{
    struct kl_base_list live;  /* all batches, oldest first */
    struct kl_base_list link;  /* queue, outbox or pool */
    struct kl_base_list build; /* list of batches to be built */
    struct kl_pubsub_partition *partition;
    struct kl_base_chunk *frame; /* once built */
    struct kl_pubsub_part *parts;
    size_t part_count;
    size_t part_capacity;
    size_t charge;     /* bytes counted in memory_used */
    uint64_t sequence; /* order of opening */
    int64_t linger_end_ns;
    int32_t record_count; /* once closed */
    enum kl_pubsub_stage stage;
    struct kl_batch_builder builder;
    _Alignas(16) unsigned char user[]; /* zeroed once, then left alone */
};

struct kl_pubsub_accumulator
{
    const struct kl_base_alloc *alloc;
    struct kl_pubsub_config config;
    struct kl_base_map names;   /* name -> topic that is not retired */
    struct kl_base_list topics; /* all of them */
    struct kl_base_list live;   /* batches, oldest first */
    struct kl_base_list opened; /* partitions with an open batch, by age */
    struct kl_base_list build;  /* batches to be built */
    struct kl_base_list outbox; /* batches to be sent, in order */
    struct kl_base_list pool;   /* unused batch objects */
    uint32_t pool_count;
    uint32_t idle_count; /* open batches that only wait for their time */
    uint64_t sequence;   /* of the batch opened last */
    uint64_t memory_used;
};

void kl_pubsub_accumulator_init(struct kl_pubsub_accumulator *a,
                                const struct kl_base_alloc *alloc,
                                const struct kl_pubsub_config *config);
/* All batches must have been released. */
void kl_pubsub_accumulator_deinit(struct kl_pubsub_accumulator *a);

/* The topic of this name as the metadata have it now. Where the id is another
 * than before, batches of the old topic go on on their own. 0 or KL_ENOMEM. */
int kl_pubsub_topic_update(struct kl_pubsub_accumulator *a, const char *name,
                           const struct kl_base_uuid *id,
                           int32_t partition_count, uint32_t batch_max,
                           struct kl_pubsub_topic **out);
/* NULL where update was never called for the name. */
struct kl_pubsub_topic *
kl_pubsub_topic_find(const struct kl_pubsub_accumulator *a, const char *name);

/* The topic is gone: its batches go on on their own, the pointer is invalid. */
void kl_pubsub_topic_forget(struct kl_pubsub_accumulator *a,
                            struct kl_pubsub_topic *topic);

/* Appends a record to the open batch of its partition; partition -1: by key, or
 * sticky without one. op (may be NULL) with slot is remembered beside it.
 * now_ns is only looked at where there is a linger time. Batches that this
 * closes appear in the list of those to be built. KL_EAGAIN where memory_max is
 * used up, KL_ENOTOPIC for a partition that does not exist, KL_ERECORDSIZE,
 * KL_ENOMEM; nothing was appended then. */
int kl_pubsub_accumulate(struct kl_pubsub_accumulator *a,
                         struct kl_pubsub_topic *topic, int32_t partition,
                         const struct kl_batch_input *in, int64_t now_ns,
                         void *op, uint32_t slot);

/* Takes the next closed batch to be built, or NULL. Until it is given back by
 * kl_pubsub_built the caller alone may touch its builder and frame, without
 * any lock. */
struct kl_pubsub_batch *kl_pubsub_build_next(struct kl_pubsub_accumulator *a);
/* Without the lock: compresses and seals the frame. */
void kl_pubsub_build(const struct kl_pubsub_accumulator *a,
                     struct kl_pubsub_batch *b);
/* Gives it back: what may be sent now is moved to the outbox. */
void kl_pubsub_built(struct kl_pubsub_accumulator *a,
                     struct kl_pubsub_batch *b);
/* Takes the next batch to be sent, or NULL. */
struct kl_pubsub_batch *kl_pubsub_outbox_next(struct kl_pubsub_accumulator *a);
/* A batch that was taken has its answer: others of its partition may follow.
 * The batch stays live until it is released. */
void kl_pubsub_finished(struct kl_pubsub_accumulator *a,
                        struct kl_pubsub_batch *b, int64_t now_ns);
/* The batch's operations are answered; its memory is free again. */
void kl_pubsub_release(struct kl_pubsub_accumulator *a,
                       struct kl_pubsub_batch *b);

/* Closes every open batch, whatever is under way (flush). */
void kl_pubsub_close_all(struct kl_pubsub_accumulator *a);
/* Closes the open batches of partitions without anything under way, whatever
 * their age: memory is short. */
void kl_pubsub_close_idle(struct kl_pubsub_accumulator *a);
/* Closes the open batches whose linger time is over, where nothing of their
 * partition is under way. */
void kl_pubsub_close_due(struct kl_pubsub_accumulator *a, int64_t now_ns);
/* When close_due has something to do next; INT64_MAX = never. */
int64_t kl_pubsub_deadline(const struct kl_pubsub_accumulator *a);
/* Sequence of the oldest batch that is not released; UINT64_MAX = none. */
uint64_t kl_pubsub_oldest(const struct kl_pubsub_accumulator *a);
/* Takes the next batch that was not taken for sending yet, whatever its stage,
 * out of everything; NULL = none. It is only released after that. No batch may
 * be under construction. */
struct kl_pubsub_batch *kl_pubsub_drop_next(struct kl_pubsub_accumulator *a);

/* ---- position of a consumer in one partition --------------------------- */

enum kl_pubsub_reset {
    KL_PUBSUB_RESET_EARLIEST,
    KL_PUBSUB_RESET_LATEST,
    KL_PUBSUB_RESET_NONE
};

enum kl_pubsub_phase {
    KL_PUBSUB_UNRESOLVED, /* the place is still to be looked up */
    KL_PUBSUB_RESOLVING,
    KL_PUBSUB_FETCHING, /* the offset is known */
    KL_PUBSUB_STOPPED   /* an error; only a seek helps */
};

/* What a position wants to be done. */
enum kl_pubsub_want {
    KL_PUBSUB_WANT_NOTHING,
    KL_PUBSUB_WANT_LOOKUP, /* spec and timestamp; then kl_pubsub_looked_up */
    KL_PUBSUB_WANT_FETCH,  /* fetch_offset; then kl_pubsub_fetched */
    KL_PUBSUB_WANT_CANCEL  /* the fetch under way is for another place */
};

struct kl_pubsub_position
{
    int64_t position;     /* next to be given out; -1 until resolved */
    int64_t fetch_offset; /* next to be asked for */
    int64_t spec;         /* what to look up: an offset or KL_OFFSET_... */
    int64_t timestamp;
    int64_t log_start;      /* as of the last answer */
    int64_t high_watermark; /* as of the last answer; -1 = unknown */
    int64_t end_told;       /* position at which the end was told; -1 */
    int64_t behind;      /* KL_ECORRUPT: the first offset behind the damage */
    uint32_t generation; /* rises with every seek */
    uint32_t asked;      /* generation of what is under way */
    uint32_t ready;      /* results that wait to be given out */
    uint32_t prefetch;   /* at most that many */
    int code;            /* why it stopped */
    enum kl_pubsub_phase phase;
    enum kl_pubsub_reset reset;
    uint8_t told;     /* the code was told */
    uint8_t resolved; /* position is known */
    uint8_t paused;
    uint8_t busy;      /* something is under way */
    uint8_t canceling; /* and was told to give up */
};

void kl_pubsub_position_init(struct kl_pubsub_position *p,
                             enum kl_pubsub_reset reset, uint32_t prefetch);
/* Goes elsewhere: an offset, KL_OFFSET_BEGIN, _END, or _TIMESTAMP. The caller
 * drops the results that wait. */
void kl_pubsub_seek(struct kl_pubsub_position *p, int64_t spec,
                    int64_t timestamp);
/* What is to be done next; assumes that it is begun. */
enum kl_pubsub_want kl_pubsub_want(struct kl_pubsub_position *p);
/* The answer to a look-up. */
void kl_pubsub_looked_up(struct kl_pubsub_position *p, int code, int64_t offset,
                         int64_t log_start, int64_t high_watermark);
/* The answer to a fetch: 1 where its records are to be kept as a result, 0
 * where they are to be dropped. */
int kl_pubsub_fetched(struct kl_pubsub_position *p, int code,
                      int64_t next_offset, int64_t log_start,
                      int64_t high_watermark);
/* The oldest result is given out; next_offset is behind it. */
void kl_pubsub_gave(struct kl_pubsub_position *p, int64_t next_offset);
void kl_pubsub_tell_end(struct kl_pubsub_position *p);
void kl_pubsub_tell_error(struct kl_pubsub_position *p);
/* 1 where the end of the partition is to be told now. */
int kl_pubsub_end_due(const struct kl_pubsub_position *p);
/* 1 where the error is to be told now. */
int kl_pubsub_error_due(const struct kl_pubsub_position *p);
/* 1 where poll has something to give out. */
int kl_pubsub_position_due(const struct kl_pubsub_position *p);

#endif
