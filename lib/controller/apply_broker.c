/*
 * Committed records about brokers change the image.
 */
#include "controller/state.h"

#include <string.h>

/* ---- RegisterBrokerRecord ---------------------------------------------- */

static int apply_register_check(const struct kl_controller *c,
                                const struct kl_wire_register_broker_record *r,
                                struct kl_base_error *e)
{
    for (size_t i = 0; i < c->broker_count; i++) {
        const struct kl_controller_broker *b = c->brokers[i];

        if (b->id == r->broker_id) {
            if (b->epoch >= r->broker_epoch)
                return kl_base_error_set(
                    e, KL_ECORRUPT,
                    "RegisterBrokerRecord: broker %ld: epoch %lld behind %lld",
                    (long)b->id, (long long)r->broker_epoch,
                    (long long)b->epoch);
        } else if (kl_base_uuid_equal(&b->directory_id, &r->directory_id)) {
            return kl_base_error_set(
                e, KL_ECORRUPT,
                "RegisterBrokerRecord: broker %ld has the directory of %ld",
                (long)r->broker_id, (long)b->id);
        }
    }
    return 0;
}

static void apply_register_insert(struct kl_controller *c, size_t i,
                                  struct kl_controller_broker *b)
{
    size_t behind = c->broker_count - i;

    memmove(&c->brokers[i + 1], &c->brokers[i], behind * sizeof *c->brokers);
    memmove(&c->sessions[i + 1], &c->sessions[i], behind * sizeof *c->sessions);
    c->brokers[i] = b;
    c->broker_count++;
}

int kl_controller_apply_register(struct kl_controller *c,
                                 const struct kl_wire_register_broker_record *r,
                                 struct kl_base_error *e)
{
    struct kl_controller_broker *b;
    int found, rc = apply_register_check(c, r, e);
    size_t i = kl_controller_broker_search(c, r->broker_id, &found);

    if (rc)
        return rc;
    if (kl_controller_delta_reserve(c) ||
        kl_base_reserve(c->alloc, (void **)&c->brokers, &c->broker_capacity,
                        c->broker_count + 1, sizeof *c->brokers) ||
        kl_base_reserve(c->alloc, (void **)&c->sessions, &c->session_capacity,
                        c->broker_count + 1, sizeof *c->sessions) ||
        (b = kl_controller_broker_new(c->alloc, r)) == NULL)
        return kl_controller_apply_no_memory(e);
    if (found) {
        kl_controller_broker_free(c->alloc, c->brokers[i]);
        c->brokers[i] = b;
    } else {
        apply_register_insert(c, i, b);
    }
    kl_controller_session_begin(c, i);
    kl_controller_delta_broker(c, r->broker_id);
    return 0;
}

/* ---- the others -------------------------------------------------------- */

/* The broker that a record names with its epoch. */
static int apply_broker_find(const struct kl_controller *c, const char *record,
                             int32_t id, int64_t epoch, size_t *index,
                             struct kl_base_error *e)
{
    if (kl_controller_broker_check(c, id, epoch, index, NULL))
        return kl_base_error_set(e, KL_ECORRUPT,
                                 "%s: no broker %ld of epoch %lld", record,
                                 (long)id, (long long)epoch);
    return 0;
}

int kl_controller_apply_unregister(
    struct kl_controller *c, const struct kl_wire_unregister_broker_record *r,
    struct kl_base_error *e)
{
    size_t i, behind;
    int rc = apply_broker_find(c, "UnregisterBrokerRecord", r->broker_id,
                               r->broker_epoch, &i, e);

    if (rc)
        return rc;
    if (kl_controller_delta_reserve(c))
        return kl_controller_apply_no_memory(e);
    kl_controller_broker_free(c->alloc, c->brokers[i]);
    behind = --c->broker_count - i;
    memmove(&c->brokers[i], &c->brokers[i + 1], behind * sizeof *c->brokers);
    memmove(&c->sessions[i], &c->sessions[i + 1], behind * sizeof *c->sessions);
    kl_controller_delta_broker(c, r->broker_id);
    return 0;
}

int kl_controller_apply_broker_change(
    struct kl_controller *c, const struct kl_wire_broker_change_record *r,
    struct kl_base_error *e)
{
    uint8_t flags;
    size_t i;
    int rc = apply_broker_find(c, "BrokerRegistrationChangeRecord",
                               r->broker_id, r->broker_epoch, &i, e);

    if (rc)
        return rc;
    flags = c->brokers[i]->flags;
    if (r->fenced == KL_WIRE_BROKER_FENCES)
        flags |= KL_WIRE_BROKER_FENCED;
    else if (r->fenced == KL_WIRE_BROKER_UNFENCES)
        flags &= (uint8_t)~KL_WIRE_BROKER_FENCED;
    if (r->shutdown)
        flags |= KL_WIRE_BROKER_SHUTDOWN;
    if (flags == c->brokers[i]->flags)
        return kl_base_error_set(
            e, KL_ECORRUPT,
            "BrokerRegistrationChangeRecord: broker %ld is so already",
            (long)r->broker_id);
    if (kl_controller_delta_reserve(c))
        return kl_controller_apply_no_memory(e);
    c->brokers[i]->flags = flags;
    if (flags == 0)
        c->elect_wanted = 1;
    kl_controller_delta_broker(c, r->broker_id);
    return 0;
}

int kl_controller_apply_producer_ids(
    struct kl_controller *c, const struct kl_wire_producer_ids_record *r,
    struct kl_base_error *e)
{
    if (r->next_producer_id <= c->next_producer_id)
        return kl_base_error_set(
            e, KL_ECORRUPT, "ProducerIdsRecord: %lld behind %lld",
            (long long)r->next_producer_id, (long long)c->next_producer_id);
    c->next_producer_id = r->next_producer_id;
    return 0;
}
