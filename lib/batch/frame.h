/*
 * Where the fields of a frame are, for the files of this room. The byte table
 * with explanations is at the top of frame.c.
 */
#ifndef KL_BATCH_FRAME_H
#define KL_BATCH_FRAME_H

#include "base/assert.h"
#include "batch/batch.h"

/* Positions from the first byte of the frame. */
enum {
    KL_BATCH_AT_MAGIC = 0,
    KL_BATCH_AT_SIZE = 4,
    KL_BATCH_AT_HEADER_SUM = 8,
    KL_BATCH_AT_BODY_SUM = 16,
    KL_BATCH_AT_FLAGS = 24,
    KL_BATCH_AT_RESERVED = 28,

    KL_BATCH_AT_BASE_OFFSET = 32,
    KL_BATCH_AT_LENGTH = 40,
    KL_BATCH_AT_LEADER_EPOCH = 44,
    KL_BATCH_AT_VERSION = 48,
    KL_BATCH_AT_CRC = 49,
    KL_BATCH_AT_ATTRIBUTES = 53,
    KL_BATCH_AT_LAST_DELTA = 55,
    KL_BATCH_AT_BASE_TIMESTAMP = 59,
    KL_BATCH_AT_MAX_TIMESTAMP = 67,
    KL_BATCH_AT_PRODUCER_ID = 75,
    KL_BATCH_AT_PRODUCER_EPOCH = 83,
    KL_BATCH_AT_BASE_SEQUENCE = 85,
    KL_BATCH_AT_RECORD_COUNT = 89,
    KL_BATCH_AT_RECORDS = 93
};

enum {
    KL_BATCH_MAGIC = 0x01464c4b, /* "KLF" and format version 1 */
    KL_BATCH_VERSION = 2,        /* Kafka's magic byte */
    KL_BATCH_RECORD_MIN = 7      /* seven fields, one byte each */
};

KL_STATIC_ASSERT((int)KL_BATCH_AT_BASE_OFFSET == (int)KL_BATCH_FRAME_HEADER,
                 "the batch header follows the frame header");
KL_STATIC_ASSERT((int)KL_BATCH_AT_RECORDS == (int)KL_BATCH_OVERHEAD,
                 "the records follow the batch header");

/* Reads the headers of KL_BATCH_OVERHEAD bytes and checks that they agree with
 * each other, without the checksums. 0 or KL_ECORRUPT. */
int kl_batch_frame_parse(const uint8_t *frame, struct kl_batch_info *out);
/* Writes both checksums of a frame whose other fields are final. */
void kl_batch_frame_seal(uint8_t *frame, uint64_t seed);

#endif
