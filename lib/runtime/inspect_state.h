/*
 * State of a task over a folder, shared by the files of the tasks.
 */
#ifndef KL_RUNTIME_INSPECT_STATE_H
#define KL_RUNTIME_INSPECT_STATE_H

#include "controller/controller.h"
#include "runtime/inspect.h"
#include "store/store.h"

enum {
    KL_RUNTIME_INSPECT_ITEMS = 64,
    KL_RUNTIME_INSPECT_SPARE = 4 /* for what cannot wait */
};

#define KL_RUNTIME_INSPECT_IN_USE                                              \
    "a node has the folder open; what it writes meanwhile may seem damaged"

struct kl_runtime_inspect
{
    struct kl_base_alloc alloc;
    struct kl_os_vfs *vfs;
    int own_vfs;
    struct kl_base_error error;

    struct kl_runtime_item items[KL_RUNTIME_INSPECT_ITEMS];
    size_t count; /* made and not ended by reset */
    size_t next;

    /* The task under way; NULL = none. Makes items, at least one or KL_EEND. */
    int (*step)(struct kl_runtime_inspect *in);
    uint32_t flags;
    int stage; /* the task's own */
    struct kl_store_inspect *store;
    struct kl_controller *topics; /* what the metadata log says */
    int topics_partial;           /* not all of it could be read */
    int64_t topics_from;          /* a snapshot holds what was before */
    uint32_t voters;              /* that it names last; 0 = it names none */

    /* Of a dump. */
    struct kl_store_dump *dump;
    struct kl_base_buf frame; /* whose records are being told */
    struct kl_batch_iter records;
    int has_records; /* records is under way */

    /* Of a diagnosis. */
    struct kl_runtime_doctor *doctor;

    /* Of a salvage. */
    struct kl_os_lanes *lanes;
    struct kl_store_salvage *salvage;
    struct kl_store_id log_id; /* the last one that was begun */
    int has_log;
    int32_t node_id;
    int64_t wall_ms;
    uint64_t saved_logs;
    uint64_t saved_records;
    uint64_t lost_ranges;
    uint64_t lost_offsets;
};

/* Ends the task and begins with a folder. */
int kl_runtime_inspect_begin(struct kl_runtime_inspect *in, const char *dir,
                             uint32_t flags,
                             int (*step)(struct kl_runtime_inspect *in));
void kl_runtime_inspect_end(struct kl_runtime_inspect *in);
/* Ends a task that could not be begun; returns the code. */
int kl_runtime_inspect_fail(struct kl_runtime_inspect *in, int code);
/* A new item, to be filled and ended; there is room unless is_full. */
struct kl_runtime_item *kl_runtime_inspect_add(struct kl_runtime_inspect *in,
                                               const char *type);
static inline int
kl_runtime_inspect_is_full(const struct kl_runtime_inspect *in)
{
    return in->count >= KL_RUNTIME_INSPECT_ITEMS - KL_RUNTIME_INSPECT_SPARE;
}
/* Fields that name a log. */
void kl_runtime_inspect_put_log(struct kl_runtime_inspect *in,
                                struct kl_runtime_item *item,
                                const struct kl_store_id *id);
/* The same as words for people. */
void kl_runtime_inspect_print_log(struct kl_runtime_inspect *in,
                                  struct kl_base_buf *out,
                                  const struct kl_store_id *id);
/* "offset 7", "offsets 7 to 9", "offsets from 7". */
void kl_runtime_inspect_print_range(struct kl_base_buf *out, int64_t from,
                                    int64_t end);
/* Ends the item with what is in text as its field of that name; text is given
 * up. */
int kl_runtime_inspect_finish(struct kl_runtime_item *item,
                              struct kl_base_buf *text);
/* The fields of a finding, and the same as words for people. */
void kl_runtime_inspect_put_finding(struct kl_runtime_inspect *in,
                                    struct kl_runtime_item *item,
                                    const struct kl_store_finding *f);
void kl_runtime_inspect_print_finding(struct kl_runtime_inspect *in,
                                      struct kl_base_buf *out,
                                      const struct kl_store_finding *f);
int kl_runtime_inspect_finding(struct kl_runtime_inspect *in,
                               const struct kl_store_finding *f);
/* A note of this text. */
int kl_runtime_inspect_note(struct kl_runtime_inspect *in, const char *text);

/* ---- inspect_doctor.c -------------------------------------------------- */

void kl_runtime_doctor_free(struct kl_runtime_inspect *in);

/* ---- inspect_topics.c -------------------------------------------------- */

/* Reads the metadata log as far as it can be had. */
int kl_runtime_inspect_topics(struct kl_runtime_inspect *in);
/* NULL where it says nothing of the topic. */
const struct kl_controller_topic *
kl_runtime_inspect_topic(const struct kl_runtime_inspect *in,
                         const struct kl_base_uuid *id);

#endif
