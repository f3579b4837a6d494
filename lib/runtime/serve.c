/*
 * What this node is asked for as the active controller: the request waits in
 * the queue of commands like those that are made here, and is answered when its
 * records are applied. Where this node is not the active controller, the answer
 * is that, and who is.
 */
#include "runtime/state.h"

#include <string.h>

/* Requests that wait at most; whoever is turned away asks again. */
#define SERVE_MAX 4096

/* ---- answers ------------------------------------------------------------- */

/* The text of an error as a message may hold it. */
static struct kl_wire_text serve_text(const struct kl_base_error *error,
                                      char out[KL_BASE_ERROR_TEXT])
{
    struct kl_wire_text text = {out, 0};

    if (!error || !error->code)
        return text;
    while (error->text[text.size] && text.size < KL_WIRE_ERROR_TEXT_MAX) {
        char c = error->text[text.size];

        out[text.size++] = c >= ' ' && c <= '~' ? c : '?';
    }
    return text;
}

/* Without what the kinds have besides. */
static void serve_head(struct kl_runtime_node *n,
                       const struct kl_wire_envelope *request, int code,
                       struct kl_wire_message *m)
{
    const struct kl_store_identity *id = kl_store_identity(n->store);
    /* All responses begin with these. */
    struct kl_wire_begin_quorum_epoch_response *head =
        &m->begin_quorum_epoch_response;
    struct kl_raft_view view;

    memset(m, 0, sizeof *m);
    m->envelope.api_key = request->api_key;
    m->envelope.is_response = 1;
    m->envelope.correlation_id = request->correlation_id;
    m->envelope.cluster_id = id->cluster_id;
    m->envelope.source_id = n->id;
    m->envelope.source_directory = id->directory_id;
    m->envelope.source_session = n->links.session_id;
    m->envelope.destination_id = request->source_id;
    m->envelope.destination_directory = request->source_directory;
    kl_raft_view(n->quorum.raft, &view);
    head->error_code = (int16_t)kl_wire_error_of(code);
    head->leader_id = view.leader_id;
    head->leader_epoch = view.epoch;
    head->leader_endpoints = view.leader_endpoints;
    m->unregister_broker_response.metadata_offset = -1;
    if (request->api_key == KL_WIRE_BROKER_REGISTRATION)
        m->broker_registration_response.broker_epoch = -1;
    if (request->api_key == KL_WIRE_ALLOCATE_PRODUCER_IDS)
        m->allocate_producer_ids_response.first_producer_id = -1;
}

static void serve_refuse(struct kl_runtime_node *n,
                         const struct kl_wire_envelope *request, int code,
                         const struct kl_base_error *error)
{
    struct kl_wire_message *m = &n->requests.message;
    char text[KL_BASE_ERROR_TEXT];

    serve_head(n, request, code, m);
    m->unregister_broker_response.error_message = serve_text(error, text);
    if (code == KL_ENOTCONTROLLER)
        kl_base_stat_add(&n->stats.served_not_controller, 1);
    (void)kl_runtime_links_send(n, m, &request->source_session);
}

/* ---- registration -------------------------------------------------------- */

/* Texts with terminators; the pointers into them. */
struct serve_endpoints
{
    char texts[KL_WIRE_ENDPOINTS_MAX][KL_WIRE_TEXTS_ITEM_MAX + 1];
    const char *items[KL_WIRE_ENDPOINTS_MAX];
    size_t count;
};

static void serve_endpoints(const struct kl_wire_texts *texts,
                            struct serve_endpoints *out)
{
    struct kl_wire_text text;
    uint32_t pos = 0;

    out->count = 0;
    while (kl_wire_texts_next(texts, &pos, &text)) {
        memcpy(out->texts[out->count], text.data, text.size);
        out->texts[out->count][text.size] = '\0';
        out->items[out->count] = out->texts[out->count];
        out->count++;
    }
}

static int serve_damaged(struct kl_runtime_node *n,
                         const struct kl_wire_log_id_list *list,
                         struct kl_controller_log_id **out)
{
    *out = kl_base_malloc(&n->alloc, list->count * sizeof **out);
    if (list->count && !*out)
        return KL_ENOMEM;
    for (uint32_t i = 0; i < list->count; i++) {
        (*out)[i].topic_id = list->items[i].topic_id;
        (*out)[i].partition = list->items[i].partition;
    }
    return 0;
}

/* A folder has one process. Where a new start of it asks, and the one before is
 * not connected any more, that one is dead, or has lost more than the session
 * that it would wait for. */
static void serve_succeed(struct kl_runtime_node *n,
                          const struct kl_controller_registration *r)
{
    struct kl_controller *c = n->metadata.controller;
    const struct kl_controller_broker *old =
        kl_controller_broker_find(c, r->broker_id);

    if (old && kl_base_uuid_equal(&old->directory_id, &r->directory_id) &&
        !kl_base_uuid_equal(&old->incarnation_id, &r->incarnation_id) &&
        !kl_runtime_links_has_session(n, &old->incarnation_id))
        kl_controller_contact_lost(c, old->id, old->epoch);
}

static int serve_register(struct kl_runtime_node *n,
                          struct kl_runtime_command *c,
                          const struct kl_wire_message *m,
                          struct kl_controller_records *out,
                          struct kl_base_error *error)
{
    const struct kl_wire_broker_registration_request *q =
        &m->broker_registration_request;
    struct kl_controller_registration r = {
        .broker_id = m->envelope.source_id,
        .cluster_id = m->envelope.cluster_id,
        /* A process has one session. */
        .incarnation_id = m->envelope.source_session,
        .directory_id = m->envelope.source_directory,
        .previous_epoch = q->previous_epoch,
        .previous_incarnation = q->previous_incarnation,
        .recovery = (enum kl_controller_recovery)q->recovery,
        .damaged_count = q->damaged.count,
        .metadata_leo = q->metadata_offset,
        .feature_min = q->feature_min,
        .feature_max = q->feature_max,
        .batch_bytes_max = q->batch_bytes_max};
    struct kl_controller_log_id *damaged;
    struct serve_endpoints endpoints;
    char rack[KL_WIRE_RACK_MAX + 1];
    int rc = serve_damaged(n, &q->damaged, &damaged);

    if (rc)
        return rc;
    serve_endpoints(&q->endpoints, &endpoints);
    memcpy(rack, q->rack.data, q->rack.size);
    rack[q->rack.size] = '\0';
    r.damaged = damaged;
    r.rack = rack;
    r.endpoints = endpoints.items;
    r.endpoint_count = endpoints.count;
    serve_succeed(n, &r);
    rc = kl_controller_register_broker(
        n->metadata.controller, &r, n->metadata.base_offset, n->now_ns, out,
        &c->outcome.broker_epoch, &c->outcome.more, error);
    kl_base_free(&n->alloc, damaged, q->damaged.count * sizeof *damaged);
    return rc;
}

static int serve_heartbeat(struct kl_runtime_node *n,
                           struct kl_runtime_command *c,
                           const struct kl_wire_message *m,
                           struct kl_controller_records *out,
                           struct kl_base_error *error)
{
    const struct kl_wire_broker_heartbeat_request *q =
        &m->broker_heartbeat_request;
    struct kl_controller_heartbeat h = {.broker_id = m->envelope.source_id,
                                        .broker_epoch = q->broker_epoch,
                                        .metadata_offset = q->metadata_offset,
                                        .want_fence = q->want_fence,
                                        .want_shutdown = q->want_shutdown};

    return kl_controller_heartbeat(
        n->metadata.controller, &h, n->metadata.base_offset, n->now_ns, out,
        &c->outcome.heartbeat, &c->outcome.more, error);
}

/* ---- proposals of leaders ------------------------------------------------ */

/* Proposals and their members, and what they lie in. */
struct serve_proposals
{
    struct kl_controller_alter_partition *items;
    struct kl_controller_isr_member *members;
    size_t count;
    size_t member_count;
};

static void serve_proposals_free(struct kl_runtime_node *n,
                                 struct serve_proposals *p)
{
    kl_base_free(&n->alloc, p->items, p->count * sizeof *p->items);
    kl_base_free(&n->alloc, p->members, p->member_count * sizeof *p->members);
}

static int serve_proposals(struct kl_runtime_node *n,
                           const struct kl_wire_proposed_partition_list *list,
                           struct serve_proposals *out)
{
    size_t at = 0;

    out->count = list->count;
    out->member_count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        out->member_count += list->items[i].new_isr.count;
    out->items = kl_base_malloc(&n->alloc, out->count * sizeof *out->items);
    out->members =
        kl_base_malloc(&n->alloc, out->member_count * sizeof *out->members);
    if (!out->items || !out->members) {
        serve_proposals_free(n, out);
        return KL_ENOMEM;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        const struct kl_wire_proposed_partition *p = &list->items[i];

        out->items[i] = (struct kl_controller_alter_partition){
            .topic_id = p->topic_id,
            .partition = p->partition,
            .leader_epoch = p->leader_epoch,
            .partition_epoch = p->partition_epoch,
            .isr = out->members + at,
            .isr_count = p->new_isr.count,
            .recovering = p->recovering};
        for (uint32_t j = 0; j < p->new_isr.count; j++, at++)
            out->members[at] = (struct kl_controller_isr_member){
                .broker_id = p->new_isr.items[j].broker_id,
                .broker_epoch = p->new_isr.items[j].broker_epoch};
    }
    return 0;
}

static int serve_alter_partition(struct kl_runtime_node *n,
                                 struct kl_runtime_command *c,
                                 const struct kl_wire_message *m,
                                 struct kl_controller_records *out,
                                 struct kl_base_error *error)
{
    const struct kl_wire_alter_partition_request *q =
        &m->alter_partition_request;
    struct serve_proposals proposals;
    int rc;

    if (!c->outcome.codes) {
        c->outcome.codes =
            kl_base_calloc(&n->alloc, q->partitions.count * sizeof(int));
        if (!c->outcome.codes)
            return KL_ENOMEM;
        c->outcome.code_count = q->partitions.count;
    }
    rc = serve_proposals(n, &q->partitions, &proposals);
    if (rc)
        return rc;
    rc = kl_controller_alter_partitions(
        n->metadata.controller, m->envelope.source_id, q->broker_epoch,
        proposals.items, proposals.count, c->outcome.codes, out, error);
    serve_proposals_free(n, &proposals);
    return rc;
}

/* ---- records ------------------------------------------------------------- */

/* The request again, as it came. */
static int serve_decode(struct kl_runtime_node *n,
                        const struct kl_runtime_command *c,
                        struct kl_wire_message *out)
{
    const struct kl_runtime_parcel *p = c->asker.parcel;
    int rc =
        kl_wire_message_decode(out, p->data, p->size, &n->links.lists, NULL);

    KL_ASSERT(rc == 0 || rc == KL_ENOMEM);
    return rc;
}

int kl_runtime_serve_records(struct kl_runtime_node *n,
                             struct kl_runtime_command *c,
                             struct kl_controller_records *out,
                             struct kl_base_error *error)
{
    struct kl_wire_message *m = &n->links.message;
    int rc = serve_decode(n, c, m);

    if (rc)
        return rc;
    switch (m->envelope.api_key) {
    case KL_WIRE_BROKER_REGISTRATION:
        return serve_register(n, c, m, out, error);
    case KL_WIRE_BROKER_HEARTBEAT:
        return serve_heartbeat(n, c, m, out, error);
    case KL_WIRE_ALTER_PARTITION:
        return serve_alter_partition(n, c, m, out, error);
    case KL_WIRE_UNREGISTER_BROKER:
        return kl_controller_unregister_broker(
            n->metadata.controller, m->unregister_broker_request.broker_id, out,
            &c->outcome.more, error);
    case KL_WIRE_ALLOCATE_PRODUCER_IDS:
        return kl_controller_allocate_producer_ids(
            n->metadata.controller, m->envelope.source_id,
            m->allocate_producer_ids_request.broker_epoch, out,
            &c->outcome.first_producer_id, error);
    default:
        KL_UNREACHABLE();
    }
}

/* ---- what became of it --------------------------------------------------- */

/* The bytes of the ISRs behind one another, as the fields of a message point
 * at them. */
static int serve_isr_bytes(const struct kl_controller_partition *p,
                           struct kl_base_buf *bytes, struct kl_wire_i32s *out)
{
    size_t count;
    const int32_t *ids =
        kl_controller_partition_list(p, KL_CONTROLLER_ISR, &count);

    for (size_t i = 0; i < count; i++)
        kl_base_buf_put_le32(bytes, (uint32_t)ids[i]);
    out->count = (uint32_t)count;
    return bytes->error;
}

static int serve_altered(struct kl_runtime_node *n,
                         const struct kl_wire_proposed_partition *asked,
                         int code, struct kl_base_buf *bytes,
                         struct kl_wire_altered_partition *out)
{
    const struct kl_controller_topic *t =
        kl_controller_topic_find_id(n->metadata.controller, &asked->topic_id);
    const struct kl_controller_partition *p =
        t ? kl_controller_partition_at(t, asked->partition) : NULL;

    *out = (struct kl_wire_altered_partition){
        .topic_id = asked->topic_id,
        .partition = asked->partition,
        .error_code = (int16_t)kl_wire_error_of(p || code ? code : KL_ENOTOPIC),
        .leader_id = -1,
        .leader_epoch = -1,
        .partition_epoch = -1};
    if (!p)
        return 0;
    out->leader_id = p->leader;
    out->leader_epoch = p->leader_epoch;
    out->partition_epoch = p->partition_epoch;
    out->min_isr = kl_controller_partition_min_isr(t, p);
    out->recovering = (p->flags & KL_WIRE_PARTITION_RECOVERING) != 0;
    return serve_isr_bytes(p, bytes, &out->isr);
}

/* Sends the response with its partitions; they live until this returns. */
static void serve_answer_altered(struct kl_runtime_node *n,
                                 const struct kl_runtime_command *c,
                                 struct kl_wire_message *m)
{
    size_t count = c->outcome.code_count;
    struct kl_wire_altered_partition *items =
        kl_base_malloc(&n->alloc, count * sizeof *items);
    struct kl_wire_message *request = &n->links.message;
    struct kl_base_buf bytes;
    size_t at = 0;
    int rc = items ? serve_decode(n, c, request) : KL_ENOMEM;

    kl_base_buf_init(&bytes, &n->alloc);
    for (size_t i = 0; !rc && i < count; i++)
        rc = serve_altered(
            n, &request->alter_partition_request.partitions.items[i],
            c->outcome.codes[i], &bytes, &items[i]);
    for (size_t i = 0; !rc && i < count; i++) {
        items[i].isr.data = bytes.data + at;
        at += 4 * (size_t)items[i].isr.count;
    }
    m->alter_partition_response.partitions.items = items;
    m->alter_partition_response.partitions.count = (uint32_t)count;
    if (!rc)
        (void)kl_runtime_links_send(n, m, &c->asker.envelope.source_session);
    else
        kl_base_stat_add(&n->stats.messages_lost, 1);
    kl_base_buf_deinit(&bytes);
    kl_base_free(&n->alloc, items, count * sizeof *items);
}

static void serve_answer_done(struct kl_runtime_node *n,
                              const struct kl_runtime_command *c)
{
    const struct kl_runtime_outcome *o = &c->outcome;
    const struct kl_wire_envelope *request = &c->asker.envelope;
    struct kl_wire_message *m = &n->requests.message;

    serve_head(n, request, 0, m);
    m->unregister_broker_response.metadata_offset = n->metadata.applied;
    switch (request->api_key) {
    case KL_WIRE_BROKER_REGISTRATION:
        m->broker_registration_response.broker_epoch = o->broker_epoch;
        break;
    case KL_WIRE_BROKER_HEARTBEAT:
        m->broker_heartbeat_response.is_caught_up =
            o->heartbeat.is_caught_up != 0;
        m->broker_heartbeat_response.is_fenced = o->heartbeat.is_fenced != 0;
        m->broker_heartbeat_response.should_shutdown =
            o->heartbeat.should_shutdown != 0;
        break;
    case KL_WIRE_ALLOCATE_PRODUCER_IDS:
        m->allocate_producer_ids_response.first_producer_id =
            o->first_producer_id;
        m->allocate_producer_ids_response.count = KL_CONTROLLER_PRODUCER_IDS;
        break;
    case KL_WIRE_CREATE_TOPICS:
        m->create_topics_response.topic_id = o->topic_id;
        break;
    case KL_WIRE_ALTER_PARTITION:
        serve_answer_altered(n, c, m);
        return;
    default:
        break;
    }
    (void)kl_runtime_links_send(n, m, &request->source_session);
}

void kl_runtime_serve_answer(struct kl_runtime_node *n,
                             struct kl_runtime_command *c, int code,
                             const struct kl_base_error *error)
{
    if (code)
        serve_refuse(n, &c->asker.envelope, code, error);
    else
        serve_answer_done(n, c);
    if (c->asker.parcel)
        kl_runtime_parcel_free(n, c->asker.parcel);
    kl_base_free(&n->alloc, c->outcome.codes,
                 c->outcome.code_count * sizeof(int));
    n->metadata.served_count--;
}

/* ---- the door ------------------------------------------------------------ */

/* Requests that only a broker makes; they say nothing without who it is. */
static int serve_is_of_broker(const struct kl_wire_message *m)
{
    switch (m->envelope.api_key) {
    case KL_WIRE_BROKER_REGISTRATION:
    case KL_WIRE_BROKER_HEARTBEAT:
    case KL_WIRE_ALTER_PARTITION:
    case KL_WIRE_ALLOCATE_PRODUCER_IDS:
        return 1;
    default:
        return 0;
    }
}

/* A session must not end while its heartbeat is in a queue. */
static void serve_contact(struct kl_runtime_node *n,
                          const struct kl_wire_message *m)
{
    int64_t epoch = -1;

    if (m->envelope.api_key == KL_WIRE_BROKER_HEARTBEAT)
        epoch = m->broker_heartbeat_request.broker_epoch;
    else if (m->envelope.api_key == KL_WIRE_ALTER_PARTITION)
        epoch = m->alter_partition_request.broker_epoch;
    if (epoch >= 0)
        kl_controller_contact(n->metadata.controller, m->envelope.source_id,
                              epoch, n->now_ns);
}

static int serve_command(struct kl_runtime_node *n,
                         const struct kl_wire_message *m, const void *data,
                         size_t size, struct kl_runtime_command **out,
                         struct kl_base_error *error)
{
    struct kl_runtime_wish wish = {.type = KL_RUNTIME_SERVE};
    int rc = kl_runtime_forward_wish(n, m, out, error);

    if (rc != KL_EUNSUPPORTED)
        return rc;
    rc = kl_runtime_command_new(n, &wish, out);
    if (rc)
        return rc;
    (*out)->asker.parcel = kl_runtime_parcel_new(n, data, size);
    if ((*out)->asker.parcel)
        return 0;
    kl_runtime_command_free(n, *out);
    return KL_ENOMEM;
}

void kl_runtime_serve(struct kl_runtime_node *n,
                      const struct kl_wire_message *m, const void *data,
                      size_t size)
{
    const struct kl_wire_envelope *v = &m->envelope;
    struct kl_base_error error = {0};
    struct kl_runtime_command *c;
    int rc = 0;

    if (!n->quorum.raft)
        return; /* it does not know who may be the controller */
    kl_base_stat_add(&n->stats.served, 1);
    if (!n->metadata.is_leading || n->refusing)
        rc = KL_ENOTCONTROLLER;
    else if (serve_is_of_broker(m) &&
             (v->source_id < 0 || kl_base_uuid_is_zero(&v->source_directory)))
        rc = kl_base_error_set(&error, KL_EINVAL, "a client is no broker");
    if (!rc) {
        serve_contact(n, m);
        rc = n->metadata.served_count < SERVE_MAX
                 ? serve_command(n, m, data, size, &c, &error)
                 : KL_EAGAIN;
    }
    if (rc) {
        serve_refuse(n, v, rc, &error);
        return;
    }
    c->asker.is_remote = 1;
    c->asker.envelope = *v;
    n->metadata.served_count++;
    kl_base_list_push(&n->metadata.commands, &c->link);
}
