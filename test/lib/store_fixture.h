/*
 * A store on a file system in memory with lanes that run inside take, or on a
 * simulated disk with lanes in simulated time: every test of the store is
 * deterministic and needs no thread. A file call of the owner outside jobs,
 * open and close fails the test.
 */
#ifndef TEST_STORE_FIXTURE_H
#define TEST_STORE_FIXTURE_H

#include "fail_alloc.h"
#include "os/vfs.h"
#include "sim_lanes.h"
#include "store/state.h"
#include "trace_lanes.h"
#include "trace_vfs.h"

struct store_fixture
{
    struct fail_alloc alloc;
    struct kl_os_vfs *memory;
    struct trace_vfs trace;
    struct trace_lanes jobs;
    struct kl_os_lanes *lanes;   /* jobs, sim, or what a test has put there */
    struct kl_base_alloc caller; /* of frames: the store's, if not set apart */
    struct kl_store_config config;
    struct kl_store *store; /* NULL = closed */
    uint32_t open_flags;    /* besides KL_STORE_OPEN_CREATE */
    struct kl_base_error error;
    int64_t now_ns;
    int64_t wall_ms;
    struct sim_disk *disk; /* the same as memory; NULL = not simulated */
    struct sim_lanes sim;
    int slow_turns; /* in which some call took long */
};

void store_fixture_init(struct store_fixture *f);
/* Before the first opening: on a simulated disk, and a seed decides in which
 * order things finish. */
void store_fixture_simulate(struct store_fixture *f, uint64_t seed);
/* Closes with what a power cut leaves of its simulated disk. */
void store_fixture_cut_power(struct store_fixture *f, struct sim_choice choice);
void store_fixture_deinit(struct store_fixture *f);
/* Opens, formatting where needed; returns the code. */
int store_fixture_open(struct store_fixture *f);
/* Without stop: what a kill leaves. */
void store_fixture_crash(struct store_fixture *f);
/* Stops cleanly and closes. */
void store_fixture_close(struct store_fixture *f);
/* One turn, a millisecond later; events are dropped but finished reads. */
void store_fixture_turn(struct store_fixture *f);
/* Turns until nothing is under way. */
void store_fixture_settle(struct store_fixture *f);

struct kl_store_id store_fixture_id(int topic, int32_t partition);
struct kl_store_log *store_fixture_create(struct store_fixture *f,
                                          const struct kl_store_id *id,
                                          enum kl_store_flush flush,
                                          uint64_t segment_bytes);
/* Appends a batch of count records whose values are made from tag; returns the
 * code of the store. */
int store_fixture_append(struct store_fixture *f, struct kl_store_log *log,
                         int count, uint32_t value_size, uint64_t tag,
                         int32_t epoch, int64_t timestamp);
/* The value of record index of a batch with this tag, into out. */
void store_fixture_value(uint64_t tag, int index, uint8_t *out, uint32_t size);
/* Reads from offset, waiting; the caller releases it. */
void store_fixture_read(struct store_fixture *f, struct kl_store_log *log,
                        int64_t offset, int64_t end, uint32_t bytes_max,
                        struct kl_store_read *out);
/* Appends count batches of one record with a value of this size, and what
 * expect looks for; the append must be accepted. */
void store_fixture_fill(struct store_fixture *f, struct kl_store_log *log,
                        int count, uint32_t value_size, uint64_t salt);
/* What fill wrote with this salt from offset from up to to must be there. */
void store_fixture_expect(struct store_fixture *f, struct kl_store_log *log,
                          int64_t from, int64_t to, uint32_t value_size,
                          uint64_t salt);
/* The same, but offsets may be damaged: returns how many are, one by one. */
int store_fixture_endure(struct store_fixture *f, struct kl_store_log *log,
                         int64_t from, int64_t to, uint32_t value_size,
                         uint64_t salt);
/* The code of a look-up that is waited for. */
int store_fixture_lookup(struct store_fixture *f, struct kl_store_log *log,
                         int64_t timestamp, int64_t end, int64_t *offset_out);
struct kl_store_view store_fixture_view(const struct kl_store_log *log);
/* As open and find: a log that must be there. */
struct kl_store_log *store_fixture_reopen(struct store_fixture *f,
                                          const struct kl_store_id *id);

/* ---- the files, past the store and the trace ---------------------------- */

int store_fixture_exists(struct store_fixture *f, const char *path);
/* A whole file, from malloc. */
uint8_t *store_fixture_load(struct store_fixture *f, const char *path,
                            size_t *size_out);
/* Replaces a whole file, or makes it. */
void store_fixture_save(struct store_fixture *f, const char *path,
                        const void *data, size_t size);
void store_fixture_unlink(struct store_fixture *f, const char *path);
/* Writes over a part of a file. */
void store_fixture_patch(struct store_fixture *f, const char *path,
                         uint64_t offset, const void *data, size_t size);
/* What a release with an older format says of its folder. */
void store_fixture_set_version(struct store_fixture *f, uint16_t version);
/* How many names of a folder end like this. */
int store_fixture_count(struct store_fixture *f, const char *folder,
                        const char *ending);
/* Over names and bytes of all files: equal where nothing has changed. */
uint64_t store_fixture_hash(struct store_fixture *f);

#endif
