/*
 * Registration of a broker and its end: KIP-631, KIP-866 for the directory,
 * KIP-966 for what a restart without an orderly stop costs; protocol 1.12 and
 * 0.2.
 */
#include "controller/state.h"

static int register_check_identity(const struct kl_controller *c,
                                   const struct kl_controller_registration *r,
                                   struct kl_base_error *e)
{
    if (!kl_base_uuid_equal(&r->cluster_id, &c->options.cluster_id))
        return kl_base_error_set(e, KL_EFOREIGN,
                                 "broker %ld belongs to another cluster",
                                 (long)r->broker_id);
    for (size_t i = 0; i < c->broker_count; i++)
        if (c->brokers[i]->id != r->broker_id &&
            kl_base_uuid_equal(&c->brokers[i]->directory_id, &r->directory_id))
            return kl_base_error_set(
                e, KL_EFOREIGN, "broker %ld has the folder of broker %ld",
                (long)r->broker_id, (long)c->brokers[i]->id);
    if (c->feature_level < r->feature_min || c->feature_level > r->feature_max)
        return kl_base_error_set(
            e, KL_EUNSUPPORTED,
            "broker %ld knows feature levels %d to %d, the cluster has %d",
            (long)r->broker_id, (int)r->feature_min, (int)r->feature_max,
            (int)c->feature_level);
    return kl_controller_listed_check(r->damaged, r->damaged_count, e);
}

/* The first registration wins while its session lives (KAFKA: two nodes of one
 * id, usually a copied folder). */
static int register_check_alive(const struct kl_controller *c, size_t index,
                                struct kl_base_error *e)
{
    const struct kl_controller_broker *b = c->brokers[index];

    if (b->flags || kl_controller_session_is_over(c, index))
        return 0;
    return kl_base_error_set(e, KL_EDUPLICATENODE,
                             "broker %ld is registered and alive", (long)b->id);
}

/* The folder's last session is the one that is known here. */
static int register_is_next(const struct kl_controller_registration *r,
                            const struct kl_controller_broker *old)
{
    if (!old)
        return r->previous_epoch == -1;
    return r->previous_epoch == old->epoch ||
           kl_base_uuid_equal(&r->previous_incarnation, &old->incarnation_id);
}

/* What the broker's records are worth. old NULL: it was never registered. */
static enum kl_controller_loss
register_loss(const struct kl_controller_registration *r,
              const struct kl_controller_broker *old, int64_t metadata_offset)
{
    if (old && !kl_base_uuid_equal(&old->directory_id, &r->directory_id))
        return KL_CONTROLLER_LOSS_WIPED;
    /* Another life of the folder, or one that went back in time: a copy. */
    if (!register_is_next(r, old) || r->metadata_leo < metadata_offset)
        return KL_CONTROLLER_LOSS_ALL;
    return r->recovery == KL_CONTROLLER_CLEAN ? KL_CONTROLLER_LOSS_NONE
                                              : KL_CONTROLLER_LOSS_SOME;
}

/* The broker's own record: fenced, with the offset of this record as epoch. */
static int register_record(const struct kl_controller_registration *r,
                           int64_t broker_epoch, struct kl_wire_record *out,
                           uint8_t scratch[KL_CONTROLLER_ENDPOINTS_BYTES],
                           struct kl_base_error *e)
{
    struct kl_wire_register_broker_record *b = &out->register_broker;

    out->type = KL_WIRE_REGISTER_BROKER_RECORD;
    b->broker_id = r->broker_id;
    b->broker_epoch = broker_epoch;
    b->incarnation_id = r->incarnation_id;
    b->directory_id = r->directory_id;
    b->feature_min = r->feature_min;
    b->feature_max = r->feature_max;
    b->batch_bytes_max = r->batch_bytes_max;
    b->rack = kl_controller_text(r->rack ? r->rack : "");
    b->flags = KL_WIRE_BROKER_FENCED;
    if (kl_controller_endpoints(r->endpoints, r->endpoint_count, scratch,
                                &b->endpoints))
        return kl_base_error_set(e, KL_EINVAL, "broker %ld: endpoints",
                                 (long)r->broker_id);
    return 0;
}

/* The partitions, and the broker's record in the last batch. */
static int register_records(struct kl_controller *c,
                            const struct kl_controller_registration *r,
                            enum kl_controller_loss loss, int64_t base_offset,
                            struct kl_controller_records *out,
                            int64_t *broker_epoch, int *more,
                            struct kl_base_error *e)
{
    struct kl_controller_sweep s = {.view = {c, r->broker_id, 0},
                                    .leaves_isr = 1,
                                    .loss = loss,
                                    .listed = r->damaged,
                                    .listed_count = r->damaged_count};
    uint8_t scratch[KL_CONTROLLER_ENDPOINTS_BYTES];
    struct kl_wire_record record = {0};
    int rc = register_record(r, base_offset, &record, scratch, e);

    if (rc)
        return rc;
    rc = kl_controller_sweep(&s, kl_controller_records_room(&record), out, more,
                             e);
    if (rc || *more)
        return rc;
    record.register_broker.broker_epoch = base_offset + (int64_t)out->count;
    rc = kl_controller_records_add(out, &record, c->options.batch_bytes_max, e);
    if (rc == 0)
        *broker_epoch = record.register_broker.broker_epoch;
    return rc;
}

int kl_controller_register_broker(
    struct kl_controller *c,
    const struct kl_controller_registration *registration, int64_t base_offset,
    int64_t now_ns, struct kl_controller_records *out, int64_t *broker_epoch,
    int *more, struct kl_base_error *e)
{
    const struct kl_controller_registration *r = registration;
    const struct kl_controller_broker *old;
    int found, rc = kl_controller_command_begin(c, out, e);
    size_t i = kl_controller_broker_search(c, r->broker_id, &found);

    *more = 0;
    if (rc == 0)
        rc = kl_controller_time(c, now_ns, e);
    if (rc == 0)
        rc = register_check_identity(c, r, e);
    if (rc)
        return rc;
    old = found ? c->brokers[i] : NULL;
    if (old && kl_base_uuid_equal(&old->incarnation_id, &r->incarnation_id)) {
        *broker_epoch = old->epoch;
        return 0;
    }
    if (old && old->epoch >= base_offset)
        return kl_base_error_set(e, KL_EINVAL,
                                 "broker %ld: offset %lld is not above its "
                                 "epoch, %lld",
                                 (long)old->id, (long long)base_offset,
                                 (long long)old->epoch);
    if (old)
        rc = register_check_alive(c, i, e);
    if (rc)
        return rc;
    return register_records(
        c, r, register_loss(r, old, old ? c->sessions[i].metadata_offset : -1),
        base_offset, out, broker_epoch, more, e);
}

/* One log with damage: 0, 1 where the batch is full, or a code. */
static int register_damage(const struct kl_controller_view *view,
                           const struct kl_controller_log_id *damaged,
                           struct kl_controller_records *out,
                           struct kl_base_error *e)
{
    const struct kl_controller *c = view->c;
    const struct kl_controller_topic *t =
        kl_controller_topic_find_id(c, &damaged->topic_id);
    const struct kl_controller_partition *p =
        t ? kl_controller_partition_at(t, damaged->partition) : NULL;
    struct kl_controller_context context = {.view = *view, .wanted = -1};
    struct kl_controller_change x;

    if (!p || p->counts[KL_CONTROLLER_REPLICAS] == 1)
        return 0;
    kl_controller_change_load(&x, p);
    x.lost = kl_controller_change_bit(&x, view->broker_id);
    if (!x.lost)
        return 0;
    x.isr &= ~x.lost;
    x.forced = 1;
    context.rules = kl_controller_topic_rules(t);
    (void)kl_controller_change_finish(&x, p, &context);
    return kl_controller_change_try(&x, &t->id, damaged->partition, out,
                                    c->options.batch_bytes_max, e);
}

int kl_controller_report_damage(struct kl_controller *c, int32_t broker_id,
                                int64_t broker_epoch,
                                const struct kl_controller_log_id *damaged,
                                size_t damaged_count, size_t *done,
                                struct kl_controller_records *out,
                                struct kl_base_error *e)
{
    struct kl_controller_view view = {c, broker_id, 0};
    size_t index;
    int rc = kl_controller_command_begin(c, out, e);

    if (rc == 0)
        rc = kl_controller_broker_check(c, broker_id, broker_epoch, &index, e);
    if (rc == 0)
        rc = kl_controller_listed_check(damaged, damaged_count, e);
    if (rc == 0)
        view.active = kl_controller_broker_is_active(c->brokers[index]);
    for (*done = 0; rc == 0 && *done < damaged_count; *done += rc == 0)
        rc = register_damage(&view, &damaged[*done], out, e);
    return rc == 1 ? 0 : rc;
}

int kl_controller_unregister_broker(struct kl_controller *c, int32_t broker_id,
                                    struct kl_controller_records *out,
                                    int *more, struct kl_base_error *e)
{
    struct kl_controller_sweep s = {.view = {c, broker_id, 0},
                                    .leaves_isr = 1,
                                    .loss = KL_CONTROLLER_LOSS_WIPED};
    struct kl_wire_record r = {.type = KL_WIRE_UNREGISTER_BROKER_RECORD};
    const struct kl_controller_broker *b;
    int rc = kl_controller_command_begin(c, out, e);

    *more = 0;
    if (rc)
        return rc;
    b = kl_controller_broker_find(c, broker_id);
    if (!b)
        return kl_base_error_set(
            e, KL_ENOBROKER, "broker %ld is not registered", (long)broker_id);
    if (!(b->flags & KL_WIRE_BROKER_FENCED))
        return kl_base_error_set(e, KL_ESTATE,
                                 "broker %ld is not fenced: stop it first",
                                 (long)broker_id);
    r.unregister_broker.broker_id = b->id;
    r.unregister_broker.broker_epoch = b->epoch;
    return kl_controller_sweep_and(&s, &r, out, more, e);
}
