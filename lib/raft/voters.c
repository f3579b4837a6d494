/*
 * The sets of voters, one for each voters record of the log that is not
 * forgotten. The newest is in force, committed or not, and truncation brings
 * the one before it back (rules 1.14.10 and 1.14.11). What a step may add is
 * allocated before it changes anything.
 */
#include "raft/state.h"

#include <string.h>

int kl_raft_key_equal(const struct kl_wire_voter_key *a,
                      const struct kl_wire_voter_key *b)
{
    return a->node_id == b->node_id &&
           kl_base_uuid_equal(&a->directory_id, &b->directory_id);
}

struct kl_wire_voter_key kl_raft_key_of(const struct kl_wire_voter *v)
{
    struct kl_wire_voter_key key = {v->node_id, v->directory_id};

    return key;
}

/* ---- sets -------------------------------------------------------------- */

static size_t voters_size(const struct kl_wire_voter_list *list)
{
    size_t size =
        sizeof(struct kl_raft_set) + list->count * sizeof(struct kl_wire_voter);

    for (uint32_t i = 0; i < list->count; i++)
        size += list->items[i].endpoints.size;
    return size;
}

static struct kl_raft_set *voters_alloc(const struct kl_base_alloc *a,
                                        size_t size)
{
    struct kl_raft_set *set = kl_base_calloc(a, size);

    if (set)
        set->size = size;
    return set;
}

/* Copies one voter; its endpoints go to *bytes, which moves on. */
static void voters_copy(struct kl_raft_set *set, uint8_t **bytes,
                        const struct kl_wire_voter *v)
{
    struct kl_wire_voter *to = &set->voters[set->count++];

    *to = *v;
    if (v->endpoints.size)
        memcpy(*bytes, v->endpoints.data, v->endpoints.size);
    to->endpoints.data = *bytes;
    *bytes += v->endpoints.size;
}

/* Fills a set that is large enough with the voters of list, one of which may be
 * left out and one put behind them. */
static void voters_fill(struct kl_raft_set *set, int64_t offset,
                        const struct kl_wire_voter_list *list,
                        const struct kl_wire_voter_key *without,
                        const struct kl_wire_voter *with)
{
    uint8_t *bytes = (uint8_t *)&set->voters[list->count + (with != NULL)];

    set->offset = offset;
    set->count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        struct kl_wire_voter_key key = kl_raft_key_of(&list->items[i]);

        if (!without || !kl_raft_key_equal(&key, without))
            voters_copy(set, &bytes, &list->items[i]);
    }
    if (with)
        voters_copy(set, &bytes, with);
    KL_ASSERT(bytes <= (uint8_t *)set + set->size);
}

struct kl_raft_set *kl_raft_set_new(const struct kl_base_alloc *a,
                                    int64_t offset,
                                    const struct kl_wire_voter_list *voters)
{
    struct kl_raft_set *set = voters_alloc(a, voters_size(voters));

    if (set)
        voters_fill(set, offset, voters, NULL, NULL);
    return set;
}

void kl_raft_set_free(const struct kl_base_alloc *a, struct kl_raft_set *set)
{
    if (set)
        kl_base_free(a, set, set->size);
}

static struct kl_wire_voter_list voters_list(const struct kl_raft_set *set)
{
    struct kl_wire_voter_list list = {NULL, 0};

    if (set) {
        list.items = set->voters;
        list.count = set->count;
    }
    return list;
}

/* ---- looking ----------------------------------------------------------- */

const struct kl_raft_set *kl_raft_voters(const struct kl_raft *r)
{
    const struct kl_raft_history *h = &r->history;

    return h->count ? h->sets[h->count - 1] : NULL;
}

const struct kl_raft_set *kl_raft_voters_before(const struct kl_raft *r,
                                                int64_t end_offset)
{
    const struct kl_raft_history *h = &r->history;

    for (size_t i = h->count; i > 0; i--)
        if (h->sets[i - 1]->offset < end_offset)
            return h->sets[i - 1];
    return NULL;
}

const struct kl_wire_voter *kl_raft_voter_of(const struct kl_raft *r,
                                             int32_t node_id)
{
    const struct kl_raft_set *set = kl_raft_voters(r);

    for (uint32_t i = 0; set && i < set->count; i++)
        if (set->voters[i].node_id == node_id)
            return &set->voters[i];
    return NULL;
}

const struct kl_wire_voter *kl_raft_voter(const struct kl_raft *r,
                                          const struct kl_wire_voter_key *key)
{
    const struct kl_wire_voter *v = kl_raft_voter_of(r, key->node_id);

    return v && kl_base_uuid_equal(&v->directory_id, &key->directory_id) ? v
                                                                         : NULL;
}

int kl_raft_is_voter(const struct kl_raft *r)
{
    return kl_raft_voter(r, &r->options.self) != NULL;
}

int kl_raft_is_electable(const struct kl_raft *r)
{
    const struct kl_raft_history *h = &r->history;

    for (size_t i = h->count; i > 0; i--) {
        const struct kl_raft_set *set = h->sets[i - 1];

        for (uint32_t v = 0; v < set->count; v++)
            if (set->voters[v].node_id == r->options.self.node_id &&
                kl_base_uuid_equal(&set->voters[v].directory_id,
                                   &r->options.self.directory_id))
                return 1;
        if (set->offset < r->high_watermark)
            return 0;
    }
    return 0;
}

void kl_raft_voters_view(const struct kl_raft_set *set,
                         struct kl_raft_voters *out)
{
    out->offset = set ? set->offset : -1;
    out->voters = voters_list(set);
}

int kl_raft_voters_at(const struct kl_raft *r, int64_t end_offset,
                      struct kl_raft_voters *out)
{
    const struct kl_raft_set *set = kl_raft_voters_before(r, end_offset);

    if (!set)
        return KL_EOFFSETRANGE;
    kl_raft_voters_view(set, out);
    return 0;
}

/* ---- changing ---------------------------------------------------------- */

int kl_raft_voters_init(struct kl_raft *r,
                        const struct kl_raft_recovered *recovered)
{
    struct kl_raft_history *h = &r->history;
    int rc = kl_base_reserve(r->alloc, (void **)&h->sets, &h->capacity,
                             recovered->voters_count + 1, sizeof *h->sets);

    for (uint32_t i = 0; rc == 0 && i < recovered->voters_count; i++) {
        const struct kl_raft_voters *v = &recovered->voters[i];

        h->sets[i] = kl_raft_set_new(r->alloc, v->offset, &v->voters);
        if (!h->sets[i])
            return KL_ENOMEM;
        h->count++;
    }
    return rc;
}

static void voters_drop_prepared(struct kl_raft *r)
{
    for (size_t i = 0; i < r->prepared_count; i++)
        kl_raft_set_free(r->alloc, r->prepared[i]);
    r->prepared_count = 0;
}

void kl_raft_voters_deinit(struct kl_raft *r)
{
    struct kl_raft_history *h = &r->history;

    voters_drop_prepared(r);
    for (size_t i = 0; i < h->count; i++)
        kl_raft_set_free(r->alloc, h->sets[i]);
    kl_raft_set_free(r->alloc, r->spare);
    kl_base_free(r->alloc, h->sets, h->capacity * sizeof *h->sets);
    kl_base_free(r->alloc, r->prepared,
                 r->prepared_capacity * sizeof *r->prepared);
}

static int voters_prepare(struct kl_raft *r, int64_t offset,
                          const struct kl_wire_voter_list *list)
{
    struct kl_raft_set *set;

    if (kl_base_reserve(r->alloc, (void **)&r->prepared, &r->prepared_capacity,
                        r->prepared_count + 1, sizeof *r->prepared))
        return KL_ENOMEM;
    set = kl_raft_set_new(r->alloc, offset, list);
    if (!set)
        return KL_ENOMEM;
    r->prepared[r->prepared_count++] = set;
    return 0;
}

/* Room for the set in force and one voter more. */
static int voters_reserve_spare(struct kl_raft *r)
{
    struct kl_wire_voter_list list = voters_list(kl_raft_voters(r));
    size_t size = voters_size(&list) + sizeof(struct kl_wire_voter) +
                  KL_RAFT_ENDPOINT_BYTES;

    if (r->spare && r->spare->size >= size)
        return 0;
    kl_raft_set_free(r->alloc, r->spare);
    r->spare = voters_alloc(r->alloc, size);
    return r->spare ? 0 : KL_ENOMEM;
}

int kl_raft_voters_reserve(struct kl_raft *r, const struct kl_raft_event *event)
{
    struct kl_raft_history *h = &r->history;
    int rc = voters_reserve_spare(r);

    voters_drop_prepared(r);
    if (event->type == KL_RAFT_SNAPSHOT_INSTALLED && rc == 0 &&
        event->snapshot_installed.code == 0)
        rc = voters_prepare(r, event->snapshot_installed.voters.offset,
                            &event->snapshot_installed.voters.voters);
    if (event->type == KL_RAFT_MESSAGE)
        for (uint32_t i = 0; rc == 0 && i < event->message.batch_count; i++) {
            const struct kl_raft_batch *b = &event->message.batches[i];

            if (b->control && b->control->type == KL_WIRE_VOTERS_CONTROL)
                rc = voters_prepare(r, b->offset, &b->control->voters.voters);
        }
    if (rc == 0)
        rc = kl_base_reserve(r->alloc, (void **)&h->sets, &h->capacity,
                             h->count + r->prepared_count + 1, sizeof *h->sets);
    return rc;
}

static void voters_push(struct kl_raft *r, struct kl_raft_set *set)
{
    struct kl_raft_history *h = &r->history;

    KL_ASSERT(h->count < h->capacity);
    h->sets[h->count++] = set;
    kl_raft_peers_sync(r);
}

static struct kl_raft_set *voters_prepared(struct kl_raft *r)
{
    struct kl_raft_set *set;

    KL_ASSERT(r->prepared_count > 0);
    set = r->prepared[0];
    r->prepared_count--;
    memmove(r->prepared, r->prepared + 1,
            r->prepared_count * sizeof *r->prepared);
    return set;
}

void kl_raft_voters_append(struct kl_raft *r)
{
    voters_push(r, voters_prepared(r));
}

void kl_raft_voters_change(struct kl_raft *r, int64_t offset,
                           const struct kl_wire_voter_key *without,
                           const struct kl_wire_voter *with)
{
    struct kl_wire_voter_list list = voters_list(kl_raft_voters(r));
    struct kl_raft_set *set = r->spare;

    KL_ASSERT(set);
    r->spare = NULL;
    voters_fill(set, offset, &list, without, with);
    voters_push(r, set);
}

void kl_raft_voters_truncate(struct kl_raft *r, int64_t offset)
{
    struct kl_raft_history *h = &r->history;

    while (h->count && h->sets[h->count - 1]->offset >= offset)
        kl_raft_set_free(r->alloc, h->sets[--h->count]);
    kl_raft_peers_sync(r);
}

void kl_raft_voters_prune(struct kl_raft *r, int64_t offset)
{
    struct kl_raft_history *h = &r->history;
    size_t drop = 0;

    while (drop + 1 < h->count && h->sets[drop + 1]->offset < offset)
        kl_raft_set_free(r->alloc, h->sets[drop++]);
    h->count -= drop;
    memmove(h->sets, h->sets + drop, h->count * sizeof *h->sets);
}

void kl_raft_voters_reset(struct kl_raft *r)
{
    struct kl_raft_history *h = &r->history;

    while (h->count)
        kl_raft_set_free(r->alloc, h->sets[--h->count]);
    voters_push(r, voters_prepared(r));
}
