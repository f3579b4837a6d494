/*
 * Snapshots, for the other parts of the store; and those under way, shared by
 * their owner side (snapshot.c) and the lanes (snapshot_lane.c).
 */
#ifndef KL_STORE_SNAPSHOT_H
#define KL_STORE_SNAPSHOT_H

#include "store/format.h"
#include "store/state.h"

void kl_store_snapshots_init(struct kl_store *s);
void kl_store_snapshots_deinit(struct kl_store *s);
/* Finds the complete ones, removes what is aside, moves what is bad into
 * quarantine/. Blocking. */
int kl_store_snapshots_open(struct kl_store *s, struct kl_base_error *error);
/* 1 and an event of theirs, or 0. */
int kl_store_snapshots_event(struct kl_store *s, struct kl_store_event *out);

/* folder "snapshots" or "quarantine". */
void kl_store_path_snapshot(const struct kl_store *s, const char *folder,
                            int64_t end, int32_t epoch,
                            char out[KL_STORE_PATH_MAX]);
/* 1 and its numbers where the name is that of a complete snapshot. */
int kl_store_path_is_snapshot(const char *name, int64_t *end_out,
                              int32_t *epoch_out);

/* ---- under way ----------------------------------------------------------- */

enum { KL_STORE_SNAPSHOT_READ_BLOCKS = 16 }; /* of one read */

struct kl_store_snapshot_writer
{
    struct kl_os_job job;
    struct kl_store *store;
    struct kl_base_list link;  /* writers */
    struct kl_base_list event; /* written */
    uint64_t serial;           /* of its name aside */
    uint64_t counted;          /* of its bytes, in those of all snapshots */
    const uint8_t *data;       /* of the append under way, the caller's */
    size_t size;
    uint8_t busy;
    uint8_t closed;
    uint8_t committing; /* commit was called */
    uint8_t committed;
    int code; /* of the last call; once it is not 0 there are no more */
    /* The lane's while busy. */
    struct kl_store_snapshot info; /* size and checksum so far */
    struct kl_os_file *file;       /* NULL = not made yet, or closed */
    uint8_t is_made;               /* its name may be there */
    uint32_t used;                 /* bytes in block */
    uint8_t block[KL_STORE_SNAPSHOT_BLOCK];
};

struct kl_store_snapshot_job
{
    struct kl_os_job job;
    struct kl_store *store;
    struct kl_store_snapshot info;
    struct kl_store_snapshot_read *read;
};

/* The name aside. */
void kl_store_snapshot_path_aside(const struct kl_store_snapshot_writer *w,
                                  char out[KL_STORE_PATH_MAX]);
void kl_store_snapshot_append_lane(struct kl_os_job *job);
void kl_store_snapshot_commit_lane(struct kl_os_job *job);
void kl_store_snapshot_drop_lane(struct kl_os_job *job);
void kl_store_snapshot_read_lane(struct kl_os_job *job);

int kl_store_snapshot_is_same(const struct kl_store_snapshot *a,
                              const struct kl_store_snapshot *b);
/* Reads and checks a header and that the file is as long as it says: 0,
 * KL_ECORRUPT, KL_EFORMAT or an error of reading. Blocking. */
int kl_store_snapshot_head(struct kl_store *s, int64_t end, int32_t epoch,
                           struct kl_store_snapshot_header *out);
/* The same, of this store's cluster. */
int kl_store_snapshot_inspect(struct kl_store *s, int64_t end, int32_t epoch,
                              struct kl_store_snapshot *out);
/* Whether its blocks are what was written, and their bytes into out (may be
 * NULL): 0, KL_ECORRUPT, KL_ENOMEM or an error of reading. Blocking. */
int kl_store_snapshot_verify(struct kl_store *s,
                             const struct kl_store_snapshot *info,
                             struct kl_base_buf *out);
/* Moves a bad one out of the way. Blocking; errors are left alone. */
void kl_store_snapshot_quarantine(struct kl_store *s, int64_t end,
                                  int32_t epoch);

#endif
