/*
 * What is behind kl_producer: the accumulator under its mutex, and the side of
 * it that the owner thread runs.
 *
 * Caller's thread: copies records into batches, builds the full ones, asks the
 * owner to send. Owner thread: sends, finishes, closes what lingers. The mutex
 * is never held while a batch is built, an operation completed, or anything of
 * the runtime called that could call back.
 */
#ifndef KL_API_API_PRODUCER_H
#define KL_API_API_PRODUCER_H

#include "api/api_pool.h"
#include "os/thread.h"
#include "pubsub/pubsub.h"
#include "runtime/runtime.h"

#include <kraftlog/producer.h>
#include <stdatomic.h>

/* A bulk send: many records, one operation. */
struct kl_api_bulk
{
    struct kl_base_list link; /* in the producer's list when finished */
    struct kl_runtime_op *op;
    atomic_size_t remaining; /* records without an answer, and the sender */
    size_t accepted;
    int code;      /* of the first batch that failed, or KL_EUNKNOWN */
    int level;     /* lowest */
    int32_t epoch; /* newest */
};

struct kl_producer
{
    /* The handle, every batch under way, and a request under way. */
    atomic_uint refs;
    struct kl_base_alloc alloc;
    struct kl_runtime_node *node; /* a reference */
    struct kl_api_pool *pool;
    struct kl_os_mutex mutex; /* everything below but the owner's part */
    struct kl_pubsub_accumulator acc;
    struct kl_pubsub_topic *topic; /* the last one used */
    uint64_t topic_version;        /* when it was looked up */
    int64_t tick_ms;               /* the system's, when now_ms was read */
    int64_t now_ms;
    struct kl_base_list bulks; /* finished by their sender */
    int requested;             /* the request is under way */
    int timed;                 /* the timer is set or is about to be */
    int pressed;               /* memory is short: nothing lingers */
    size_t wanted;             /* bytes of the record refused last */
    int failure;               /* since the last flush; as a bulk's code */
    struct kl_base_error error;
    struct kl_runtime_request request;
    struct kl_runtime_request end; /* of the handle */
    /* Owner thread. */
    struct kl_runtime_timer timer;
};

/* What is behind a batch for the one who sends it. */
struct kl_api_sending
{
    struct kl_runtime_produce produce;
    struct kl_producer *producer;
    struct kl_pubsub_batch *batch;
};

void kl_api_producer_unref(struct kl_producer *p);

/* 1 where kl_producer_wait has nothing to wait for: half of the memory is free,
 * and as much as the record needs that was refused. With the mutex. */
static inline int kl_api_producer_has_room(const struct kl_producer *p)
{
    uint64_t used = p->acc.memory_used;
    uint64_t max = p->acc.config.memory_max;

    return used == 0 || (used <= max / 2 && used + p->wanted <= max);
}

/* All with the mutex held. Builds what was closed (letting go of the mutex
 * meanwhile). 1 where kl_api_sender_wake must be called once it is free. */
int kl_api_sender_settle(struct kl_producer *p);

/* Without the mutex. */
void kl_api_sender_init(struct kl_producer *p);
/* Asks the owner to do what there is to do; after settle said so. */
void kl_api_sender_wake(struct kl_producer *p);
/* The handle is given up: drops what was not sent, then the reference. */
void kl_api_sender_end(struct kl_producer *p);
/* count records of a bulk have their answer. 1 where it is finished now and is
 * to be completed, by the owner thread. */
int kl_api_bulk_answered(struct kl_api_bulk *bulk, size_t count);
/* Frees a bulk whose operation was completed or never began. */
void kl_api_bulk_free(struct kl_producer *p, struct kl_api_bulk *bulk);

#endif
