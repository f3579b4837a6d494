/*
 * What is behind kl_event. An event is also the fetch that fills it: it is made
 * by a consumer for the owner thread, filled there, given to the program by
 * poll, and returns to the consumer's pool when it is freed.
 */
#ifndef KL_API_API_EVENT_H
#define KL_API_API_EVENT_H

#include "api/api_record.h"
#include "base/list.h"
#include "runtime/runtime.h"

#include <kraftlog/record.h>

struct kl_consumer;
struct kl_api_assignment;

/* A batch that was unpacked, and its iterator before the first record. Sorted
 * as the batches are; both ways of reading share them. */
struct kl_api_unpacked
{
    const uint8_t *frame;
    struct kl_batch_iter start;
};

/* How far one way of reading has come. */
struct kl_api_reader
{
    uint32_t slice;
    uint32_t at;     /* of the next frame in the slice */
    size_t unpacked; /* number of the next unpacked batch */
    int open;        /* iter is inside a batch */
    int code;        /* why there is no more */
    struct kl_batch_iter iter;
};

struct kl_event
{
    struct kl_base_list link; /* results of an assignment, or pool */
    struct kl_consumer *consumer;
    struct kl_api_assignment *assignment;
    struct kl_runtime_fetch fetch;
    int type;
    int code;
    int64_t offset;
    int64_t next_offset; /* of an event without records */
    int64_t high_watermark;
    const struct kl_base_alloc *alloc;
    struct kl_record record; /* lent by next */
    struct kl_api_reader reader;
    struct kl_api_unpacked *unpacked;
    size_t unpacked_count;
    size_t unpacked_capacity;
    size_t record_count;
    int counted;
    /* Six columns in one block; column_capacity records have room. */
    uint8_t *columns;
    size_t column_capacity;
    int columns_built;
};

/* Ready to be filled; the memory of columns stays. */
void kl_api_event_reset(struct kl_event *e);
/* Drops what it lent and held; too large buffers as well. */
void kl_api_event_clear(struct kl_event *e);
/* Frees a clear event. */
void kl_api_event_destroy(struct kl_event *e);

#endif
