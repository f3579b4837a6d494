/*
 * The metadata records: bytes that never change, and everything that a decoder
 * must refuse.
 */
#include "wire/wire.h"

#include "base/rng.h"
#include "fail_alloc.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct fail_alloc memory;
static struct kl_base_buf buf;
static struct kl_base_error error;

static const struct kl_base_uuid id = {
    {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
static const uint8_t brokers[] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};

static void set_up(void)
{
    fail_alloc_init(&memory);
    kl_base_buf_init(&buf, &memory.alloc);
    kl_base_error_clear(&error);
}

static void tear_down(void)
{
    kl_base_buf_deinit(&buf);
    fail_alloc_deinit(&memory);
}

static struct kl_wire_text text(const char *s)
{
    return (struct kl_wire_text){s, (uint32_t)strlen(s)};
}

static struct kl_wire_record topic(void)
{
    struct kl_wire_record r = {.type = KL_WIRE_TOPIC_RECORD};

    r.topic.name = text("events");
    r.topic.topic_id = id;
    return r;
}

static struct kl_wire_record partition(void)
{
    struct kl_wire_record r = {.type = KL_WIRE_PARTITION_RECORD};

    r.partition.topic_id = id;
    r.partition.partition = 7;
    r.partition.replicas = (struct kl_wire_i32s){brokers, 3};
    r.partition.isr = (struct kl_wire_i32s){brokers, 1};
    r.partition.elr = (struct kl_wire_i32s){brokers + 4, 1};
    r.partition.last_known_elr = (struct kl_wire_i32s){brokers + 8, 1};
    r.partition.last_known_leader = -1;
    r.partition.leader = 1;
    r.partition.leader_epoch = 5;
    r.partition.partition_epoch = 6;
    r.partition.flags = KL_WIRE_PARTITION_RECOVERING;
    return r;
}

static struct kl_wire_record config(void)
{
    struct kl_wire_record r = {.type = KL_WIRE_CONFIG_RECORD};

    r.config.resource_type = KL_WIRE_RESOURCE_TOPIC;
    r.config.resource_name = text("events");
    r.config.key = text("retention.ms");
    r.config.value = text("5");
    return r;
}

static struct kl_wire_record remove_topic(void)
{
    struct kl_wire_record r = {.type = KL_WIRE_REMOVE_TOPIC_RECORD};

    r.remove_topic.topic_id = id;
    return r;
}

static struct kl_wire_record feature_level(void)
{
    struct kl_wire_record r = {.type = KL_WIRE_FEATURE_LEVEL_RECORD};

    r.feature_level.name = text("metadata.version");
    r.feature_level.level = 1;
    return r;
}

static struct kl_wire_record register_broker(void)
{
    static const uint8_t endpoints[] = "\x0c\0tcp:a.b:9092\x03\0x:y";
    struct kl_wire_record r = {.type = KL_WIRE_REGISTER_BROKER_RECORD};

    r.register_broker.broker_id = 3;
    r.register_broker.broker_epoch = 0x0102030405060708;
    r.register_broker.incarnation_id = id;
    r.register_broker.directory_id = id;
    r.register_broker.feature_min = 1;
    r.register_broker.feature_max = 2;
    r.register_broker.batch_bytes_max = 65536;
    r.register_broker.rack = text("r1");
    r.register_broker.endpoints =
        (struct kl_wire_texts){endpoints, sizeof endpoints - 1, 2};
    r.register_broker.flags = KL_WIRE_BROKER_FENCED;
    return r;
}

static struct kl_wire_record unregister_broker(void)
{
    struct kl_wire_record r = {.type = KL_WIRE_UNREGISTER_BROKER_RECORD};

    r.unregister_broker.broker_id = 3;
    r.unregister_broker.broker_epoch = 7;
    return r;
}

static struct kl_wire_record producer_ids(void)
{
    struct kl_wire_record r = {.type = KL_WIRE_PRODUCER_IDS_RECORD};

    r.producer_ids.broker_id = -1;
    r.producer_ids.broker_epoch = -1;
    r.producer_ids.next_producer_id = 1000;
    return r;
}

static struct kl_wire_record broker_change(void)
{
    struct kl_wire_record r = {.type = KL_WIRE_BROKER_CHANGE_RECORD};

    r.broker_change.broker_id = 3;
    r.broker_change.broker_epoch = 7;
    r.broker_change.fenced = KL_WIRE_BROKER_UNFENCES;
    r.broker_change.shutdown = 1;
    return r;
}

/* What is written once must be read for ever: bytes, and the printed line. */
#define ID_BYTES                                                               \
    "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"
#define ID_TEXT "0102030405060708090a0b0c0d0e0f10"
static const struct
{
    struct kl_wire_record (*make)(void);
    const char *bytes;
    size_t size;
    const char *line;
} cases[] = {
#define CASE(make, bytes, line)                                                \
    {                                                                          \
        make, bytes, sizeof bytes - 1, line                                    \
    }
    CASE(topic, "\2\0\0\0\6\0events" ID_BYTES,
         "TopicRecord name=\"events\" topic_id=" ID_TEXT),
    CASE(partition,
         "\3\0\0\0" ID_BYTES "\7\0\0\0"
         "\3\0\1\0\0\0\2\0\0\0\3\0\0\0"
         "\1\0\1\0\0\0"
         "\1\0\2\0\0\0"
         "\1\0\3\0\0\0"
         "\xff\xff\xff\xff\1\0\0\0\5\0\0\0\6\0\0\0"
         "\0\0\0\0\1\0\0\0",
         "PartitionRecord topic_id=" ID_TEXT " partition=7 replicas=[1,2,3]"
         " isr=[1] elr=[2] last_known_elr=[3] last_known_leader=-1 leader=1"
         " leader_epoch=5 partition_epoch=6 adding=[] removing=[] flags=1"),
    CASE(config, "\4\0\0\0\2\6\0events\x0c\0retention.ms\1\0005\0",
         "ConfigRecord resource_type=2 resource_name=\"events\""
         " key=\"retention.ms\" value=\"5\" removed=0"),
    CASE(remove_topic, "\x9\0\0\0" ID_BYTES,
         "RemoveTopicRecord topic_id=" ID_TEXT),
    CASE(feature_level, "\x0c\0\0\0\x10\0metadata.version\1\0",
         "FeatureLevelRecord name=\"metadata.version\" level=1"),
    CASE(register_broker,
         "\0\0\0\0\3\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01" ID_BYTES ID_BYTES
         "\1\0\2\0\0\0\1\0\2\0r1"
         "\2\0\x0c\0tcp:a.b:9092\3\0x:y\1",
         "RegisterBrokerRecord broker_id=3 broker_epoch=72623859790382856"
         " incarnation_id=" ID_TEXT " directory_id=" ID_TEXT
         " feature_min=1 feature_max=2 batch_bytes_max=65536 rack=\"r1\""
         " endpoints=[\"tcp:a.b:9092\",\"x:y\"] flags=1"),
    CASE(unregister_broker, "\1\0\0\0\3\0\0\0\7\0\0\0\0\0\0\0",
         "UnregisterBrokerRecord broker_id=3 broker_epoch=7"),
    CASE(producer_ids,
         "\x0f\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
         "\xe8\3\0\0\0\0\0\0",
         "ProducerIdsRecord broker_id=-1 broker_epoch=-1"
         " next_producer_id=1000"),
    CASE(broker_change, "\x11\0\0\0\3\0\0\0\7\0\0\0\0\0\0\0\xff\1",
         "BrokerRegistrationChangeRecord broker_id=3 broker_epoch=7"
         " fenced=-1 shutdown=1"),
};
enum { CASES = sizeof cases / sizeof cases[0] };

START_TEST(encode_known_bytes)
{
    struct kl_wire_record r = cases[_i].make();

    ck_assert_uint_eq(kl_wire_record_size(&r), cases[_i].size);
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), 0);
    ck_assert_uint_eq(buf.size, cases[_i].size);
    ck_assert_mem_eq(buf.data, cases[_i].bytes, buf.size);
}
END_TEST

START_TEST(decode_known_bytes)
{
    struct kl_wire_record r;

    ck_assert_int_eq(
        kl_wire_record_decode(&r, cases[_i].bytes, cases[_i].size, &error), 0);
    ck_assert_uint_eq(r.version, 0);
    kl_wire_record_print(&r, &buf);
    ck_assert_int_eq(buf.error, 0);
    ck_assert_uint_eq(buf.size, strlen(cases[_i].line));
    ck_assert_mem_eq(buf.data, cases[_i].line, buf.size);
    kl_base_buf_clear(&buf);
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), 0);
    ck_assert_uint_eq(buf.size, cases[_i].size);
    ck_assert_mem_eq(buf.data, cases[_i].bytes, buf.size);
}
END_TEST

START_TEST(decode_every_truncation)
{
    for (size_t size = 0; size < cases[_i].size; size++) {
        struct kl_wire_record r;
        uint8_t *exact = malloc(size ? size : 1);

        ck_assert_ptr_nonnull(exact);
        memcpy(exact, cases[_i].bytes, size);
        ck_assert_int_eq(kl_wire_record_decode(&r, exact, size, &error),
                         KL_ECORRUPT);
        ck_assert_int_eq(error.code, KL_ECORRUPT);
        free(exact);
    }
}
END_TEST

START_TEST(decode_trailing_byte)
{
    struct kl_wire_record r;

    kl_base_buf_append(&buf, cases[_i].bytes, cases[_i].size);
    kl_base_buf_put8(&buf, 0);
    ck_assert_int_eq(kl_wire_record_decode(&r, buf.data, buf.size, &error),
                     KL_ECORRUPT);
    ck_assert_ptr_nonnull(strstr(error.text, "1 bytes behind"));
}
END_TEST

START_TEST(decode_later_version)
{
    struct kl_wire_record r;

    kl_base_buf_append(&buf, cases[_i].bytes, cases[_i].size);
    kl_base_put_le16(buf.data + 2, 1);
    ck_assert_int_eq(kl_wire_record_decode(&r, buf.data, buf.size, &error),
                     KL_EFORMAT);
    /* A later version may be shorter than ours: its fields do not matter. */
    ck_assert_int_eq(kl_wire_record_decode(&r, buf.data, 4, &error),
                     KL_EFORMAT);
    kl_base_put_le16(buf.data + 2, UINT16_MAX);
    ck_assert_int_eq(kl_wire_record_decode(&r, buf.data, buf.size, &error),
                     KL_EFORMAT);
}
END_TEST

/* No change of bytes leads anywhere but to a valid record or a refusal, and a
 * record that was accepted can be written again. */
START_TEST(decode_random_changes)
{
    struct kl_base_rng rng;

    kl_base_rng_seed(&rng, (uint64_t)_i);
    for (int round = 0; round < 5000; round++) {
        struct kl_wire_record r;
        uint8_t bytes[128];
        size_t size = cases[_i].size;
        int rc;

        ck_assert_uint_le(size, sizeof bytes);
        memcpy(bytes, cases[_i].bytes, size);
        for (int n = 0; n < 1 + round % 3; n++)
            bytes[kl_base_rng_below(&rng, size)] =
                (uint8_t)kl_base_rng_next(&rng);
        rc = kl_wire_record_decode(&r, bytes, size, &error);
        ck_assert(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
        if (rc)
            continue;
        kl_base_buf_clear(&buf);
        ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), 0);
        ck_assert_uint_eq(buf.size, size);
        ck_assert_mem_eq(buf.data, bytes, size);
    }
}
END_TEST

START_TEST(encode_without_memory)
{
    struct kl_wire_record r = cases[_i].make();

    fail_alloc_arm(&memory, 1);
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), KL_ENOMEM);
    ck_assert_int_eq(error.code, KL_ENOMEM);
    ck_assert_uint_eq(buf.size, 0);
}
END_TEST

START_TEST(decode_unknown_type)
{
    static const uint16_t unknown[] = {5, 7, 10, 256 + 2, UINT16_MAX};

    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        struct kl_wire_record r;
        uint8_t bytes[4] = {0};

        kl_base_put_le16(bytes, unknown[i]);
        ck_assert_int_eq(kl_wire_record_decode(&r, bytes, 4, &error),
                         KL_EFORMAT);
        ck_assert_int_eq(error.code, KL_EFORMAT);
    }
}
END_TEST

START_TEST(encode_refuses_invalid)
{
    static char long_name[KL_WIRE_TOPIC_NAME_MAX + 1];
    struct kl_wire_record r = topic();

    memset(long_name, 'a', sizeof long_name);
    kl_base_buf_put8(&buf, 0x77);
    r.topic.name = (struct kl_wire_text){long_name, sizeof long_name - 1};
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), 0);
    kl_base_buf_clear(&buf);
    kl_base_buf_put8(&buf, 0x77);
    r.topic.name.size++;
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), KL_EINVAL);
    ck_assert_int_eq(error.code, KL_EINVAL);
    r = partition();
    r.partition.flags = 2;
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), KL_EINVAL);
    r = partition();
    r.partition.replicas.count = KL_WIRE_REPLICAS_MAX + 1;
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), KL_EINVAL);
    r = register_broker();
    r.register_broker.endpoints.count = 3;
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), KL_EINVAL);
    r = partition();
    r.partition.replicas.count = 0;
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), KL_EINVAL);
    r = partition();
    r.partition.leader = -2;
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), KL_EINVAL);
    r = config();
    r.config.value = (struct kl_wire_text){"a\0b", 3};
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), KL_EINVAL);
    r.type = 77;
    ck_assert_int_eq(kl_wire_record_encode(&r, &buf, &error), KL_EINVAL);
    ck_assert_uint_eq(buf.size, 1);
    ck_assert_int_eq(buf.error, 0);
}
END_TEST

START_TEST(print_unknown_type)
{
    struct kl_wire_record r = {.type = 77};

    kl_wire_record_print(&r, &buf);
    ck_assert_uint_eq(buf.size, strlen("record type=77"));
    ck_assert_mem_eq(buf.data, "record type=77", buf.size);
}
END_TEST

START_TEST(print_quotes_text)
{
    struct kl_wire_record r = config();

    r.config.value = text("a\"\n");
    kl_wire_record_print(&r, &buf);
    kl_base_buf_put8(&buf, 0);
    ck_assert_ptr_null(strchr((char *)buf.data, '\n'));
    ck_assert_ptr_nonnull(strstr((char *)buf.data, "value=\"a\\\"\\n\""));
}
END_TEST

Suite *suite_wire_record(void);
Suite *suite_wire_record(void)
{
    Suite *s = suite_create("wire_record");
    TCase *t = tcase_create("record");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, encode_known_bytes, 0, CASES);
    tcase_add_loop_test(t, decode_known_bytes, 0, CASES);
    tcase_add_loop_test(t, decode_every_truncation, 0, CASES);
    tcase_add_loop_test(t, decode_trailing_byte, 0, CASES);
    tcase_add_loop_test(t, decode_later_version, 0, CASES);
    tcase_add_loop_test(t, decode_random_changes, 0, CASES);
    tcase_add_loop_test(t, encode_without_memory, 0, CASES);
    tcase_add_test(t, decode_unknown_type);
    tcase_add_test(t, encode_refuses_invalid);
    tcase_add_test(t, print_unknown_type);
    tcase_add_test(t, print_quotes_text);
    suite_add_tcase(s, t);
    return s;
}
