/*
 * Requests to the active controller or to another node: sent, sent again where
 * that can do no harm, and given up in time. Those that wait are in one table;
 * a correlation id finds them.
 */
#include "runtime/state.h"

#include <string.h>

/* Before an attempt is followed by another. */
#define REQUEST_RETRY_NS INT64_C(50000000)
/* Correlation ids of the quorum are below. */
#define REQUEST_ID_FIRST (INT64_C(1) << 62)

static struct kl_runtime_call *request_of(struct kl_base_list *item)
{
    return KL_BASE_CONTAINER(item, struct kl_runtime_call, link);
}

/* ---- one attempt --------------------------------------------------------- */

static int32_t request_target(const struct kl_runtime_node *n,
                              const struct kl_runtime_call *call)
{
    struct kl_raft_view view;

    if (call->node_id >= 0)
        return call->node_id;
    if (call->hint >= 0)
        return call->hint;
    if (!n->quorum.raft)
        return -1;
    kl_raft_view(n->quorum.raft, &view);
    return view.leader_id;
}

static void request_envelope(struct kl_runtime_node *n,
                             const struct kl_runtime_call *call,
                             struct kl_wire_envelope *out)
{
    const struct kl_store_identity *id = kl_store_identity(n->store);

    out->api_key = call->api_key;
    out->correlation_id = call->correlation_id;
    out->cluster_id = id->cluster_id;
    out->source_id = n->id;
    out->destination_id = call->target;
    out->source_directory = id->directory_id;
    out->source_session = n->links.session_id;
}

/* One that may not be repeated has all the time there is for its answer. */
static int64_t request_late_ns(const struct kl_runtime_node *n,
                               const struct kl_runtime_call *call)
{
    int64_t ms =
        kl_base_config_value(&n->config, KL_BASE_CONFIG_REQUEST_TIMEOUT_MS);

    return call->may_repeat ? n->now_ns + ms * 1000000 : call->until_ns;
}

/* ---- the end of one ------------------------------------------------------ */

static void request_end(struct kl_runtime_node *n, struct kl_runtime_call *call,
                        int code)
{
    kl_base_list_remove(&call->link);
    call->correlation_id = 0;
    call->code = code;
    kl_base_list_push(&n->requests.ended, &call->link);
}

/* The attempt has come to nothing, as far as is known. It stays where it is:
 * this may happen while the table is gone through. */
static void request_again(struct kl_runtime_node *n,
                          struct kl_runtime_call *call, int is_sure)
{
    call->correlation_id = 0;
    call->hint = -1;
    call->due_ns = n->now_ns + REQUEST_RETRY_NS;
    call->is_unsure |= !is_sure;
}

/* An attempt may have done what must not be done twice. */
static int request_is_spent(const struct kl_runtime_call *call)
{
    return !call->correlation_id && call->is_unsure && !call->may_repeat;
}

static int request_tell(struct kl_runtime_node *n)
{
    struct kl_base_list *item;
    int moved = 0;

    while ((item = kl_base_list_pop(&n->requests.ended))) {
        struct kl_runtime_call *call = request_of(item);

        moved = 1;
        call->done(n, call, call->code, NULL);
    }
    return moved;
}

static void request_send(struct kl_runtime_node *n,
                         struct kl_runtime_call *call, int32_t target)
{
    struct kl_wire_message *m = &n->requests.message;
    int is_unsure = call->is_unsure;

    memset(m, 0, sizeof *m);
    call->target = target;
    call->correlation_id = ++n->requests.correlation_id;
    call->due_ns = request_late_ns(n, call);
    request_envelope(n, call, &m->envelope);
    kl_base_stat_add(&n->stats.calls, 1);
    if (!call->send(n, call, m))
        return;
    /* It did not leave, though its link may have ended over it. */
    call->is_unsure = is_unsure;
    request_again(n, call, 1);
}

/* ---- answers ------------------------------------------------------------- */

static struct kl_runtime_call *request_find(struct kl_runtime_node *n,
                                            const struct kl_wire_envelope *v)
{
    for (struct kl_base_list *item = n->requests.all.next;
         item != &n->requests.all; item = item->next) {
        struct kl_runtime_call *call = request_of(item);

        if (call->correlation_id == v->correlation_id &&
            call->api_key == v->api_key && call->target == v->source_id)
            return call;
    }
    return NULL;
}

/* Nothing was done, and it may be another time or elsewhere. */
static int request_is_refused(const struct kl_runtime_call *call, int code)
{
    return code == KL_EAGAIN ||
           (call->node_id < 0 &&
            (code == KL_ENOTCONTROLLER || code == KL_ENOTLEADER));
}

int kl_runtime_response(struct kl_runtime_node *n,
                        const struct kl_wire_message *m)
{
    /* All responses begin with these. */
    const struct kl_wire_begin_quorum_epoch_response *head =
        &m->begin_quorum_epoch_response;
    struct kl_runtime_call *call = request_find(n, &m->envelope);
    int code = kl_wire_error_code(head->error_code);

    if (!call)
        return m->envelope.correlation_id > REQUEST_ID_FIRST;
    if (!request_is_refused(call, code)) {
        kl_base_list_remove(&call->link);
        call->correlation_id = 0;
        call->done(n, call, code, m);
        return 1;
    }
    if (code != KL_EAGAIN)
        kl_base_stat_add(&n->stats.calls_not_controller, 1);
    request_again(n, call, 1);
    if (code != KL_EAGAIN && head->leader_id != call->target)
        call->hint = head->leader_id;
    return 1;
}

void kl_runtime_requests_lost(struct kl_runtime_node *n, int32_t node_id,
                              int was_up)
{
    struct kl_base_list *item = n->requests.all.next;

    while (item != &n->requests.all) {
        struct kl_runtime_call *call = request_of(item);

        item = item->next;
        if (call->correlation_id && call->target == node_id)
            request_again(n, call, !was_up);
    }
}

/* ---- time ---------------------------------------------------------------- */

/* 1 where something was sent or has ended. */
static int request_step(struct kl_runtime_node *n, struct kl_runtime_call *call)
{
    int32_t target;

    if (request_is_spent(call)) {
        request_end(n, call, KL_EUNKNOWN);
        return 1;
    }
    if (n->now_ns >= call->until_ns) {
        kl_base_stat_add(&n->stats.calls_timed_out, 1);
        request_end(n, call,
                    call->correlation_id || call->is_unsure ? KL_EUNKNOWN
                                                            : KL_ETIMEDOUT);
        return 1;
    }
    if (n->now_ns < call->due_ns)
        return 0;
    if (call->correlation_id) {
        kl_base_stat_add(&n->stats.calls_timed_out, 1);
        request_again(n, call, 0);
        return 1;
    }
    target = request_target(n, call);
    call->hint = -1;
    if (target < 0) {
        call->due_ns = n->now_ns + REQUEST_RETRY_NS;
        return 0;
    }
    request_send(n, call, target);
    return 1;
}

static void request_wake(struct kl_runtime_node *n)
{
    struct kl_runtime_requests *q = &n->requests;
    int64_t first = KL_RUNTIME_NEVER;

    for (struct kl_base_list *item = q->all.next; item != &q->all;
         item = item->next) {
        const struct kl_runtime_call *call = request_of(item);

        if (call->due_ns < first)
            first = call->due_ns;
        if (call->until_ns < first)
            first = call->until_ns;
    }
    kl_runtime_turn_at(n, &q->timer, first);
}

int kl_runtime_requests_step(struct kl_runtime_node *n)
{
    struct kl_runtime_requests *q = &n->requests;
    struct kl_base_list *item = q->all.next;
    int moved = 0;

    if (item == &q->all && kl_base_list_is_empty(&q->ended)) {
        kl_runtime_timer_cancel(n, &q->timer); /* all are answered */
        return 0;
    }
    while (item != &q->all) {
        struct kl_runtime_call *call = request_of(item);

        item = item->next;
        moved |= request_step(n, call);
    }
    moved |= request_tell(n);
    request_wake(n);
    return moved;
}

/* ---- the door ------------------------------------------------------------ */

void kl_runtime_call(struct kl_runtime_node *n, struct kl_runtime_call *call)
{
    call->correlation_id = 0;
    call->hint = -1;
    call->is_unsure = 0;
    call->code = 0;
    call->due_ns = n->now_ns;
    kl_base_list_init(&call->link);
    kl_base_list_push(&n->requests.all, &call->link);
    request_wake(n);
}

void kl_runtime_call_cancel(struct kl_runtime_call *call)
{
    kl_base_list_remove(&call->link);
    call->correlation_id = 0;
}

void kl_runtime_requests_open(struct kl_runtime_node *n)
{
    n->requests.correlation_id =
        REQUEST_ID_FIRST + (int64_t)(kl_runtime_seed(n) >> 3);
}

void kl_runtime_requests_close(struct kl_runtime_node *n)
{
    struct kl_base_list *item;

    while ((item = kl_base_list_first(&n->requests.all))) {
        struct kl_runtime_call *call = request_of(item);

        request_end(n, call,
                    call->correlation_id || call->is_unsure ? KL_EUNKNOWN
                                                            : KL_ECLOSED);
    }
    (void)request_tell(n);
    kl_runtime_timer_cancel(n, &n->requests.timer);
}
