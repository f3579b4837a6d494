/*
 * Runs that measure instead of breaking things: how long a cluster is without
 * a controller after its leader has died, and whether one that has nothing to
 * do stays as it is. All timeouts are those of a node that is not configured.
 */
#ifndef SIM_EXPERIMENT_H
#define SIM_EXPERIMENT_H

#include <stdint.h>

/* So many worlds, in each of which leaders die several times. 0 where the bar
 * is held, else 1. */
int experiment_failover(uint64_t first, uint64_t count, int hosts, int trace);

/* Clusters of three nodes and one of five with nothing to do, for so many
 * simulated hours in all. 0 where none of them has elected anybody, written to
 * the metadata log or to a disk, else 1. */
int experiment_idle(uint64_t first, uint64_t hours, int trace);

/* So many worlds, in each of which voters come back with folders that are not
 * theirs, are old, or are gone. 0 where each was refused by its error and the
 * cluster went on, else 1. */
int experiment_disks(uint64_t first, uint64_t count, int trace);

#endif
