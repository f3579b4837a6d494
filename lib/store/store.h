/*
 * The store: one data folder, many logs, one write-ahead log with one group
 * commit for all of them (storage.md).
 *
 * Everything here is called by the owner thread. Open blocks; after it nothing
 * does: work goes to the lanes and comes back as events.
 */
#ifndef KL_STORE_STORE_H
#define KL_STORE_STORE_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/stat.h"
#include "base/uuid.h"
#include "batch/batch.h"
#include "os/lane.h"
#include "os/vfs.h"

#include <stdint.h>

struct kl_store;
struct kl_store_log;

/* Name of a log. The metadata log has KL_STORE_METADATA_TOPIC, partition 0. */
struct kl_store_id
{
    struct kl_base_uuid topic_id;
    int32_t partition;
};

extern const struct kl_base_uuid kl_store_metadata_topic;

enum {
    KL_STORE_JOINS = 1, /* made to join a cluster, whose id is not known yet */
    KL_STORE_JOINED = 2 /* that was so, and it is known: others have made it */
};

struct kl_store_identity
{
    struct kl_base_uuid cluster_id; /* zero where flags has KL_STORE_JOINS */
    struct kl_base_uuid directory_id;
    int32_t node_id;
    uint16_t
        version; /* of the folder's format; 0 = the newest, to be written */
    uint16_t flags;
};

struct kl_store_config
{
    const char *path;           /* data folder; copied */
    uint64_t ring_bytes;        /* WAL ring made at format; 0 = by free space */
    uint64_t pending_bytes_max; /* chunks not yet in a segment */
    uint64_t cache_bytes_max;   /* written chunks kept for tailing readers */
    uint64_t bytes_max;         /* on disk, see disk_bytes; 0 = unlimited */
    uint32_t file_max;          /* open segment files */
    int64_t retention_check_ms; /* between two looks at retention */
    uint64_t scrub_bytes_per_second; /* 0 = no scrub */
    int64_t scrub_interval_ms;       /* from the start of a pass to the next */
    uint64_t seed;                   /* random: salts, temporary choices */
    struct kl_store_identity format; /* written when the store is made */
};

enum {
    KL_STORE_OPEN_CREATE = 1,     /* format an empty or absent folder */
    KL_STORE_OPEN_ACCEPT_LOSS = 2 /* logs that may have lost their end go on,
                                     a lost quorum state begins anew */
};

int kl_store_new(struct kl_store **out, const struct kl_base_alloc *alloc,
                 struct kl_os_vfs *vfs, struct kl_os_lanes *lanes,
                 const struct kl_store_config *config);
/* Locks, formats or recovers; blocks. now_ns monotonic, wall_ms wall time. */
int kl_store_open(struct kl_store *s, uint32_t flags, int64_t now_ns,
                  int64_t wall_ms, struct kl_base_error *error);
/* Takes finished jobs, forms a group when the commit lane is free, starts
 * segment writes, checkpoints and retention. */
void kl_store_turn(struct kl_store *s, int64_t now_ns, int64_t wall_ms);
/* When turn wants to be called next without anything happening; INT64_MAX =
 * never. */
int64_t kl_store_deadline(const struct kl_store *s);
/* 1 where no job is under way: nothing happens before the deadline. */
int kl_store_is_still(const struct kl_store *s);
/* Refuses changes from now on and goes on until all is in segments and a clean
 * checkpoint is written; then is_stopped. */
void kl_store_stop(struct kl_store *s);
int kl_store_is_stopped(const struct kl_store *s);
/* Waits for the jobs under way and frees; without stop it is a crash stop. */
void kl_store_free(struct kl_store *s);

const struct kl_store_identity *kl_store_identity(const struct kl_store *s);
/* A store that was made to join a cluster belongs to this one from now on, once
 * and for all. KL_STORE_EVENT_IDENTITY comes when that is durable, and identity
 * says so; a crash before it leaves the old or the new identity, and another
 * cluster than one that is on its way is KL_EEXIST. So is any where there is a
 * cluster id already. KL_EINVAL for a zero id, KL_ENOMEM, KL_EFAILED,
 * KL_ECLOSED. A failure fails the store, but a want of room or descriptors is
 * waited out. */
int kl_store_adopt_cluster(struct kl_store *s,
                           const struct kl_base_uuid *cluster_id);
/* Largest frame that fits into a group of this store's ring. */
uint32_t kl_store_frame_max(const struct kl_store *s);
/* What open found, and what reads and the scrub have found since. */
enum kl_store_verdict {
    KL_STORE_VERDICT_CLEAN,  /* the stop before was clean */
    KL_STORE_VERDICT_INTACT, /* a crash; all that was durable is there */
    KL_STORE_VERDICT_DAMAGED /* something durable is lost */
};
enum kl_store_verdict kl_store_verdict(const struct kl_store *s);
/* 1 while appends are refused with KL_EDISKFULL, or wait with KL_EAGAIN for
 * what is dropped. KL_STORE_EVENT_ROOM tells when they are not any more. */
int kl_store_is_full(const struct kl_store *s);
/* 0, or why the store has failed for ever (text in error, may be NULL). */
int kl_store_failure(const struct kl_store *s, struct kl_base_error *error);

/* ---- logs -------------------------------------------------------------- */

enum kl_store_flush {
    KL_STORE_FLUSH_COMMIT,  /* durable before it is acknowledged, by the WAL */
    KL_STORE_FLUSH_INTERVAL /* acknowledged once written to its segment */
};

struct kl_store_log_config
{
    uint64_t segment_bytes;
    int64_t segment_ms;      /* roll an active segment of this age; < 0 never */
    int64_t retention_ms;    /* < 0 = unlimited */
    int64_t retention_bytes; /* < 0 = unlimited */
    int64_t flush_ms;        /* interval logs; < 0 = the system decides */
    int64_t flush_bytes;     /* interval logs; < 0 = the system decides */
    uint32_t index_interval_bytes;
    uint8_t drop_oldest; /* when the store is full, instead of refusing */
};

struct kl_store_range
{
    int64_t from;
    int64_t to; /* exclusive */
};

struct kl_store_view
{
    int64_t start;         /* log start offset */
    int64_t durable_start; /* the same, as far as it is durable */
    int64_t leo;           /* next offset */
    int64_t durable_leo; /* below: on the medium (commit); written (interval) */
    uint64_t size;       /* bytes of frames between start and leo, about */
    uint32_t segment_count; /* 0 where the files are not loaded */
    /* From that of the record before start on, as far as it is known. */
    const struct kl_batch_epochs *epochs;
    enum kl_store_flush flush;
    uint64_t instance;
    int is_suspect; /* a rotten WAL may have cost it its end: refuses appends */
    int is_durable; /* its create or its newest reset is on the medium */
};

/* Makes a log with start = LEO = 0. Not awaited: its entry comes before any
 * other entry of the log. KL_EEXIST, KL_ENOMEM, KL_EFAILED. */
int kl_store_create(struct kl_store *s, const struct kl_store_id *id,
                    enum kl_store_flush flush,
                    const struct kl_store_log_config *config,
                    struct kl_store_log **out);
/* NULL where there is none. */
struct kl_store_log *kl_store_find(struct kl_store *s,
                                   const struct kl_store_id *id);
/* Iterates over all logs, in no order: start with NULL. Not while creating or
 * deleting, but deleting the one that was returned last is fine. */
struct kl_store_log *kl_store_next(struct kl_store *s,
                                   struct kl_store_log *previous);
const struct kl_store_id *kl_store_log_id(const struct kl_store_log *log);
uint64_t kl_store_log_seed(const struct kl_store_log *log);
void kl_store_log_view(const struct kl_store_log *log,
                       struct kl_store_view *out);
void kl_store_log_configure(struct kl_store_log *log,
                            const struct kl_store_log_config *config);
/* How many ranges of the log are known to be damaged or missing, ascending;
 * sets the one of this index where there is one; out may be NULL. */
size_t kl_store_log_damage(const struct kl_store_log *log, size_t index,
                           struct kl_store_range *out);
/* The runtime's pointer back from a log. */
void kl_store_log_set_user(struct kl_store_log *log, void *user);
void *kl_store_log_user(const struct kl_store_log *log);

/* Appends a stamped frame (own reference is taken; on error the caller keeps
 * its own). The base offset must be the LEO and the epoch not below the newest.
 * KL_EAGAIN when too much is pending, KL_EDISKFULL, KL_EFAILED, KL_ECORRUPT
 * where the log is suspect, KL_ERECORDSIZE, KL_EINVAL. Durable when durable_leo
 * has passed it. */
int kl_store_append(struct kl_store_log *log, struct kl_base_chunk *frame);
/* Rule 1.11.5: a leader records its epoch at the LEO before any write. */
int kl_store_start_epoch(struct kl_store_log *log, int32_t epoch);
/* Cuts the log to offset, which must be a batch boundary, not below start. */
int kl_store_truncate(struct kl_store_log *log, int64_t offset);
/* Moves the log start up (DeleteRecords); at most to the durable LEO. Any
 * offset, also inside a batch. */
int kl_store_set_start(struct kl_store_log *log, int64_t start);
/* Everything of the log goes, and it begins anew, empty, at any offset. epoch
 * is that of the record before the offset, and its epoch list says so; -1 where
 * there is none or nobody knows. Takes the place of the handle: the old one is
 * invalid, reads and look-ups of it end with KL_EOFFSETRANGE. A crash leaves
 * the log as it was or as it is now, and what is appended to it only with that;
 * KL_STORE_EVENT_DURABLE comes when it is durable, and is_durable says so.
 * KL_EINVAL, KL_ENOMEM, KL_EFAILED, KL_ECLOSED: as it was. */
int kl_store_reset(struct kl_store_log **log, int64_t offset, int32_t epoch);
/* The log is gone at once; its files follow. The handle is invalid. */
int kl_store_delete(struct kl_store_log *log);

/* ---- reading ----------------------------------------------------------- */

/* A run of whole, verified, adjacent frames inside a chunk. */
struct kl_store_slice
{
    struct kl_base_chunk *chunk; /* a reference */
    const uint8_t *data;
    uint32_t size;
};

enum { KL_STORE_SLICES = 16 };

/* Where a sequential reader goes on: saves the index look-up. Zeroed at first,
 * carried from read to read, only a hint. */
struct kl_store_cursor
{
    uint64_t instance;
    uint32_t truncation_count;
    int64_t segment_base;
    int64_t offset;
    uint64_t position;
};

/* One read, in memory of the caller until it is finished. */
struct kl_store_read
{
    /* In. */
    struct kl_store_log *log;
    int64_t offset;     /* first wanted; the first frame may begin before it */
    int64_t end;        /* exclusive; frames ending above are not returned */
    uint32_t bytes_max; /* at least one frame is returned whatever its size */
    struct kl_store_cursor cursor; /* in and out */
    void *user;
    struct kl_base_chunk *buffer; /* to read into, taken over where it is large
                                     enough; NULL = allocated when needed */
    /* Out. */
    int code; /* 0; KL_EOFFSETRANGE; KL_ECORRUPT; KL_EIO; KL_ECLOSED when the
                 log was deleted meanwhile */
    int64_t next_offset; /* behind the last frame returned; KL_ECORRUPT: behind
                            what is damaged or missing from offset on */
    uint32_t slice_count;
    struct kl_store_slice slices[KL_STORE_SLICES];
    struct kl_base_list link; /* the store's */
};

/* 0 = finished at once (look at code); KL_EAGAIN = finishes with an event.
 * offset == end gives no slices and code 0. */
int kl_store_read(struct kl_store_read *read);
/* Drops the references of a finished read. */
void kl_store_read_release(struct kl_store_read *read);

/* First record with a timestamp at or after the wanted one, below end. */
struct kl_store_lookup
{
    struct kl_store_log *log;
    int64_t timestamp;
    int64_t end;
    void *user;
    int code; /* as in read; KL_EEND where no such record exists */
    int64_t found_offset;
    int64_t found_timestamp;
    struct kl_base_list link; /* the store's */
};

int kl_store_lookup(struct kl_store_lookup *lookup); /* as kl_store_read */

/* ---- quorum state ------------------------------------------------------ */

/* What a voter must never forget (protocol 1.2): its epoch, who leads it, and
 * whom it voted for. Ids are -1 and the directory id is zero where there is
 * none. */
struct kl_store_quorum
{
    int32_t epoch;
    int32_t leader_id;
    int32_t voted_id;
    struct kl_base_uuid voted_directory_id;
};

/* What open found. */
enum kl_store_quorum_verdict {
    KL_STORE_QUORUM_NONE,     /* nothing was ever put */
    KL_STORE_QUORUM_GOOD,     /* the last state that was put, or a newer one */
    KL_STORE_QUORUM_REPAIRED, /* the same; one of two copies was bad */
    KL_STORE_QUORUM_LOST      /* both are bad: neither vote nor lead */
};

/* The state that is durable now: epoch 0 and nothing where there is none. Its
 * generation is 0 then, and rises with every put; may be NULL. */
enum kl_store_quorum_verdict kl_store_quorum_get(const struct kl_store *s,
                                                 struct kl_store_quorum *out,
                                                 uint64_t *generation_out);
/* Replaces the state. Durable when KL_STORE_EVENT_QUORUM has come and get gives
 * this generation or a higher one; of several on their way only the newest is
 * written. No group of the WAL is begun before that. The epoch never falls, and
 * a vote stays for its epoch: KL_EINVAL. KL_ECORRUPT where the state is lost,
 * KL_EDISKFULL where an old folder had no room for it at open, KL_EFAILED,
 * KL_ECLOSED. A failure fails the store. */
int kl_store_quorum_put(struct kl_store *s, const struct kl_store_quorum *state,
                        uint64_t *generation_out);

/* The epoch that the broker of this folder was registered with last, -1 = it
 * never was: the durable one, which is kept with the quorum state. */
int64_t kl_store_broker_epoch(const struct kl_store *s);
/* Replaces it; as a put of the quorum state, with its event and failures. It
 * never falls: KL_EINVAL. */
int kl_store_broker_epoch_put(struct kl_store *s, int64_t epoch);
/* The same for the start that was the last to register, or to try: zero = there
 * was none. It is put before the registration is sent. */
struct kl_base_uuid kl_store_incarnation(const struct kl_store *s);
int kl_store_incarnation_put(struct kl_store *s, const struct kl_base_uuid *id);

/* ---- snapshots of the metadata ----------------------------------------- */

/* The state of everything below an offset, in opaque bytes; epoch is that of
 * the last record below. */
struct kl_store_snapshot
{
    int64_t end;
    int32_t epoch;
    uint64_t size;
    uint64_t checksum; /* of all its bytes */
};

/* Complete snapshots, newest first: 0 and the one of this index, or KL_EEND. */
int kl_store_snapshot_at(const struct kl_store *s, size_t index,
                         struct kl_store_snapshot *out);
/* Removes those that end below an offset, but never the newest. */
void kl_store_snapshot_delete_before(struct kl_store *s, int64_t end);

/* Writes one aside, in pieces, one call at a time. Append and commit finish
 * with KL_STORE_EVENT_SNAPSHOT, whose code says how; until then data is the
 * store's and further calls give KL_EAGAIN. After a failure, which is this
 * snapshot's alone, and after a commit there is only close. */
struct kl_store_snapshot_writer;
/* KL_EEXIST where there is one of this end and epoch, or being written;
 * KL_EINVAL, also while the store has no cluster; KL_ENOMEM, KL_EFAILED,
 * KL_ECLOSED. */
int kl_store_snapshot_begin(struct kl_store *s, int64_t end, int32_t epoch,
                            struct kl_store_snapshot_writer **out);
int kl_store_snapshot_append(struct kl_store_snapshot_writer *w,
                             const void *data, size_t size);
/* Makes it durable, under its name; then it is among the complete ones. */
int kl_store_snapshot_commit(struct kl_store_snapshot_writer *w);
/* Any time: what was not committed goes. A call under way still gives its
 * event, with KL_ECANCELED where it was an append. */
void kl_store_snapshot_close(struct kl_store_snapshot_writer *w);

/* One read, in memory of the caller until it is finished. */
struct kl_store_snapshot_read
{
    /* In. */
    int64_t end;
    int32_t epoch;
    uint64_t position;
    uint32_t bytes_max;
    void *user;
    /* Out. */
    int code; /* 0; KL_ENOENT; KL_EOFFSETRANGE; KL_EIO and the like; KL_ECORRUPT
                 for bad bytes: then it is in quarantine and none any more */
    struct kl_base_chunk *chunk; /* a reference */
    const uint8_t *data;         /* verified; fewer than wanted are possible */
    uint32_t size;               /* 0 at the end */
    struct kl_base_list link;    /* the store's */
};

/* 0 = finished at once (look at code); KL_EAGAIN = with an event. */
int kl_store_snapshot_read(struct kl_store *s,
                           struct kl_store_snapshot_read *read);
void kl_store_snapshot_read_release(struct kl_store_snapshot_read *read);

/* ---- events ------------------------------------------------------------ */

enum kl_store_event_type {
    KL_STORE_EVENT_DURABLE, /* durable_leo of log has changed, or is_durable */
    KL_STORE_EVENT_READ,
    KL_STORE_EVENT_LOOKUP,
    KL_STORE_EVENT_ROOM,    /* appends that got KL_EAGAIN or KL_EDISKFULL may be
                               tried again */
    KL_STORE_EVENT_FAILED,  /* the store failed; see kl_store_failure */
    KL_STORE_EVENT_STARTED, /* log start of log has moved by retention */
    KL_STORE_EVENT_DAMAGED, /* damage of log was found that was not known */
    KL_STORE_EVENT_QUORUM,  /* a state that was put is durable */
    KL_STORE_EVENT_IDENTITY, /* an adoption is durable, or failed with code */
    KL_STORE_EVENT_SNAPSHOT, /* append or commit of writer: code */
    KL_STORE_EVENT_SNAPSHOT_READ
};

struct kl_store_event
{
    enum kl_store_event_type type;
    struct kl_store_log *log;
    struct kl_store_read *read;
    struct kl_store_lookup *lookup;
    struct kl_store_snapshot_writer *writer;
    struct kl_store_snapshot_read *snapshot_read;
    int code;
};

/* 1 and the next event, or 0. Drain after every turn. */
int kl_store_next_event(struct kl_store *s, struct kl_store_event *out);

/* ---- statistics -------------------------------------------------------- */

struct kl_store_stats
{
    kl_base_stat appends;      /* frames */
    kl_base_stat append_bytes; /* frame bytes = payload as stored */
    kl_base_stat groups;       /* WAL groups made durable */
    kl_base_stat group_frames; /* frames in them */
    kl_base_stat wal_bytes;    /* written to the WAL, padding included */
    kl_base_stat wal_syncs;
    kl_base_stat wal_laps;
    kl_base_stat wal_stalls;    /* turns in which the full ring held a group */
    kl_base_stat segment_bytes; /* written to segments and indexes */
    kl_base_stat segment_syncs;
    kl_base_stat refusals; /* appends refused: no space */
    kl_base_stat retries;  /* jobs once more: no space, descriptor or memory */
    kl_base_stat segments_rolled;
    kl_base_stat segments_deleted;
    kl_base_stat checkpoints;
    kl_base_stat checkpoint_bytes; /* slots and manifests */
    kl_base_stat reads_memory;     /* reads answered from chunks in memory */
    kl_base_stat reads_disk;
    kl_base_stat read_bytes;    /* from disk */
    kl_base_stat pending_bytes; /* gauge: chunks not yet in a segment */
    kl_base_stat cache_bytes;   /* gauge */
    kl_base_stat ring_bytes;    /* gauge */
    kl_base_stat ring_used;     /* gauge: not yet reusable */
    kl_base_stat logs;          /* gauge */
    kl_base_stat disk_bytes; /* gauge: ring, slots, reserve, snapshots and the
                                frames of all logs, also of files to be
                                removed */
    kl_base_stat reserve_bytes; /* gauge: 0 while it is given to writes */
    kl_base_stat full;          /* gauge: 1 while appends are refused */
    kl_base_stat failed;        /* gauge: 1 when the store has failed */
    kl_base_stat verdict;       /* gauge: enum kl_store_verdict */
    kl_base_stat damages;       /* ranges found damaged or missing */
    kl_base_stat lost_groups;   /* WAL groups that open could not read */
    kl_base_stat scrub_bytes;   /* read by the scrub */
    kl_base_stat scrub_passes;  /* times that it has seen everything */
    kl_base_stat rebuilds;      /* manifests made again from segments */
    struct kl_base_histogram group_bytes; /* per group */
    struct kl_base_histogram sync_us;     /* WAL write + sync, microseconds */
    struct kl_base_histogram checkpoint_us;
};

const struct kl_store_stats *kl_store_stats(const struct kl_store *s);

#include "store/offline.h"

#endif
