/*
 * A cluster in one process and one thread: whole nodes, as they are shipped, on
 * simulated disks, lanes, clocks and links. Time goes from event to event.
 *
 * A run has phases: chaos, in which actors do what the options let them; heal,
 * in which nothing new is broken and everything has to come to an end; then all
 * power is cut, all nodes come back and everything acknowledged is looked for.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "check.h"
#include "choice.h"
#include "net.h"
#include "options.h"
#include "pool.h"
#include "sim_disk.h"
#include "sim_lanes.h"

#include "controller/controller.h"
#include "runtime/runtime.h"

#include <stdint.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)

enum { WORLD_HOSTS = 9, WORLD_TEXT = 512 };

struct world;
struct client;

enum host_state { HOST_DOWN, HOST_UP };

/* A machine with a disk, and the node that runs on it. */
struct host
{
    struct world *w;
    int index;
    int32_t id;
    enum host_state state;
    struct kl_runtime_node *n;
    struct sim_disk *disk;
    struct sim_lanes lanes;
    struct kl_os_clock clock;
    struct pool_alloc memory;
    struct kl_net *net; /* its mailbox */
    struct pool_alloc net_memory;
    int is_silent;         /* it loses its power: nobody hears of it */
    int64_t applied;       /* of the metadata, as of the last look */
    int64_t voters_offset; /* as of then */
    int64_t log_seen;      /* its end, as of then */
    uint64_t cuts;         /* as of then */
    int64_t now_ns;        /* ahead of the world's while an open blocks */
    int64_t boot_ns;       /* what the monotonic clock is ahead */
    int64_t wall_ms;       /* what the wall clock is off */
    int64_t wake_ns;       /* when the node wants to be polled */
    int64_t lanes_ns;
    int64_t paused_ns; /* until then it does not run; 0 = it does */
    int joins;         /* where it founded the cluster: its folder was lost */
    int expects; /* code of an open that fails, as it has to; 0 = none does */
    int refused; /* that is what happened */
    int is_stopping;
    int64_t busy_ns; /* since then it was polled so often */
    uint32_t busy_polls;
    int64_t start_ns;   /* when somebody starts it again; -1 = nobody */
    uint32_t cut_after; /* calls of the disk, within an open; 0 = never */
    struct sim_choice cut;
    struct sim_disk *image; /* what that left */
    uint64_t struck; /* faults of the disk, as of the start of this boot */
    uint32_t boots;
    uint32_t failures; /* of opens, in a row */
    int code;          /* of the last one */
};

/* What the summary counts. */
struct tally
{
    uint64_t events;
    uint64_t polls;
    uint64_t disk_calls;
    uint64_t messages;
    uint64_t faults[FAULT_KINDS];
    uint64_t boots;
    uint64_t elections;
    uint64_t isr_changes;
    uint64_t commands; /* acknowledged */
    uint64_t records;  /* acknowledged */
    uint64_t refused;
    int64_t simulated_ns;
    int64_t elect_ns; /* from the heal to a controller */
};

enum world_phase {
    WORLD_BOOT,
    WORLD_CHAOS,
    WORLD_HEAL,
    WORLD_VERIFY,
    WORLD_SCRIPT, /* nobody starts anything again by himself */
    WORLD_CLOSE
};

struct world
{
    struct options o;
    struct choice *choice;
    int64_t now_ns;
    enum world_phase phase;
    uint32_t steps; /* of the actors */
    int64_t actor_ns;
    struct host hosts[WORLD_HOSTS];
    struct network net;
    struct pool_alloc memory; /* of the checkers */
    struct client *client;
    /* NULL, or told of each answer: what was asked, the number of the topic or
     * host that it was about, where, and what came of it. */
    void (*answered)(struct world *w, const char *what, int about, int host,
                     int code);
    void *user;
    int32_t leader_id; /* the last one seen, and its epoch */
    int32_t leader_epoch;
    struct checks checks;
    struct tally tally;
    uint64_t hash; /* of all that happened */
    int trace;
    /* The first thing that was not as it must be. */
    const char *failed; /* name of the checker, NULL = nothing yet */
    char failure[WORLD_TEXT];
};

/* Runs one seed from boot to verification; failed says how it ended. */
void world_run(struct world *w, const struct options *o, struct choice *c,
               int trace);

/* Its parts, for runs of another kind: a cluster with its voters, calm until
 * somebody breaks something; and the end of it, whatever its state. */
void world_open(struct world *w, const struct options *o, struct choice *c,
                int trace);
void world_close(struct world *w);
/* Everything that was acknowledged is there. */
void world_verify(struct world *w);

/* ---- for the parts of the world -------------------------------------------
 */

/* Everything that happens until a moment, or until something has failed. */
void world_until(struct world *w, int64_t until_ns);
/* The same until done says 1; 0 where the moment came first. */
int world_until_done(struct world *w, int (*done)(struct world *w),
                     int64_t until_ns);
/* Every node is up, has a leader and all that it committed; clients have their
 * answers. */
int world_is_settled(struct world *w);
/* Why it is not, for the trace. */
void world_tell(struct world *w);
void world_fail(struct world *w, const char *checker, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Something happened: it goes into the hash. */
void world_note(struct world *w, uint64_t kind, uint64_t a, uint64_t b);
/* A line of the trace; host NULL = the world's. */
void world_trace(struct world *w, const struct host *h, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Of the run under way. */
uint64_t world_seed(void);
/* Random bytes of the operating system, from the run's own generator. */
void world_entropy(void *buf, size_t size);

/* ---- host.c ---------------------------------------------------------------
 */

void host_init(struct world *w, int index);
void host_deinit(struct host *h);
/* Opens the node; HOST_UP where it worked. */
void host_start(struct host *h);
/* The node ends; its disk is what choice leaves of it. */
void host_crash(struct host *h, struct sim_choice choice);
/* Begins an ordered stop: the node ends in a poll. */
void host_stop(struct host *h);
/* The node is given up, whatever it was doing; the disk stays. */
void host_close(struct host *h);
void host_pause(struct host *h, int64_t until_ns);
/* Another disk; the node is down. */
void host_put_disk(struct host *h, struct sim_disk *disk);
/* The machine loses its power. */
void host_cut_power(struct host *h, struct sim_choice choice);
/* What happens at h->wake_ns, and at h->lanes_ns. */
void host_poll(struct host *h);
void host_lanes(struct host *h);
/* When something happens there next. */
int64_t host_next_ns(const struct host *h);
/* Something was handed to the node from outside. */
void host_wake(struct host *h);
int host_is_able(const struct host *h);
/* How a crash of this run leaves the disk. */
struct sim_choice host_draw_crash(struct world *w);

/* ---- actor.c --------------------------------------------------------------
 */

void actor_step(struct world *w);

/* ---- client.c -------------------------------------------------------------
 */

void client_init(struct world *w);
void client_deinit(struct world *w);
/* One thing that a client asks of a host, drawn. */
void client_act(struct world *w, struct host *h);
/* Everything that was asked for has an answer. */
int client_is_quiet(struct world *w);
/* Asks for all that must be there now. */
void client_verify(struct world *w);
/* The same things as client_act, one by one, of a host that is up: 0, or -1
 * where there is nobody to ask. A topic is called by its number; count is of
 * records. */
int client_ask_create(struct world *w, struct host *h, int partitions);
int client_ask_produce(struct world *w, struct host *h, int topic, int count);
int client_ask_voter(struct world *w, struct host *h, int index, int is_added,
                     int is_forced);
int client_ask_quorum(struct world *w, struct host *h);

/* ---- voters.c -------------------------------------------------------------
 */

/* Asks a host to add a node to the voters or to remove it, drawn. */
void voters_change(struct host *h);
/* Changes them until they are those of the options, one by one. */
void voters_restore(struct world *w);
/* All hosts have the last set, and every change that was acknowledged. */
void voters_verify(struct world *w);

/* ---- door.c: into the node, for checks alone ------------------------------
 */

struct observation;

/* Every record up to applied is in the image, and no other. */
int door_image_is_whole(const struct host *h);
/* A number for all that the image of the controller is. */
uint64_t door_image(const struct host *h);
/* Index of the host that leads a partition, as this one knows; -1 = none. */
int door_leader(const struct host *h, const struct kl_base_uuid *topic_id,
                int partition);
/* Every partition that this host knows has a leader. */
int door_is_led(const struct host *h);
int64_t door_deadline_ns(const struct host *h);
/* What others say of the node: a code, or 0. */
int door_refusal(const struct host *h);
void door_observe(const struct host *h, struct observation *out);
/* It knows of which cluster it is. */
int door_has_cluster(const struct host *h);
/* The batches of the metadata log that are in memory and end above an offset,
 * each to the checkers; the end of the log. */
int64_t door_log_tail(struct host *h, int64_t above);
/* Bad messages that the node has counted; 1 where it may look at all that was
 * delivered. */
int door_messages(const struct host *h, uint64_t out[BAD_MESSAGES]);
struct kl_controller *door_controller(const struct host *h);
/* Behind the last record that may be read; -1 where there is no such log. */
int64_t door_log_end(const struct host *h, const struct kl_base_uuid *topic_id,
                     int partition);

#endif
