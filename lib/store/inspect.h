/*
 * State of a look at a folder, shared by its parts: inspect.c (life, what the
 * next open would find), inspect_verify.c (the order of checks),
 * inspect_segment.c, inspect_wal.c.
 */
#ifndef KL_STORE_INSPECT_H
#define KL_STORE_INSPECT_H

#include "store/readonly.h"
#include "store/recover.h"

/* What has a place in a folder; in->names has a bit for each that is there. */
enum kl_store_inspect_name {
    KL_STORE_NAME_LOCK,
    KL_STORE_NAME_IDENTITY,
    KL_STORE_NAME_QUORUM_A,
    KL_STORE_NAME_QUORUM_B,
    KL_STORE_NAME_SLOT_A,
    KL_STORE_NAME_SLOT_B,
    KL_STORE_NAME_WAL,
    KL_STORE_NAME_LOGS,
    KL_STORE_NAME_SNAPSHOTS,
    KL_STORE_NAME_QUARANTINE,
    KL_STORE_NAME_RESERVE,
    KL_STORE_NAME_COUNT
};

/* What is walked over in a segment. */
enum kl_store_walk_part {
    KL_STORE_WALK_STATED, /* checkpoint or manifest say what must be there */
    KL_STORE_WALK_TAIL,   /* of an interval log, behind what was synced */
    KL_STORE_WALK_GUESSED /* nobody says where it ends */
};

/* One segment on its way through the checks. */
struct kl_store_walk
{
    struct kl_store_inspect *in;
    struct kl_store_log *log;
    struct kl_store_segment_info info;
    enum kl_store_walk_part part;
    int has_tail;
    struct kl_os_file *file; /* NULL = missing, or no walk */
    uint64_t file_size;
    struct kl_store_scan scan;
    int64_t cut; /* what lies at or above was truncated */
    int64_t max_timestamp;
    int32_t epoch;
    int codec_told;
    int is_torn; /* the tail ended before the file did */
    /* The index beside it. */
    struct kl_os_file *index; /* NULL = there is none */
    uint64_t index_from;      /* entries before this position are not judged */
    uint32_t index_blocks;
    uint32_t index_block; /* the next one */
    uint32_t entry_count;
    uint32_t entry; /* the next one in entries */
    int index_told; /* this block is known to be bad */
    struct kl_store_index_entry entries[KL_STORE_INDEX_FANOUT];
};

enum kl_store_inspect_phase {
    KL_STORE_INSPECT_FOLDER,
    KL_STORE_INSPECT_QUORUM,
    KL_STORE_INSPECT_SNAPSHOTS,
    KL_STORE_INSPECT_LEFTOVERS,
    KL_STORE_INSPECT_LOGS,
    KL_STORE_INSPECT_SEGMENTS,
    KL_STORE_INSPECT_WAL,
    KL_STORE_INSPECT_DONE
};

struct kl_store_rescue;

struct kl_store_inspect
{
    struct kl_base_alloc alloc;
    struct kl_os_vfs *vfs;
    struct kl_store_readonly readonly;
    struct kl_store *store; /* never opened: names and tables of logs */
    struct kl_store_recovery recovery;
    struct kl_os_file *lock;
    int is_in_use;

    /* The folder. */
    uint32_t names;
    int identity_code;
    struct kl_store_slot slots[2];
    int slot_codes[2];
    int newest;                     /* the slot that counts; -1 = none */
    struct kl_store_rescue *rescue; /* made when something is missed */

    /* Findings that were not handed out yet. */
    struct kl_store_finding *findings;
    size_t finding_count;
    size_t finding_capacity;
    size_t finding_next;
    struct kl_store_inspect_stats stats;

    /* How far verifying has come. */
    enum kl_store_inspect_phase phase;
    struct kl_store_log *log;
    struct kl_store_manifest manifest; /* of that log */
    uint32_t segment;                  /* of that manifest */
    int64_t expected;                  /* the next offset of that log */
    int32_t epoch;                     /* the highest one of that log */
    int is_torn;    /* it ended in the segment before: the rest goes at open */
    int is_walking; /* walk is under way */
    struct kl_store_walk walk;
};

/* ---- inspect.c --------------------------------------------------------- */

/* Adds a finding about a file, of which the caller fills in what it knows more
 * until the next one is added; log may be NULL. NULL without memory. */
struct kl_store_finding *kl_store_inspect_note(struct kl_store_inspect *in,
                                               enum kl_store_finding_kind kind,
                                               enum kl_store_severity severity,
                                               const struct kl_store_log *log,
                                               const char *path);

/* Whether something of this name has a place in a folder. */
int kl_store_inspect_knows(const char *name);

/* Finds out whose groups a ring holds, where its directory is not known.
 * KL_EEND where it has none. */
int kl_store_inspect_owner(struct kl_store_ring *ring);

/* ---- inspect_quorum.c --------------------------------------------------- */

int kl_store_inspect_quorum(struct kl_store_inspect *in);
int kl_store_inspect_snapshots(struct kl_store_inspect *in);
/* ---- inspect_guess.c --------------------------------------------------- */

/* Makes the logs where there is no checkpoint that knows them. */
int kl_store_inspect_guess(struct kl_store_inspect *in,
                           struct kl_base_error *error);

/* ---- inspect_segment.c ------------------------------------------------- */

/* What is damaged in a segment: the header or the body of a frame, or the file
 * ends there. */
int kl_store_damage_kind(struct kl_os_file *file, uint64_t seed,
                         const struct kl_store_damage *d,
                         enum kl_store_finding_kind *out);
/* Begins with a part of a segment; 0 also where it is missing, which is noted.
 * Closed in any case. */
int kl_store_walk_open(struct kl_store_walk *w, struct kl_store_inspect *in,
                       struct kl_store_log *log,
                       const struct kl_store_segment_info *info,
                       enum kl_store_walk_part part);
/* Goes on, with has_tail behind the stated part too: 0 at the end, KL_EAGAIN
 * when findings wait to be handed out. */
int kl_store_walk_run(struct kl_store_walk *w);
/* Also where none is open. */
void kl_store_walk_close(struct kl_store_walk *w);

/* ---- inspect_wal.c ----------------------------------------------------- */

/* What is wrong with the groups that a checkpoint needs. */
int kl_store_inspect_wal(struct kl_store_inspect *in);
/* From here on segments do not have the log any more: the WAL goes on with it,
 * or has truncated it. INT64_MAX where it has done neither. */
int64_t kl_store_inspect_cut(const struct kl_store_log *log);
/* What the WAL should have of a commit log and has not. */
int kl_store_inspect_plan(struct kl_store_inspect *in,
                          struct kl_store_log *log);

#endif
