/*
 * Brokers for new partitions: those that the caller names, or those that the
 * placement finds; and the records of the partitions.
 */
#include "controller/state.h"

#include "base/hash.h"

#include <string.h>

/* ---- candidates -------------------------------------------------------- */

/* The number of a broker's rack: the first broker of the same one. */
static uint32_t assign_rack(const struct kl_controller *c, size_t index)
{
    const char *rack = c->brokers[index]->rack;

    for (size_t i = 0; *rack && i < index; i++)
        if (strcmp(c->brokers[i]->rack, rack) == 0)
            return (uint32_t)i;
    return (uint32_t)index;
}

static struct kl_controller_candidate *
assign_find(const struct kl_controller_candidates *s, int32_t id)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].broker_id == id)
            return &s->items[i];
    return NULL;
}

static void assign_count(struct kl_controller_candidates *s,
                         const struct kl_controller_partition *p)
{
    size_t count;
    const int32_t *ids =
        kl_controller_partition_list(p, KL_CONTROLLER_REPLICAS, &count);

    for (size_t i = 0; i < count; i++) {
        struct kl_controller_candidate *c = assign_find(s, ids[i]);

        if (c) {
            c->replicas++;
            c->leaders += i == 0;
        }
    }
}

/* While nobody is registered there is one node. */
static size_t assign_candidates_max(const struct kl_controller *c)
{
    return c->broker_count ? c->broker_count : 1;
}

int kl_controller_candidates_init(struct kl_controller_candidates *s,
                                  const struct kl_controller *c)
{
    s->count = 0;
    s->items =
        kl_base_calloc(c->alloc, assign_candidates_max(c) * sizeof *s->items);
    if (!s->items)
        return KL_ENOMEM;
    if (c->broker_count == 0 && c->options.broker_id >= 0)
        s->items[s->count++] = (struct kl_controller_candidate){
            .broker_id = c->options.broker_id, .active = 1};
    for (size_t i = 0; i < c->broker_count; i++) {
        const struct kl_controller_broker *b = c->brokers[i];

        if (b->flags & KL_WIRE_BROKER_SHUTDOWN)
            continue;
        s->items[s->count++] = (struct kl_controller_candidate){
            .broker_id = b->id,
            .rack = assign_rack(c, i),
            .active = kl_controller_broker_is_active(b)};
    }
    for (size_t i = 0; i < c->topic_count; i++)
        for (int32_t j = 0; j < c->topics[i]->partition_count; j++)
            assign_count(s, c->topics[i]->partitions[j]);
    return 0;
}

void kl_controller_candidates_deinit(struct kl_controller_candidates *s,
                                     const struct kl_controller *c)
{
    kl_base_free(c->alloc, s->items,
                 assign_candidates_max(c) * sizeof *s->items);
}

void kl_controller_placement_seed(struct kl_base_rng *rng,
                                  const struct kl_base_uuid *topic_id,
                                  int32_t partition)
{
    kl_base_rng_seed(rng, kl_base_hash(topic_id->bytes, sizeof topic_id->bytes,
                                       (uint64_t)partition));
}

/* ---- named brokers ----------------------------------------------------- */

static int assign_is_known(const struct kl_controller *c, int32_t id)
{
    const struct kl_controller_broker *b = kl_controller_broker_find(c, id);

    if (c->broker_count == 0)
        return id == c->options.broker_id;
    return b && !(b->flags & KL_WIRE_BROKER_SHUTDOWN);
}

int kl_controller_replicas_check(const struct kl_controller *c,
                                 const int32_t *replicas, uint32_t count,
                                 struct kl_base_error *e)
{
    if (count < 1 || count > KL_WIRE_REPLICAS_MAX)
        return kl_base_error_set(
            e, KL_EREPLICATION, "%lu replicas, allowed are 1 to %d",
            (unsigned long)count, (int)KL_WIRE_REPLICAS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (!assign_is_known(c, replicas[i]))
            return kl_base_error_set(e, KL_EREPLICATION,
                                     "broker %ld is not registered or is "
                                     "shutting down",
                                     (long)replicas[i]);
        for (uint32_t j = 0; j < i; j++)
            if (replicas[j] == replicas[i])
                return kl_base_error_set(e, KL_EREPLICATION,
                                         "broker %ld is named twice",
                                         (long)replicas[i]);
    }
    return 0;
}

/* ---- records ----------------------------------------------------------- */

/* A new partition: who is active is in sync, since there is nothing yet. */
static int assign_partition(const struct kl_controller *c,
                            const struct kl_controller_assignment *wish,
                            int32_t index, const int32_t *replicas,
                            struct kl_controller_records *out,
                            struct kl_base_error *e)
{
    struct kl_controller_view view = {c, -1, 0};
    struct kl_controller_change x;

    memset(&x, 0, sizeof x);
    kl_controller_change_replicas(&x, replicas, wish->replication);
    /* Alone, the one node is active without being registered. */
    x.isr = c->broker_count ? 0 : x.all;
    x.isr = kl_controller_change_active(&x, &view);
    if (!x.isr)
        return kl_base_error_set(e, KL_EREPLICATION,
                                 "topic %s partition %ld: no replica is active",
                                 wish->topic, (long)index);
    x.leader = x.replicas[__builtin_ctz(x.isr)];
    x.last_known_leader = -1;
    return kl_controller_change_add(&x, wish->topic_id, index, out,
                                    c->options.batch_bytes_max, e);
}

static int assign_named(const struct kl_controller *c,
                        const struct kl_controller_assignment *wish,
                        struct kl_controller_records *out,
                        struct kl_base_error *e)
{
    const int32_t *replicas = wish->replicas;
    int rc = 0;

    for (int32_t i = wish->first; rc == 0 && i < wish->end; i++) {
        rc = kl_controller_replicas_check(c, replicas, wish->replication, e);
        if (rc == 0)
            rc = assign_partition(c, wish, i, replicas, out, e);
        replicas += wish->replication;
    }
    return rc;
}

static int assign_placed(const struct kl_controller *c,
                         const struct kl_controller_assignment *wish,
                         struct kl_controller_candidates *candidates,
                         struct kl_controller_records *out,
                         struct kl_base_error *e)
{
    int32_t replicas[KL_WIRE_REPLICAS_MAX];
    struct kl_base_rng rng;
    int rc = 0;

    kl_controller_placement_seed(&rng, wish->topic_id, wish->first);
    for (int32_t i = wish->first; rc == 0 && i < wish->end; i++) {
        rc = kl_controller_place(candidates->items, candidates->count, &rng,
                                 replicas, 0, wish->replication);
        if (rc)
            return kl_base_error_set(
                e, rc, "topic %s: %lu replicas, but %zu brokers", wish->topic,
                (unsigned long)wish->replication, candidates->count);
        rc = assign_partition(c, wish, i, replicas, out, e);
    }
    return rc;
}

int kl_controller_assign(const struct kl_controller *c,
                         const struct kl_controller_assignment *wish,
                         struct kl_controller_records *out,
                         struct kl_base_error *e)
{
    struct kl_controller_candidates candidates;
    int rc;

    if (wish->replicas) {
        rc = assign_named(c, wish, out, e);
    } else {
        if (kl_controller_candidates_init(&candidates, c)) {
            kl_controller_records_clear(out);
            return kl_base_error_set(e, KL_ENOMEM, "topic %s: out of memory",
                                     wish->topic);
        }
        rc = assign_placed(c, wish, &candidates, out, e);
        kl_controller_candidates_deinit(&candidates, c);
    }
    if (rc)
        kl_controller_records_clear(out);
    return rc;
}
