/*
 * A node over a file system in memory, without threads: every turn does all
 * that it can, so tests need neither time nor luck. A file call outside jobs,
 * open and close fails the test.
 */
#ifndef TEST_NODE_FIXTURE_H
#define TEST_NODE_FIXTURE_H

#include "fail_alloc.h"
#include "runtime/runtime.h"
#include "trace_lanes.h"
#include "trace_vfs.h"

enum { NODE_FIXTURE_TURNS = 100000 }; /* bound of every wait */

struct node_fixture
{
    struct fail_alloc memory;
    struct kl_os_vfs *vfs; /* in memory; the node's is trace around it */
    struct trace_vfs trace;
    struct trace_lanes jobs;
    struct kl_base_alloc caller; /* of frames: the node's, if not set apart */
    struct kl_os_clock clock;
    int64_t now_ns; /* moves a little whenever somebody looks */
    int64_t wall_ms;
    struct kl_runtime_options options;
    struct kl_runtime_node *n;
};

/* Everything but the node itself; change options, then open. */
void node_fixture_init(struct node_fixture *f);
/* Before the opening: time is the test's. */
void node_fixture_simulate_clock(struct node_fixture *f);
void node_fixture_set(struct node_fixture *f, const char *key,
                      const char *value);
/* A new node over the same files; the code of open, after a failure of which
 * the node is still there, or of new. */
int node_fixture_try_open(struct node_fixture *f, uint32_t flags);
/* The same, made when absent, and it must succeed. */
void node_fixture_open(struct node_fixture *f);
/* Ends the node, if any: in order, or as a crash does. */
void node_fixture_stop(struct node_fixture *f);
void node_fixture_crash(struct node_fixture *f);
void node_fixture_deinit(struct node_fixture *f);

/* Polls until the condition holds; fails the test where it never does. */
#define node_fixture_until(f, condition)                                       \
    do {                                                                       \
        int turns_ = 0;                                                        \
        while (!(condition)) {                                                 \
            ck_assert_int_eq(kl_runtime_poll((f)->n, 100), 0);                 \
            ck_assert_int_lt(turns_++, NODE_FIXTURE_TURNS);                    \
        }                                                                      \
    } while (0)

/* Carries a wish out; the operation is the caller's. */
struct kl_runtime_op *node_fixture_do(struct node_fixture *f,
                                      const struct kl_runtime_wish *wish);
/* The same for callers that want the code alone. */
int node_fixture_code(struct node_fixture *f,
                      const struct kl_runtime_wish *wish);
/* A topic with a value for one key, which may be NULL; its identifier. */
struct kl_base_uuid node_fixture_topic(struct node_fixture *f, const char *name,
                                       int32_t partitions, const char *key,
                                       const char *value);
/* A frame of count records "0", "1", ... with timestamps from first_ms up,
 * filled up to at least size bytes. */
struct kl_base_chunk *node_fixture_frame(struct node_fixture *f,
                                         const struct kl_base_uuid *topic_id,
                                         int32_t partition, int count,
                                         int64_t first_ms, size_t size);

/* A produce with its result; done says how often it was called. */
struct node_fixture_produce
{
    struct kl_runtime_produce base;
    int done;
};
/* Begins one; to be used while nobody is inside the node. */
void node_fixture_produce(struct node_fixture *f,
                          struct node_fixture_produce *p,
                          const struct kl_base_uuid *topic_id,
                          int32_t partition, struct kl_base_chunk *frame);
/* Appends count records as one batch and waits; the base offset. */
int64_t node_fixture_append(struct node_fixture *f,
                            const struct kl_base_uuid *topic_id,
                            int32_t partition, int count, int64_t first_ms);

struct node_fixture_fetch
{
    struct kl_runtime_fetch base;
    int done;
};
void node_fixture_fetch(struct node_fixture *f, struct node_fixture_fetch *r,
                        const struct kl_base_uuid *topic_id, int32_t partition,
                        int64_t offset);

#endif
