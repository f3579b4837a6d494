/*
 * The store's state, private to the room. Who touches what: everything belongs
 * to the owner thread, except what a job under way holds and the reader and
 * writer handles of segments, as said at each field.
 */
#ifndef KL_STORE_STATE_H
#define KL_STORE_STATE_H

#include "base/assert.h"
#include "base/map.h"
#include "base/rng.h"
#include "store/log.h"

enum {
    KL_STORE_PATH_MAX = 1024,
    KL_STORE_GROUP_MAX = 4 * 1024 * 1024, /* bytes of one group at most */
    KL_STORE_WRITE_MAX = 4 * 1024 * 1024, /* bytes of one segment job */
    KL_STORE_RING_FILES_MAX = 8,
    KL_STORE_SYNC_MANY = 32 /* from here on one sync of the file system */
};

/* Something that could not be done, and when it is tried again. */
struct kl_store_retry
{
    int64_t at_ns; /* INT64_MAX = nothing waits */
    int64_t delay_ns;
};

/* What an append may need on disk until it is written behind. */
struct kl_store_cost
{
    uint64_t charge;
    uint64_t planned; /* size of the open segment with it */
};

/* Where an entry is on its way. Interval appends skip the WAL. */
enum kl_store_entry_state {
    KL_STORE_ENTRY_QUEUED,  /* waits for a group */
    KL_STORE_ENTRY_GROUPED, /* in the group that is being written */
    KL_STORE_ENTRY_DURABLE, /* may be applied to files */
    KL_STORE_ENTRY_WRITING, /* in the segment job */
    KL_STORE_ENTRY_CACHED   /* in its segment; kept for tailing readers */
};

/* One change of one log, from the call to its effect on files. Appends stay
 * on as the log's tail in memory. */
struct kl_store_entry
{
    struct kl_base_list wal;   /* in a queue of the store, or in its group */
    struct kl_base_list order; /* the log's pending, then cached */
    struct kl_base_list cache; /* store->cache, oldest first */
    struct kl_store_log *log;
    struct kl_base_chunk *chunk;
    enum kl_store_entry_type type;
    enum kl_store_entry_state state;
    uint64_t sequence; /* of the group that holds it; 0 = not yet */
    int64_t offset;
    int64_t end;
    int64_t max_timestamp;
    uint64_t charge; /* against the reserve */
    uint32_t size;
    uint32_t truncation;
    int32_t epoch;
    uint8_t cut;      /* truncated away since: no reader may see it */
    uint8_t is_epoch; /* counted in epochs_queued */
};

/* One segment file. */
struct kl_store_segment
{
    struct kl_store_log *log;
    struct kl_store_segment_info info; /* end and size: written to the file */
    int64_t next_end;                  /* with the job under way */
    uint64_t next_size;
    int64_t next_max_timestamp;
    uint64_t synced_size;
    uint32_t cuts; /* a sync begun before a cut says nothing after it */
    struct kl_os_file *writer; /* segment lane while log->busy, else owner */
    struct kl_os_file *index_writer; /* the same */
    struct kl_os_file *reader;       /* read lane while refs > 0 */
    struct kl_os_file *index_reader; /* the same */
    struct kl_base_list open;   /* store->open_segments when a handle is open,
                                   store->dead_segments */
    uint32_t refs;              /* jobs that use it */
    uint32_t index_blocks;      /* whole blocks in the index file; UINT32_MAX =
                                   not looked at yet (sealed segments) */
    uint32_t next_index_blocks; /* with the job under way */
    uint8_t counted;            /* handles that open_count knows of */
    uint8_t index_lost; /* cannot be written; as writer. It ends there */
    uint8_t sealed;
    uint8_t dead; /* not in the log any more; freed with the last reference */
};

/* The commit lane's job: one WAL group, written and synced. */
struct kl_store_group
{
    struct kl_os_job job;
    struct kl_store *store;
    struct kl_base_list entries;
    struct kl_os_file *file;
    struct kl_os_iovec *iov;
    size_t iov_count;
    size_t iov_capacity;
    struct kl_base_buf head; /* group header and entry headers */
    struct kl_store_group_header header;
    uint64_t offset;
    uint32_t frames;
    int64_t started_ns;
    int code;
    uint8_t busy;
    uint8_t seal;
    uint8_t has_data; /* ordinary appends are in it */
};

struct kl_store_wal
{
    struct kl_os_file *files[KL_STORE_RING_FILES_MAX];
    uint64_t last_sequence[KL_STORE_RING_FILES_MAX]; /* newest group in it */
    uint32_t file_count;
    uint64_t file_size;
    struct kl_store_position next;    /* of the next group to be formed */
    struct kl_store_position durable; /* behind the last synced group */
    uint64_t walks;              /* of the queue past appends that must wait */
    uint32_t controls;           /* entries in it that are no appends */
    struct kl_store_retry retry; /* of the group under way, or to form one */
    int64_t seal_due_ns;         /* INT64_MAX = sealed or never written */
    uint8_t stalled;     /* no place for appends: they wait for a checkpoint */
    uint64_t stalled_at; /* oldest sequence needed when it was found full */
};

/* Files to close, names to remove: one job of the clean-up lane at a time. */
struct kl_store_tidy
{
    struct kl_os_job job;
    struct kl_base_list waiting; /* items, see tidy.c */
    struct kl_store_retry retry;
    size_t names;              /* of them, with a name to remove */
    uint64_t bytes;            /* of what has one, taken included */
    struct kl_base_list taken; /* by the job */
    struct kl_store *store;
    uint8_t busy;
};

/* Room on the disk; see space.c. */
struct kl_store_space
{
    struct kl_os_job job;
    struct kl_store *store;
    struct kl_os_file *file; /* the lane's while busy; NULL = not there yet */
    uint64_t wanted;         /* bytes of the reserve */
    uint64_t size;           /* that it has; 0 = released */
    uint64_t charged;        /* of all entries on their way */
    uint64_t manifests;      /* of all that a checkpoint has to write */
    uint64_t used;           /* frames of all logs, on disk or accepted */
    uint64_t needed;         /* free bytes that the job looks for */
    uint64_t missing;        /* of them, as the last look has found */
    uint64_t lacks;          /* the same, of a look under way: the lane's */
    uint64_t over_at; /* disk_bytes when an append was beyond the limit */
    uint64_t over_by;
    int64_t look_ns; /* when full: the next look at free space */
    int code;
    uint8_t full;
    uint8_t over;       /* the set limit is reached */
    uint8_t is_asked;   /* a write met a full disk */
    uint8_t is_release; /* what the job does */
    uint8_t busy;
};

/* Topics that make room; see drop.c. */
struct kl_store_drop
{
    uint32_t logs;    /* that may be asked */
    uint32_t moving;  /* whose start is on its way */
    uint8_t hopeless; /* there is nothing left */
};

/* What a sync that begins now makes durable of a segment. */
struct kl_store_synced
{
    uint64_t size;
    uint32_t cuts;
};

/* Syncing interval logs: one job of the clean-up lane at a time. */
struct kl_store_flush_job
{
    struct kl_os_job job;
    struct kl_store_log *log;
    struct kl_store_segment **segments; /* references */
    struct kl_store_synced *synced;     /* what the sync of each will show */
    size_t count;
    size_t capacity;
    int64_t end;
    uint32_t truncation;
    int settled; /* no truncation was on its way when it began */
    struct kl_store_segment_info active;
    int code;
    uint8_t busy;
};

/* The commit lane's other job: the quorum state, into both its files. */
struct kl_store_quorum_job
{
    struct kl_os_job job;
    struct kl_store *store;
    struct kl_os_file *files[2];
    struct kl_base_buf block;              /* what the job writes */
    struct kl_store_quorum_record durable; /* generation: of the put */
    struct kl_store_quorum_record writing; /* by the job */
    struct kl_store_quorum_record wanted;  /* the newest put */
    struct kl_store_retry retry;
    enum kl_store_quorum_verdict verdict;
    int code;
    int copy; /* that could not be written */
    uint8_t busy;
    uint8_t event;
    uint8_t absent; /* an old folder, and no room to make the files */
};

/* The identity is replaced, in the clean-up lane. */
struct kl_store_identity_job
{
    struct kl_os_job job;
    struct kl_store *store;
    struct kl_base_buf file; /* what the job writes */
    struct kl_base_uuid cluster_id;
    struct kl_store_retry retry;
    int code;
    uint8_t busy;
    uint8_t event;
};

/* Snapshots: complete ones, those being written, and what has finished. */
struct kl_store_snapshots
{
    struct kl_store_snapshot *items; /* newest first */
    size_t count;
    size_t capacity;
    struct kl_base_list writers; /* see snapshot.h */
    struct kl_base_list written; /* writers with an event */
    struct kl_base_list read;    /* reads with an event */
    uint64_t serial;             /* names of what is aside are never the same */
    uint64_t bytes;              /* of their files */
};

struct kl_store_write;      /* write.h */
struct kl_store_checkpoint; /* checkpoint.h */
struct kl_store_scrub;      /* scrub.c */

struct kl_store
{
    struct kl_base_alloc alloc;
    struct kl_os_vfs *vfs;
    struct kl_os_lanes *lanes;
    struct kl_store_config config;
    char *path;
    struct kl_base_rng rng;
    struct kl_store_identity identity;
    uint64_t directory; /* hash of the directory id: marks our groups */
    struct kl_os_file *lock;
    struct kl_os_file *slots[2];
    int64_t now_ns;
    int64_t wall_ms;

    struct kl_base_map by_id;
    struct kl_base_list logs;
    struct kl_store_wal wal;
    struct kl_base_list queue; /* entries, metadata log's apart */
    struct kl_base_list meta_queue;
    struct kl_store_group group;
    struct kl_store_quorum_job quorum;
    struct kl_store_identity_job adoption;
    struct kl_store_snapshots snapshots;
    struct kl_base_list dirty; /* logs with something to apply */
    struct kl_base_list gone;  /* logs that go with their files */
    int64_t write_due_ns;      /* when it is worth a job, at the latest */
    struct kl_store_write *write;
    struct kl_store_checkpoint *checkpoint;
    struct kl_store_scrub *scrub;
    struct kl_store_tidy tidy;
    struct kl_store_space space;
    struct kl_store_drop drop;
    struct kl_store_flush_job flush;
    struct kl_base_list flushes; /* interval logs with unsynced bytes */
    struct kl_base_list cache;
    struct kl_base_list open_segments; /* least recently used first */
    struct kl_base_list dead_segments; /* their handles wait for memory */
    size_t open_count;
    uint32_t frame_max;
    uint64_t pending_bytes;
    uint64_t cache_bytes;
    uint32_t jobs; /* under way, of any kind */

    struct kl_base_list changed;  /* logs with a durable event */
    struct kl_base_list finished; /* reads */
    struct kl_base_list found;    /* lookups */
    struct kl_base_error failure;
    int64_t retention_due_ns;
    int64_t retention_seen_ns; /* of the last pass, both clocks */
    int64_t retention_seen_ms;
    uint8_t retention_careful; /* the wall clock jumped */
    uint8_t failed_event;
    uint8_t room_event;
    uint8_t refused; /* an append got KL_EAGAIN */
    uint8_t stopping;
    uint8_t stopped;
    uint8_t opened;
    uint8_t folders_dirty; /* names in logs/ are not synced */
    uint8_t clean;         /* opened after a clean stop */
    uint8_t damaged;       /* something is or was lost; see damage.c */
    struct kl_store_stats stats;
};

/* ---- store.c ----------------------------------------------------------- */

static inline const char *kl_store_why(int code)
{
    return kl_base_error_lookup(code)->text;
}

/* The first failure ends all writing, for ever (storage.md 6). */
void kl_store_fail(struct kl_store *s, int code, const char *what,
                   const char *path);
/* ---- retry.c ----------------------------------------------------------- */

void kl_store_retry_init(struct kl_store_retry *r);
/* Tries it again some time later, and later still the next time. */
void kl_store_retry_later(struct kl_store *s, struct kl_store_retry *r);
int kl_store_retry_is_waiting(const struct kl_store_retry *r);
/* What waits need not wait any longer. */
void kl_store_retry_now(const struct kl_store *s, struct kl_store_retry *r);
/* 1 once when it is time. */
int kl_store_retry_take(const struct kl_store *s, struct kl_store_retry *r);
/* Causes that go away by themselves. */
int kl_store_is_passing(int code);
/* What is to be written waits, and with it the ring. */
int kl_store_is_stuck(const struct kl_store *s);
/* A job has failed. 1 where it is to be submitted once more when the retry is
 * due, else the store fails. */
int kl_store_wait_out(struct kl_store *s, struct kl_store_retry *r, int code,
                      const char *what, const char *path);
/* These never give a code that could be waited out, but for a folder that
 * could not be opened. Blocking. */
int kl_store_sync(struct kl_os_file *file);
int kl_store_sync_all(struct kl_os_file *file);
int kl_store_sync_folder(struct kl_os_vfs *vfs, const char *path);

/* ---- store.c, the jobs -------------------------------------------------- */

void kl_store_submit(struct kl_store *s, struct kl_os_job *job,
                     enum kl_os_lane_id lane);
void kl_store_emit_durable(struct kl_store_log *log);
/* Blocks until nothing is pending; only while opening. */
int kl_store_drain(struct kl_store *s);

/* ---- log.c ------------------------------------------------------------- */

int kl_store_log_new(struct kl_store *s, const struct kl_store_id *id,
                     enum kl_store_flush flush, struct kl_store_log **out);
/* Takes the log out of the tables; its memory goes with the last reference. */
void kl_store_log_remove(struct kl_store_log *log);
void kl_store_log_unref(struct kl_store_log *log);
/* Gives the log work of its own, which starting with it needs: 0, KL_ENOMEM. */
int kl_store_log_wake(struct kl_store_log *log);
/* Epochs of the records below wal_leo. */
const struct kl_batch_epochs *
kl_store_log_wal_epochs(const struct kl_store_log *log);
/* Below it, the medium has an interval log. */
int64_t kl_store_log_synced_leo(const struct kl_store_log *log);
void kl_store_log_free(struct kl_store_log *log);
/* A new log begins at an offset, not at 0; see kl_store_reset. */
int kl_store_log_begin_at(struct kl_store_log *log, int64_t offset,
                          int32_t epoch);
/* What those are told that wait for a deleted log. */
static inline int kl_store_log_gone(const struct kl_store_log *log)
{
    return log->replaced ? KL_EOFFSETRANGE : KL_ECLOSED;
}
/* Everything known of the log is durable: after recovery. 0 or KL_ENOMEM. */
int kl_store_log_settle(struct kl_store_log *log);
/* Bytes of frames in all segments. */
uint64_t kl_store_log_bytes(const struct kl_store_log *log);
/* Where segments end that hold all they should: the rest is in memory. */
int64_t kl_store_log_file_end(const struct kl_store_log *log);
/* The entry joins the queue of the WAL and the order of its log. */
int kl_store_log_enqueue(struct kl_store_log *log,
                         enum kl_store_entry_type type, int64_t offset,
                         int64_t end, int32_t epoch,
                         struct kl_store_entry **out);
void kl_store_entry_free(struct kl_store_entry *e);
/* The segment writer has something to do: entries, or the manifest of an
 * interval log, which no checkpoint writes. */
int kl_store_log_has_work(const struct kl_store_log *log);
/* Its entries should be applied: those of a commit log may wait a little. */
void kl_store_log_mark_dirty(struct kl_store_log *log);
/* The same, where it could not be done just now. */
void kl_store_log_mark_later(struct kl_store_log *log);
/* Evicts from the cache down to its limit. */
void kl_store_cache_trim(struct kl_store *s, uint64_t limit);

/* ---- wal.c ----------------------------------------------------------------
 */

int kl_store_wal_init(struct kl_store *s);
void kl_store_wal_deinit(struct kl_store *s);
/* Forms and submits a group when the lane is free and something is queued. */
void kl_store_wal_turn(struct kl_store *s);
/* An entry begins to wait for a group, or does so no more. */
void kl_store_wal_queue(struct kl_store *s, struct kl_store_entry *e);
void kl_store_wal_uncount(struct kl_store *s, const struct kl_store_entry *e);
/* Nothing waits for a group and none is under way. */
int kl_store_wal_is_idle(const struct kl_store *s);
int64_t kl_store_wal_deadline(const struct kl_store *s);
/* Moves the position to the start of the next file, with a salt of its own:
 * nothing is appended behind a recovered tail (storage.md 7.6). */
void kl_store_wal_skip(struct kl_store *s);

/* ---- write.c, files.c -----------------------------------------------------
 */

int kl_store_write_init(struct kl_store *s);
void kl_store_write_deinit(struct kl_store *s);
void kl_store_write_turn(struct kl_store *s);
int kl_store_write_is_busy(const struct kl_store *s);
int64_t kl_store_write_deadline(const struct kl_store *s);
/* Encodes what the log's manifest should be now. */
int kl_store_write_manifest(const struct kl_store_log *log,
                            struct kl_base_buf *out);

struct kl_store_segment *kl_store_files_active(const struct kl_store_log *log);
int kl_store_files_new(struct kl_store_log *log);
void kl_store_files_free(struct kl_store_log *log);
int kl_store_files_add(struct kl_store_log *log,
                       const struct kl_store_segment_info *info,
                       struct kl_store_segment **out);
/* Takes segment index out of the log; its handles are closed when nobody uses
 * them any more. The files stay. */
void kl_store_files_drop(struct kl_store_log *log, size_t index);
/* Index of the segment that holds offset, or -1. */
ptrdiff_t kl_store_files_find(const struct kl_store_log *log, int64_t offset);
void kl_store_segment_ref(struct kl_store_segment *seg);
/* With the last reference the handles are counted, or the segment is freed. */
void kl_store_segment_unref(struct kl_store *s, struct kl_store_segment *seg);
struct kl_store_synced
kl_store_segment_sync_begin(const struct kl_store_segment *seg);
void kl_store_segment_sync_end(struct kl_store_segment *seg,
                               const struct kl_store_synced *synced);
/* A job has looked how many index blocks there are. */
void kl_store_segment_note_index(struct kl_store_segment *seg, uint32_t blocks);
/* Closes all handles that nobody needs. */
void kl_store_segment_close_idle(struct kl_store *s);
/* Frees dead segments whose handles could not be given away before. */
void kl_store_segment_bury(struct kl_store *s);
/* Keeps the order of use and the count of open handles. */
void kl_store_segment_touch(struct kl_store *s, struct kl_store_segment *seg);
/* Closes handles that nobody needs until at most file_max are open; 1 when
 * one more may be opened. */
int kl_store_segment_make_room(struct kl_store *s);

/* ---- space.c -------------------------------------------------------------
 */

struct kl_store_cost kl_store_space_cost(const struct kl_store_log *log,
                                         uint32_t size);
/* 0, KL_EDISKFULL, or KL_EAGAIN where what is on its way needs the reserve, or
 * room is being made. */
int kl_store_space_admit(struct kl_store_log *log, uint32_t size,
                         const struct kl_store_cost *cost);
/* What the log has, has changed. */
void kl_store_space_count(struct kl_store_log *log);
uint64_t kl_store_space_disk(const struct kl_store *s);
/* Bytes that somebody should let go; 0 where it is not known yet. */
uint64_t kl_store_space_missing(const struct kl_store *s);
/* Looks at the free space as soon as possible. */
void kl_store_space_look(struct kl_store *s);
/* Half of what may be on its way is free again. */
int kl_store_space_is_ample(const struct kl_store *s);
/* Appends wait for manifests, which a checkpoint writes and nothing else. */
int kl_store_space_is_clogged(const struct kl_store *s);
void kl_store_space_charge(struct kl_store_entry *e,
                           const struct kl_store_cost *cost);
void kl_store_space_release(struct kl_store_entry *e);
/* A checkpoint has a manifest of the log to write, or has written it. */
void kl_store_space_note_manifest(struct kl_store_log *log);
void kl_store_space_drop_manifest(struct kl_store_log *log);
/* A write met a full disk: it gets the reserve. */
void kl_store_space_exhausted(struct kl_store *s);
void kl_store_space_turn(struct kl_store *s);
int64_t kl_store_space_deadline(const struct kl_store *s);
/* Blocking, these four. Finds the reserve; */
int kl_store_space_open(struct kl_store *s, struct kl_base_error *error);
/* gives it up where recovery may need the space, or in any case; */
void kl_store_space_lend(struct kl_store *s, int always);
/* makes it, or the store is full and a passing code is returned; */
int kl_store_space_hold(struct kl_store *s, struct kl_base_error *error);
/* Bytes of the reserve of a store with such a ring. */
uint64_t kl_store_space_reserve(uint64_t ring_bytes);
void kl_store_space_deinit(struct kl_store *s);

/* ---- drop.c -------------------------------------------------------------- */

void kl_store_drop_turn(struct kl_store *s);
/* The start of the log has moved in its files, or it is gone. */
void kl_store_drop_done(struct kl_store_log *log);
void kl_store_drop_configure(struct kl_store_log *log, int drop_oldest);

/* ---- load.c -----------------------------------------------------------------
 */

/* Makes sure that files is there: 0, or KL_EAGAIN while a job reads the
 * manifest, or an error. */
int kl_store_load(struct kl_store_log *log);
/* Removes files of the log that its manifest does not list. Blocking. */
void kl_store_load_leftovers(const struct kl_store_log *log,
                             const struct kl_store_manifest *m);

/* ---- checkpoint.c -----------------------------------------------------------
 */

int kl_store_checkpoint_init(struct kl_store *s);
void kl_store_checkpoint_deinit(struct kl_store *s);
void kl_store_checkpoint_turn(struct kl_store *s);
/* Asks for one as soon as possible. */
void kl_store_checkpoint_request(struct kl_store *s);
/* The segment writer is about to apply an entry of this sequence: what the
 * slot says of the log's files is what they are now. */
void kl_store_checkpoint_capture(struct kl_store_log *log, uint64_t sequence);
/* The log is deleted: the slot must not wait for it. */
void kl_store_checkpoint_release(struct kl_store_log *log);
/* All that the writer had of the log is applied. */
void kl_store_checkpoint_settled(struct kl_store_log *log);
/* Slot generation that a removal decided now must wait for. */
uint64_t kl_store_checkpoint_generation(const struct kl_store *s);
int kl_store_checkpoint_is_idle(const struct kl_store *s);
/* Drives the checkpoint that marks a clean stop; 1 when it is written. */
int kl_store_checkpoint_stop(struct kl_store *s);
/* Of both slots' files. */
uint64_t kl_store_checkpoint_bytes(const struct kl_store *s);
/* Sequence below which WAL files may be used again. */
uint64_t kl_store_checkpoint_oldest(const struct kl_store *s);
uint64_t kl_store_checkpoint_newest(const struct kl_store *s);
/* State found or made by open: the slot to be written next is the other. */
void kl_store_checkpoint_restore(struct kl_store *s, uint64_t generation,
                                 int slot);
/* One checkpoint from begin to end; blocks, while opening. */
int kl_store_checkpoint_now(struct kl_store *s);
int64_t kl_store_checkpoint_deadline(const struct kl_store *s);

/* ---- tidy.c ------------------------------------------------------------ */

/* Takes the handle; without memory for that the caller keeps it. */
int kl_store_tidy_close(struct kl_store *s, struct kl_os_file *file);
void kl_store_tidy_unlink(struct kl_store *s, const char *path, uint64_t bytes,
                          uint64_t generation);
/* The folder of a log that is gone: nothing leads back to it, since that is in
 * the WAL. generation 0 = at once. */
void kl_store_tidy_folder(struct kl_store *s, const char *path, uint64_t bytes,
                          uint64_t generation);
void kl_store_tidy_init(struct kl_store *s);
void kl_store_tidy_turn(struct kl_store *s);
void kl_store_tidy_deinit(struct kl_store *s);
int64_t kl_store_tidy_deadline(const struct kl_store *s);
/* Names wait for a later slot. */
int kl_store_tidy_is_waiting(const struct kl_store *s);
/* Removes a folder and the files in it; blocking. */
int kl_store_tidy_remove_folder(struct kl_os_vfs *vfs, const char *path);

/* ---- flush.c, retain.c ------------------------------------------------- */

/* size bytes were written to an interval log. */
void kl_store_flush_note(struct kl_store_log *log, uint32_t size);
/* A truncation was asked for: what is known to be synced above offset does not
 * count any more, and open must walk the segment that it cuts. */
void kl_store_flush_distrust(struct kl_store_log *log, int64_t offset);
/* A segment was sealed: syncing it bounds what open has to look at. */
void kl_store_flush_soon(struct kl_store_log *log);
/* Every open file has unsynced bytes: syncs some logs, of either kind, so that
 * theirs can be closed. */
void kl_store_flush_for_room(struct kl_store *s);
void kl_store_flush_turn(struct kl_store *s);
void kl_store_flush_deinit(struct kl_store *s);
int kl_store_flush_is_idle(const struct kl_store *s);
int64_t kl_store_flush_deadline(const struct kl_store *s);
void kl_store_retain_turn(struct kl_store *s);
/* Moves the start, and tells; 0 or why not. */
int kl_store_retain_move(struct kl_store_log *log, int64_t start);
/* Drops whole segments below the durable start. */
int kl_store_retain_drop(struct kl_store_log *log);

/* ---- read.c ------------------------------------------------------------ */

/* The files of a log have been loaded (code 0) or not. */
void kl_store_read_loaded(struct kl_store_log *log, int code);

/* ---- scrub.c ------------------------------------------------------------- */

int kl_store_scrub_init(struct kl_store *s);
/* No job is under way. */
void kl_store_scrub_deinit(struct kl_store *s);
/* The first pass, some time from now. */
void kl_store_scrub_start(struct kl_store *s);
void kl_store_scrub_turn(struct kl_store *s);
int64_t kl_store_scrub_deadline(const struct kl_store *s);

/* ---- damage.c ---------------------------------------------------------- */

/* Offsets of the log whose bytes are not what was written. */
void kl_store_damage_note(struct kl_store_log *log, int64_t from, int64_t to);
/* Notes what neither a segment nor memory holds; the files are loaded. */
void kl_store_damage_gaps(struct kl_store_log *log);
/* After start or LEO have moved. */
void kl_store_damage_clip(struct kl_store_log *log);
void kl_store_damage_free(struct kl_store_log *log);

/* ---- path.c ------------------------------------------------------------ */

void kl_store_path(const struct kl_store *s, const char *name,
                   char out[KL_STORE_PATH_MAX]);
/* Appends to a path. */
void kl_store_path_text(char path[KL_STORE_PATH_MAX], const char *text);
void kl_store_path_number(char path[KL_STORE_PATH_MAX], uint64_t value);
void kl_store_path_wal(const struct kl_store *s, uint32_t file,
                       char out[KL_STORE_PATH_MAX]);
void kl_store_path_log(const struct kl_store_log *log,
                       char out[KL_STORE_PATH_MAX]);
void kl_store_path_in_log(const struct kl_store_log *log, const char *name,
                          char out[KL_STORE_PATH_MAX]);
/* suffix "seg" or "idx". */
void kl_store_path_segment(const struct kl_store_log *log, int64_t base,
                           const char *suffix, char out[KL_STORE_PATH_MAX]);
/* 1 and what they name where this is the name of a log's folder. */
int kl_store_path_parse(const char *name, struct kl_store_id *id_out,
                        uint64_t *instance_out);
/* 1 and the base offset where the name is that of a segment file. */
int kl_store_path_base(const char *name, int64_t *base_out);
/* Reads a whole file of at most limit bytes into buf; blocking. */
int kl_store_file_read(struct kl_os_vfs *vfs, const char *path, size_t limit,
                       struct kl_base_buf *buf);
/* Writes what is to replace a file beside it, synced or not; and then puts it
 * there, which must not be before it is synced. */
int kl_store_file_aside(struct kl_os_vfs *vfs, const char *path,
                        const struct kl_base_buf *buf, int is_synced);
int kl_store_file_put(struct kl_os_vfs *vfs, const char *path);
/* Writes, syncs and renames over name; the folder is not synced. */
int kl_store_file_replace(struct kl_os_vfs *vfs, const char *path,
                          const struct kl_base_buf *buf);

/* Reads and checks the manifest of a log, or rebuilds one that is damaged or
 * gone; segments are allocated. KL_ENOENT where it never had one. Blocking. */
int kl_store_load_manifest(struct kl_store_log *log, int64_t now_ms,
                           struct kl_store_manifest *out, int *rebuilt_out);
/* From the segments in the log's folder; now_ms stands for times that nobody
 * knows. Blocking. */
int kl_store_rebuild(struct kl_store_log *log, int64_t now_ms,
                     struct kl_store_manifest *out);

/* ---- store.c, open ----------------------------------------------------- */

/* Locks the folder, with KL_STORE_OPEN_CREATE makes it first. */
int kl_store_lock(struct kl_store *s, uint32_t flags,
                  struct kl_base_error *error);

/* ---- create.c, recover.c, replay.c, interval.c ------------------------- */

/* KL_EFOREIGN where the folder holds what is not a store's. */
int kl_store_format_check(struct kl_store *s, struct kl_base_error *error);
/* Makes the files of an empty store. Blocking, as everything here. */
int kl_store_format(struct kl_store *s, struct kl_base_error *error);
/* Its first part, without checkpoints, and its last one: reserve and identity.
 */
int kl_store_format_begin(struct kl_store *s, struct kl_base_error *error);
int kl_store_format_end(struct kl_store *s, struct kl_base_error *error);
int kl_store_recover(struct kl_store *s, uint32_t flags,
                     struct kl_base_error *error);

/* A frame that survives in the WAL, to be written to its segment again. Of an
 * interval log: a truncation, its offset in base and its count in size. */
struct kl_store_replay_frame
{
    uint32_t file;
    uint32_t offset;
    uint32_t size;
    int32_t epoch;
    int64_t base;
    int64_t end;
    int64_t max_timestamp;
    int is_lost; /* does not verify in the WAL */
};

/* The final content of a log that the WAL has something about, computed
 * before anything is changed (storage.md 7.4). */
struct kl_store_replay
{
    struct kl_base_list link;
    struct kl_store_log *log;
    int64_t cut; /* what the checkpoint stated is kept up to here */
    int touched; /* appends or truncations, even if nothing is left of them */
    int distrusted; /* cut at an unknown place: segments go to quarantine */
    struct kl_store_segment *cut_segment; /* that ends at the cut, or NULL */
    struct kl_store_manifest manifest;    /* that was found, or rebuilt */
    int rebuilt;
    struct kl_store_replay_frame *frames;
    size_t count;
    size_t capacity;
};

/* Brings segments, manifest and memory of one log to its final content: begin
 * queues what is to be written, end follows once that is done. */
int kl_store_replay_begin(struct kl_store_replay *r,
                          struct kl_base_error *error);
int kl_store_replay_end(struct kl_store_replay *r, struct kl_base_error *error);
/* Looks at what an interval log has above its synced end. r: its truncations
 * in the WAL, or NULL. */
int kl_store_interval_recover(struct kl_store_log *log,
                              const struct kl_store_replay *r, int is_synced,
                              struct kl_base_error *error);

#include "store/scan.h"

#endif
