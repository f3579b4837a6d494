/*
 * The list of effects, and messages with their envelope filled in.
 */
#include "raft/state.h"

#include <string.h>

void kl_raft_effects_init(struct kl_raft_effects *e,
                          const struct kl_base_alloc *a)
{
    memset(e, 0, sizeof *e);
    e->alloc = a;
}

void kl_raft_effects_deinit(struct kl_raft_effects *e)
{
    kl_base_free(e->alloc, e->items, e->capacity * sizeof *e->items);
    kl_raft_effects_init(e, e->alloc);
}

int kl_raft_effects_reserve(struct kl_raft_effects *e, size_t count)
{
    return kl_base_reserve(e->alloc, (void **)&e->items, &e->capacity, count,
                           sizeof *e->items);
}

struct kl_raft_effect *kl_raft_emit(struct kl_raft *r,
                                    enum kl_raft_effect_type type)
{
    struct kl_raft_effects *e = r->effects;
    struct kl_raft_effect *effect;

    KL_ASSERT(e->count < e->capacity);
    effect = &e->items[e->count++];
    memset(effect, 0, sizeof *effect);
    effect->type = type;
    return effect;
}

void kl_raft_complete(struct kl_raft *r, uint64_t token, int code,
                      int64_t offset)
{
    struct kl_raft_effect *effect = kl_raft_emit(r, KL_RAFT_COMPLETE);

    effect->complete.token = token;
    effect->complete.code = code;
    effect->complete.offset = offset;
}

/* No message leaves before the quorum state that it speaks of is durable. */
static struct kl_raft_effect *effects_send(struct kl_raft *r, int16_t api_key)
{
    struct kl_raft_effect *effect = kl_raft_emit(r, KL_RAFT_SEND);
    struct kl_wire_envelope *v = &effect->send.message.envelope;

    effect->send.after = r->persist_id > r->persisted_id ? r->persist_id : 0;
    v->api_key = api_key;
    v->cluster_id = r->options.cluster_id;
    v->source_id = r->options.self.node_id;
    v->source_directory = r->options.self.directory_id;
    v->source_session = r->options.session_id;
    return effect;
}

struct kl_raft_effect *kl_raft_request(struct kl_raft *r,
                                       const struct kl_wire_voter_key *to,
                                       enum kl_wire_api api)
{
    struct kl_raft_effect *effect = effects_send(r, (int16_t)api);
    struct kl_wire_envelope *v = &effect->send.message.envelope;

    v->correlation_id = ++r->correlation_id;
    v->destination_id = to->node_id;
    v->destination_directory = to->directory_id;
    return effect;
}

struct kl_wire_texts kl_raft_leader_endpoints(const struct kl_raft *r)
{
    struct kl_wire_texts none = {NULL, 0, 0};
    struct kl_wire_texts texts = {r->leader_endpoints, r->leader_endpoints_size,
                                  r->leader_endpoints_count};

    if (r->hard.leader_id == r->options.self.node_id)
        return r->options.endpoints;
    return r->hard.leader_id >= 0 ? texts : none;
}

struct kl_raft_effect *kl_raft_reply(struct kl_raft *r,
                                     const struct kl_wire_envelope *request,
                                     enum kl_wire_error error)
{
    struct kl_raft_effect *effect = effects_send(r, request->api_key);
    struct kl_wire_message *m = &effect->send.message;
    struct kl_wire_begin_quorum_epoch_response *head =
        &m->begin_quorum_epoch_response;

    effect->send.session_id = request->source_session;
    m->envelope.is_response = 1;
    m->envelope.correlation_id = request->correlation_id;
    m->envelope.destination_id = request->source_id;
    m->envelope.destination_directory = request->source_directory;
    /* All responses of the quorum begin with these. */
    head->error_code = (int16_t)error;
    head->leader_id = r->hard.leader_id;
    head->leader_epoch = r->hard.epoch;
    head->leader_endpoints = kl_raft_leader_endpoints(r);
    return effect;
}
