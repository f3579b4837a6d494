/*
 * Some nodes over file systems in memory, with a transport in memory between
 * them, all in one thread and with one clock: time goes on while nothing else
 * happens, so tests need no luck.
 */
#ifndef TEST_CLUSTER_FIXTURE_H
#define TEST_CLUSTER_FIXTURE_H

#include "net/net.h"
#include "node_fixture.h"
#include "sim_disk.h"

enum { CLUSTER_NODES = 4, CLUSTER_LINKS = 256 };

struct cluster_fixture;

/* One node and what leads to it. Its id is its index and 1. */
struct cluster_node
{
    struct cluster_fixture *cluster;
    struct node_fixture f;
    struct kl_net *net;
    struct sim_disk *disk;
    int index;
    int is_cut; /* nothing goes in or out */
};

/* Both ends of a connection; node NULL = there is none. */
struct cluster_link
{
    struct cluster_node *node[2];
    uint64_t link[2];
    int is_dead;
};

struct cluster_fixture
{
    int count;
    struct cluster_node nodes[CLUSTER_NODES];
    struct cluster_link links[CLUSTER_LINKS];
    struct kl_os_clock clock;
    int64_t now_ns;
    /* The last message with this api key is copied; NULL: none is. */
    struct kl_base_buf *copy;
    int16_t copy_of;
    int is_deaf; /* links that are used meanwhile carry nothing any more */
    int64_t wall_ms;
};

/* Fresh folders; node 1 opens alone, the others join it. None is open yet. */
void cluster_fixture_init(struct cluster_fixture *c, int count);
void cluster_fixture_deinit(struct cluster_fixture *c);
void cluster_fixture_open(struct cluster_fixture *c, int index);
/* Its folder is lost. */
void cluster_fixture_wipe(struct cluster_fixture *c, int index);
/* A copy of a folder, of a node that is not open; in the place of one. */
struct sim_disk *cluster_fixture_copy(struct cluster_fixture *c, int index);
void cluster_fixture_restore(struct cluster_fixture *c, int index,
                             struct sim_disk *copy);
/* All of them, until each has the image. */
void cluster_fixture_open_all(struct cluster_fixture *c);
/* The same, until each is an active broker and knows it. */
void cluster_fixture_open_active(struct cluster_fixture *c);
int cluster_fixture_is_active(const struct cluster_fixture *c, int index);
/* In order, while the others go on; or as a crash does. */
void cluster_fixture_stop(struct cluster_fixture *c, int index);
void cluster_fixture_crash(struct cluster_fixture *c, int index);
/* All connections of a node go, and it gets no new ones until it is joined. */
void cluster_fixture_cut(struct cluster_fixture *c, int index);
void cluster_fixture_join(struct cluster_fixture *c, int index);

/* A round of all nodes, and a millisecond. */
void cluster_fixture_round(struct cluster_fixture *c);

#define CLUSTER_ROUNDS 100000

/* Rounds until the condition holds; fails the test where it never does. */
#define cluster_fixture_until(c, condition)                                    \
    do {                                                                       \
        int rounds_ = 0;                                                       \
        while (!(condition)) {                                                 \
            cluster_fixture_round(c);                                          \
            ck_assert_msg(rounds_++ < CLUSTER_ROUNDS, "never: %s",             \
                          #condition);                                         \
        }                                                                      \
    } while (0)

/* Index of the node that acts as controller, or -1. */
int cluster_fixture_controller(const struct cluster_fixture *c);
int cluster_fixture_is_caught_up(const struct cluster_fixture *c, int index);
/* Carries a wish out at a node; the operation is the caller's. */
struct kl_runtime_op *cluster_fixture_begin(struct cluster_fixture *c,
                                            int index,
                                            const struct kl_runtime_wish *w);
struct kl_runtime_op *cluster_fixture_do(struct cluster_fixture *c, int index,
                                         const struct kl_runtime_wish *wish);
int cluster_fixture_code(struct cluster_fixture *c, int index,
                         const struct kl_runtime_wish *wish);

#endif
