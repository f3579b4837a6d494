/*
 * A quorum of one: it waits for nobody but its disk.
 */
#include "base/alloc.h"
#include "raft/raft.h"

#include <check.h>
#include <string.h>

static struct kl_raft *raft;
static struct kl_raft_effects effects;

static void setup(void)
{
    static const struct kl_batch_epochs none;
    struct kl_wire_voter self = {.node_id = 1};
    struct kl_raft_voters voters = {.offset = -1};
    struct kl_raft_options options = {.seed = 1};
    struct kl_raft_recovered recovered = {.quorum = {.leader_id = -1},
                                          .epochs = &none,
                                          .snapshot = {.end_offset = -1},
                                          .voters = &voters,
                                          .voters_count = 1};
    struct kl_base_error error;

    self.directory_id.bytes[0] = 7;
    voters.voters.items = &self;
    voters.voters.count = 1;
    recovered.quorum.voted.node_id = -1;
    options.self.node_id = self.node_id;
    options.self.directory_id = self.directory_id;
    options.cluster_id.bytes[0] = 1;
    options.session_id.bytes[0] = 1;
    options.topic_id.bytes[0] = 1;
    kl_raft_effects_init(&effects, &kl_base_alloc_libc);
    ck_assert_msg(kl_raft_new(&raft, &kl_base_alloc_libc, &options, &recovered,
                              &error) == 0,
                  "%s", error.text);
}

static void teardown(void)
{
    kl_raft_free(raft);
    kl_raft_effects_deinit(&effects);
}

static void step(struct kl_raft_event *event, int64_t now)
{
    event->now = now;
    ck_assert_int_eq(kl_raft_step(raft, event, &effects), 0);
    ck_assert_ptr_null(kl_raft_check_invariants(raft));
}

/* The first effect of a type, or NULL. */
static const struct kl_raft_effect *effect(enum kl_raft_effect_type type)
{
    for (size_t i = 0; i < effects.count; i++)
        if (effects.items[i].type == type)
            return &effects.items[i];
    return NULL;
}

static struct kl_raft_view view(void)
{
    struct kl_raft_view v;

    kl_raft_view(raft, &v);
    return v;
}

/* However long the disk takes, it is asked once, and nothing else is due. */
START_TEST(alone_waits_for_its_disk)
{
    struct kl_raft_event time = {.type = KL_RAFT_TIME};
    struct kl_raft_event persisted = {.type = KL_RAFT_PERSISTED};
    struct kl_raft_event durable = {.type = KL_RAFT_DURABLE};
    int64_t now = 1;

    while (view().role != KL_RAFT_CANDIDATE) {
        ck_assert_int_lt(now, 100);
        step(&time, now++);
        if (effect(KL_RAFT_PERSIST))
            persisted.persisted.id = effect(KL_RAFT_PERSIST)->persist.id;
    }
    ck_assert_int_eq(view().epoch, 1);
    ck_assert_int_eq(kl_raft_deadline(raft), KL_RAFT_NEVER);
    now += INT64_C(3600000000000);
    step(&time, now);
    ck_assert_uint_eq(effects.count, 0);
    ck_assert_int_eq(view().epoch, 1);
    step(&persisted, now);
    ck_assert_int_eq(view().role, KL_RAFT_LEADER);
    ck_assert_ptr_nonnull(effect(KL_RAFT_APPEND));
    ck_assert_ptr_null(effect(KL_RAFT_COMMIT));
    durable.durable.generation = view().generation;
    durable.durable.offset = view().leo;
    step(&durable, now);
    ck_assert_ptr_nonnull(effect(KL_RAFT_COMMIT));
    ck_assert_int_eq(view().high_watermark, view().leo);
    ck_assert_int_eq(kl_raft_deadline(raft), KL_RAFT_NEVER);
}
END_TEST

Suite *suite_raft_alone(void);

Suite *suite_raft_alone(void)
{
    Suite *s = suite_create("raft_alone");
    TCase *t = tcase_create("alone");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, alone_waits_for_its_disk);
    suite_add_tcase(s, t);
    return s;
}
