/*
 * Checkers: what must hold whatever happens, one predicate in each file
 * check_<name>.c. A checker knows nothing of the world: it is told what was
 * seen, and answers NULL or what is wrong with it, in a text of its own.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include <stddef.h>
#include <stdint.h>

enum { CHECK_HOSTS = 16, CHECK_TEXT = 256 };

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
    int is_voter;
    int fault;
    uint64_t elections;
    const char *broken; /* an invariant that the room itself names */
};

#include "check_acknowledged.h"
#include "check_records.h"

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

/* All of a run. */
struct checks
{
    struct check_invariants invariants;
    struct check_epochs epochs;
    struct check_high_watermark high_watermark;
    struct check_memory memory;
    struct check_acknowledged acknowledged;
    struct check_records records;
};

#endif
