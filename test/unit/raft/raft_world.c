/*
 * Time, network and the nodes' coming and going.
 */
#include "raft_world.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t world_random(struct world *w, uint64_t below)
{
    return kl_base_rng_below(&w->rng, below);
}

/* ---- making ------------------------------------------------------------ */

struct world *world_new(const struct world_options *options)
{
    struct world *w = calloc(1, sizeof *w);

    ck_assert_ptr_nonnull(w);
    w->options = *options;
    if (w->options.delay_max == 0)
        w->options.delay_max = 5 * MS;
    if (w->options.sync_max == 0)
        w->options.sync_max = 5 * MS;
    if (w->options.apply_max == 0)
        w->options.apply_max = 1 * MS;
    w->now = 1000 * SECOND;
    fail_alloc_init(&w->memory);
    kl_base_rng_seed(&w->rng, options->seed);
    kl_base_buf_init(&w->buf, &w->memory.alloc);
    kl_base_buf_init(&w->lists, &w->memory.alloc);
    for (int i = 0; i < 64; i++)
        kl_base_buf_init(&w->control_lists[i], &w->memory.alloc);
    w->cluster = kl_base_uuid_random(&w->rng);
    w->topic = kl_base_uuid_random(&w->rng);
    w->value_count = 1;
    for (int i = 0; i < options->nodes; i++) {
        struct world_node *n = &w->nodes[i];

        n->index = i;
        n->id = i + 1;
        n->directory = kl_base_uuid_random(&w->rng);
        w->first_directories[i] = n->directory;
        kl_raft_effects_init(&n->effects, &w->memory.alloc);
        world_disk_format(n, i < options->voters);
    }
    for (int i = 0; i < options->nodes; i++)
        world_start(w, i);
    return w;
}

void world_free(struct world *w)
{
    for (int i = 0; i < w->options.nodes; i++) {
        if (w->nodes[i].is_up)
            world_crash(w, i);
        kl_raft_effects_deinit(&w->nodes[i].effects);
    }
    for (uint32_t i = 0; i < w->item_count; i++)
        free(w->items[i].bytes);
    for (uint32_t i = 0; i < w->value_count; i++)
        free(w->values[i].bytes);
    kl_base_buf_deinit(&w->buf);
    kl_base_buf_deinit(&w->lists);
    for (int i = 0; i < 64; i++)
        kl_base_buf_deinit(&w->control_lists[i]);
    fail_alloc_deinit(&w->memory);
    free(w);
}

int world_index_of(struct world *w, int32_t id)
{
    return id >= 1 && id <= w->options.nodes ? id - 1 : -1;
}

struct kl_raft_view world_view(struct world *w, int node)
{
    struct kl_raft_view view;

    kl_raft_view(w->nodes[node].raft, &view);
    return view;
}

/* ---- coming and going -------------------------------------------------- */

void world_start(struct world *w, int node)
{
    struct world_node *n = &w->nodes[node];
    struct kl_raft_event event = {.type = KL_RAFT_TIME};

    ck_assert(!n->is_up);
    n->session = kl_base_uuid_random(&w->rng);
    n->is_up = 1;
    n->boot++;
    world_open(w, n);
    world_step(w, node, &event);
}

static void tell_links(struct world *w, int node)
{
    struct kl_raft_event event = {.type = KL_RAFT_LINK_DOWN};

    event.link_down.peer.node_id = w->nodes[node].id;
    event.link_down.peer.directory_id = w->nodes[node].directory;
    event.link_down.session_id = w->nodes[node].session;
    for (int i = 0; i < w->options.nodes; i++)
        if (i != node && w->nodes[i].is_up)
            world_step(w, i, &event);
}

void world_crash(struct world *w, int node)
{
    struct world_node *n = &w->nodes[node];

    ck_assert(n->is_up);
    n->is_up = 0;
    n->is_paused = 0;
    for (uint32_t i = 0; i < n->held_count; i++)
        free(n->held[i].bytes);
    n->held_count = 0;
    kl_raft_free(n->raft);
    n->raft = NULL;
    world_disk_crash(w, n);
    if (w->options.links_tell)
        tell_links(w, node);
}

/* Another disk: the old directory is gone. */
void world_wipe(struct world *w, int node)
{
    struct world_node *n = &w->nodes[node];

    ck_assert(!n->is_up);
    n->directory = kl_base_uuid_random(&w->rng);
    n->epoch_sent = 0;
    world_disk_format(n, 0);
}

void world_isolate(struct world *w, int node)
{
    for (int i = 0; i < w->options.nodes; i++)
        w->cut[node][i] = w->cut[i][node] = i != node;
}

void world_heal(struct world *w)
{
    memset(w->cut, 0, sizeof w->cut);
}

/* ---- what happens ------------------------------------------------------ */

void world_later(struct world *w, int64_t delay, const struct world_item *item)
{
    struct world_item *i;

    ck_assert_uint_lt(w->item_count, WORLD_ITEMS);
    i = &w->items[w->item_count++];
    *i = *item;
    i->due = w->now + delay;
    i->order = ++w->order;
}

static void count_message(struct world *w, struct world_node *n,
                          const struct kl_wire_message *m)
{
    if (!w->trace)
        return;
    kl_base_buf_clear(&w->buf);
    kl_wire_message_print(m, &w->buf);
    printf("%9.3f %d <- %.*s\n", (double)(w->now - 1000 * SECOND) / 1e6, n->id,
           (int)w->buf.size, (const char *)w->buf.data);
}

/* The batches that a fetch response carries. */
static uint32_t unpack(struct world *w, const struct kl_wire_message *m,
                       struct kl_raft_batch *out,
                       struct kl_wire_control *controls, uint32_t max)
{
    const struct kl_wire_bytes *bytes;
    uint32_t count = 0;

    if (!m->envelope.is_response || m->envelope.api_key != KL_WIRE_FETCH ||
        m->fetch_response.partitions.count == 0)
        return 0;
    bytes = &m->fetch_response.partitions.items[0].records;
    for (uint32_t at = 0; at < bytes->size && count < max; at += 24) {
        const uint8_t *p = bytes->data + at;
        uint32_t value = kl_base_get_le32(p + 20);
        const struct world_value *v = &w->values[value];

        out[count].offset = (int64_t)kl_base_get_le64(p);
        out[count].end = out[count].offset + kl_base_get_le32(p + 8);
        out[count].epoch = (int32_t)kl_base_get_le32(p + 12);
        out[count].size = 100;
        out[count].control = NULL;
        ck_assert_uint_eq(kl_base_get_le32(p + 16), 0x1234);
        if (v->is_control) {
            ck_assert_int_eq(
                kl_wire_control_decode(&controls[count], v->bytes, v->size,
                                       &w->control_lists[count], NULL),
                0);
            out[count].control = &controls[count];
        }
        count++;
    }
    return count;
}

static void deliver(struct world *w, const struct world_item *item)
{
    struct world_node *n = &w->nodes[item->node];
    struct kl_raft_batch batches[64];
    struct kl_wire_control controls[64];
    struct kl_wire_message m;
    struct kl_raft_event event = {.type = KL_RAFT_MESSAGE};
    struct kl_base_error e = {0};

    if (!n->is_up || w->cut[item->from][item->node])
        return;
    if (kl_wire_message_decode(&m, item->bytes, item->size, &w->lists, &e))
        ck_abort_msg("message does not decode: %s", e.text);
    if (kl_wire_envelope_check(&m.envelope, &w->cluster, n->id, &n->directory))
        return;
    if (w->filter && w->filter(w, item->from, item->node, &m))
        return;
    count_message(w, n, &m);
    event.message.message = &m;
    event.message.batches = batches;
    event.message.batch_count = unpack(w, &m, batches, controls, 64);
    world_step(w, item->node, &event);
}

static void happen(struct world *w, uint32_t index)
{
    struct world_item item = w->items[index];

    w->items[index] = w->items[--w->item_count];
    if (item.kind == WORLD_MESSAGE)
        deliver(w, &item);
    else if (w->nodes[item.node].is_up && w->nodes[item.node].boot == item.boot)
        world_complete(w, &w->nodes[item.node], &item);
    free(item.bytes);
}

/* The next thing to happen, if it is due before the end; else the end. */
static int happen_next(struct world *w, int64_t end)
{
    int64_t due = end;
    int64_t at;
    uint32_t best = UINT32_MAX;
    int node = -1;

    for (uint32_t i = 0; i < w->item_count; i++) {
        const struct world_item *item = &w->items[i];

        if (w->nodes[item->node].is_paused)
            continue;
        if (item->due < due || (item->due == due && best != UINT32_MAX &&
                                item->order < w->items[best].order)) {
            due = item->due;
            best = i;
        }
    }
    for (int i = 0; i < w->options.nodes; i++) {
        if (!w->nodes[i].is_up || w->nodes[i].is_paused)
            continue;
        at = kl_raft_deadline(w->nodes[i].raft);
        if (at < due) {
            due = at;
            node = i;
        }
    }
    if (due > w->now)
        w->now = due;
    if (node >= 0) {
        struct kl_raft_event event = {.type = KL_RAFT_TIME};

        world_step(w, node, &event);
    } else if (best != UINT32_MAX) {
        happen(w, best);
    }
    return node >= 0 || best != UINT32_MAX;
}

void world_run(struct world *w, int64_t duration)
{
    int64_t end = w->now + duration;

    while (happen_next(w, end))
        ;
}

int world_until(struct world *w, int64_t duration,
                int (*condition)(struct world *w))
{
    int64_t end = w->now + duration;

    while (!condition(w))
        if (!happen_next(w, end))
            return condition(w);
    return 1;
}

static void trace_step(struct world *w, struct world_node *n,
                       const struct kl_raft_event *event)
{
    struct kl_raft_view v = world_view(w, n->index);

    if (w->trace && event->type != KL_RAFT_MESSAGE)
        printf("%9.3f %d event %d\n", (double)(w->now - 1000 * SECOND) / 1e6,
               n->id, (int)event->type);
    if (w->trace > 1)
        printf("          %d role %d epoch %d leader %d leo %lld durable %lld "
               "hwm %lld voter %d may %d\n",
               n->id, (int)v.role, v.epoch, v.leader_id, (long long)v.leo,
               (long long)v.durable_leo, (long long)v.high_watermark,
               v.is_voter, v.may_vote);
}

static void same_view(const struct kl_raft_view *a,
                      const struct kl_raft_view *b)
{
    ck_assert_int_eq(a->role, b->role);
    ck_assert_int_eq(a->epoch, b->epoch);
    ck_assert_int_eq(a->leader_id, b->leader_id);
    ck_assert_int_eq(a->voted.node_id, b->voted.node_id);
    ck_assert_int_eq(a->log_start, b->log_start);
    ck_assert_int_eq(a->leo, b->leo);
    ck_assert_int_eq(a->durable_leo, b->durable_leo);
    ck_assert_int_eq(a->high_watermark, b->high_watermark);
    ck_assert_uint_eq(a->generation, b->generation);
    ck_assert_int_eq(a->voters.offset, b->voters.offset);
    ck_assert_int_eq(a->is_leading, b->is_leading);
    ck_assert_mem_eq(&a->counters, &b->counters, sizeof a->counters);
}

/* Without memory a step changes nothing. Each allocation fails in turn, until
 * none does. */
static int starved_step(struct world *w, struct world_node *n,
                        const struct kl_raft_event *event)
{
    struct kl_raft_view before = world_view(w, n->index);
    int64_t deadline = kl_raft_deadline(n->raft);

    for (uint64_t i = 1;; i++) {
        struct kl_raft_view after;
        int rc;

        fail_alloc_arm(&w->memory, i);
        rc = kl_raft_step(n->raft, event, &n->effects);
        if (rc != KL_ENOMEM) {
            fail_alloc_arm(&w->memory, 0);
            return rc;
        }
        w->refused++;
        after = world_view(w, n->index);
        same_view(&before, &after);
        ck_assert_int_eq(kl_raft_deadline(n->raft), deadline);
        ck_assert_ptr_null(kl_raft_check_invariants(n->raft));
    }
}

void world_step(struct world *w, int node, struct kl_raft_event *event)
{
    struct world_node *n = &w->nodes[node];
    int rc;

    ck_assert(n->is_up);
    event->now = w->now;
    w->steps++;
    rc = w->options.is_starved ? starved_step(w, n, event)
                               : kl_raft_step(n->raft, event, &n->effects);
    ck_assert_int_eq(rc, 0);
    trace_step(w, n, event);
    world_effects(w, n, event);
    oracle_step(w, n);
}

/* ---- who leads --------------------------------------------------------- */

struct world_node *world_leader(struct world *w)
{
    struct world_node *leader = NULL;
    int32_t epoch = -1;

    for (int i = 0; i < w->options.nodes; i++) {
        struct kl_raft_view v;

        if (!w->nodes[i].is_up || w->nodes[i].is_paused)
            continue;
        v = world_view(w, i);
        if (v.role == KL_RAFT_LEADER && v.epoch > epoch) {
            epoch = v.epoch;
            leader = &w->nodes[i];
        }
    }
    return leader;
}

int world_has_leader(struct world *w)
{
    struct world_node *leader = world_leader(w);

    return leader && world_view(w, leader->index).is_leading;
}

int world_is_settled(struct world *w)
{
    struct world_node *leader = world_leader(w);
    struct kl_raft_view l;

    if (!world_has_leader(w))
        return 0;
    l = world_view(w, leader->index);
    if (l.high_watermark != l.leo)
        return 0;
    for (int i = 0; i < w->options.nodes; i++) {
        struct kl_raft_view v;

        if (!w->nodes[i].is_up || w->nodes[i].is_paused)
            continue;
        v = world_view(w, i);
        if (v.fault)
            continue;
        if (v.epoch != l.epoch || v.leader_id != leader->id ||
            v.durable_leo != l.leo || v.high_watermark != l.high_watermark ||
            w->nodes[i].applied != l.high_watermark)
            return 0;
    }
    return 1;
}

/* ---- asking ------------------------------------------------------------ */

static struct world_call *call_new(struct world *w, int node, int kind)
{
    struct world_call *c;

    ck_assert_uint_lt(w->call_count, WORLD_CALLS);
    c = &w->calls[w->call_count++];
    c->token = w->call_count;
    c->kind = kind;
    c->node = node;
    c->floor = w->acknowledged;
    return c;
}

struct world_call *world_propose(struct world *w, int node, int count)
{
    struct world_call *c = call_new(w, node, 'p');
    struct kl_raft_event event = {.type = KL_RAFT_PROPOSE};

    event.propose.token = c->token;
    event.propose.count = count;
    world_step(w, node, &event);
    return c;
}

struct world_call *world_barrier(struct world *w, int node)
{
    struct world_call *c = call_new(w, node, 'b');
    struct kl_raft_event event = {.type = KL_RAFT_BARRIER};

    event.barrier.token = c->token;
    world_step(w, node, &event);
    return c;
}

struct world_call *world_hand_over(struct world *w, int node, int target)
{
    struct world_call *c = call_new(w, node, 'h');
    struct kl_raft_event event = {.type = KL_RAFT_HAND_OVER};

    event.hand_over.token = c->token;
    event.hand_over.target.node_id = target < 0 ? -1 : w->nodes[target].id;
    world_step(w, node, &event);
    return c;
}

struct world_call *world_change(struct world *w, int node,
                                enum kl_raft_event_type type, int target,
                                int force)
{
    struct world_call *c = call_new(w, node, 'v');
    struct kl_raft_event event = {.type = type};

    event.change.token = c->token;
    event.change.voter.node_id = w->nodes[target].id;
    event.change.voter.directory_id = w->nodes[target].directory;
    event.change.voter.version_max = 1;
    event.change.voters_offset = -1;
    event.change.force = force;
    world_step(w, node, &event);
    return c;
}
