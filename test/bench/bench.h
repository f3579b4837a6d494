/*
 * The benchmark program: every row is measured against a limit of the machine,
 * a raw loop that runs in turn with it, and printed as
 *
 *   bench NAME value V UNIT limit L ratio R range LOW HIGH [bar B met|missed]
 *
 * V and L are medians over the repetitions, R is V / L, and LOW and HIGH are
 * the smallest and the largest ratio of one repetition. Where less is better
 * the unit ends in "(less)". How much of the machine others used meanwhile is
 * told on standard error, and with BENCH_VERBOSE=1 every repetition.
 */
#ifndef KL_BENCH_BENCH_H
#define KL_BENCH_BENCH_H

#include <kraftlog/kraftlog.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the program -------------------------------------------------------- */

enum { BENCH_PATH = 512, BENCH_REPEATS = 32 };

/* Rows that are measured together: run prints each that is wanted. */
struct bench_family
{
    const char *const *names; /* ended by NULL */
    void (*run)(const char *const *names);
};

extern const struct bench_family bench_family_consume;
extern const struct bench_family bench_family_durable;
extern const struct bench_family bench_family_interval_100;
extern const struct bench_family bench_family_interval_1k;
extern const struct bench_family bench_family_metadata;
extern const struct bench_family bench_family_open;
extern const struct bench_family bench_family_partitions;
extern const struct bench_family bench_family_quorum;
extern const struct bench_family bench_family_single;
extern const struct bench_family bench_family_size;

/* 1 where the row was asked for. */
int bench_wants(const char *name);
/* Prints a line to standard error, removes the folder and exits. */
_Noreturn void bench_die(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* Dies where code is not 0. */
void bench_check(int code, const char *what);

/* ---- measuring ---------------------------------------------------------- */

/* Repetitions of a row and of its limit, in turn. */
struct bench_series
{
    double value[BENCH_REPEATS];
    double limit[BENCH_REPEATS];
    size_t count;
};

enum bench_better { BENCH_MORE, BENCH_LESS };

double bench_now(void); /* seconds of the monotonic clock */

/* Seconds. */
struct bench_time
{
    double wall;
    double thread; /* CPU of this thread */
    double all;    /* CPU of all threads of the process */
};

struct bench_time bench_start(void);
struct bench_time bench_since(const struct bench_time *start);

/* Percent of the machine's CPU time that others have taken since the call
 * before; below 0 where it is not known. */
double bench_foreign(void);

double bench_median(const double *values, size_t count);
void bench_add(struct bench_series *s, double value, double limit);
/* bar 0 = none. */
void bench_print(const char *name, const struct bench_series *s,
                 const char *unit, enum bench_better better, double bar);

/* ---- files -------------------------------------------------------------- */

/* The folder of this run, on a disk; removed at the end. */
const char *bench_folder(void);
/* Writes the path of something in it. */
void bench_path(char out[BENCH_PATH], const char *name);
/* Removes a file or folder with all that is in it, where it is there. */
void bench_remove(const char *name);
/* Waits until the disk has nothing left to do for this file system. */
void bench_settle(void);

/* ---- raw loops ---------------------------------------------------------- */

/* Payload that does not compress: count values of size bytes, which stay in
 * the caches. The same for both sides. */
struct bench_values
{
    unsigned char *data;
    size_t size;
    size_t count;
};

void bench_values_make(struct bench_values *v, size_t size);
void bench_values_free(struct bench_values *v);
static inline const void *bench_value(const struct bench_values *v, uint64_t i)
{
    return v->data + (size_t)(i % v->count) * v->size;
}

/* A preallocated file, filled with zeros and synced. Returns a descriptor. */
int bench_raw_ring(const char *name, size_t size);
/* Seconds for total bytes in groups of group bytes, each made of the values,
 * written into the ring and synced; twice: also into a growing file that is
 * synced every eighth of the ring. */
double bench_raw_groups(int ring, size_t ring_size,
                        const struct bench_values *v, uint64_t total,
                        size_t group, int twice);
/* The time for count values copied into blocks of 64 KiB, each checksummed and
 * written into a growing file; in memory: not written, so that only the CPU
 * counts. */
struct bench_time bench_raw_blocks(const struct bench_values *v,
                                   uint64_t count);
struct bench_time bench_raw_blocks_memory(const struct bench_values *v,
                                          uint64_t count);
/* Seconds for reading every segment file below a folder by 1 MiB, checksummed.
 * bytes_out: how many there were. */
double bench_raw_read(const char *name, uint64_t *bytes_out);

/* ---- a node ------------------------------------------------------------- */

enum bench_owner { BENCH_HOST_POLLS, BENCH_NODE_THREAD };

/* A node with one topic, "t", in a folder of this run. */
struct bench_rig
{
    kl_node *node;
    kl_client *client;
    kl_producer *producer;
    const char *folder;
};

struct bench_setup
{
    const char *folder;
    enum bench_owner owner;
    const char *wal_bytes;
    const char *flush; /* of the topic; NULL = the topic is there */
    int32_t partitions;
};

void bench_rig_open(struct bench_rig *rig, const struct bench_setup *setup);
/* Stops the node and frees all; the folder stays. */
void bench_rig_close(struct bench_rig *rig);
/* The counter of the store of this name. */
uint64_t bench_rig_stat(const struct bench_rig *rig, const char *name);
/* Sends count values to partition 0, at most window of them unacknowledged,
 * and waits for all. */
void bench_rig_send_window(struct bench_rig *rig, const struct bench_values *v,
                           uint64_t count, uint32_t window);

#endif
