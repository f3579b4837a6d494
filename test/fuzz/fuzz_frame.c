/*
 * The headers and checksums of a frame. Input: a byte that says what is put
 * right, then the frame.
 */
#include "batch/frame.h"
#include "fixup.h"
#include "sample.h"

#include <stdlib.h>

/* A frame that holds together verifies once its sums are made right, stays so
 * with a new stamp, and does not verify as another log's. */
static void frame_check_whole(uint8_t *frame, const struct kl_batch_info *info)
{
    struct kl_batch_info again;
    int64_t delta = info->last_offset - info->base_offset;

    kl_batch_frame_seal(frame, sample_seed);
    FUZZ_CHECK(kl_batch_frame_verify(frame, info->frame_size, sample_seed,
                                     &again) == 0);
    FUZZ_CHECK(again.base_offset == info->base_offset);
    FUZZ_CHECK(kl_batch_frame_verify(frame, info->frame_size, sample_seed + 1,
                                     &again) == KL_ECORRUPT);
    kl_batch_frame_stamp(frame, sample_seed, 12345, 678);
    FUZZ_CHECK(kl_batch_frame_verify(frame, info->frame_size, sample_seed,
                                     &again) == 0);
    FUZZ_CHECK(again.base_offset == 12345 && again.leader_epoch == 678);
    FUZZ_CHECK(again.last_offset - again.base_offset == delta);
    FUZZ_CHECK(again.record_count == info->record_count);
}

/* What the header promises to everybody who goes on with it. */
static void frame_check_info(const struct kl_batch_info *info)
{
    FUZZ_CHECK(info->frame_size >= KL_BATCH_OVERHEAD);
    FUZZ_CHECK(info->frame_size <= KL_BATCH_SIZE_MAX);
    FUZZ_CHECK(info->base_offset >= 0);
    FUZZ_CHECK(info->last_offset >= info->base_offset);
    FUZZ_CHECK(info->last_offset < INT64_MAX);
    FUZZ_CHECK(info->record_count >= 0);
    FUZZ_CHECK(info->record_count <= info->last_offset - info->base_offset + 1);
}

static void frame_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned how = fuzz_take8(&in);
    struct kl_batch_info info, header;
    uint8_t *frame = fuzz_take_copy(&in, &size);
    int rc, of_header;

    fixup_frame(frame, size, sample_seed, how);
    of_header = kl_batch_frame_header(frame, size, sample_seed, &header);
    rc = kl_batch_frame_verify(frame, size, sample_seed, &info);
    FUZZ_CHECK(rc == 0 || rc == KL_EAGAIN || rc == KL_ECORRUPT);
    FUZZ_CHECK((of_header == KL_EAGAIN) == (size < KL_BATCH_OVERHEAD));
    if (of_header == 0) {
        frame_check_info(&header);
        FUZZ_CHECK((rc == KL_EAGAIN) == (size < header.frame_size));
    } else {
        FUZZ_CHECK(rc == of_header);
    }
    if (rc == 0) {
        FUZZ_CHECK(kl_batch_frame_body(frame, sample_seed, &info) == 0);
        (void)kl_batch_frame_crc(frame, &info);
    }
    if (size >= KL_BATCH_OVERHEAD && kl_batch_frame_parse(frame, &info) == 0) {
        frame_check_info(&info);
        if (info.frame_size <= size)
            frame_check_whole(frame, &info);
    }
    free(frame);
}

static void frame_seeds(struct fuzz_seeds *seeds)
{
    for (uint8_t how = 0; how < 4; how++)
        sample_emit_frames(seeds, &how, 1);
}

const struct fuzz_target fuzz_frame = {"frame", frame_run, frame_seeds, 3000};
