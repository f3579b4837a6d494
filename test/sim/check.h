/*
 * Checkers: what must hold whatever happens, one predicate in each file
 * check_<name>.c. A checker knows nothing of the world: it is told what was
 * seen, and answers NULL or what is wrong with it, in a text of its own.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "raft/raft.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CHECK_HOSTS = 16,
    CHECK_TEXT = 256,
    CHECK_EPOCHS = 4096,
    CHECK_PIECES = 32768,
    CHECK_OFFSETS = 16384
};

/* What can be seen of one node after it has done something. */
struct observation
{
    int host;       /* index */
    uint32_t boots; /* of that host, so far */
    int64_t now_ns;
    int role; /* enum kl_raft_role */
    int32_t epoch;
    int32_t durable_epoch;
    int32_t leader_id;
    int32_t id;
    int32_t voted_id;
    int64_t log_start;
    int64_t leo;
    int64_t durable_leo;
    int64_t high_watermark;
    int64_t applied;
    int64_t snapshot_end; /* -1 = none */
    int64_t epoch_start;  /* in its log; -1 = it has no record of its epoch */
    int is_voter;
    int may_vote;   /* what it promised is not lost */
    int is_leading; /* its controller acts */
    int fault;
    int is_caught_up; /* its logs follow the image */
    int is_active;    /* it is the controller, and carries out commands */
    int32_t durable_voted_id; /* 0 or -1 = nobody */
    int64_t voters_offset;    /* of the record that says so; -1 = none does */
    uint32_t voter_count;
    int32_t voters[CHECK_HOSTS];
    uint64_t voter_keys[CHECK_HOSTS]; /* node and directory */
    struct kl_raft_counters counters;
    const char *broken; /* an invariant that the room itself names */
};

#include "check_acknowledged.h"
#include "check_messages.h"
#include "check_records.h"
#include "check_voters.h"

/* R1: what the rooms say of themselves. */
struct check_invariants
{
    char text[CHECK_TEXT];
};
const char *check_invariants(struct check_invariants *c,
                             const struct observation *o);

/* R7: a node's epoch never falls; what is durable of it survives restarts. */
struct check_epochs
{
    uint32_t boots[CHECK_HOSTS];
    int32_t epochs[CHECK_HOSTS];
    int32_t durable[CHECK_HOSTS];
    char text[CHECK_TEXT];
};
const char *check_epochs(struct check_epochs *c, const struct observation *o);
/* The folder of a host is another one now. */
void check_epochs_forget(struct check_epochs *c, int host);

/* R8, of one start: the high watermark never falls and is within the log. */
struct check_high_watermark
{
    uint32_t boots[CHECK_HOSTS];
    int64_t marks[CHECK_HOSTS];
    char text[CHECK_TEXT];
};
const char *check_high_watermark(struct check_high_watermark *c,
                                 const struct observation *o);

/* Memory: nothing is left of a node that is closed. */
struct check_memory
{
    char text[CHECK_TEXT];
};
const char *check_memory(struct check_memory *c, int host, size_t blocks);

/* R2, R3: an epoch has one leader, and a voter votes once in it. */
struct epoch_seen
{
    int32_t leader; /* 0 = none yet */
    int32_t voted[CHECK_HOSTS];
};
struct check_leaders
{
    struct epoch_seen epochs[CHECK_EPOCHS];
    char text[CHECK_TEXT];
};
const char *check_leaders(struct check_leaders *c, const struct observation *o);

/* R5, R9: what is committed is on the disks of a majority of the voters, or of
 * those who were it until now, and whoever leads later has it. */
struct commit_seen
{
    int32_t id;
    int64_t durable;
    uint32_t voter_count;
    int32_t voters[CHECK_HOSTS];
};
struct check_commit
{
    struct commit_seen hosts[CHECK_HOSTS];
    int64_t committed;
    int32_t epoch; /* of the leader that committed it */
    char text[CHECK_TEXT];
};
const char *check_commit(struct check_commit *c, const struct observation *o);

/* Raft 5.4.2: a leader commits what others have left with a record of its own
 * epoch, never by counting alone. */
struct check_own_epoch
{
    int32_t led[CHECK_HOSTS];   /* epoch that it was seen to lead last, */
    int64_t marks[CHECK_HOSTS]; /* and its high watermark then */
    char text[CHECK_TEXT];
};
const char *check_own_epoch(struct check_own_epoch *c,
                            const struct observation *o);

/* An epoch begins with a candidate, who votes for itself in it, or where the
 * leader of the epoch before has resigned; who asks for pre-votes begins none.
 */
struct check_elections
{
    int32_t newest;
    int32_t led[CHECK_HOSTS]; /* by that host, last */
    char text[CHECK_TEXT];
};
const char *check_elections(struct check_elections *c,
                            const struct observation *o);

/* L1: who has applied the same has the same image. */
struct image_seen
{
    int is_seen;
    int host;
    uint64_t hash;
};
struct check_images
{
    struct image_seen images[CHECK_OFFSETS];
    char text[CHECK_TEXT];
};
const char *check_images(struct check_images *c, int host, int64_t offset,
                         uint64_t hash);

/* R3, R13: offset and epoch say which batch it is, for ever and everywhere. */
struct log_piece
{
    int64_t offset;
    int64_t end; /* 0 = none */
    int32_t epoch;
    uint64_t hash; /* of its bytes */
};
struct check_log_matching
{
    struct log_piece pieces[CHECK_PIECES];
    int count;
    char text[CHECK_TEXT];
};
/* A batch that a host has appended. */
const char *check_log_matching(struct check_log_matching *c, int host,
                               const struct log_piece *p);

/* All of a run. */
struct checks
{
    struct check_invariants invariants;
    struct check_epochs epochs;
    struct check_high_watermark high_watermark;
    struct check_memory memory;
    struct check_acknowledged acknowledged;
    struct check_records records;
    struct check_leaders leaders;
    struct check_elections elections;
    struct check_commit commit;
    struct check_own_epoch own_epoch;
    struct check_images images;
    struct check_voters voters;
    struct check_messages messages;
    struct check_log_matching log_matching;
};

#endif
