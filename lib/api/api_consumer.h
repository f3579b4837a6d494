/*
 * What is behind kl_consumer: the program's thread takes events, the owner
 * thread looks offsets up and fetches. One mutex over all of it, held for
 * moving pointers only: never while anything of the runtime is called.
 */
#ifndef KL_API_API_CONSUMER_H
#define KL_API_API_CONSUMER_H

#include "api/api_event.h"
#include "base/error.h"
#include "base/map.h"
#include "os/thread.h"
#include "pubsub/pubsub.h"
#include "runtime/runtime.h"

#include <kraftlog/consumer.h>
#include <stdatomic.h>

/* A partition that is read. */
struct kl_api_assignment
{
    struct kl_base_list ready;   /* in the consumer's list: something is due */
    struct kl_base_list todo;    /* in the consumer's list: for the owner */
    struct kl_base_list results; /* events with records, oldest first */
    struct kl_consumer *consumer;
    struct kl_event *fetching; /* under way */
    struct kl_pubsub_position position;
    struct kl_runtime_list_offset lookup;
    struct kl_store_cursor cursor;
    struct kl_base_uuid topic_id;
    uint64_t seed;
    size_t refs; /* map, todo, what is under way, events */
    size_t key_size;
    int32_t partition;
    int removed;
    char *name;    /* inside key */
    uint8_t key[]; /* partition, then the name and a terminator */
};

struct kl_consumer
{
    /* The handle, events outside, what is under way, the request. */
    atomic_uint refs;
    struct kl_base_alloc alloc;
    struct kl_runtime_node *node; /* a reference */
    uint32_t bytes_max;
    uint32_t prefetch;
    enum kl_pubsub_reset reset;
    struct kl_os_mutex mutex; /* everything below */
    struct kl_base_map assignments;
    struct kl_base_list ready; /* assignments, taking turns */
    struct kl_base_list todo;
    struct kl_base_list pool; /* clear events */
    uint32_t pool_count;
    int requested; /* the request is under way */
    int draining;  /* the owner works on todo */
    struct kl_base_error error;
    struct kl_runtime_request request;
    struct kl_runtime_request end; /* of the handle */
};

void kl_api_consumer_ref(struct kl_consumer *c);
void kl_api_consumer_unref(struct kl_consumer *c);

/* ---- with the mutex ---- */

void kl_api_assignment_unref(struct kl_api_assignment *a);
/* Something is to be done by the owner. */
void kl_api_assignment_push(struct kl_api_assignment *a);
/* Goes into the ready list where something is due. */
void kl_api_assignment_settle(struct kl_api_assignment *a);
/* A clear event with the two references, or NULL. */
struct kl_event *kl_api_event_get(struct kl_consumer *c,
                                  struct kl_api_assignment *a);
/* Back to the pool; without the reference to the consumer, which the caller
 * gives up after the mutex. */
void kl_api_event_put(struct kl_consumer *c, struct kl_event *e);
/* 1 where kl_api_fetcher_wake is to be called once the mutex is free. */
int kl_api_fetcher_wants(struct kl_consumer *c);

/* ---- without the mutex ---- */

void kl_api_fetcher_init(struct kl_consumer *c);
void kl_api_fetcher_wake(struct kl_consumer *c);
/* The handle is given up. */
void kl_api_fetcher_end(struct kl_consumer *c);

#endif
