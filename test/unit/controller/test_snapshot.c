/*
 * Image to records and back; replay of random histories.
 */
#include "controller_fixture.h"

#include "base/rng.h"

#include <check.h>
#include <string.h>

static struct controller_fixture f;
static struct kl_controller_records history; /* everything applied so far */
static struct kl_controller_records image;

static void set_up(void)
{
    controller_fixture_init(&f, NULL);
    kl_controller_records_init(&history, &f.memory.alloc);
    kl_controller_records_init(&image, &f.memory.alloc);
    ck_assert_int_eq(kl_controller_encode(f.c, &history), 0);
}

static void tear_down(void)
{
    kl_controller_records_deinit(&history);
    kl_controller_records_deinit(&image);
    controller_fixture_deinit(&f);
}

static void commit(void)
{
    controller_fixture_commit(&f);
    kl_base_buf_append(&history.buf, f.records.buf.data, f.records.buf.size);
    history.count += f.records.count;
}

/* An empty controller that applies records has the image of f. */
static void same_after(const struct kl_controller_records *records)
{
    struct kl_controller_options o = {.broker_id = 99, .seed = 12345};
    struct kl_controller *c = f.c;

    o.check = controller_fixture_check;
    ck_assert_int_eq(kl_controller_encode(c, &image), 0);
    ck_assert_int_eq(kl_controller_new(&f.c, &f.memory.alloc, &o), 0);
    controller_fixture_replay(f.c, records);
    controller_fixture_unchanged(&f, &image);
    ck_assert_uint_eq(kl_controller_partition_count(f.c),
                      kl_controller_partition_count(c));
    kl_controller_free(f.c);
    f.c = c;
}

START_TEST(encode_empty_image)
{
    struct kl_controller *empty;
    struct kl_controller_options o = {.check = controller_fixture_check};

    ck_assert_int_eq(kl_controller_new(&empty, &f.memory.alloc, &o), 0);
    ck_assert_int_eq(kl_controller_encode(empty, &image), 0);
    ck_assert_uint_eq(image.count, 0);
    kl_controller_free(empty);
    ck_assert_int_eq(kl_controller_encode(f.c, &image), 0);
    ck_assert_uint_eq(image.count, 1);
}
END_TEST

/* The order of creation leaves no trace. */
START_TEST(encode_depends_on_image_alone)
{
    struct kl_controller_records snapshot;

    kl_controller_records_init(&snapshot, &f.memory.alloc);
    ck_assert_int_eq(controller_fixture_create(&f, "b", 2), 0);
    commit();
    ck_assert_int_eq(controller_fixture_create(&f, "a", 1), 0);
    commit();
    ck_assert_int_eq(controller_fixture_alter(&f, "b", "other", "1"), 0);
    commit();
    ck_assert_int_eq(controller_fixture_alter(&f, "b", "note", "2"), 0);
    commit();
    ck_assert_int_eq(kl_controller_encode(f.c, &snapshot), 0);
    ck_assert_uint_eq(snapshot.count, 1 + 2 + 3 + 2);
    same_after(&history);
    same_after(&snapshot);
    kl_controller_records_deinit(&snapshot);
}
END_TEST

START_TEST(encode_replicated_partition)
{
    static const uint8_t ids[] = {3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0};
    struct kl_wire_record r = {.type = KL_WIRE_PARTITION_RECORD};
    struct kl_controller_records snapshot;

    ck_assert_int_eq(controller_fixture_create(&f, "t", 1), 0);
    commit();
    r.partition.topic_id = kl_controller_topic_find(f.c, "t")->id;
    r.partition.partition = 1;
    r.partition.replicas = (struct kl_wire_i32s){ids, 3};
    r.partition.elr = (struct kl_wire_i32s){ids, 2};
    r.partition.last_known_elr = (struct kl_wire_i32s){ids + 8, 1};
    r.partition.adding = (struct kl_wire_i32s){ids + 8, 1};
    r.partition.removing = (struct kl_wire_i32s){ids, 1};
    r.partition.leader = -1;
    r.partition.last_known_leader = 3;
    r.partition.leader_epoch = 70000;
    r.partition.partition_epoch = 70001;
    r.partition.flags = KL_WIRE_PARTITION_RECOVERING;
    ck_assert_int_eq(controller_fixture_apply(&f, &r), 0);
    kl_controller_records_init(&snapshot, &f.memory.alloc);
    ck_assert_int_eq(kl_controller_encode(f.c, &snapshot), 0);
    same_after(&snapshot);
    kl_controller_records_deinit(&snapshot);
}
END_TEST

START_TEST(encode_without_memory)
{
    uint64_t at = 0;
    int rc;

    ck_assert_int_eq(controller_fixture_create(&f, "t", 100), 0);
    commit();
    do {
        fail_alloc_arm(&f.memory, ++at);
        rc = kl_controller_encode(f.c, &image);
        fail_alloc_arm(&f.memory, 0);
        if (rc) {
            ck_assert_int_eq(rc, KL_ENOMEM);
            ck_assert_uint_eq(image.count, 0);
            kl_controller_records_deinit(&image);
        }
    } while (rc);
    ck_assert_uint_gt(at, 3);
}
END_TEST

static void random_create(struct kl_base_rng *rng, const char *name)
{
    static const char *const flush[] = {"commit", "interval"};
    struct kl_controller_config configs[2] = {
        {"flush", flush[kl_base_rng_below(rng, 2)]}, {"note", name}};
    struct kl_controller_create command = {
        name,    (int32_t)kl_base_rng_below(rng, 7), -1,
        configs, kl_base_rng_below(rng, 3),          NULL};
    int exists = kl_controller_topic_find(f.c, name) != NULL;
    int rc =
        kl_controller_create_topic(f.c, &command, &f.records, NULL, &f.error);

    if (exists)
        ck_assert_int_eq(rc, KL_ETOPICEXISTS);
    else
        ck_assert_int_eq(rc, command.partition_count ? 0 : KL_EPARTITIONS);
}

static void random_alter(struct kl_base_rng *rng, const char *name)
{
    static const char *const keys[] = {"note", "other", "retention.ms"};
    static const char *const values[] = {"", "1", "22", NULL};
    struct kl_controller_config changes[3];
    size_t count = kl_base_rng_below(rng, 4);
    int exists = kl_controller_topic_find(f.c, name) != NULL;
    int rc;

    for (size_t i = 0; i < count; i++) {
        changes[i].key = keys[i];
        changes[i].value = values[kl_base_rng_below(rng, 4)];
    }
    rc = kl_controller_alter_config(f.c, name, changes, count, &f.records,
                                    &f.error);
    ck_assert_int_eq(rc, exists ? 0 : KL_ENOTOPIC);
}

static void random_command(struct kl_base_rng *rng)
{
    char name[2] = {(char)('a' + kl_base_rng_below(rng, 12)), 0};
    uint64_t dice = kl_base_rng_below(rng, 10);
    int exists = kl_controller_topic_find(f.c, name) != NULL;

    if (dice < 5)
        random_create(rng, name);
    else if (dice < 8)
        random_alter(rng, name);
    else
        ck_assert_int_eq(
            kl_controller_delete_topic(f.c, name, &f.records, &f.error),
            exists ? 0 : KL_ENOTOPIC);
}

START_TEST(replay_random_histories)
{
    struct kl_controller_records snapshot;
    struct kl_base_rng rng;

    kl_base_rng_seed(&rng, (uint64_t)_i);
    kl_controller_records_init(&snapshot, &f.memory.alloc);
    for (int i = 0; i < 300; i++) {
        /* A command that is refused leaves no records to commit. */
        random_command(&rng);
        commit();
        if (i % 50 == 49)
            same_after(&history);
    }
    ck_assert_uint_gt(kl_controller_topic_count(f.c), 0);
    ck_assert_int_eq(kl_controller_encode(f.c, &snapshot), 0);
    same_after(&snapshot);
    kl_controller_records_deinit(&snapshot);
}
END_TEST

/* The changes that are reported, taken alone, give the topics of the image. */
START_TEST(replay_deltas_follow_image)
{
    static struct kl_controller_delta live[64];
    struct kl_base_rng rng;
    size_t lives = 0, count;

    kl_base_rng_seed(&rng, 1000 + (uint64_t)_i);
    for (int i = 0; i < 300; i++) {
        const struct kl_controller_delta *d;

        random_command(&rng);
        commit();
        d = kl_controller_delta(f.c, &count);
        ck_assert_uint_le(count, 1);
        if (count && d->kind == KL_CONTROLLER_CREATED) {
            live[lives++] = *d;
        } else if (count && d->kind == KL_CONTROLLER_DELETED) {
            for (size_t j = 0; j < lives; j++)
                if (kl_base_uuid_equal(&live[j].topic_id, &d->topic_id)) {
                    ck_assert_int_eq(live[j].partition_end, d->partition_end);
                    live[j] = live[--lives];
                    break;
                }
        }
        kl_controller_delta_clear(f.c);
        ck_assert_uint_eq(lives, kl_controller_topic_count(f.c));
    }
    for (size_t j = 0; j < lives; j++)
        ck_assert_int_eq(kl_controller_topic_find_id(f.c, &live[j].topic_id)
                             ->partition_count,
                         live[j].partition_end);
}
END_TEST

Suite *suite_controller_snapshot(void);
Suite *suite_controller_snapshot(void)
{
    Suite *s = suite_create("controller_snapshot");
    TCase *t = tcase_create("snapshot");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, encode_empty_image);
    tcase_add_test(t, encode_depends_on_image_alone);
    tcase_add_test(t, encode_replicated_partition);
    tcase_add_test(t, encode_without_memory);
    tcase_add_loop_test(t, replay_random_histories, 0, 10);
    tcase_add_loop_test(t, replay_deltas_follow_image, 0, 5);
    suite_add_tcase(s, t);
    return s;
}
