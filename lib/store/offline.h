/*
 * Folders that are not open: checking them, reading what they hold.
 *
 * A part of the door: store.h includes it.
 */
#ifndef KL_STORE_OFFLINE_H
#define KL_STORE_OFFLINE_H

#include "store/store.h"

/* A look at a folder that need not be opened. It only reads, and blocks. */
struct kl_store_inspect;

enum { KL_STORE_INSPECT_FORCE = 1 /* also where a node holds the folder */ };

/* Kinds of findings: X(KIND, "name", "what is the matter"). */
#define KL_STORE_FINDINGS(X)                                                   \
    X(IDENTITY, "identity", "the identity does not verify")                    \
    X(QUORUM, "quorum", "a copy of the quorum state does not verify")          \
    X(SLOT, "checkpoint", "the checkpoint does not verify")                    \
    X(WAL_FILE, "wal-file",                                                    \
      "a file of the ring is missing or has a wrong "                          \
      "size")                                                                  \
    X(WAL_TORN, "wal-torn",                                                    \
      "the last group was not written to its end; "                            \
      "nothing in it had been acknowledged")                                   \
    X(WAL_ROT, "wal-rot", "a group does not verify that had been durable")     \
    X(WAL_OLD, "wal-old",                                                      \
      "a group does not verify that only the older "                           \
      "checkpoint needs")                                                      \
    X(WAL_FRAME, "wal-frame", "a batch in a group does not verify")            \
    X(SUSPECT, "suspect",                                                      \
      "nothing proves that the log ends here; groups that "                    \
      "may have gone on with it are lost")                                     \
    X(MANIFEST, "manifest", "the manifest does not verify")                    \
    X(SEGMENT, "segment", "the segment is missing")                            \
    X(HEADER, "segment-header", "the header of the segment does not verify")   \
    X(FOREIGN, "segment-foreign", "the segment belongs somewhere else")        \
    X(SHORT, "segment-short", "the segment ends too early")                    \
    X(FRAME, "frame", "the header of a batch does not verify")                 \
    X(BODY, "body", "the records of a batch do not verify")                    \
    X(RECORDS, "records", "the records of a batch cannot be read")             \
    X(CRC, "crc", "the CRC of a batch is wrong")                               \
    X(EPOCH, "epoch", "the leader epoch goes back")                            \
    X(CODEC, "codec",                                                          \
      "compressed by a codec that is not in this library; "                    \
      "the records were not looked at")                                        \
    X(GAP, "gap", "the offsets are nowhere")                                   \
    X(TAIL, "tail",                                                            \
      "the end was not written completely; it is cut off at "                  \
      "the next open")                                                         \
    X(INDEX, "index", "the index does not verify; look-ups work without it")   \
    X(SNAPSHOT, "snapshot", "the snapshot does not verify")                    \
    X(LEFTOVER, "leftover", "belongs to nothing")                              \
    X(UNKNOWN, "unknown", "not known to this release")

#define KL_STORE_FINDING_ENUM(kind, name, text) KL_STORE_FINDING_##kind,
enum kl_store_finding_kind {
    KL_STORE_FINDINGS(KL_STORE_FINDING_ENUM) KL_STORE_FINDING_COUNT
};

enum kl_store_severity {
    KL_STORE_HARMLESS, /* nothing is lost, nothing is to be done */
    KL_STORE_COVERED,  /* damaged, but another copy has it */
    KL_STORE_DAMAGE,   /* something is lost */
    KL_STORE_SEVERITY_COUNT
};

enum { KL_STORE_NAME_MAX = 256 };

struct kl_store_finding
{
    enum kl_store_finding_kind kind;
    enum kl_store_severity severity;
    char file[KL_STORE_NAME_MAX]; /* from the folder on */
    int has_log;
    struct kl_store_id id;
    int64_t from; /* offsets [from, end) of the log; -1 = not known */
    int64_t end;
    uint64_t position; /* bytes of the file; size 0 = all of it */
    uint64_t size;
};

const char *kl_store_finding_name(enum kl_store_finding_kind kind);
const char *kl_store_finding_text(enum kl_store_finding_kind kind);
const char *kl_store_severity_name(enum kl_store_severity severity);

/* What was looked at so far. */
struct kl_store_inspect_stats
{
    uint64_t logs;
    uint64_t segments;
    uint64_t batches;
    uint64_t records;
    uint64_t groups;
    uint64_t bytes;
    uint64_t unreadable; /* blocks of 4 KiB that the medium did not give */
    uint64_t findings[KL_STORE_SEVERITY_COUNT];
};

int kl_store_inspect_new(struct kl_store_inspect **out,
                         const struct kl_base_alloc *alloc,
                         struct kl_os_vfs *vfs, const char *path);
/* NULL is ignored. */
void kl_store_inspect_free(struct kl_store_inspect *in);
/* Locks the folder and finds out what the next open would make of it, as far as
 * checkpoints and the WAL say. KL_ENOSTORE, KL_EBUSY, KL_EFORMAT, KL_EACCESS,
 * KL_EIO. */
int kl_store_inspect_open(struct kl_store_inspect *in, uint32_t flags,
                          struct kl_base_error *error);
/* 1 where a node holds the folder, so that files may change meanwhile. */
int kl_store_inspect_is_in_use(const struct kl_store_inspect *in);
void kl_store_inspect_stats(const struct kl_store_inspect *in,
                            struct kl_store_inspect_stats *out);
/* Checks all files, a piece with every call: 0 with the next finding, KL_EEND
 * when all is checked, KL_EFORMAT, KL_ENOMEM and others where it cannot go on.
 */
int kl_store_inspect_verify(struct kl_store_inspect *in,
                            struct kl_store_finding *out,
                            struct kl_base_error *error);

/* What a folder is apart from the bytes in it. */
struct kl_store_inspect_health
{
    int is_unfinished; /* formatting did not end: no record was ever in it */
    int is_old;        /* of an older format, which the next open upgrades */
    uint64_t reserve_bytes;
    uint64_t reserve_wanted; /* 0 = not known */
    uint64_t free_bytes;     /* of the file system; UINT64_MAX = not known */
    uint64_t kept;           /* names in quarantine */
};
int kl_store_inspect_health(struct kl_store_inspect *in,
                            struct kl_store_inspect_health *out);

/* One frame of a log, verified; data lives during the call. */
struct kl_store_content_frame
{
    const uint8_t *data;
    const struct kl_batch_info *info;
    int64_t segment; /* base offset; -1 = it is elsewhere */
    int wal_file;    /* -1 = it is elsewhere; both -1 = in quarantine */
    uint64_t position;
    int64_t first_ms; /* appends of its segment; 0 = not known */
    int64_t last_ms;
};

/* Non-zero ends the run with that code. After KL_EAGAIN it can be gone on with:
 * the frame then comes again, the lost offsets do not. */
struct kl_store_content_fns
{
    int (*frame)(const struct kl_store_content_frame *f, void *user);
    /* May be NULL. */
    int (*lost)(int64_t from, int64_t end, enum kl_store_finding_kind why,
                void *user);
};

/* Reads a log from its start to its end, as far as it can be had. */
struct kl_store_content;
/* KL_ENOTOPIC where there is no such log. */
int kl_store_content_new(struct kl_store_content **out,
                         struct kl_store_inspect *in,
                         const struct kl_store_id *id,
                         const struct kl_store_content_fns *fns, void *user);
/* The offset where it begins, and then goes on. */
int64_t kl_store_content_next(const struct kl_store_content *c);
void kl_store_content_free(struct kl_store_content *c);
int kl_store_content_run(struct kl_store_content *c);

/* The newest complete snapshot that verifies, and its bytes: 0, KL_EEND where
 * there is none, KL_EFORMAT where a later release has written it, KL_ENOMEM. */
int kl_store_inspect_snapshot(struct kl_store_inspect *in,
                              struct kl_store_snapshot *out,
                              struct kl_base_buf *bytes);

/* ---- what is written where ---------------------------------------------- */

enum kl_store_dump_type {
    KL_STORE_DUMP_IDENTITY,
    KL_STORE_DUMP_SLOT,
    KL_STORE_DUMP_LOG,
    KL_STORE_DUMP_SEGMENT,
    KL_STORE_DUMP_GROUP,
    KL_STORE_DUMP_ENTRY,
    KL_STORE_DUMP_FRAME,
    KL_STORE_DUMP_LOST,
    KL_STORE_DUMP_INDEX
};

struct kl_store_dump_slot
{
    const char *name;
    int code; /* why it cannot be read; the rest is 0 then */
    int is_newest;
    int is_clean;
    uint64_t generation;
    uint64_t sequence; /* of the next group, and where it is looked for */
    uint64_t lap;
    uint32_t file;
    uint32_t offset;
    uint32_t file_count;
    uint64_t file_size;
    uint32_t log_count;
};

struct kl_store_dump_log
{
    struct kl_store_id id;
    uint64_t instance;
    uint32_t truncation;
    enum kl_store_flush flush;
    int64_t start;
    int64_t leo; /* -1 = not known */
    int is_suspect;
    const struct kl_batch_epochs *epochs; /* NULL = not known */
};

struct kl_store_dump_segment
{
    struct kl_store_id id;
    uint64_t instance;
    uint32_t truncation;
    int64_t base;
    int64_t end;   /* -1 = not known */
    uint64_t size; /* 0 = not known */
    int64_t max_timestamp;
    int64_t first_ms;
    int64_t last_ms;
};

struct kl_store_dump_group
{
    uint32_t file;
    uint32_t offset;
    uint64_t sequence;
    uint64_t lap;
    uint32_t size;
    uint32_t entry_count;
    int is_seal;
    int is_needed; /* the next open replays it */
};

struct kl_store_dump_entry
{
    const char *type;
    struct kl_store_id id;
    uint64_t instance;
    uint32_t truncation;
    int64_t offset;
    int64_t end;
    int32_t epoch;
    uint32_t size;
    int is_bad; /* its frame does not verify */
};

struct kl_store_dump_event
{
    enum kl_store_dump_type type;
    union
    {
        const struct kl_store_identity *identity;
        struct kl_store_dump_slot slot;
        struct kl_store_dump_log log;
        struct kl_store_dump_segment segment;
        struct kl_store_dump_group group;
        struct kl_store_dump_entry entry;
        const struct kl_store_content_frame *frame;
        struct
        {
            int64_t from;
            int64_t end; /* -1 = not known */
            enum kl_store_finding_kind why;
        } lost;
        struct
        {
            int64_t offset;
            uint64_t position;
            int64_t max_timestamp;
        } index;
    };
};

/* Non-zero ends the run with that code; after KL_EAGAIN it can be gone on with,
 * and the event comes again, but for LOST. */
typedef int (*kl_store_dump_fn)(const struct kl_store_dump_event *e,
                                void *user);

/* Tells what is there, as far as it can be read. */
struct kl_store_dump;
enum kl_store_dump_what { KL_STORE_DUMP_FOLDER, KL_STORE_DUMP_WAL };
int kl_store_dump_new(struct kl_store_dump **out, struct kl_store_inspect *in,
                      enum kl_store_dump_what what, kl_store_dump_fn fn,
                      void *user);
/* One log: its segments, frames and what is lost; KL_ENOTOPIC. */
int kl_store_dump_log(struct kl_store_dump **out, struct kl_store_inspect *in,
                      const struct kl_store_id *id, kl_store_dump_fn fn,
                      void *user);
/* One file, of which nothing else is known. KL_ECORRUPT where it is none of a
 * store's. */
int kl_store_dump_file(struct kl_store_dump **out,
                       const struct kl_base_alloc *alloc, struct kl_os_vfs *vfs,
                       const char *path, kl_store_dump_fn fn, void *user,
                       struct kl_base_error *error);
void kl_store_dump_free(struct kl_store_dump *d);
int kl_store_dump_run(struct kl_store_dump *d);

/* ---- saving ------------------------------------------------------------- */

/* A new folder with what is good in another one. Identifier and epochs, offsets
 * and instances stay; the directory is a new one, which never had a vote. */
struct kl_store_salvage;

struct kl_store_salvage_config
{
    const char *path; /* of the new folder, absent or empty */
    /* Cluster and node where the identity is lost; the directory always. */
    struct kl_store_identity identity;
    struct kl_os_lanes *lanes; /* to open it with, in the end; borrowed */
    uint64_t seed;
    int64_t wall_ms;
};

struct kl_store_salvage_log
{
    struct kl_store_id id;
    enum kl_store_flush flush;
    int64_t start;
    int64_t end;
    int32_t epoch; /* the newest, -1 = none */
    uint64_t batches;
    uint64_t records;
    uint64_t bytes;
    uint64_t lost; /* offsets */
};

typedef int (*kl_store_salvage_lost_fn)(int64_t from, int64_t end,
                                        enum kl_store_finding_kind why,
                                        void *user);

/* in is what is saved, open, not in use, and borrowed. KL_EEXIST where the new
 * folder is not empty. */
int kl_store_salvage_new(struct kl_store_salvage **out,
                         struct kl_store_inspect *in,
                         const struct kl_store_salvage_config *config,
                         struct kl_base_error *error);
void kl_store_salvage_free(struct kl_store_salvage *s);
/* Iterates over the logs that there are to be saved, in no order; NULL at
 * first. */
const struct kl_store_id *
kl_store_salvage_next(struct kl_store_salvage *s,
                      const struct kl_store_id *previous);
/* Begins with a log. flush counts where no checkpoint knows it. lost may leave
 * the run with KL_EAGAIN, after having taken what it was told. */
int kl_store_salvage_begin(struct kl_store_salvage *s,
                           const struct kl_store_id *id,
                           enum kl_store_flush flush, uint64_t segment_bytes,
                           kl_store_salvage_lost_fn lost, void *user);
/* Saves it: 0 and what was saved, KL_EAGAIN, or why not. */
int kl_store_salvage_run(struct kl_store_salvage *s,
                         struct kl_store_salvage_log *out);
/* A commit log of the caller's own frames, stamped, in place of the one that
 * there is. */
int kl_store_salvage_write(struct kl_store_salvage *s,
                           const struct kl_store_id *id, const void *frames,
                           size_t size);
/* Makes the new folder a store; opens and closes it. */
int kl_store_salvage_finish(struct kl_store_salvage *s,
                            struct kl_base_error *error);
/* 1 where no checkpoint says where logs end; of the folder that is saved. */
int kl_store_inspect_is_guess(const struct kl_store_inspect *in);
/* NULL where it does not verify. */
const struct kl_store_identity *
kl_store_inspect_identity(const struct kl_store_inspect *in);
/* 1 where a lost group may have gone on with the log behind its end. */
int kl_store_inspect_is_suspect(struct kl_store_inspect *in,
                                const struct kl_store_id *id);

#endif
