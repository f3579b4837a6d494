/*
 * What the tests of saving a folder share: one with two logs, of which one is
 * durable and one is an interval log, and what is told of it.
 */
#ifndef TEST_SALVAGE_HELP_H
#define TEST_SALVAGE_HELP_H

#include "inspect_help.h"
#include "wal_help.h"

enum { SALVAGE_SIZE = 300, SALVAGE_LOSSES = 64 };

struct salvage_help
{
    struct kl_store_id durable;
    struct kl_store_id loose;
    struct kl_store_log *a; /* durable's, while the store is open */
    struct kl_store_log *b; /* loose's */

    /* What the last run has told. */
    struct
    {
        struct kl_store_id id;
        int64_t from;
        int64_t end;
        enum kl_store_finding_kind why;
    } lost[SALVAGE_LOSSES];
    size_t count;
    struct kl_store_id id; /* under way */
    struct kl_store_salvage_log logs[8];
    size_t log_count;
    struct kl_base_error error;
    int pause; /* in: the run is left with everything that is lost */
};

extern struct salvage_help salv;

/* The store of wal.fx, with two empty logs. */
void salvage_setup_ring(uint64_t ring_bytes);
void salvage_setup(void);
void salvage_teardown(void);
/* So many records in each log, more than the ring holds where they are many. */
void salvage_fill(int count);
/* Spoils a byte of a frame in the first segment of a log. */
void salvage_damage(const struct kl_store_id *id, int64_t offset, uint32_t at);
/* Both checkpoints. */
void salvage_lose_slots(void);
/* Saves "data" to a folder; the code. */
int salvage_try(const char *path);
/* Saves "data" to "saved", which is open then and holds a and b. */
void salvage_run(void);
/* Nothing is lost of either log, and they have so many records. */
void salvage_all_of(int64_t end);
/* Exactly [from, to) is lost of a log, and the rest is there. */
void salvage_all_but(struct kl_store_log *log, uint64_t salt, int64_t from,
                     int64_t to, int64_t end);
/* The new folder is one to go on with: it grows, survives a crash, and so many
 * offsets of both logs are still the only ones that are lost. */
void salvage_goes_on(int64_t end, int lost);

#endif
