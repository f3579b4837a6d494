/*
 * One partition in the image: lists of broker ids and the rules that bind them.
 */
#include "controller/state.h"

#include <string.h>

KL_STATIC_ASSERT(KL_WIRE_REPLICAS_MAX <= UINT8_MAX, "counts are bytes");
KL_STATIC_ASSERT(KL_WIRE_PARTITION_FLAGS <= UINT8_MAX, "flags are a byte");

struct kl_wire_i32s *
kl_controller_partition_wire_list(struct kl_wire_partition_record *r,
                                  enum kl_controller_list list)
{
    switch (list) {
    case KL_CONTROLLER_REPLICAS:
        return &r->replicas;
    case KL_CONTROLLER_ISR:
        return &r->isr;
    case KL_CONTROLLER_ELR:
        return &r->elr;
    case KL_CONTROLLER_LAST_KNOWN_ELR:
        return &r->last_known_elr;
    case KL_CONTROLLER_ADDING:
        return &r->adding;
    case KL_CONTROLLER_REMOVING:
        return &r->removing;
    case KL_CONTROLLER_LISTS:
        break;
    }
    KL_UNREACHABLE();
}

/* Whether a list takes room of its own. */
static int partition_is_stored(const struct kl_controller_partition *p,
                               int list)
{
    return list != KL_CONTROLLER_ISR || !p->isr_is_replicas;
}

static size_t partition_size(const struct kl_controller_partition *p)
{
    size_t n = 0;

    for (int i = 0; i < KL_CONTROLLER_LISTS; i++)
        n += partition_is_stored(p, i) ? p->counts[i] : 0;
    return sizeof *p + n * sizeof *p->ids;
}

static int partition_same(const struct kl_wire_i32s *a,
                          const struct kl_wire_i32s *b)
{
    return a->count == b->count && a->count &&
           memcmp(a->data, b->data, 4 * (size_t)a->count) == 0;
}

struct kl_controller_partition *
kl_controller_partition_new(const struct kl_base_alloc *a,
                            const struct kl_wire_partition_record *r)
{
    struct kl_wire_partition_record in = *r;
    struct kl_controller_partition head = {0};
    struct kl_controller_partition *p;
    size_t n = 0;

    head.leader = r->leader;
    head.leader_epoch = r->leader_epoch;
    head.partition_epoch = r->partition_epoch;
    head.last_known_leader = r->last_known_leader;
    head.flags = (uint8_t)r->flags;
    head.isr_is_replicas = (uint8_t)partition_same(&r->replicas, &r->isr);
    for (int i = 0; i < KL_CONTROLLER_LISTS; i++)
        head.counts[i] =
            (uint8_t)kl_controller_partition_wire_list(&in, i)->count;
    p = kl_base_malloc(a, partition_size(&head));
    if (!p)
        return NULL;
    *p = head;
    for (int i = 0; i < KL_CONTROLLER_LISTS; i++) {
        const struct kl_wire_i32s *list =
            kl_controller_partition_wire_list(&in, i);

        for (uint32_t j = 0; partition_is_stored(p, i) && j < list->count; j++)
            p->ids[n++] = kl_wire_i32s_get(list, j);
    }
    return p;
}

void kl_controller_partition_free(const struct kl_base_alloc *a,
                                  struct kl_controller_partition *p)
{
    if (p)
        kl_base_free(a, p, partition_size(p));
}

const int32_t *
kl_controller_partition_list(const struct kl_controller_partition *p,
                             enum kl_controller_list list, size_t *count)
{
    size_t start = 0;

    *count = p->counts[list];
    if (!partition_is_stored(p, list))
        return p->ids;
    for (int i = 0; i < (int)list; i++)
        start += partition_is_stored(p, i) ? p->counts[i] : 0;
    return p->ids + start;
}

int kl_controller_partition_has(const struct kl_controller_partition *p,
                                enum kl_controller_list list, int32_t broker_id)
{
    size_t count;
    const int32_t *ids = kl_controller_partition_list(p, list, &count);

    for (size_t i = 0; i < count; i++)
        if (ids[i] == broker_id)
            return 1;
    return 0;
}

/* Broker ids, each once, all of them replicas. */
static int partition_list_legal(const struct kl_controller_partition *p,
                                enum kl_controller_list list)
{
    size_t count;
    const int32_t *ids = kl_controller_partition_list(p, list, &count);

    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 ||
            !kl_controller_partition_has(p, KL_CONTROLLER_REPLICAS, ids[i]))
            return 0;
        for (size_t j = 0; j < i; j++)
            if (ids[j] == ids[i])
                return 0;
    }
    return 1;
}

static int partition_disjoint(const struct kl_controller_partition *p,
                              enum kl_controller_list a,
                              enum kl_controller_list b)
{
    size_t count;
    const int32_t *ids = kl_controller_partition_list(p, a, &count);

    for (size_t i = 0; i < count; i++)
        if (kl_controller_partition_has(p, b, ids[i]))
            return 0;
    return 1;
}

/* An ISR has a leader: its members are active. */
static const char *
partition_leader_check(const struct kl_controller_partition *p)
{
    if (p->leader >= 0 &&
        !kl_controller_partition_has(p, KL_CONTROLLER_ISR, p->leader))
        return "the leader is not in the ISR";
    if (p->leader < 0 && p->counts[KL_CONTROLLER_ISR])
        return "an ISR has no leader";
    if (p->last_known_leader >= 0 && p->leader >= 0)
        return "a leader and a last known leader";
    if (p->last_known_leader >= 0 &&
        !kl_controller_partition_has(p, KL_CONTROLLER_REPLICAS,
                                     p->last_known_leader))
        return "the last known leader is no replica";
    if ((p->flags & KL_WIRE_PARTITION_RECOVERING) &&
        p->counts[KL_CONTROLLER_ISR] > 1)
        return "the ISR grew while recovering";
    return NULL;
}

/* protocol 1.8 and 1.9: what any ISR, ELR and leader must satisfy. */
const char *
kl_controller_partition_check(const struct kl_controller_partition *p)
{
    if (p->counts[KL_CONTROLLER_REPLICAS] == 0)
        return "no replicas";
    for (int i = 0; i < KL_CONTROLLER_LISTS; i++)
        if (!partition_list_legal(p, i))
            return "a list names a broker twice or one that is no replica";
    if (!partition_disjoint(p, KL_CONTROLLER_ISR, KL_CONTROLLER_ELR))
        return "a replica is in ISR and ELR";
    if (!partition_disjoint(p, KL_CONTROLLER_LAST_KNOWN_ELR,
                            KL_CONTROLLER_ISR) ||
        !partition_disjoint(p, KL_CONTROLLER_LAST_KNOWN_ELR, KL_CONTROLLER_ELR))
        return "a last known ELR member is in ISR or ELR";
    if (!partition_disjoint(p, KL_CONTROLLER_ADDING, KL_CONTROLLER_REMOVING))
        return "a replica is added and removed";
    if (p->counts[KL_CONTROLLER_ADDING] == p->counts[KL_CONTROLLER_REPLICAS] ||
        p->counts[KL_CONTROLLER_REMOVING] == p->counts[KL_CONTROLLER_REPLICAS])
        return "all replicas are added or removed";
    return partition_leader_check(p);
}

void kl_controller_partition_record(const struct kl_controller_partition *p,
                                    uint8_t scratch[KL_CONTROLLER_IDS_BYTES],
                                    struct kl_wire_partition_record *out)
{
    uint8_t *pos = scratch;

    memset(out, 0, sizeof *out);
    for (int i = 0; i < KL_CONTROLLER_LISTS; i++) {
        struct kl_wire_i32s *list = kl_controller_partition_wire_list(out, i);
        size_t count;
        const int32_t *ids = kl_controller_partition_list(p, i, &count);

        list->data = pos;
        list->count = (uint32_t)count;
        for (size_t j = 0; j < count; j++, pos += 4)
            kl_base_put_le32(pos, (uint32_t)ids[j]);
    }
    out->flags = p->flags;
    out->leader = p->leader;
    out->leader_epoch = p->leader_epoch;
    out->partition_epoch = p->partition_epoch;
    out->last_known_leader = p->last_known_leader;
}
