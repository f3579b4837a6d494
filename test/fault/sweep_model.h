/*
 * What the logs of a store may be after a crash: each log is what its changes
 * up to some point had made of it, that point not before the last change that
 * had been reported as durable.
 */
#ifndef TEST_SWEEP_MODEL_H
#define TEST_SWEEP_MODEL_H

#include "store_fixture.h"

enum { MODEL_LOGS = 32, MODEL_CHANGES = 400, MODEL_FRAMES = 400 };

enum model_type {
    MODEL_CREATE,
    MODEL_APPEND,
    MODEL_TRUNCATE,
    MODEL_START,
    MODEL_EPOCH,
    MODEL_DELETE,
    MODEL_RESET
};

struct model_change
{
    enum model_type type;
    enum kl_store_flush flush; /* of the life that it belongs to */
    uint64_t sequence;         /* over all logs: the order in the WAL */
    int64_t offset;            /* APPEND: the end */
    int32_t epoch;             /* RESET: of the record before offset */
    uint32_t truncation;       /* the log's count after it */
    uint64_t hash;             /* of an APPEND's records */
    uint8_t is_dropped;        /* its log was deleted while it still waited */
};

struct model_log
{
    struct kl_store_id id;
    enum kl_store_flush flush;    /* of its last life */
    struct kl_store_log *handle;  /* NULL = none, or the store is closed */
    struct model_change *changes; /* room for MODEL_CHANGES */
    int count;
    int durable;      /* changes of the WAL reported, whatever of other logs */
    int64_t start;    /* the last one that is known */
    int64_t synced;   /* interval logs: must be there after a power cut */
    int64_t written;  /* interval logs: must be there after a kill */
    int matched;      /* changes that the last check has found */
    int64_t seen_leo; /* and what it has seen */
    int64_t seen_start;
};

/* Whose the store is. */
enum model_cluster {
    MODEL_OF_ITS_OWN,
    MODEL_JOINS,    /* nobody has found a cluster */
    MODEL_ADOPTING, /* it is found, but nobody was told that it is durable */
    MODEL_JOINED
};

extern const struct kl_base_uuid model_cluster_id; /* that is joined */

struct model
{
    struct model_log logs[MODEL_LOGS];
    uint64_t sequence;
    uint64_t durable; /* all changes up to this sequence are durable */
    /* A store that waits for room lets what makes room overtake: the order of
     * the WAL is that of each log, but for its starts. */
    int is_unordered;
    int is_formatted;
    int32_t epoch;
    enum model_cluster cluster;
    int seen_joined; /* by the last check */
};

/* What the changes of a model are kept in. */
struct model_memory
{
    struct model_change changes[MODEL_LOGS][MODEL_CHANGES];
};

/* Without logs. */
void model_init(struct model *m, struct model_memory *memory);
void model_copy(struct model *m, struct model_memory *memory,
                const struct model *from);
struct model_change *model_add(struct model *m, struct model_log *log,
                               enum model_type type, int64_t offset);
uint64_t model_hash(uint64_t tag, int count, uint32_t value_size);
/* Takes from the open store what it reports as durable, and starts that
 * retention has moved. */
void model_note(struct model *m, const struct kl_store *s);
/* Everything is durable: after a clean stop. */
void model_note_all(struct model *m);
void model_forget_handles(struct model *m);
/* Whether the store in the fixture may be what a crash has left: 1, or 0 and
 * why not. Sets handles and what was matched. was_killed: nothing cached was
 * lost. */
int model_check(struct model *m, struct store_fixture *f, int was_killed,
                char *why, size_t why_size);
/* What the last check has seen is what must be there from now on. */
void model_settle(struct model *m);

#endif
