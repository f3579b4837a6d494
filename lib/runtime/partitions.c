/*
 * The replicas that this node hosts, found through the pointer that their logs
 * carry, and the store's events on their way to them.
 */
#include "runtime/state.h"

static uint32_t partition_batch_max(const struct kl_runtime_node *n,
                                    const struct kl_base_config *config)
{
    uint32_t store = kl_store_frame_max(n->store);
    int64_t topic =
        kl_base_config_value(config, KL_BASE_CONFIG_MAX_MESSAGE_BYTES);

    return topic < store ? (uint32_t)topic : store;
}

uint32_t kl_runtime_topic_batch_max(const struct kl_runtime_node *n,
                                    const struct kl_controller_topic *topic)
{
    struct kl_base_config config;

    kl_runtime_topic_config(topic, &config);
    return partition_batch_max(n, &config);
}

/* Another node may lead it: what is here may or may not be there. */
static void partition_resign(struct kl_runtime_node *n,
                             struct kl_runtime_partition *p)
{
    kl_runtime_produce_abort(n, p, KL_ENOTLEADER, KL_EUNKNOWN);
    kl_runtime_fetch_abort(n, p, KL_ENOTLEADER);
}

static const struct kl_runtime_waits partition_idle = {
    .waiting = KL_BASE_LIST_EMPTY(partition_idle.waiting),
    .appended = KL_BASE_LIST_EMPTY(partition_idle.appended),
    .parked = KL_BASE_LIST_EMPTY(partition_idle.parked),
    .starts = KL_BASE_LIST_EMPTY(partition_idle.starts),
    .stalled = KL_BASE_LIST_EMPTY(partition_idle.stalled),
};

/* Before anything waits at it. */
static int partition_wake(struct kl_runtime_node *n,
                          struct kl_runtime_partition *p)
{
    struct kl_runtime_waits *w;

    if (p->waits != &partition_idle)
        return 0;
    w = kl_base_malloc(&n->alloc, sizeof *w);
    if (!w)
        return KL_ENOMEM;
    w->partition = p;
    kl_base_list_init(&w->waiting);
    kl_base_list_init(&w->appended);
    kl_base_list_init(&w->parked);
    kl_base_list_init(&w->starts);
    kl_base_list_init(&w->stalled);
    p->waits = w;
    return 0;
}

int kl_runtime_partition_attach(struct kl_runtime_node *n,
                                struct kl_store_log *log,
                                const struct kl_controller_topic *topic,
                                int32_t leader_epoch, int is_leader)
{
    struct kl_runtime_partition *p = kl_runtime_partition_of(log);
    struct kl_store_view view;

    if (!p) {
        p = kl_base_calloc(&n->alloc, sizeof *p);
        if (!p)
            return KL_ENOMEM;
        p->log = log;
        p->waits = (struct kl_runtime_waits *)&partition_idle;
        kl_store_log_set_user(log, p);
        kl_base_stat_add(&n->stats.partitions, 1);
    }
    kl_store_log_view(log, &view);
    p->level = view.flush == KL_STORE_FLUSH_COMMIT ? KL_LEVEL_DURABLE
                                                   : KL_LEVEL_MEMORY;
    p->leader_epoch = leader_epoch;
    if (p->is_leader && !is_leader)
        partition_resign(n, p);
    p->is_leader = is_leader != 0;
    p->batch_max = kl_runtime_topic_batch_max(n, topic);
    return 0;
}

void kl_runtime_partition_detach(struct kl_runtime_node *n,
                                 struct kl_store_log *log, int code)
{
    struct kl_runtime_partition *p = kl_runtime_partition_of(log);

    if (!p)
        return;
    /* With the node closing, what was appended may be there after the next
     * open; with the topic deleted it is gone. */
    kl_runtime_produce_abort(n, p, code,
                             code == KL_ECLOSED ? KL_EUNKNOWN : code);
    kl_runtime_fetch_abort(n, p, code);
    kl_runtime_command_started(n, p, -1,
                               code == KL_ECLOSED ? KL_EUNKNOWN : code);
    if (p->waits != &partition_idle)
        kl_base_free(&n->alloc, p->waits, sizeof *p->waits);
    kl_store_log_set_user(log, NULL);
    kl_base_free(&n->alloc, p, sizeof *p);
    kl_base_stat_set(&n->stats.partitions,
                     kl_base_stat_get(&n->stats.partitions) - 1);
}

struct kl_runtime_partition *
kl_runtime_partition_find(struct kl_runtime_node *n,
                          const struct kl_base_uuid *topic_id,
                          int32_t partition)
{
    struct kl_store_id id;
    struct kl_store_log *log;

    id.topic_id = *topic_id;
    id.partition = partition;
    log = kl_store_find(n->store, &id);
    return log ? kl_runtime_partition_of(log) : NULL;
}

int kl_runtime_partition_led(struct kl_runtime_node *n,
                             const struct kl_base_uuid *topic_id,
                             int32_t partition,
                             struct kl_runtime_partition **out)
{
    const struct kl_controller_topic *topic =
        kl_controller_topic_find_id(n->metadata.controller, topic_id);

    *out = kl_runtime_partition_find(n, topic_id, partition);
    if (*out && (*out)->is_leader)
        return partition_wake(n, *out);
    *out = NULL;
    return topic && kl_controller_partition_at(topic, partition) ? KL_ENOTLEADER
                                                                 : KL_ENOTOPIC;
}

static void partition_durable(struct kl_runtime_node *n,
                              struct kl_store_log *log)
{
    struct kl_runtime_partition *p = kl_runtime_partition_of(log);
    struct kl_store_view view;

    /* The metadata log has none: metadata_step looks at it every turn. */
    if (!p)
        return;
    kl_store_log_view(log, &view);
    kl_runtime_produce_durable(n, p, view.durable_leo);
    kl_runtime_command_started(n, p, view.durable_start, 0);
    kl_runtime_fetch_wake(n, p);
}

/* Nothing more is written; what is durable can be read on. */
static void partition_store_failed(struct kl_runtime_node *n)
{
    struct kl_base_error error = {0};
    struct kl_store_log *log = NULL;

    n->store_failed = 1;
    (void)kl_store_failure(n->store, &error);
    kl_runtime_set_error(n, &error);
    kl_runtime_trace(n, KL_TRACE_ERROR, "store.failed code=%s text=%s",
                     kl_base_error_lookup(error.code)->name, error.text);
    if (atomic_load(&n->state) == KL_NODE_OPEN)
        atomic_store(&n->state, KL_NODE_FAILED);
    while ((log = kl_store_next(n->store, log)) != NULL) {
        struct kl_runtime_partition *p = kl_runtime_partition_of(log);

        if (!p)
            continue;
        kl_runtime_produce_abort(n, p, KL_EFAILED, KL_EUNKNOWN);
        kl_runtime_command_started(n, p, -1, KL_EUNKNOWN);
    }
}

static void partition_event(struct kl_runtime_node *n,
                            const struct kl_store_event *e)
{
    switch (e->type) {
    case KL_STORE_EVENT_DURABLE:
        partition_durable(n, e->log);
        break;
    case KL_STORE_EVENT_READ:
        if (e->read == &n->metadata.read)
            kl_runtime_metadata_read_done(n);
        else if (!kl_runtime_quorum_read_done(n, e))
            kl_runtime_fetch_event(n, e->read);
        break;
    case KL_STORE_EVENT_LOOKUP:
        kl_runtime_lookup_event(n, e->lookup);
        break;
    case KL_STORE_EVENT_ROOM:
        kl_runtime_produce_room(n);
        break;
    case KL_STORE_EVENT_FAILED:
        partition_store_failed(n);
        break;
    case KL_STORE_EVENT_STARTED:
        /* A reader that waits below the new start must hear of it. */
        if (kl_runtime_partition_of(e->log))
            kl_runtime_fetch_wake(n, kl_runtime_partition_of(e->log));
        break;
    case KL_STORE_EVENT_DAMAGED:
        break;                  /* readers find it; the store counts it */
    case KL_STORE_EVENT_QUORUM: /* the quorum looks by itself */
        break;
    case KL_STORE_EVENT_SNAPSHOT:
        (void)kl_runtime_snapshot_event(n, e);
        break;
    case KL_STORE_EVENT_SNAPSHOT_READ:
        (void)kl_runtime_quorum_read_done(n, e);
        break;
    case KL_STORE_EVENT_IDENTITY:
        kl_runtime_join_done(n, e->code);
        break;
    }
}

int kl_runtime_events_run(struct kl_runtime_node *n)
{
    struct kl_store_event e;
    int moved = 0;

    while (kl_store_next_event(n->store, &e)) {
        partition_event(n, &e);
        moved = 1;
    }
    return moved;
}
