/*
 * Where else the frames of a log are: copies that are not where the log should
 * have them, in the ring, in segments above the checkpoint, in quarantine.
 */
#ifndef KL_STORE_RESCUE_H
#define KL_STORE_RESCUE_H

#include "store/inspect.h"

enum kl_store_rescue_source {
    KL_STORE_RESCUE_RING,    /* file is its number */
    KL_STORE_RESCUE_SEGMENT, /* segment is its base */
    KL_STORE_RESCUE_KEPT     /* file is its index in names */
};

/* A frame that verified when it was found. */
struct kl_store_rescue_frame
{
    const struct kl_store_log *log;
    int64_t base;
    int64_t end;
    int32_t epoch;
    uint32_t size;
    enum kl_store_rescue_source source;
    uint32_t file;
    int64_t segment;
    uint64_t position;
    uint64_t order; /* later ones are newer; 0 = not known */
};

/* From an entry of the ring: what of the log was before is cut to offset. */
struct kl_store_rescue_cut
{
    const struct kl_store_log *log;
    int64_t offset;
    uint32_t truncation;
    uint64_t order;
};

struct kl_store_rescue
{
    struct kl_store_inspect *in;
    struct kl_store_rescue_frame *frames; /* by log, base, newest first */
    size_t count;
    size_t capacity;
    struct kl_store_rescue_cut *cuts;
    size_t cut_count;
    size_t cut_capacity;
    struct kl_base_buf names; /* of files in quarantine/, terminated each */
};

/* Looks through the whole ring and through what earlier opens have kept. */
int kl_store_rescue_new(struct kl_store_rescue **out,
                        struct kl_store_inspect *in);
void kl_store_rescue_free(struct kl_store_rescue *r);
/* Adds what segments of a log hold from an offset on, whether its manifest
 * names them or not. */
int kl_store_rescue_segments(struct kl_store_rescue *r,
                             struct kl_store_log *log, int64_t from);
/* The best frame of a log with the lowest base at or behind offset whose epoch
 * is not below, and is the one that epochs (may be NULL) knows of its offset;
 * NULL where there is none. */
const struct kl_store_rescue_frame *
kl_store_rescue_find(const struct kl_store_rescue *r,
                     const struct kl_store_log *log, int64_t offset,
                     int32_t epoch, const struct kl_batch_epochs *epochs);
/* Where a log was cut by an entry of the ring after so many truncations;
 * INT64_MAX = nowhere. */
int64_t kl_store_rescue_cut_of(const struct kl_store_rescue *r,
                               const struct kl_store_log *log,
                               uint32_t truncation);
/* Reads and verifies a frame into buf: 0, or KL_ECORRUPT where it is not there
 * any more. */
int kl_store_rescue_read(const struct kl_store_rescue *r,
                         const struct kl_store_rescue_frame *f,
                         struct kl_base_buf *buf, struct kl_batch_info *info);

#endif
