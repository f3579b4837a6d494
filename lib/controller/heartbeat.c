/*
 * The life of a registered broker: fenced, unfenced, in controlled shutdown,
 * gone (KIP-631, KIP-841; protocol 1.12, rules 3 and 4).
 */
#include "controller/state.h"

enum heartbeat_step {
    HEARTBEAT_STAYS,
    HEARTBEAT_UNFENCES,
    HEARTBEAT_FENCES,
    HEARTBEAT_SHUTS_DOWN, /* moves its leaders first */
    HEARTBEAT_ENDS        /* may stop now */
};

/* ---- records ----------------------------------------------------------- */

static struct kl_wire_record
heartbeat_record(const struct kl_controller_broker *b, int fenced, int shutdown)
{
    struct kl_wire_record r = {.type = KL_WIRE_BROKER_CHANGE_RECORD};

    r.broker_change.broker_id = b->id;
    r.broker_change.broker_epoch = b->epoch;
    r.broker_change.fenced = (int8_t)fenced;
    r.broker_change.shutdown = (int8_t)shutdown;
    return r;
}

/* The broker stops being active: it leaves ISRs and leads nothing, but stays
 * in ELRs (rule 1.9.2). */
static int heartbeat_passivate(const struct kl_controller *c, size_t index,
                               const struct kl_wire_record *last,
                               struct kl_controller_records *out, int *more,
                               struct kl_base_error *e)
{
    struct kl_controller_sweep s = {.view = {c, c->brokers[index]->id, 0},
                                    .leaves_isr = 1};

    return kl_controller_sweep_and(&s, last, out, more, e);
}

int kl_controller_fence(const struct kl_controller *c, size_t index,
                        struct kl_controller_records *out, int *more,
                        struct kl_base_error *e)
{
    struct kl_wire_record r =
        heartbeat_record(c->brokers[index], KL_WIRE_BROKER_FENCES, 0);

    return heartbeat_passivate(c, index, &r, out, more, e);
}

/* Elections that do not fit are the tick's. */
static int heartbeat_unfence(struct kl_controller *c, size_t index,
                             struct kl_controller_records *out,
                             struct kl_base_error *e)
{
    struct kl_controller_sweep s = {.view = {c, c->brokers[index]->id, 1},
                                    .elects = 1};
    struct kl_wire_record r =
        heartbeat_record(c->brokers[index], KL_WIRE_BROKER_UNFENCES, 0);
    int more, rc;

    rc = kl_controller_records_add(out, &r, c->options.batch_bytes_max, e);
    return rc ? rc : kl_controller_sweep(&s, 0, out, &more, e);
}

static int heartbeat_shut_down(struct kl_controller *c, size_t index,
                               int64_t base_offset,
                               struct kl_controller_records *out, int *more,
                               struct kl_base_error *e)
{
    struct kl_wire_record r =
        heartbeat_record(c->brokers[index], KL_WIRE_BROKER_STAYS, 1);
    int rc = heartbeat_passivate(c, index, &r, out, more, e);

    if (rc == 0)
        c->sessions[index].shutdown_offset = base_offset + (int64_t)out->count;
    return rc;
}

/* ---- what comes next --------------------------------------------------- */

static int heartbeat_leads(const struct kl_controller *c, int32_t broker_id)
{
    for (size_t i = 0; i < c->topic_count; i++)
        for (int32_t j = 0; j < c->topics[i]->partition_count; j++)
            if (c->topics[i]->partitions[j]->leader == broker_id)
                return 1;
    return 0;
}

/* Whether every other active broker knows that this one leads nothing. */
static int heartbeat_is_known(const struct kl_controller *c, size_t index)
{
    for (size_t i = 0; i < c->broker_count; i++)
        if (i != index && c->brokers[i]->flags == 0 &&
            c->sessions[i].metadata_offset < c->sessions[index].shutdown_offset)
            return 0;
    return 1;
}

static enum heartbeat_step
heartbeat_next(const struct kl_controller *c, size_t index,
               const struct kl_controller_heartbeat *h)
{
    const struct kl_controller_broker *b = c->brokers[index];

    if (b->flags & KL_WIRE_BROKER_FENCED) {
        if (h->want_shutdown)
            return HEARTBEAT_ENDS;
        /* After a shutdown it takes a new registration. */
        return !h->want_fence && b->flags == KL_WIRE_BROKER_FENCED &&
                       h->metadata_offset > b->epoch
                   ? HEARTBEAT_UNFENCES
                   : HEARTBEAT_STAYS;
    }
    if (b->flags & KL_WIRE_BROKER_SHUTDOWN)
        return heartbeat_is_known(c, index) ? HEARTBEAT_ENDS : HEARTBEAT_STAYS;
    if (h->want_shutdown)
        return !h->want_fence && heartbeat_leads(c, b->id)
                   ? HEARTBEAT_SHUTS_DOWN
                   : HEARTBEAT_ENDS;
    return h->want_fence ? HEARTBEAT_FENCES : HEARTBEAT_STAYS;
}

static int heartbeat_take(struct kl_controller *c, size_t index,
                          enum heartbeat_step step, int64_t base_offset,
                          struct kl_controller_records *out,
                          struct kl_controller_heartbeat_reply *reply,
                          int *more, struct kl_base_error *e)
{
    int fenced = reply->is_fenced, rc = 0;

    switch (step) {
    case HEARTBEAT_STAYS:
        break;
    case HEARTBEAT_UNFENCES:
        reply->is_fenced = 0;
        return heartbeat_unfence(c, index, out, e);
    case HEARTBEAT_SHUTS_DOWN:
        return heartbeat_shut_down(c, index, base_offset, out, more, e);
    case HEARTBEAT_FENCES:
    case HEARTBEAT_ENDS:
        if (!fenced)
            rc = kl_controller_fence(c, index, out, more, e);
        if (rc || *more)
            break;
        reply->is_fenced = 1;
        reply->should_shutdown = step == HEARTBEAT_ENDS;
        break;
    }
    return rc;
}

int kl_controller_heartbeat(struct kl_controller *c,
                            const struct kl_controller_heartbeat *heartbeat,
                            int64_t base_offset, int64_t now_ns,
                            struct kl_controller_records *out,
                            struct kl_controller_heartbeat_reply *reply,
                            int *more, struct kl_base_error *e)
{
    const struct kl_controller_heartbeat *h = heartbeat;
    struct kl_controller_session *session;
    size_t i;
    int rc = kl_controller_command_begin(c, out, e);

    *more = 0;
    if (rc == 0)
        rc = kl_controller_time(c, now_ns, e);
    if (rc == 0)
        rc =
            kl_controller_broker_check(c, h->broker_id, h->broker_epoch, &i, e);
    if (rc)
        return rc;
    session = &c->sessions[i];
    kl_controller_contact(c, h->broker_id, h->broker_epoch, now_ns);
    if (session->metadata_offset < h->metadata_offset)
        session->metadata_offset = h->metadata_offset;
    /* A shutdown that another controller began: known where the log ends. */
    if ((c->brokers[i]->flags & KL_WIRE_BROKER_SHUTDOWN) &&
        session->shutdown_offset < 0)
        session->shutdown_offset = base_offset;
    reply->is_caught_up = h->metadata_offset > h->broker_epoch;
    reply->is_fenced = (c->brokers[i]->flags & KL_WIRE_BROKER_FENCED) != 0;
    reply->should_shutdown = 0;
    return heartbeat_take(c, i, heartbeat_next(c, i, h), base_offset, out,
                          reply, more, e);
}
