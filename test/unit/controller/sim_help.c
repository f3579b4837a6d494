/*
 * The world: brokers, controllers, time, operators.
 */
#include "sim_help.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t sim_below(struct sim *s, uint64_t bound)
{
    return kl_base_rng_below(&s->rng, bound);
}

void sim_trace(const struct sim *s, const char *format, ...)
{
    va_list args;

    if (!s->traces)
        return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* The records of a batch, a line each. */
static void sim_trace_records(const struct sim *s)
{
    const uint8_t *data;
    size_t pos = 0, size;

    while (s->traces &&
           kl_controller_records_next(&s->cl.f.records, &pos, &data, &size)) {
        struct kl_wire_record r;
        struct kl_base_buf line;

        kl_base_buf_init(&line, &kl_base_alloc_libc);
        ck_assert_int_eq(kl_wire_record_decode(&r, data, size, NULL), 0);
        kl_wire_record_print(&r, &line);
        fprintf(stderr, "  %.*s\n", (int)line.size, (char *)line.data);
        kl_base_buf_deinit(&line);
    }
}

void sim_broken(struct sim *s, const char *why)
{
    sim_trace(s, "BROKEN %s", why);
    if (!s->why)
        s->why = why;
}

static const char *sim_topic(size_t slot)
{
    static const char *const names[] = {"a", "b", "interval"};

    return names[slot / SIM_PARTITIONS];
}

const struct kl_controller_partition *
sim_partition(struct sim *s, size_t slot,
              const struct kl_controller_topic **topic)
{
    *topic = kl_controller_topic_find(s->cl.f.c, sim_topic(slot));
    return *topic ? kl_controller_partition_at(*topic,
                                               (int32_t)(slot % SIM_PARTITIONS))
                  : NULL;
}

/* ---- batches ------------------------------------------------------------- */

static void sim_same_images(struct sim *s)
{
    struct kl_controller_records a, b;

    kl_controller_records_init(&a, &kl_base_alloc_libc);
    kl_controller_records_init(&b, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_controller_encode(s->cl.f.c, &a), 0);
    ck_assert_int_eq(kl_controller_encode(s->shadow, &b), 0);
    if (a.buf.size != b.buf.size ||
        memcmp(a.buf.data, b.buf.data, a.buf.size) != 0)
        sim_broken(s, "images differ");
    kl_controller_records_deinit(&a);
    kl_controller_records_deinit(&b);
}

void sim_commit(struct sim *s)
{
    struct kl_controller_records *r = &s->cl.f.records;
    const uint8_t *data;
    size_t pos = 0, size;
    const char *broken;

    if (r->count == 0)
        return;
    sim_trace(s, "batch %lld", (long long)s->cl.end);
    sim_trace_records(s);
    while (kl_controller_records_next(r, &pos, &data, &size))
        if (kl_controller_apply(s->cl.f.c, data, size, &s->cl.f.error) ||
            kl_controller_apply(s->shadow, data, size, NULL))
            ck_abort_msg("a record is refused: %s", s->cl.f.error.text);
    s->cl.end += (int64_t)r->count;
    s->batches++;
    kl_controller_records_clear(r);
    broken = kl_controller_invariant(s->cl.f.c);
    if (!broken)
        broken = kl_controller_rule_broken(s->cl.f.c);
    if (broken)
        sim_broken(s, broken);
    for (size_t slot = 0; slot < SIM_SLOTS; slot++)
        sim_check(s, slot);
    sim_same_images(s);
    kl_controller_delta_clear(s->cl.f.c);
    kl_controller_delta_clear(s->shadow);
    s->gone = s->vanished = 0;
    s->ordered = 0;
}

/* Each controller draws other topic ids. */
static struct kl_controller *sim_controller(struct sim *s)
{
    struct kl_controller_options o = s->cl.options;
    struct kl_controller *c;

    o.seed = kl_base_rng_next(&s->rng);
    ck_assert_int_eq(kl_controller_new(&c, &s->cl.f.memory.alloc, &o), 0);
    return c;
}

/* The shadow takes over, or one that has read a snapshot; the other follows.
 */
static void sim_fail_over(struct sim *s)
{
    struct kl_controller *old = s->cl.f.c;
    struct kl_controller_records image;

    sim_trace(s, "fail-over");
    kl_controller_records_clear(&s->cl.f.records);
    kl_controller_resign(old);
    s->cl.f.c = s->shadow;
    s->shadow = old;
    if (sim_below(s, 4) == 0) {
        kl_controller_records_init(&image, &s->cl.f.memory.alloc);
        ck_assert_int_eq(kl_controller_encode(old, &image), 0);
        kl_controller_free(old);
        s->shadow = sim_controller(s);
        controller_fixture_replay(s->shadow, &image);
        kl_controller_records_deinit(&image);
        sim_same_images(s);
    }
    kl_controller_activate(s->cl.f.c, s->cl.now_ns);
    for (int32_t id = 1; id <= SIM_BROKERS; id++) {
        s->brokers[id].told = -1;
        /* Out of budget (section 0.2): a copy from this session, and a
         * controller that has not heard of it. */
        if (s->brokers[id].rewound)
            s->brokers[id].stored_epoch = -1;
    }
    s->fail_overs++;
}

/* ---- brokers ------------------------------------------------------------- */

static uint32_t sim_random_slots(struct sim *s)
{
    return (uint32_t)sim_below(s, 1u << SIM_SLOTS);
}

/* Loses a part of some logs. */
static void sim_lose(struct sim *s, struct sim_broker *b, uint32_t slots)
{
    for (size_t slot = 0; slot < SIM_SLOTS; slot++)
        if (slots >> slot & 1)
            b->leo[slot] = (int64_t)sim_below(s, (uint64_t)b->leo[slot] + 1);
    s->losses++;
}

static void sim_forget(struct sim_broker *b)
{
    memset(b->views, 0, sizeof b->views);
    for (size_t slot = 0; slot < SIM_SLOTS; slot++)
        b->views[slot].leader = b->views[slot].leader_epoch =
            b->views[slot].synced = -1;
    b->registered = 0;
    b->stops = 0;
}

static const uint32_t sim_interval_slots = ((1u << SIM_PARTITIONS) - 1)
                                           << (SIM_SLOTS - SIM_PARTITIONS);

/* What damage is listed of: what others have a copy of. */
static uint32_t sim_copied_slots(struct sim *s)
{
    const struct kl_controller_topic *t;
    uint32_t slots = 0;

    for (size_t slot = 0; slot < SIM_SLOTS; slot++) {
        const struct kl_controller_partition *p = sim_partition(s, slot, &t);

        if (p && p->counts[KL_CONTROLLER_REPLICAS] > 1)
            slots |= 1u << slot;
    }
    return slots;
}

static void sim_crash(struct sim *s, int32_t id)
{
    struct sim_broker *b = &s->brokers[id];
    int kind = (int)sim_below(s, 10);

    if (!b->up)
        return;
    b->up = 0;
    /* Its connection broke, or nobody noticed. */
    if (b->registered && sim_below(s, 2))
        kl_controller_contact_lost(s->cl.f.c, id, s->cl.brokers[id].epoch);
    sim_forget(b);
    b->recovery = KL_CONTROLLER_INTACT;
    sim_lose(s, b, sim_interval_slots);
    sim_trace(s, "crash %d kind %d", (int)id, kind);
    switch (kind) {
    case 0: /* rot */
        b->recovery = KL_CONTROLLER_DAMAGED;
        b->damaged |= sim_random_slots(s) & sim_copied_slots(s);
        sim_lose(s, b, b->damaged);
        break;
    case 1: /* a copy of the folder from an earlier life, or without a life */
        b->proves = 0;
        b->stored_epoch = sim_below(s, 2) ? -1 : b->stored_epoch - 1;
        b->recovery =
            sim_below(s, 2) ? KL_CONTROLLER_CLEAN : KL_CONTROLLER_INTACT;
        sim_lose(s, b, UINT32_MAX);
        break;
    case 2: /* a copy from this life: the controller remembers */
        if (b->told > 0) {
            b->proves = 0;
            b->rewound = 1;
            b->metadata_leo = b->told - 1;
            sim_lose(s, b, UINT32_MAX);
        }
        break;
    case 3: /* another disk */
        b->proves = 0;
        s->cl.brokers[id].disk += 10;
        memset(b->leo, 0, sizeof b->leo);
        break;
    default:
        break;
    }
}

/* Damage in logs that have become the only copy, which answers for it. */
static void sim_only_copies(struct sim *s, struct sim_broker *b)
{
    uint32_t only = b->damaged & ~sim_copied_slots(s);

    for (size_t slot = 0; slot < SIM_SLOTS; slot++)
        if ((only >> slot & 1) && s->parts[slot].hwm > b->leo[slot])
            s->parts[slot].hwm = b->leo[slot];
    b->damaged &= ~only;
}

/* Its registration counts: what it does not prove is not to be trusted. */
static void sim_registered(struct sim *s, int32_t id, int64_t epoch, int wiped)
{
    struct sim_broker *b = &s->brokers[id];

    sim_only_copies(s, b);
    for (size_t slot = 0; slot < SIM_SLOTS; slot++) {
        int kept =
            b->proves &&
            (b->recovery == KL_CONTROLLER_CLEAN ||
             (!(sim_interval_slots >> slot & 1) && !(b->damaged >> slot & 1)));

        if (!kept)
            s->parts[slot].unproved |= 1u << id;
    }
    if (wiped)
        s->vanished |= 1u << id;
    sim_trace(s, "registered %d recovery %d damaged %x proves %d", (int)id,
              (int)b->recovery, b->damaged, b->proves);
    s->cl.brokers[id].epoch = b->stored_epoch = epoch;
    b->registered = 1;
    b->proves = 1;
    b->damaged = 0;
    b->rewound = 0;
    b->told = -1;
    s->registrations++;
}

static size_t sim_damaged(struct sim *s, const struct sim_broker *b,
                          struct kl_controller_log_id *out)
{
    const struct kl_controller_topic *t;
    size_t n = 0;

    for (size_t slot = 0; slot < SIM_SLOTS; slot++) {
        struct kl_controller_log_id log;
        size_t at = n;

        if (!(b->damaged >> slot & 1) || !sim_partition(s, slot, &t))
            continue;
        log.topic_id = t->id;
        log.partition = (int32_t)(slot % SIM_PARTITIONS);
        for (; at > 0 && memcmp(&out[at - 1].topic_id, &log.topic_id,
                                sizeof log.topic_id) > 0;
             at--)
            out[at] = out[at - 1];
        out[at] = log;
        n++;
    }
    return n;
}

static void sim_register(struct sim *s, int32_t id)
{
    struct kl_controller_log_id damaged[SIM_SLOTS];
    struct kl_controller_registration r;
    struct sim_broker *b = &s->brokers[id];
    struct controller_fixture *f = &s->cl.f;
    const struct kl_controller_broker *old =
        kl_controller_broker_find(f->c, id);
    int64_t epoch;
    int more, rc, wiped;

    r = cluster_registration(&s->cl, id);
    wiped = old && !kl_base_uuid_equal(&old->directory_id, &r.directory_id);
    r.previous_epoch = b->stored_epoch;
    r.recovery = b->recovery;
    r.metadata_leo = b->metadata_leo;
    r.damaged = damaged;
    r.damaged_count = sim_damaged(s, b, damaged);
    do {
        rc = kl_controller_register_broker(f->c, &r, s->cl.end, s->cl.now_ns,
                                           &f->records, &epoch, &more,
                                           &f->error);
        if (rc == KL_EDUPLICATENODE)
            return;
        ck_assert_msg(rc == 0, "%s", f->error.text);
        if (wiped)
            s->gone |= 1u << id;
        if (!more)
            sim_registered(s, id, epoch, wiped);
        sim_commit(s);
    } while (more);
}

static void sim_beat(struct sim *s, int32_t id)
{
    struct sim_broker *b = &s->brokers[id];
    struct controller_fixture *f = &s->cl.f;
    struct kl_controller_heartbeat h = {id, s->cl.brokers[id].epoch, s->cl.end,
                                        0, b->stops};
    struct kl_controller_heartbeat_reply reply;
    int more, rc;

    if (!b->registered) {
        sim_register(s, id);
        return;
    }
    do {
        rc = kl_controller_heartbeat(f->c, &h, s->cl.end, s->cl.now_ns,
                                     &f->records, &reply, &more, &f->error);
        if (rc)
            break;
        b->metadata_leo = b->told = h.metadata_offset;
        sim_commit(s);
    } while (more);
    if (rc) {
        /* It has to begin again, with what it has. */
        sim_forget(b);
        b->recovery = KL_CONTROLLER_INTACT;
    } else if (reply.should_shutdown) {
        b->up = 0;
        sim_forget(b);
        b->recovery = KL_CONTROLLER_CLEAN;
    }
}

/* Everybody who can is heard of, and time asks for what is due. */
static void sim_time(struct sim *s, int64_t ms)
{
    s->cl.now_ns += ms * CLUSTER_MS;
    for (int32_t id = 1; id <= SIM_BROKERS; id++)
        if (s->brokers[id].up && !s->brokers[id].cut)
            sim_beat(s, id);
    for (int i = 0; i < 3; i++) {
        if (kl_controller_deadline(s->cl.f.c) > s->cl.now_ns)
            break;
        ck_assert_int_eq(kl_controller_tick(s->cl.f.c, s->cl.now_ns,
                                            &s->cl.f.records, &s->cl.f.error),
                         0);
        s->fences += s->cl.f.records.count > 0;
        sim_commit(s);
    }
}

/* ---- operators ----------------------------------------------------------- */

static void sim_create(struct sim *s, size_t slot)
{
    struct kl_controller_config config = {"flush", "interval"};
    struct kl_controller_create command = {
        .name = sim_topic(slot),
        .partition_count = SIM_PARTITIONS,
        .replication_factor = (int32_t)(1 + sim_below(s, 4)),
        .configs = &config,
        .config_count = slot / SIM_PARTITIONS == SIM_TOPICS - 1};

    (void)kl_controller_create_topic(s->cl.f.c, &command, &s->cl.f.records,
                                     NULL, &s->cl.f.error);
    sim_commit(s);
}

static void sim_reassign(struct sim *s, size_t slot)
{
    struct controller_fixture *f = &s->cl.f;
    int32_t target[SIM_BROKERS], partition = (int32_t)(slot % SIM_PARTITIONS);
    uint32_t n = 0, chosen = (uint32_t)sim_below(s, 1u << SIM_BROKERS);

    for (int32_t i = 0; i < SIM_BROKERS; i++)
        if (chosen >> i & 1)
            target[n++] = i + 1;
    if (n > 1 && sim_below(s, 2)) {
        int32_t first = target[0];

        target[0] = target[n - 1];
        target[n - 1] = first;
    }
    if (sim_below(s, 4) == 0)
        (void)kl_controller_cancel_reassignment(
            f->c, sim_topic(slot), partition, &f->records, &f->error);
    else
        (void)kl_controller_reassign(f->c, sim_topic(slot), partition,
                                     sim_below(s, 3) ? target : NULL, n,
                                     &f->records, &f->error);
    sim_commit(s);
}

static void sim_min_isr(struct sim *s, size_t slot)
{
    static const char *const values[] = {NULL, "1", "2", "3"};

    (void)controller_fixture_alter(&s->cl.f, sim_topic(slot),
                                   "min.insync.replicas",
                                   values[sim_below(s, 4)]);
    sim_commit(s);
}

static void sim_elect(struct sim *s, size_t slot, int unclean)
{
    struct controller_fixture *f = &s->cl.f;

    s->ordered = unclean;
    (void)kl_controller_elect_leader(
        f->c, sim_topic(slot), (int32_t)(slot % SIM_PARTITIONS),
        unclean ? KL_CONTROLLER_UNCLEAN : KL_CONTROLLER_PREFERRED,
        (int32_t)sim_below(s, SIM_BROKERS + 1) - 1, &f->records, &f->error);
    sim_commit(s);
    s->ordered = 0;
}

static void sim_unregister(struct sim *s, int32_t id)
{
    struct controller_fixture *f = &s->cl.f;
    int more = 0;

    do {
        if (kl_controller_unregister_broker(f->c, id, &f->records, &more,
                                            &f->error))
            return;
        s->gone |= 1u << id;
        for (size_t slot = 0; !more && slot < SIM_SLOTS; slot++)
            s->parts[slot].unproved |= 1u << id;
        s->vanished = more ? 0 : s->gone;
        sim_commit(s);
    } while (more);
}

/* Found while it runs: before anything else it stops to lead, so that nobody
 * cuts a log to what it has left, or its leader hears of it. */
static void sim_damage(struct sim *s, int32_t id, size_t slot)
{
    struct kl_controller_log_id log = {{{0}}, (int32_t)(slot % SIM_PARTITIONS)};
    struct controller_fixture *f = &s->cl.f;
    struct sim_broker *b = &s->brokers[id];
    const struct kl_controller_topic *t;
    size_t done;

    if (!b->up || !b->registered || b->cut || !sim_partition(s, slot, &t) ||
        !(sim_copied_slots(s) >> slot & 1))
        return;
    log.topic_id = t->id;
    if (kl_controller_report_damage(f->c, id, s->cl.brokers[id].epoch, &log, 1,
                                    &done, &f->records, &f->error))
        return;
    sim_lose(s, b, 1u << slot);
    b->views[slot].leader = -1;
    for (int32_t other = 1; other <= SIM_BROKERS; other++)
        s->brokers[other].views[slot].progress[id] =
            (struct sim_progress){0, -1};
    sim_commit(s);
}

static void sim_operate(struct sim *s, size_t slot)
{
    switch (sim_below(s, 16)) {
    case 0:
        (void)kl_controller_delete_topic(s->cl.f.c, sim_topic(slot),
                                         &s->cl.f.records, &s->cl.f.error);
        sim_commit(s);
        break;
    case 1:
        sim_unregister(s, (int32_t)(1 + sim_below(s, SIM_BROKERS)));
        break;
    case 2:
        sim_damage(s, (int32_t)(1 + sim_below(s, SIM_BROKERS)), slot);
        break;
    case 3:
    case 4:
    case 5:
        sim_min_isr(s, slot);
        break;
    case 6:
    case 7:
    case 8:
        sim_elect(s, slot, sim_below(s, 3) == 0);
        break;
    case 9:
    case 10:
        sim_create(s, slot);
        break;
    default:
        sim_reassign(s, slot);
        break;
    }
}

/* ---- steps --------------------------------------------------------------- */

static void sim_break(struct sim *s, int32_t id)
{
    struct sim_broker *b = &s->brokers[id];

    switch (sim_below(s, 8)) {
    case 0:
    case 1:
        sim_crash(s, id);
        break;
    case 2:
        b->cut = !b->cut;
        break;
    case 3:
        b->stops = b->up && b->registered;
        break;
    case 4:
        if (sim_below(s, 4) == 0)
            sim_fail_over(s);
        break;
    default:
        b->up = 1;
        break;
    }
}

static void sim_work(struct sim *s, int32_t id, size_t slot)
{
    switch (sim_below(s, 12)) {
    case 0:
        sim_append(s, id, slot);
        break;
    case 1:
    case 2:
    case 3:
        sim_fetch(s, id, slot);
        break;
    case 4:
    case 5:
        sim_advance(s, id, slot);
        break;
    case 6:
        sim_propose(s, id, slot, sim_below(s, 4) == 0);
        break;
    case 7:
        if (s->message_count && sim_below(s, 3) == 0) {
            size_t index = sim_below(s, s->message_count);

            sim_deliver(s, index, sim_below(s, 4) != 0);
        }
        break;
    case 8:
        /* Lost. */
        if (s->message_count && sim_below(s, 4) == 0)
            s->message_count--;
        break;
    default:
        if (s->brokers[id].up && !s->brokers[id].cut)
            sim_learn(s, id, slot);
        break;
    }
}

void sim_step(struct sim *s)
{
    int32_t id = (int32_t)(1 + sim_below(s, SIM_BROKERS));
    size_t slot = sim_below(s, SIM_SLOTS);
    uint64_t what = sim_below(s, 200);

    if (what < 10)
        sim_time(s, (int64_t)(100 + sim_below(s, 2000)));
    else if (what < 13)
        sim_break(s, id);
    else if (what < 16)
        sim_operate(s, slot);
    else
        for (int i = 0; i < 50; i++)
            sim_work(s, (int32_t)(1 + sim_below(s, SIM_BROKERS)), slot);
}

/* ---- healing ------------------------------------------------------------- */

/* One round of everything that a healthy cluster does. */
static void sim_round(struct sim *s)
{
    for (int32_t id = 1; id <= SIM_BROKERS; id++)
        s->brokers[id].up = 1;
    sim_time(s, 500);
    for (size_t slot = 0; slot < SIM_SLOTS; slot++) {
        for (int32_t id = 1; id <= SIM_BROKERS; id++)
            sim_learn(s, id, slot);
        for (int32_t id = 1; id <= SIM_BROKERS; id++)
            sim_append(s, id, slot);
        for (int i = 0; i < 3; i++)
            for (int32_t id = 1; id <= SIM_BROKERS; id++)
                sim_fetch(s, id, slot);
        for (int32_t id = 1; id <= SIM_BROKERS; id++) {
            sim_propose(s, id, slot, 0);
            while (s->message_count)
                sim_deliver(s, 0, 1);
            sim_advance(s, id, slot);
        }
    }
}

/* Partitions that nobody may lead but on an operator's word. */
static void sim_rescue(struct sim *s)
{
    const struct kl_controller_topic *t;

    for (size_t slot = 0; slot < SIM_SLOTS; slot++) {
        const struct kl_controller_partition *p = sim_partition(s, slot, &t);

        if (!p || p->leader >= 0)
            continue;
        if (p->counts[KL_CONTROLLER_ELR])
            sim_broken(s, "an eligible replica is there and does not lead");
        while (sim_partition(s, slot, &t)->leader < 0 && !s->why)
            sim_elect(s, slot, 1);
    }
}

static void sim_expect_health(struct sim *s)
{
    const struct kl_controller_topic *t;

    for (size_t slot = 0; slot < SIM_SLOTS; slot++) {
        const struct kl_controller_partition *p = sim_partition(s, slot, &t);

        if (!p)
            continue;
        if (p->leader < 0)
            sim_broken(s, "no leader after all is well");
        else if (p->counts[KL_CONTROLLER_ADDING] ||
                 p->counts[KL_CONTROLLER_REMOVING])
            sim_broken(s, "a reassignment does not end (L7)");
        else if (p->counts[KL_CONTROLLER_ISR] !=
                 p->counts[KL_CONTROLLER_REPLICAS])
            sim_broken(s, "a replica does not come back");
        else if (p->flags)
            sim_broken(s, "recovering does not end");
        else if (s->parts[slot].hwm != s->brokers[p->leader].leo[slot])
            sim_broken(s, "the high watermark stands still");
    }
}

void sim_heal(struct sim *s)
{
    s->message_count = 0;
    for (int32_t id = 1; id <= SIM_BROKERS; id++) {
        struct sim_broker *b = &s->brokers[id];

        b->cut = 0;
        for (size_t slot = 0; slot < SIM_SLOTS; slot++)
            b->views[slot].proposed = 0;
    }
    for (int i = 0; i < 40 && !s->why; i++)
        sim_round(s);
    for (int32_t id = 1; id <= SIM_BROKERS; id++)
        if (!kl_controller_broker_is_active(
                kl_controller_broker_find(s->cl.f.c, id)))
            sim_broken(s, "a broker stays fenced (L2)");
    sim_rescue(s);
    for (int i = 0; i < 20 && !s->why; i++)
        sim_round(s);
    sim_expect_health(s);
}

/* ---- life ---------------------------------------------------------------- */

void sim_init(struct sim *s, uint64_t seed)
{
    struct kl_controller_options o = {
        .broker_id = -1, .seed = seed, .rebalance_ms = 20000};

    memset(s, 0, sizeof *s);
    s->traces = getenv("SIM_TRACE") != NULL;
    kl_base_rng_seed(&s->rng, seed);
    /* Some worlds have small batches. */
    if (sim_below(s, 3) == 0)
        o.batch_bytes_max = 700;
    cluster_init(&s->cl, &o);
    s->shadow = sim_controller(s);
    controller_fixture_replay(s->shadow, &s->cl.log);
    for (int32_t id = 1; id <= SIM_BROKERS; id++) {
        sim_forget(&s->brokers[id]);
        s->brokers[id].up = s->brokers[id].proves = 1;
        s->brokers[id].stored_epoch = s->brokers[id].told = -1;
    }
    for (int i = 0; i < 3; i++)
        sim_time(s, 500);
    for (size_t topic = 0; topic < SIM_TOPICS; topic++)
        sim_create(s, topic * SIM_PARTITIONS);
}

void sim_deinit(struct sim *s)
{
    kl_controller_free(s->shadow);
    cluster_deinit(&s->cl);
}
