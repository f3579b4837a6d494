/*
 * The life of a node: made, opened, torn down, freed with the last reference.
 */
#include "runtime/state.h"

#include "base/rng.h"
#include "os/entropy.h"
#include "os/limit.h"

#include <string.h>

/* Smallest write-ahead log that holds a batch of the lowest limit. */
#define NODE_WAL_MIN (64 * 1024)

void kl_runtime_ref(struct kl_runtime_node *n)
{
    atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
}

static void node_free(struct kl_runtime_node *n)
{
    struct kl_base_alloc alloc = n->alloc;

    kl_runtime_topics_clear(n);
    kl_base_map_deinit(&n->topics);
    kl_os_mutex_deinit(&n->topics_mutex);
    kl_os_cond_deinit(&n->cond);
    kl_os_mutex_deinit(&n->mutex);
    kl_os_gate_deinit(&n->gate);
    kl_os_wakeup_deinit(&n->wakeup);
    kl_os_fork_guard_deinit(&n->fork);
    kl_base_free(&alloc, n, sizeof *n);
}

void kl_runtime_unref(struct kl_runtime_node *n)
{
    if (atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) == 1)
        node_free(n);
}

const struct kl_base_alloc *kl_runtime_alloc(const struct kl_runtime_node *n)
{
    return &n->alloc;
}

int kl_runtime_check(const struct kl_runtime_node *n)
{
    int state =
        atomic_load_explicit((atomic_int *)&n->state, memory_order_acquire);

    if (kl_os_fork_guard_is_child(&n->fork))
        return KL_EFORK;
    if (atomic_load_explicit((atomic_int *)&n->closed, memory_order_relaxed))
        return KL_ECLOSED;
    if (state == KL_NODE_OPEN || state == KL_NODE_FAILED)
        return 0;
    return state == KL_NODE_NEW ? KL_ESTATE : KL_ECLOSED;
}

int64_t kl_runtime_now_ns(const struct kl_runtime_node *n)
{
    return n->clock->monotonic_ns(n->clock->user);
}

int64_t kl_runtime_wall_ms(const struct kl_runtime_node *n)
{
    return n->clock->wall_ms(n->clock->user);
}

int64_t kl_runtime_wall_tick_ms(const struct kl_runtime_node *n)
{
    return n->clock->wall_tick_ms ? n->clock->wall_tick_ms(n->clock->user) : -1;
}

static void node_init_lists(struct kl_runtime_node *n)
{
    kl_base_list_init(&n->timers);
    kl_base_list_init(&n->stalled);
    kl_base_list_init(&n->produce_done);
    kl_base_list_init(&n->fetch_done);
    kl_base_list_init(&n->lookup_done);
    kl_base_list_init(&n->metadata.commands);
    kl_base_list_init(&n->links.all);
    kl_base_list_init(&n->links.local);
    kl_base_list_init(&n->requests.all);
    kl_base_list_init(&n->requests.ended);
    kl_base_list_init(&n->forwarded);
    kl_runtime_timer_init(&n->requests.timer);
    kl_runtime_timer_init(&n->broker.timer);
    kl_runtime_timer_init(&n->metadata.tick);
    kl_runtime_quorum_init(n);
    kl_runtime_timer_init(&n->metadata.retry);
    kl_runtime_timer_init(&n->join.timer);
    kl_base_map_init(&n->topics, &n->alloc);
}

static int node_init_os(struct kl_runtime_node *n)
{
    int r = kl_os_wakeup_init(&n->wakeup);

    if (r)
        return r;
    r = kl_os_gate_init(&n->gate);
    if (r)
        goto out_wakeup;
    r = kl_os_mutex_init(&n->mutex);
    if (r)
        goto out_gate;
    r = kl_os_cond_init(&n->cond);
    if (r)
        goto out_mutex;
    r = kl_os_mutex_init(&n->topics_mutex);
    if (r)
        goto out_cond;
    kl_os_fork_guard_init(&n->fork);
    return 0;

out_cond:
    kl_os_cond_deinit(&n->cond);
out_mutex:
    kl_os_mutex_deinit(&n->mutex);
out_gate:
    kl_os_gate_deinit(&n->gate);
out_wakeup:
    kl_os_wakeup_deinit(&n->wakeup);
    return r;
}

int kl_runtime_new(struct kl_runtime_node **out,
                   const struct kl_runtime_options *options)
{
    struct kl_runtime_node *n = kl_base_calloc(&options->alloc, sizeof *n);
    int r;

    *out = NULL;
    if (!n)
        return KL_ENOMEM;
    n->alloc = options->alloc;
    n->config = options->config;
    n->panic = options->panic;
    n->trace_level = options->trace_level;
    n->trace = options->trace;
    n->trace_user = options->trace_user;
    n->vfs = options->vfs;
    n->own_vfs = options->vfs == NULL;
    n->clock = options->clock ? options->clock : &kl_os_clock_posix;
    n->lanes = options->lanes;
    n->own_lanes = options->lanes == NULL;
    n->net = options->net;
    n->metadata.end_offset = -1;
    atomic_init(&n->refs, 1);
    node_init_lists(n);
    r = node_init_os(n);
    if (r) {
        kl_base_free(&options->alloc, n, sizeof *n);
        return r;
    }
    *out = n;
    return 0;
}

int kl_runtime_set_vfs(struct kl_runtime_node *n, struct kl_os_vfs *vfs)
{
    if (kl_runtime_is_inside(n))
        return KL_EREENTRY;
    if (kl_runtime_state(n) != KL_NODE_NEW)
        return KL_ESTATE;
    n->vfs = vfs;
    n->own_vfs = vfs == NULL;
    return 0;
}

int kl_runtime_set_net(struct kl_runtime_node *n, struct kl_net *net)
{
    if (kl_runtime_is_inside(n))
        return KL_EREENTRY;
    if (kl_runtime_state(n) != KL_NODE_NEW)
        return KL_ESTATE;
    n->net = net;
    return 0;
}

void kl_runtime_set_error(struct kl_runtime_node *n,
                          const struct kl_base_error *error)
{
    kl_os_mutex_lock(&n->mutex);
    n->error = *error;
    kl_os_mutex_unlock(&n->mutex);
}

void kl_runtime_errmsg(const struct kl_runtime_node *n, char *buf, size_t size)
{
    struct kl_os_mutex *mutex = (struct kl_os_mutex *)&n->mutex;

    kl_os_mutex_lock(mutex);
    (void)kl_base_error_copy(&n->error, buf, size);
    kl_os_mutex_unlock(mutex);
}

int kl_runtime_state(const struct kl_runtime_node *n)
{
    return atomic_load((atomic_int *)&n->state);
}

int kl_runtime_id(const struct kl_runtime_node *n, int32_t *id_out)
{
    if (kl_runtime_state(n) == KL_NODE_NEW)
        return KL_ESTATE;
    *id_out = n->id;
    return 0;
}

/* ---- open ---------------------------------------------------------------- */

/* A lane has finished something. Any thread. */
static void node_lane_wake(void *user)
{
    struct kl_runtime_node *n = user;

    atomic_store(&n->lanes_woken, 1);
    kl_runtime_wake(n);
}

static int node_store_config(struct kl_runtime_node *n, const char *dir,
                             uint32_t flags, struct kl_store_config *out,
                             struct kl_base_error *error)
{
    const struct kl_base_config *c = &n->config;
    struct kl_base_rng rng;
    uint64_t seed;
    int r = kl_os_entropy(&seed, sizeof seed);

    if (r)
        return kl_base_error_set(error, r, "no random bytes to be had");
    memset(out, 0, sizeof *out);
    out->path = dir;
    out->ring_bytes =
        (uint64_t)kl_base_config_value(c, KL_BASE_CONFIG_WAL_BYTES);
    out->pending_bytes_max =
        (uint64_t)kl_base_config_value(c, KL_BASE_CONFIG_STORE_PENDING_BYTES);
    out->bytes_max =
        (uint64_t)kl_base_config_value(c, KL_BASE_CONFIG_STORE_BYTES_MAX);
    out->cache_bytes_max =
        (uint64_t)kl_base_config_value(c, KL_BASE_CONFIG_STORE_CACHE_BYTES);
    out->file_max =
        (uint32_t)kl_base_config_value(c, KL_BASE_CONFIG_STORE_OPEN_FILES);
    /* The host wants descriptors, too. */
    if (out->file_max > kl_os_limit_files() / 2)
        out->file_max = kl_os_limit_files() / 2;
    out->scrub_bytes_per_second = (uint64_t)kl_base_config_value(
        c, KL_BASE_CONFIG_SCRUB_BYTES_PER_SECOND);
    out->scrub_interval_ms =
        kl_base_config_value(c, KL_BASE_CONFIG_SCRUB_INTERVAL_MS);
    out->retention_check_ms =
        kl_base_config_value(c, KL_BASE_CONFIG_RETENTION_CHECK_MS);
    if (out->ring_bytes && out->ring_bytes < NODE_WAL_MIN)
        return kl_base_error_set(error, KL_ECONFIG,
                                 "wal.bytes: 0 or at least %d", NODE_WAL_MIN);
    kl_base_rng_seed(&rng, seed);
    out->seed = kl_base_rng_next(&rng);
    out->format.cluster_id = kl_base_uuid_random(&rng);
    out->format.directory_id = kl_base_uuid_random(&rng);
    out->format.flags = flags & KL_OPEN_JOIN ? KL_STORE_JOINS : 0;
    if (out->format.flags)
        memset(&out->format.cluster_id, 0, sizeof out->format.cluster_id);
    out->format.node_id =
        (int32_t)kl_base_config_value(c, KL_BASE_CONFIG_NODE_ID);
    return 0;
}

static int node_open_store(struct kl_runtime_node *n, const char *dir,
                           uint32_t flags, struct kl_base_error *error)
{
    struct kl_store_config config;
    struct kl_store *store = NULL;
    int r = node_store_config(n, dir, flags, &config, error);

    if (r)
        return r;
    if (!n->vfs && (r = kl_os_vfs_posix_new(&n->vfs, &n->alloc)))
        return r;
    if (!n->lanes &&
        (r = kl_os_lanes_threads_new(
             &n->lanes, &n->alloc,
             (int)kl_base_config_value(&n->config, KL_BASE_CONFIG_IO_THREADS),
             &n->panic, node_lane_wake, n)))
        return r;
    r = kl_store_new(&store, &n->alloc, n->vfs, n->lanes, &config);
    if (r)
        return r;
    kl_os_mutex_lock(&n->mutex);
    n->store = store;
    kl_os_mutex_unlock(&n->mutex);
    return kl_store_open(
        store,
        (flags & KL_OPEN_CREATE ? KL_STORE_OPEN_CREATE : 0) |
            (flags & KL_OPEN_ACCEPT_LOSS ? KL_STORE_OPEN_ACCEPT_LOSS : 0),
        kl_runtime_now_ns(n), kl_runtime_wall_ms(n), error);
}

static void node_close_store(struct kl_runtime_node *n)
{
    struct kl_store *store = n->store;

    kl_os_mutex_lock(&n->mutex);
    n->store = NULL;
    kl_os_mutex_unlock(&n->mutex);
    if (store)
        kl_store_free(store);
    if (n->lanes && n->own_lanes) {
        n->lanes->ops->free(n->lanes);
        n->lanes = NULL;
    }
    if (n->vfs && n->own_vfs) {
        n->vfs->ops->free(n->vfs);
        n->vfs = NULL;
    }
}

static int node_check_id(struct kl_runtime_node *n, struct kl_base_error *error)
{
    int64_t wanted = kl_base_config_value(&n->config, KL_BASE_CONFIG_NODE_ID);

    n->id = kl_store_identity(n->store)->node_id;
    if (kl_base_config_is_set(&n->config, KL_BASE_CONFIG_NODE_ID) &&
        wanted != n->id)
        return kl_base_error_set(error, KL_EFOREIGN,
                                 "the folder belongs to node %d, not to %lld",
                                 (int)n->id, (long long)wanted);
    return 0;
}

static int node_open_links(struct kl_runtime_node *n,
                           struct kl_base_error *error)
{
    int r = kl_runtime_links_open(n);

    return r == KL_EBUSY
               ? kl_base_error_set(error, r, "the transport is another node's")
               : r;
}

static void node_trace_open(struct kl_runtime_node *n, const char *dir,
                            int64_t begun_ns)
{
    const struct kl_store_identity *id = kl_store_identity(n->store);
    char cluster[KL_BASE_UUID_TEXT + 1];

    kl_base_uuid_format(&id->cluster_id, cluster);
    kl_runtime_trace(n, KL_TRACE_INFO,
                     "node.open dir=%s node=%d cluster=%s topics=%zu "
                     "partitions=%zu us=%lld",
                     dir, (int)n->id, cluster,
                     kl_controller_topic_count(n->metadata.controller),
                     kl_controller_partition_count(n->metadata.controller),
                     (long long)(kl_runtime_now_ns(n) - begun_ns) / 1000);
}

/* The store writes into the memory of reads that are under way. */
static void node_await_reads(struct kl_runtime_node *n)
{
    while (n->read_count) {
        n->lanes->ops->wait(n->lanes);
        kl_store_turn(n->store, kl_runtime_now_ns(n), kl_runtime_wall_ms(n));
        (void)kl_runtime_events_run(n);
    }
}

/* What an open that failed has built, and its text. */
static void node_open_undo(struct kl_runtime_node *n, int code,
                           struct kl_base_error *error)
{
    if (!error->code)
        (void)kl_base_error_set(error, code, "%s",
                                kl_base_error_lookup(code)->text);
    node_await_reads(n);
    kl_runtime_metadata_abort(n);
    kl_runtime_broker_close(n);
    kl_runtime_requests_close(n);
    kl_runtime_metadata_close(n);
    kl_runtime_links_close(n);
    kl_runtime_topics_clear(n);
    node_close_store(n);
    kl_runtime_set_error(n, error);
    kl_runtime_trace(n, KL_TRACE_ERROR, "node.open code=%s text=%s",
                     kl_base_error_lookup(code)->name, error->text);
}

int kl_runtime_open(struct kl_runtime_node *n, const char *dir, uint32_t flags)
{
    int64_t begun_ns = kl_runtime_now_ns(n);
    struct kl_base_error error = {0};
    uint64_t outside = 0;
    int r;

    if (kl_os_fork_guard_is_child(&n->fork))
        return KL_EFORK;
    if (atomic_load(&n->state) != KL_NODE_NEW ||
        !atomic_compare_exchange_strong(&n->inside, &outside,
                                        kl_os_thread_self()))
        return KL_ESTATE;
    kl_runtime_inside(n);
    r = node_open_store(n, dir, flags, &error);
    if (!r)
        r = node_check_id(n, &error);
    if (!r)
        r = node_open_links(n, &error);
    if (!r)
        r = kl_runtime_metadata_open(n, &error);
    if (r) {
        node_open_undo(n, r, &error);
    } else {
        node_trace_open(n, dir, begun_ns);
        kl_runtime_set_error(n, &error);
        atomic_store(&n->sleeping, KL_RUNTIME_AT_DESCRIPTOR);
        atomic_store(&n->state, KL_NODE_OPEN);
    }
    kl_base_panic_enter(n->outer_hook);
    kl_runtime_outside(n);
    return r;
}

/* ---- the end ------------------------------------------------------------- */

/* What waits at partitions ends here; reads under way come back first. */
static void node_abort_partitions(struct kl_runtime_node *n)
{
    struct kl_store_log *log = NULL;

    while ((log = kl_store_next(n->store, log)) != NULL)
        kl_runtime_partition_detach(n, log, KL_ECLOSED);
    node_await_reads(n);
}

void kl_runtime_teardown(struct kl_runtime_node *n)
{
    n->refusing = 1;
    atomic_store(&n->state, KL_NODE_STOPPING);
    kl_runtime_metadata_abort(n);
    kl_runtime_broker_close(n);
    kl_runtime_requests_close(n);
    kl_runtime_forward_close(n);
    node_abort_partitions(n);
    /* What waits for a time ends, too. */
    (void)kl_runtime_timers_fire(n, INT64_MAX);
    while (kl_runtime_requests_run(n) | kl_runtime_finish_run(n) |
           kl_runtime_callbacks_run(n))
        continue;
    kl_runtime_timers_clear(n);
    kl_runtime_metadata_close(n);
    kl_runtime_links_close(n);
    kl_runtime_topics_clear(n);
    node_close_store(n);
    kl_runtime_trace(n, KL_TRACE_INFO, "node.closed code=%s",
                     kl_base_error_lookup(n->stop_code)->name);
    atomic_store(&n->state, KL_NODE_STOPPED);
    atomic_store(&n->closed, 1);
    kl_runtime_broadcast(n);
    kl_runtime_drain_closed(n);
}
