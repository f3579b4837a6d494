/*
 * What is behind kl_record.
 */
#ifndef KL_API_API_RECORD_H
#define KL_API_API_RECORD_H

#include "base/buf.h"
#include "batch/batch.h"

#include <kraftlog/record.h>

/* A header of a record that is built: where its parts are in texts. */
struct kl_api_header
{
    size_t name_at;
    size_t value_at;
    uint32_t name_size;
    uint32_t value_size;
    int value_null;
};

/* One type for both kinds: a lent record has its parts in view, the bytes are
 * the event's; a built one has key and value in view and keeps all bytes. */
struct kl_record
{
    struct kl_batch_record view;
    int32_t epoch;
    int lent;
    struct kl_base_alloc alloc; /* from here on: built ones only */
    struct kl_base_buf key;
    struct kl_base_buf value;
    struct kl_base_buf texts; /* names and values of headers */
    struct kl_api_header *headers;
    size_t header_capacity;
};

/* Headers as the batch builder wants them. */
struct kl_api_scratch
{
    struct kl_base_alloc alloc;
    struct kl_batch_header *headers;
    size_t count;
};

/* The record as the batch builder wants it; its headers are put together in
 * scratch, which the caller frees on success. KL_ENOMEM, KL_ECORRUPT. */
int kl_api_record_input(const kl_record *record,
                        const struct kl_base_alloc *alloc,
                        struct kl_batch_input *in,
                        struct kl_api_scratch *scratch);
void kl_api_scratch_free(struct kl_api_scratch *scratch);

#endif
