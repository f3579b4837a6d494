/*
 * The state of one log, a part of state.h. There may be many logs, and most of
 * them are not in use: what costs memory is kept apart from what a cold log
 * cannot do without.
 */
#ifndef KL_STORE_LOG_H
#define KL_STORE_LOG_H

#include "base/list.h"
#include "store/format.h"

/* The files of a log that is in use; a cold log has none of this. */
struct kl_store_files
{
    struct kl_store_segment **items; /* ascending */
    size_t count;
    size_t capacity;
    /* Index entries of the active segment that do not fill a block yet. */
    struct kl_store_index_entry *tail;
    size_t tail_count;
    size_t tail_capacity;
    uint64_t indexed_position; /* of the last entry, to keep the interval */
};

/* What a log has besides while something is on its way, or was since open. All
 * cold logs share one of which nothing is ever changed. */
struct kl_store_work
{
    struct kl_store_log *log;
    struct kl_base_list pending; /* entries not applied yet, in order */
    struct kl_base_list cached;  /* applied appends still in memory */
    struct kl_base_list waiting; /* reads and lookups until files are loaded */
    struct kl_batch_epochs wal_epochs; /* see wal_leo */
    struct kl_store_log *replaces; /* until its reset is durable: the life that
                                      this ends */
    uint64_t held;            /* the walk of the queue that found an append */
    uint64_t unwritten;       /* frames that are in no segment yet */
    uint64_t charged;         /* of the entries on their way */
    uint64_t planned;         /* size of the open segment with them */
    uint64_t manifest_charge; /* until a checkpoint has written it */
    int64_t cut_low; /* files hold nothing valid from here on: a truncation is
                        on its way; else INT64_MAX */
    struct kl_base_list flush_link; /* store->flushes */
    int64_t flush_due_ns;           /* INT64_MAX = no haste */
    uint64_t flush_bytes;           /* written since the last sync */
    uint32_t epochs_queued; /* entries on their way that begin an epoch */
};

/* Of an interval log: what the medium has. A cold one of which it has all that
 * there is does without. */
struct kl_store_interval
{
    int64_t synced_leo;
    struct kl_store_segment_info synced_active;
};

struct kl_store_log
{
    struct kl_store *store;
    struct kl_base_list link;  /* store->logs */
    struct kl_base_list dirty; /* store->dirty: has entries to apply; or
                                  store->gone: its delete is durable */
    struct kl_base_list event; /* store->changed */
    struct kl_store_id id;
    uint32_t refs; /* jobs and reads that use the log */
    uint64_t seed;
    uint64_t instance; /* 0 until its create entry is in a group */
    void *user;
    struct kl_store_log_config config;
    struct kl_store_work *work;          /* never NULL */
    struct kl_store_files *files;        /* NULL = cold; else work is its own */
    struct kl_store_segment_info active; /* while cold; base -1 = none */
    uint64_t bytes;                      /* frames in sealed segments */

    /* As promised to the caller. */
    int64_t start;
    int64_t leo;
    struct kl_batch_epochs epochs;
    uint32_t truncation;
    /* As durable as the log's flush asks for; what a slot states. */
    uint32_t durable_truncation;
    int64_t durable_start;
    int64_t durable_leo;
    /* What the durable entries of a commit log amount to, whatever is on its
     * way: a slot states this, and wal_epochs. */
    int64_t wal_leo;
    uint64_t counted;                   /* bytes in store->space.used */
    struct kl_store_interval *interval; /* NULL = active and leo, or a commit
                                           log */
    struct kl_store_damages *damage;    /* NULL = none known; damage.c */
    uint32_t applied_truncation;        /* the files are cut accordingly */
    uint32_t slot_at; /* where the checkpoint wants the position; 0 = not */
    uint8_t flush;
    uint8_t metadata; /* never refused, first in every group */
    uint8_t busy;     /* a segment job holds its files */
    uint8_t loading;
    uint8_t removed;  /* from the tables: only jobs know it still */
    uint8_t deleted;  /* to callers it does not exist any more */
    uint8_t replaced; /* by its next life: a reset */
    uint8_t manifest_dirty;
    uint8_t folder_dirty; /* names in it are not synced */
    uint8_t roll_next;    /* the next append starts a segment */
    uint8_t started_event;
    uint8_t dropping; /* a start is on its way that makes room */
    uint8_t exists;   /* its create or reset is durable, its delete or the reset
                         that replaces it is not */
    uint8_t suspect;  /* may have lost its end: nothing is appended */
    uint8_t damaged_event;
};

#endif
