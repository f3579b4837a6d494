/*
 * Administration of the quorum: questions and wishes that its leader answers,
 * as messages, wherever it is.
 */
#include "runtime/state.h"

#include <string.h>

/* How long a change of the voters looks for a leader and waits for it. */
#define VOTERS_MS 30000
#define VOTERS_NS (VOTERS_MS * INT64_C(1000000))
/* Versions of the quorum that a voter may speak; it says itself which. */
#define VOTERS_VERSION 1

static struct kl_runtime_command *voters_of(struct kl_runtime_call *call)
{
    return KL_BASE_CONTAINER(call, struct kl_runtime_command, call);
}

/* ---- what is asked ------------------------------------------------------- */

/* The endpoints of a broker as a message has them. */
static int voters_endpoints(const struct kl_controller_broker *b,
                            struct kl_base_buf *out,
                            struct kl_wire_texts *texts_out)
{
    for (int i = 0; i < b->endpoint_count; i++) {
        size_t size = strlen(b->endpoints[i]);

        kl_base_buf_put_le16(out, (uint16_t)size);
        kl_base_buf_append(out, b->endpoints[i], size);
    }
    texts_out->data = out->data;
    texts_out->size = (uint32_t)out->size;
    texts_out->count = b->endpoint_count;
    return out->error;
}

static int voters_send_add(struct kl_runtime_node *n,
                           const struct kl_runtime_command *c,
                           struct kl_wire_message *m)
{
    struct kl_wire_add_raft_voter_request *q = &m->add_raft_voter_request;
    const struct kl_controller_broker *b =
        kl_controller_broker_find(n->metadata.controller, c->wish.broker_id);
    struct kl_base_buf endpoints;
    int r;

    if (!b)
        return KL_EAGAIN; /* it went meanwhile, and may come back */
    kl_base_buf_init(&endpoints, &n->alloc);
    r = voters_endpoints(b, &endpoints, &q->endpoints);
    q->node_id = b->id;
    q->directory_id = b->directory_id;
    q->version_max = VOTERS_VERSION;
    q->voters_offset = -1;
    q->timeout_ms = VOTERS_MS;
    q->force = (int8_t)c->wish.is_forced;
    if (!r)
        r = kl_runtime_links_ask(n, m);
    kl_base_buf_deinit(&endpoints);
    return r;
}

static int voters_send(struct kl_runtime_node *n, struct kl_runtime_call *call,
                       struct kl_wire_message *m)
{
    struct kl_wire_remove_raft_voter_request *q = &m->remove_raft_voter_request;
    const struct kl_runtime_command *c = voters_of(call);

    if (c->wish.type == KL_RUNTIME_ADD_VOTER)
        return voters_send_add(n, c, m);
    if (c->wish.type == KL_RUNTIME_REMOVE_VOTER) {
        q->node_id = c->wish.broker_id;
        q->directory_id = c->outcome.topic_id;
        q->voters_offset = -1;
        q->timeout_ms = VOTERS_MS;
        q->force = (int8_t)c->wish.is_forced;
    } else {
        m->describe_quorum_request.include_observers = 1;
    }
    return kl_runtime_links_ask(n, m);
}

/* ---- what is answered ---------------------------------------------------- */

static void voters_done(struct kl_runtime_node *n, struct kl_runtime_call *call,
                        int code, const struct kl_wire_message *response)
{
    struct kl_runtime_command *c = voters_of(call);
    struct kl_base_error error = {0};
    struct kl_base_buf json;

    if (code == KL_ETIMEDOUT)
        (void)kl_base_error_set(&error, code,
                                "the quorum has no leader that can be reached");
    else if (code && response)
        (void)kl_base_error_set(&error, code, "node %d: %s",
                                (int)c->wish.broker_id,
                                kl_base_error_lookup(code)->text);
    if (!code && c->op && c->wish.type == KL_RUNTIME_DESCRIBE_QUORUM) {
        kl_base_buf_init(&json, &n->alloc);
        kl_runtime_describe_quorum(&response->describe_quorum_response, &json);
        code = kl_runtime_op_take_json(c->op, &json);
    }
    kl_runtime_command_finish(n, c, code, &error);
}

/* Who is meant, as far as it is known here. */
static int voters_check(struct kl_runtime_node *n, struct kl_runtime_command *c,
                        struct kl_base_error *error)
{
    int32_t id = c->wish.broker_id;
    struct kl_raft_view view = {0};

    if (c->wish.type == KL_RUNTIME_ADD_VOTER &&
        !kl_controller_broker_find(n->metadata.controller, id))
        return kl_base_error_set(error, KL_ENOBROKER,
                                 "node %d is not registered", (int)id);
    if (c->wish.type != KL_RUNTIME_REMOVE_VOTER)
        return 0;
    if (n->quorum.raft)
        kl_raft_view(n->quorum.raft, &view);
    for (uint32_t i = 0; i < view.voters.voters.count; i++) {
        if (view.voters.voters.items[i].node_id != id)
            continue;
        c->outcome.topic_id = view.voters.voters.items[i].directory_id;
        return 0;
    }
    return kl_base_error_set(error, KL_ENOVOTER, "node %d is no voter",
                             (int)id);
}

void kl_runtime_voters_ask(struct kl_runtime_node *n,
                           struct kl_runtime_command *c)
{
    struct kl_base_error error = {0};
    int r = voters_check(n, c, &error);

    if (r) {
        kl_runtime_command_finish(n, c, r, &error);
        return;
    }
    c->call = (struct kl_runtime_call){
        .api_key = c->wish.type == KL_RUNTIME_ADD_VOTER ? KL_WIRE_ADD_RAFT_VOTER
                   : c->wish.type == KL_RUNTIME_REMOVE_VOTER
                       ? KL_WIRE_REMOVE_RAFT_VOTER
                       : KL_WIRE_DESCRIBE_QUORUM,
        .node_id = -1,
        .may_repeat = c->wish.type == KL_RUNTIME_DESCRIBE_QUORUM,
        .until_ns = n->now_ns + VOTERS_NS,
        .send = voters_send,
        .done = voters_done};
    kl_runtime_call(n, &c->call);
}
