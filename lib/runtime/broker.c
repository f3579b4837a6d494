/*
 * This node as a broker (protocol 1.12): it registers with the active
 * controller, tells it that it is alive and how far it has applied the
 * metadata, and asks for leave before it stops. A node by itself does none of
 * this: it holds everything.
 *
 * The epoch of a registration is durable here before the broker becomes active
 * with it. So a folder always knows the last session in which somebody may have
 * counted on it.
 */
#include "runtime/state.h"

#include "base/hash.h"
#include "base/rng.h"

#include <string.h>

#define BROKER_MS INT64_C(1000000)
/* After a refusal, and while a controlled shutdown is under way. */
#define BROKER_RETRY_NS (200 * BROKER_MS)
#define BROKER_SHUTDOWN_NS (50 * BROKER_MS)

static int64_t broker_ms(const struct kl_runtime_node *n, size_t key)
{
    return kl_base_config_value(&n->config, key) * BROKER_MS;
}

/* Applied and durable below it. */
static int64_t broker_offset(const struct kl_runtime_node *n)
{
    struct kl_store_view view;

    kl_store_log_view(n->metadata.log, &view);
    return n->metadata.applied < view.durable_leo ? n->metadata.applied
                                                  : view.durable_leo;
}

/* ---- what the folder is like --------------------------------------------- */

static int broker_is_damaged(const struct kl_store_log *log)
{
    struct kl_store_view view;

    kl_store_log_view(log, &view);
    return view.is_suspect || kl_store_log_damage(log, 0, NULL) > 0;
}

static int broker_is_before(const struct kl_store_id *id,
                            const struct kl_wire_log_id *other)
{
    int order = memcmp(id->topic_id.bytes, other->topic_id.bytes,
                       sizeof id->topic_id.bytes);

    return order < 0 || (order == 0 && id->partition < other->partition);
}

/* Puts one more in its place. */
static void broker_list(struct kl_wire_log_id *list, uint32_t count,
                        const struct kl_store_id *id)
{
    while (count && broker_is_before(id, &list[count - 1])) {
        list[count] = list[count - 1];
        count--;
    }
    list[count].topic_id = id->topic_id;
    list[count].partition = id->partition;
}

/* The damaged logs in the order of their ids; *out is the caller's. 0,
 * KL_ENOMEM, KL_ERECORDSIZE where they are too many to be named. */
static int broker_damaged(struct kl_runtime_node *n,
                          struct kl_wire_log_id **out, uint32_t *count_out)
{
    struct kl_store_log *log = NULL;
    uint32_t count = 0;

    while ((log = kl_store_next(n->store, log)) != NULL)
        count += log != n->metadata.log && broker_is_damaged(log);
    *out = NULL;
    *count_out = 0;
    if (count > KL_WIRE_PARTITIONS_MAX)
        return KL_ERECORDSIZE;
    if (!count)
        return 0;
    *out = kl_base_malloc(&n->alloc, count * sizeof **out);
    if (!*out)
        return KL_ENOMEM;
    while ((log = kl_store_next(n->store, log)) != NULL) {
        if (log != n->metadata.log && broker_is_damaged(log))
            broker_list(*out, (*count_out)++, kl_store_log_id(log));
    }
    return 0;
}

static enum kl_controller_recovery
broker_recovery(const struct kl_runtime_node *n, uint32_t damaged)
{
    if (damaged)
        return KL_CONTROLLER_DAMAGED;
    return kl_store_verdict(n->store) == KL_STORE_VERDICT_CLEAN
               ? KL_CONTROLLER_CLEAN
               : KL_CONTROLLER_INTACT;
}

/* ---- registration -------------------------------------------------------- */

static int broker_send_registration(struct kl_runtime_node *n,
                                    struct kl_runtime_call *call,
                                    struct kl_wire_message *m)
{
    struct kl_wire_broker_registration_request *q =
        &m->broker_registration_request;
    struct kl_wire_log_id *damaged;
    int r = broker_damaged(n, &damaged, &q->damaged.count);

    (void)call;
    if (r == KL_ENOMEM)
        return r;
    q->damaged.items = damaged;
    /* Without the list nothing that the folder holds can be proved. */
    q->previous_epoch = -1;
    if (r != KL_ERECORDSIZE) {
        q->previous_epoch = kl_store_broker_epoch(n->store);
        q->previous_incarnation = n->broker.previous_incarnation;
    }
    q->recovery = (int8_t)broker_recovery(n, q->damaged.count);
    q->metadata_offset = n->broker.opened_leo;
    q->feature_max = KL_CONTROLLER_FEATURE_LEVEL;
    q->batch_bytes_max = (int32_t)kl_store_frame_max(n->store);
    q->rack.data = "";
    r = kl_runtime_endpoints_own(n, &n->broker.endpoints, &q->endpoints);
    if (!r)
        r = kl_runtime_links_ask(n, m);
    kl_base_free(&n->alloc, damaged, q->damaged.count * sizeof *damaged);
    return r;
}

/* What the controller thinks of this node is told once for each reason. */
static void broker_refused(struct kl_runtime_node *n, int code,
                           const struct kl_wire_message *response)
{
    struct kl_runtime_broker *b = &n->broker;
    struct kl_base_error error = {0};
    const struct kl_wire_text *text =
        response ? &response->unregister_broker_response.error_message : NULL;

    b->due_ns = n->now_ns + BROKER_RETRY_NS;
    if (code == b->refusal || code == KL_ECLOSED)
        return;
    b->refusal = code;
    kl_base_stat_add(&n->stats.broker_refused, 1);
    (void)kl_base_error_set(
        &error, code, "broker %d: %.*s", (int)n->id,
        text && text->size ? (int)text->size : 64,
        text && text->size ? text->data : kl_base_error_lookup(code)->text);
    kl_runtime_set_error(n, &error);
    kl_runtime_trace(n, KL_TRACE_WARN, "broker.refused code=%s text=%s",
                     kl_base_error_lookup(code)->name, error.text);
}

static void broker_accepted(struct kl_runtime_node *n)
{
    static const struct kl_base_error none;

    if (n->broker.refusal && !n->store_failed)
        kl_runtime_set_error(n, &none);
    n->broker.refusal = 0;
}

static void broker_registered(struct kl_runtime_node *n,
                              struct kl_runtime_call *call, int code,
                              const struct kl_wire_message *response)
{
    struct kl_runtime_broker *b = &n->broker;
    int64_t epoch;

    (void)call;
    b->is_calling = 0;
    if (code) {
        broker_refused(n, code, response);
        return;
    }
    epoch = response->broker_registration_response.broker_epoch;
    code = kl_store_broker_epoch_put(n->store, epoch);
    if (code) {
        broker_refused(n, code, NULL);
        return;
    }
    broker_accepted(n);
    b->epoch = epoch;
    b->is_fenced = 1;
    b->hurried = -1;
    b->due_ns = n->now_ns;
    kl_runtime_trace(n, KL_TRACE_INFO, "broker.registered epoch=%lld",
                     (long long)epoch);
}

/* ---- heartbeats ---------------------------------------------------------- */

static int broker_send_heartbeat(struct kl_runtime_node *n,
                                 struct kl_runtime_call *call,
                                 struct kl_wire_message *m)
{
    struct kl_wire_broker_heartbeat_request *q = &m->broker_heartbeat_request;

    (void)call;
    q->broker_epoch = n->broker.epoch;
    q->metadata_offset = broker_offset(n);
    q->want_shutdown = (int8_t)n->broker.want_shutdown;
    return kl_runtime_links_ask(n, m);
}

static void broker_heard(struct kl_runtime_node *n,
                         struct kl_runtime_call *call, int code,
                         const struct kl_wire_message *response)
{
    const struct kl_wire_broker_heartbeat_response *p =
        response ? &response->broker_heartbeat_response : NULL;
    struct kl_runtime_broker *b = &n->broker;

    (void)call;
    b->is_calling = 0;
    if (code) {
        /* Somebody else has this id now, or nobody: from the beginning. */
        if (code == KL_EFENCED || code == KL_ENOBROKER) {
            b->epoch = -1;
            b->is_fenced = 1;
        }
        broker_refused(n, code, response);
        return;
    }
    broker_accepted(n);
    if (b->is_fenced != p->is_fenced)
        kl_runtime_trace(n, KL_TRACE_INFO, "broker.%s epoch=%lld",
                         p->is_fenced ? "fenced" : "unfenced",
                         (long long)b->epoch);
    b->is_fenced = p->is_fenced;
    b->may_stop |= p->should_shutdown;
    b->due_ns =
        n->now_ns + (b->want_shutdown
                         ? BROKER_SHUTDOWN_NS
                         : broker_ms(n, KL_BASE_CONFIG_BROKER_HEARTBEAT_MS));
}

/* ---- the step ------------------------------------------------------------ */

static void broker_call(struct kl_runtime_node *n, int16_t api_key)
{
    struct kl_runtime_broker *b = &n->broker;
    int registers = api_key == KL_WIRE_BROKER_REGISTRATION;

    b->is_calling = 1;
    b->call = (struct kl_runtime_call){
        .api_key = api_key,
        .node_id = -1,
        .may_repeat = 1,
        .until_ns = KL_RUNTIME_NEVER,
        .send = registers ? broker_send_registration : broker_send_heartbeat,
        .done = registers ? broker_registered : broker_heard};
    kl_runtime_call(n, &b->call);
}

/* A fenced broker waits for nothing but to have applied its registration, one
 * that stops for the others to have applied that. */
static int broker_is_hurried(struct kl_runtime_node *n)
{
    struct kl_runtime_broker *b = &n->broker;

    if (b->is_awaited && broker_offset(n) == n->metadata.applied) {
        b->is_awaited = 0;
        return 1;
    }
    if (!b->is_fenced || b->hurried == b->epoch || broker_offset(n) <= b->epoch)
        return 0;
    b->hurried = b->epoch;
    return 1;
}

/* Where the quorum does not let this node take part, there is no controller to
 * ask. */
static void broker_look_quorum(struct kl_runtime_node *n)
{
    struct kl_raft_view view;

    kl_raft_view(n->quorum.raft, &view);
    if (view.refusal)
        broker_refused(n, view.refusal, NULL);
}

/* The folder knows of this start, in case it ends between the registration and
 * the time when its epoch is durable. Until then nobody counts on it. */
static int broker_is_announced(struct kl_runtime_node *n)
{
    struct kl_base_uuid id = kl_store_incarnation(n->store);

    if (kl_base_uuid_equal(&id, &n->links.session_id))
        return 1;
    if (kl_store_incarnation_put(n->store, &n->links.session_id))
        n->broker.due_ns = n->now_ns + BROKER_RETRY_NS;
    return 0;
}

int kl_runtime_broker_step(struct kl_runtime_node *n)
{
    struct kl_runtime_broker *b = &n->broker;

    if (!b->is_wanted || !n->quorum.raft)
        return 0;
    if (b->epoch < 0)
        broker_look_quorum(n);
    if (b->is_calling || b->may_stop || n->store_failed || n->refusing)
        return 0;
    if (b->epoch >= 0) {
        if (kl_store_broker_epoch(n->store) < b->epoch)
            return 0; /* the store tells when it is durable */
        if (broker_is_hurried(n))
            b->due_ns = n->now_ns;
    } else if (b->want_shutdown) {
        return 0;
    }
    if (n->now_ns < b->due_ns) {
        kl_runtime_turn_at(n, &b->timer, b->due_ns);
        return 0;
    }
    kl_runtime_timer_cancel(n, &b->timer);
    if (b->epoch < 0 && !broker_is_announced(n))
        return 0; /* the store tells when it is */
    broker_call(n, b->epoch < 0 ? KL_WIRE_BROKER_REGISTRATION
                                : KL_WIRE_BROKER_HEARTBEAT);
    return 1;
}

/* Nobody is asked for leave where there is nobody to ask, for as long as an
 * election takes. */
static int broker_waits_enough(const struct kl_runtime_node *n)
{
    struct kl_raft_view view = {.role = KL_RAFT_UNATTACHED};
    int64_t wait = 2 * broker_ms(n, KL_BASE_CONFIG_ELECTION_TIMEOUT_MS);

    if (n->quorum.raft)
        kl_raft_view(n->quorum.raft, &view);
    if (view.role == KL_RAFT_FOLLOWER || view.role == KL_RAFT_LEADER)
        wait = broker_ms(n, KL_BASE_CONFIG_BROKER_SESSION_TIMEOUT_MS);
    return n->now_ns >= n->broker.stop_ns + wait;
}

int kl_runtime_broker_may_stop(struct kl_runtime_node *n)
{
    struct kl_runtime_broker *b = &n->broker;

    if (!b->is_wanted || b->epoch < 0 || b->may_stop || n->store_failed)
        return 1;
    if (!b->want_shutdown) {
        b->want_shutdown = 1;
        b->due_ns = b->stop_ns = n->now_ns;
    }
    return broker_waits_enough(n);
}

int kl_runtime_broker_leads(const struct kl_runtime_node *n,
                            const struct kl_controller_partition *p)
{
    const struct kl_controller_broker *own;

    if (p->leader != n->id)
        return 0;
    if (!n->broker.is_wanted)
        return 1;
    own = kl_controller_broker_find(n->metadata.controller, n->id);
    return own &&
           kl_base_uuid_equal(&own->incarnation_id, &n->links.session_id);
}

void kl_runtime_broker_look(struct kl_runtime_node *n)
{
    const struct kl_controller *c = n->metadata.controller;
    size_t count = kl_controller_broker_count(c);
    size_t inactive = 0;

    for (size_t i = 0; i < count; i++) {
        const struct kl_controller_broker *b = kl_controller_broker_at(c, i);

        inactive += !kl_controller_broker_is_active(b);
        /* Its stop waits until all know of it. */
        if (b->flags == KL_WIRE_BROKER_SHUTDOWN && b->id != n->id)
            n->broker.is_awaited = 1;
    }
    kl_base_stat_set(&n->stats.brokers, count);
    kl_base_stat_set(&n->stats.brokers_inactive, inactive);
}

/* ---- life ---------------------------------------------------------------- */

void kl_runtime_broker_open(struct kl_runtime_node *n)
{
    struct kl_runtime_broker *b = &n->broker;
    struct kl_store_view view;

    kl_store_log_view(n->metadata.log, &view);
    b->is_wanted = n->net || !kl_runtime_quorum_is_alone(n) ||
                   kl_controller_broker_count(n->metadata.controller) > 0;
    b->epoch = b->hurried = -1;
    b->opened_leo = view.durable_leo;
    b->previous_incarnation = kl_store_incarnation(n->store);
    b->is_fenced = 1;
    b->is_calling = b->is_awaited = b->want_shutdown = b->may_stop =
        b->refusal = 0;
    b->due_ns = n->now_ns;
    kl_base_buf_init(&b->endpoints, &n->alloc);
    kl_runtime_requests_open(n);
    /* The quorum of one leads since before this was known. */
    if (n->metadata.is_leading)
        kl_runtime_metadata_lead(n);
}

void kl_runtime_broker_close(struct kl_runtime_node *n)
{
    struct kl_runtime_broker *b = &n->broker;

    if (!b->endpoints.alloc)
        return;
    if (b->is_calling)
        kl_runtime_call_cancel(&b->call);
    b->is_calling = 0;
    kl_runtime_timer_cancel(n, &b->timer);
    kl_base_buf_deinit(&b->endpoints);
}
