/*
 * What may happen in a run, drawn from its seed: each kind of fault is on or
 * off, and how often it strikes is drawn, each order of magnitude as likely as
 * the others.
 */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

#include "choice.h"
#include "sim_disk.h"

#include <stdint.h>

/* What actors do. The first is nothing; what clients do comes last. */
#define FAULT_TABLE(X)                                                         \
    X(NONE, "none")                                                            \
    X(POWER, "power-cut")                                                      \
    X(KILL, "kill")                                                            \
    X(STOP, "stop")                                                            \
    X(BLACKOUT, "blackout")                                                    \
    X(OPEN_CUT, "cut-in-open")                                                 \
    X(PAUSE, "pause")                                                          \
    X(WALL_JUMP, "wall-jump")                                                  \
    X(STALL, "disk-stall")                                                     \
    X(DISK_ERROR, "disk-error")                                                \
    X(SYNC_ERROR, "sync-error")                                                \
    X(SHORT_WRITE, "short-write")                                              \
    X(DISK_FULL, "disk-full")                                                  \
    X(LINK_RESET, "link-reset")                                                \
    X(CUT, "cut")                                                              \
    X(CUT_ONE_WAY, "cut-one-way")                                              \
    X(ISOLATE, "isolate")                                                      \
    X(ISOLATE_LEADER, "isolate-leader")                                        \
    X(SLOW, "slow-link")                                                       \
    X(CORRUPT, "corrupt")                                                      \
    X(FOREIGN, "wrong-cluster")                                                \
    X(MISDIRECTED, "wrong-destination")                                        \
    X(UNKNOWN, "wrong-version")                                                \
    X(OVERSIZED, "oversized")                                                  \
    X(TRUNCATED, "truncated")                                                  \
    X(REPLAY, "replay")                                                        \
    X(VOTERS, "voter-change")

enum fault_kind {
#define X(id, name) FAULT_##id,
    FAULT_TABLE(X)
#undef X
        FAULT_KINDS
};

struct options
{
    uint64_t seed;
    int hosts;
    int voters;           /* the first so many of them */
    int64_t latency_ns;   /* of a message, times 1 to 2 */
    uint32_t late_one_in; /* so many messages takes a hundred times that; 0 =
                             none does */
    size_t inbox_bytes;
    char snapshot_bytes[16]; /* of the metadata log between two snapshots */
    size_t link_bytes; /* on their way, before the sender is told to wait */
    int64_t cut_ns;    /* of a way between hosts, at most */
    int64_t chaos_ns;
    int64_t pace_ns; /* between two steps of the actors, at most */
    uint32_t steps_max;
    /* Of 1000 steps of the actors; 0 = never. */
    uint32_t rates[FAULT_KINDS];
    enum sim_profile profile;
    int has_garbage;
    uint32_t stall_chance; /* of each call of a disk, in a million */
    int64_t down_ns;       /* of a host, at most */
    int64_t segment_bytes;
    int topics_max;
    uint32_t value_bytes_max;
    int is_calm; /* no faults at all */
};

/* hosts 0 = as the seed wants. */
void options_draw(struct options *o, uint64_t seed, int hosts,
                  struct choice *c);
/* Takes out all that is broken, late messages too: what is left is drawn. */
void options_heal(struct options *o);
const char *fault_name(enum fault_kind kind);
/* Whether swarms of so many hosts have to have it. */
int fault_is_due(enum fault_kind kind, int hosts);
/* How many kinds of fault these options allow. */
int options_fault_kinds(const struct options *o);

#endif
