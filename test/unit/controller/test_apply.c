/*
 * Applying records: what contradicts the image is refused and changes nothing.
 */
#include "controller_fixture.h"

#include "base/rng.h"

#include <check.h>
#include <string.h>

static struct controller_fixture f;
static struct kl_controller_records before;
static struct kl_base_uuid id; /* of topic "t", two partitions, note=1 */

static void set_up(void)
{
    static const struct kl_controller_config configs[] = {{"note", "1"}};
    struct kl_controller_create command = {"t", 2, -1, configs, 1, NULL};

    controller_fixture_init(&f, NULL);
    kl_controller_records_init(&before, &f.memory.alloc);
    ck_assert_int_eq(
        kl_controller_create_topic(f.c, &command, &f.records, &id, &f.error),
        0);
    controller_fixture_commit(&f);
    ck_assert_int_eq(kl_controller_encode(f.c, &before), 0);
}

static void tear_down(void)
{
    kl_controller_records_deinit(&before);
    controller_fixture_deinit(&f);
}

static struct kl_wire_text text(const char *s)
{
    return (struct kl_wire_text){s, (uint32_t)strlen(s)};
}

static void refused(const struct kl_wire_record *r, int code)
{
    uint64_t version = kl_controller_version(f.c);

    kl_base_error_clear(&f.error);
    ck_assert_int_eq(controller_fixture_apply(&f, r), code);
    ck_assert_int_eq(f.error.code, code);
    ck_assert(f.error.text[0] != '\0');
    ck_assert_uint_eq(kl_controller_version(f.c), version);
    controller_fixture_unchanged(&f, &before);
}

static struct kl_wire_record topic(const char *name, uint8_t first)
{
    struct kl_wire_record r = {.type = KL_WIRE_TOPIC_RECORD};

    r.topic.name = text(name);
    r.topic.topic_id.bytes[0] = first;
    return r;
}

static struct kl_wire_record partition(int32_t index)
{
    static const uint8_t one[4] = {1};
    struct kl_wire_record r = {.type = KL_WIRE_PARTITION_RECORD};

    r.partition.topic_id = id;
    r.partition.partition = index;
    r.partition.replicas = (struct kl_wire_i32s){one, 1};
    r.partition.isr = r.partition.replicas;
    r.partition.leader = 1;
    r.partition.last_known_leader = -1;
    return r;
}

static struct kl_wire_record config(const char *key, const char *value)
{
    struct kl_wire_record r = {.type = KL_WIRE_CONFIG_RECORD};

    r.config.resource_type = KL_WIRE_RESOURCE_TOPIC;
    r.config.resource_name = text("t");
    r.config.key = text(key);
    r.config.value = text(value);
    return r;
}

START_TEST(apply_topic_contradictions)
{
    struct kl_wire_record r = topic("t", 5);

    refused(&r, KL_ECORRUPT);
    r = topic("other", 0);
    r.topic.topic_id = id;
    refused(&r, KL_ECORRUPT);
    r = topic("..", 5);
    refused(&r, KL_ECORRUPT);
    r = topic("a/b", 5);
    refused(&r, KL_ECORRUPT);
}
END_TEST

START_TEST(apply_partition_contradictions)
{
    struct kl_wire_record r = partition(2);

    r.partition.topic_id.bytes[0] ^= 1;
    refused(&r, KL_ECORRUPT);
    r = partition(1);
    refused(&r, KL_ECORRUPT);
    r = partition(3);
    refused(&r, KL_ECORRUPT);
    ck_assert_str_eq(f.error.text, "PartitionRecord: topic t has 2 partitions, "
                                   "3 is not the next");
    r = partition(2);
    r.partition.leader = 9;
    refused(&r, KL_ECORRUPT);
    ck_assert_str_eq(
        f.error.text,
        "PartitionRecord: topic t partition 2: the leader is not in the ISR");
}
END_TEST

/* A state is followed by a later one only. */
START_TEST(apply_partition_changes)
{
    struct kl_wire_record r = partition(1);
    const struct kl_controller_partition *p;

    r.partition.partition_epoch = 5;
    r.partition.leader_epoch = 3;
    ck_assert_int_eq(controller_fixture_apply(&f, &r), 0);
    p = kl_controller_partition_at(kl_controller_topic_find(f.c, "t"), 1);
    ck_assert_int_eq(p->partition_epoch, 5);
    ck_assert_int_eq(p->leader_epoch, 3);
    ck_assert_uint_eq(kl_controller_partition_count(f.c), 2);
    ck_assert_int_eq(kl_controller_encode(f.c, &before), 0);
    refused(&r, KL_ECORRUPT);
    r.partition.partition_epoch = 6;
    r.partition.leader_epoch = 2;
    refused(&r, KL_ECORRUPT);
    r.partition.leader_epoch = 3;
    ck_assert_int_eq(controller_fixture_apply(&f, &r), 0);
}
END_TEST

START_TEST(apply_remove_topic_contradictions)
{
    struct kl_wire_record r = {.type = KL_WIRE_REMOVE_TOPIC_RECORD};

    r.remove_topic.topic_id.bytes[0] = 1;
    refused(&r, KL_ECORRUPT);
}
END_TEST

START_TEST(apply_config_contradictions)
{
    struct kl_wire_record r = config("note", "2");

    r.config.resource_name = text("none");
    refused(&r, KL_ECORRUPT);
    r.config.resource_name = text("");
    refused(&r, KL_ECORRUPT);
    r = config("other", "");
    r.config.removed = 1;
    refused(&r, KL_ECORRUPT);
    r = config("note", "1");
    r.config.removed = 1;
    refused(&r, KL_ECORRUPT);
    r = config("note", "2");
    r.config.resource_type = 4;
    refused(&r, KL_EFORMAT);
}
END_TEST

START_TEST(apply_feature_level_unknown)
{
    struct kl_wire_record r = {.type = KL_WIRE_FEATURE_LEVEL_RECORD};

    r.feature_level.name = text(KL_CONTROLLER_FEATURE);
    r.feature_level.level = KL_CONTROLLER_FEATURE_LEVEL + 1;
    refused(&r, KL_EFORMAT);
    r.feature_level.level = KL_CONTROLLER_FEATURE_LEVEL;
    refused(&r, KL_ECORRUPT);
    r.feature_level.level = 0;
    refused(&r, KL_ECORRUPT);
    r.feature_level.name = text("metadata.versio");
    refused(&r, KL_EFORMAT);
}
END_TEST

START_TEST(apply_every_truncation)
{
    const uint8_t *data;
    size_t pos = 0, size;

    ck_assert_int_eq(controller_fixture_create(&f, "u", 2), 0);
    while (kl_controller_records_next(&f.records, &pos, &data, &size)) {
        ck_assert_int_eq(kl_controller_encode(f.c, &before), 0);
        for (size_t cut = 0; cut < size; cut++) {
            ck_assert_int_eq(kl_controller_apply(f.c, data, cut, &f.error),
                             KL_ECORRUPT);
            controller_fixture_unchanged(&f, &before);
        }
        ck_assert_int_eq(kl_controller_apply(f.c, data, size, &f.error), 0);
    }
    ck_assert_int_eq(kl_controller_topic_find(f.c, "u")->partition_count, 2);
}
END_TEST

/* Whatever the bytes: a refusal changes nothing, and what is accepted leaves a
 * legal image. */
START_TEST(apply_random_changes)
{
    struct kl_base_rng rng;
    uint8_t bytes[256];

    kl_base_rng_seed(&rng, (uint64_t)_i);
    for (int round = 0; round < 400; round++) {
        const uint8_t *data;
        size_t pos = 0, size;
        char name[3] = {(char)('a' + round % 5), (char)('a' + round % 7), 0};
        int rc;

        if (controller_fixture_create(&f, name, 1 + round % 3))
            (void)controller_fixture_alter(&f, name, "note", name);
        while (kl_controller_records_next(&f.records, &pos, &data, &size)) {
            ck_assert_uint_le(size, sizeof bytes);
            memcpy(bytes, data, size);
            if (kl_base_rng_below(&rng, 4) == 0)
                bytes[kl_base_rng_below(&rng, size)] ^=
                    (uint8_t)(1 + kl_base_rng_below(&rng, 255));
            ck_assert_int_eq(kl_controller_encode(f.c, &before), 0);
            rc = kl_controller_apply(f.c, bytes, size, &f.error);
            ck_assert_ptr_null(kl_controller_invariant(f.c));
            if (rc) {
                ck_assert(rc == KL_ECORRUPT || rc == KL_EFORMAT);
                controller_fixture_unchanged(&f, &before);
            }
        }
    }
}
END_TEST

/* Every allocation of every kind of record fails once. */
START_TEST(apply_without_memory)
{
    static const struct kl_controller_config configs[] = {
        {"a", "x"}, {"b", "y"}, {"note", "z"}, {"note2", ""}, {"other", "1"}};
    struct kl_controller_records log;
    const uint8_t *data;
    size_t pos = 0, size, failures = 0;

    kl_controller_records_init(&log, &kl_base_alloc_libc);
    for (int32_t i = 2; i < 7; i++) {
        struct kl_wire_record r = partition(i);

        ck_assert_int_eq(kl_wire_record_encode(&r, &log.buf, NULL), 0);
        ck_assert_int_eq(
            kl_controller_apply(f.c, log.buf.data, log.buf.size, NULL), 0);
        kl_controller_records_clear(&log);
    }
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        struct kl_wire_record r = config(configs[i].key, configs[i].value);

        ck_assert_int_eq(controller_fixture_apply(&f, &r), 0);
    }
    ck_assert_int_eq(controller_fixture_alter(&f, "t", "other", NULL), 0);
    controller_fixture_commit(&f);
    ck_assert_int_eq(kl_controller_encode(f.c, &log), 0);
    kl_controller_free(f.c);
    ck_assert_int_eq(kl_controller_new(&f.c, &f.memory.alloc,
                                       &(struct kl_controller_options){
                                           .check = controller_fixture_check}),
                     0);
    while (kl_controller_records_next(&log, &pos, &data, &size)) {
        int rc;

        ck_assert_int_eq(kl_controller_encode(f.c, &before), 0);
        for (uint64_t at = 1;; at++) {
            fail_alloc_arm(&f.memory, at);
            kl_controller_delta_clear(f.c);
            rc = kl_controller_apply(f.c, data, size, &f.error);
            fail_alloc_arm(&f.memory, 0);
            if (rc == 0)
                break;
            failures++;
            ck_assert_int_eq(rc, KL_ENOMEM);
            controller_fixture_unchanged(&f, &before);
        }
    }
    ck_assert_uint_gt(failures, 10);
    controller_fixture_unchanged(&f, &log);
    kl_controller_records_deinit(&log);
}
END_TEST

START_TEST(apply_delta_without_memory)
{
    struct kl_wire_record r = {.type = KL_WIRE_REMOVE_TOPIC_RECORD};
    size_t count, refusals = 0;
    int rc = 0;

    /* Removing needs memory for nothing but the list of changes. */
    for (int i = 0; i < 20; i++) {
        char name[2] = {(char)('a' + i), 0};

        if (name[0] == 't')
            continue;
        kl_controller_delta_clear(f.c);
        ck_assert_int_eq(controller_fixture_create(&f, name, 1), 0);
        controller_fixture_commit(&f);
    }
    while (kl_controller_topic_count(f.c)) {
        kl_controller_delta(f.c, &count);
        r.remove_topic.topic_id = kl_controller_topic_at(f.c, 0)->id;
        ck_assert_int_eq(kl_controller_encode(f.c, &before), 0);
        fail_alloc_arm(&f.memory, 1);
        rc = controller_fixture_apply(&f, &r);
        fail_alloc_arm(&f.memory, 0);
        if (rc == 0)
            continue;
        refusals++;
        ck_assert_int_eq(rc, KL_ENOMEM);
        controller_fixture_unchanged(&f, &before);
        ck_assert_int_eq(controller_fixture_apply(&f, &r), 0);
    }
    ck_assert_uint_gt(refusals, 0);
}
END_TEST

Suite *suite_controller_apply(void);
Suite *suite_controller_apply(void)
{
    Suite *s = suite_create("controller_apply");
    TCase *t = tcase_create("apply");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, apply_topic_contradictions);
    tcase_add_test(t, apply_partition_contradictions);
    tcase_add_test(t, apply_partition_changes);
    tcase_add_test(t, apply_remove_topic_contradictions);
    tcase_add_test(t, apply_config_contradictions);
    tcase_add_test(t, apply_feature_level_unknown);
    tcase_add_test(t, apply_every_truncation);
    tcase_add_loop_test(t, apply_random_changes, 0, 4);
    tcase_add_test(t, apply_without_memory);
    tcase_add_test(t, apply_delta_without_memory);
    suite_add_tcase(s, t);
    return s;
}
