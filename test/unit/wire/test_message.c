/*
 * Messages: every table in round trips, and everything a decoder must refuse.
 */
#include "wire/fields.h"

#include "base/hash.h"
#include "fail_alloc.h"
#include "wire_sample.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES = 42, SIZE_MAX_FLIPPED = 400 };

static struct fail_alloc memory;
static struct kl_base_buf buf, again, lists;
static struct kl_base_error error;
static struct wire_sample sample;

static void set_up(void)
{
    fail_alloc_init(&memory);
    kl_base_buf_init(&buf, &memory.alloc);
    kl_base_buf_init(&again, &memory.alloc);
    kl_base_buf_init(&lists, &memory.alloc);
    kl_base_error_clear(&error);
}

static void tear_down(void)
{
    kl_base_buf_deinit(&buf);
    kl_base_buf_deinit(&again);
    kl_base_buf_deinit(&lists);
    fail_alloc_deinit(&memory);
}

static void make(int table, uint64_t seed, struct kl_wire_message *m)
{
    const struct kl_wire_table *t = kl_wire_message_table_at((size_t)table);

    ck_assert_ptr_nonnull(t);
    wire_sample_seed(&sample, seed);
    wire_sample_message(&sample, t, table & 1, m);
}

static int decode(struct kl_wire_message *m, const uint8_t *data, size_t size)
{
    return kl_wire_message_decode(m, data, size, &lists, &error);
}

/* After a change of the bytes. */
static void repair_checksum(uint8_t *data, size_t size)
{
    kl_base_put_le64(data + 8, kl_base_hash(data + KL_WIRE_MESSAGE_PREFIX,
                                            size - KL_WIRE_MESSAGE_PREFIX,
                                            kl_base_get_le64(data)));
}

/* The decoded message must give the same bytes again. */
static void same_again(const struct kl_wire_message *m, const uint8_t *data,
                       size_t size)
{
    kl_base_buf_clear(&again);
    ck_assert_int_eq(kl_wire_message_encode(m, &again, &error), 0);
    ck_assert_uint_eq(again.size, size);
    ck_assert_mem_eq(again.data, data, size);
}

START_TEST(all_tables_are_tested)
{
    ck_assert_ptr_nonnull(kl_wire_message_table_at(TABLES - 1));
    ck_assert_ptr_null(kl_wire_message_table_at(TABLES));
    for (int i = 0; i < TABLES; i++) {
        const struct kl_wire_table *t = kl_wire_message_table_at((size_t)i);

        ck_assert_ptr_eq(kl_wire_message_table((int16_t)t->number, i & 1), t);
    }
    ck_assert_ptr_null(kl_wire_message_table(0, 0));
}
END_TEST

START_TEST(round_trip)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct kl_wire_message m, d;
        size_t size;

        make(_i, seed, &m);
        kl_base_buf_clear(&buf);
        ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), 0);
        ck_assert_uint_eq(kl_wire_message_size(&m), buf.size);
        ck_assert_int_eq(
            kl_wire_message_peek(buf.data, buf.size, 1 << 20, &size, &error),
            0);
        ck_assert_uint_eq(size, buf.size);
        ck_assert_int_eq(decode(&d, buf.data, buf.size), 0);
        same_again(&d, buf.data, buf.size);
        /* Both structs print the same. */
        kl_base_buf_clear(&again);
        kl_wire_message_print(&m, &again);
        size = again.size;
        kl_wire_message_print(&d, &again);
        ck_assert_int_eq(again.error, 0);
        ck_assert_uint_eq(again.size, 2 * size);
        ck_assert_mem_eq(again.data, again.data + size, size);
    }
}
END_TEST

START_TEST(every_truncation)
{
    struct kl_wire_message m;

    make(_i, 7, &m);
    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), 0);
    for (size_t size = 0; size < buf.size; size++) {
        uint8_t *exact = malloc(size ? size : 1);

        ck_assert_ptr_nonnull(exact);
        memcpy(exact, buf.data, size);
        ck_assert_int_eq(decode(&m, exact, size), KL_ECORRUPT);
        /* Cut, and made to look whole. */
        if (size >= KL_WIRE_MESSAGE_HEADER) {
            kl_base_put_le32(exact, (uint32_t)size);
            repair_checksum(exact, size);
            ck_assert_int_eq(decode(&m, exact, size), KL_ECORRUPT);
        }
        free(exact);
    }
}
END_TEST

START_TEST(every_bit_flip)
{
    struct kl_wire_message m;
    size_t size;

    make(_i, 3, &m);
    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), 0);
    size = buf.size < SIZE_MAX_FLIPPED ? buf.size : SIZE_MAX_FLIPPED;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        int rc;

        buf.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        rc = decode(&m, buf.data, buf.size);
        ck_assert(rc == KL_ECORRUPT || rc == KL_EFORMAT);
        ck_assert_int_eq(error.code, rc);
        /* One who can compute checksums gets no further than a valid message:
         * what is accepted has one form only. */
        if (bit >= 8 * KL_WIRE_MESSAGE_PREFIX) {
            repair_checksum(buf.data, buf.size);
            rc = decode(&m, buf.data, buf.size);
            ck_assert(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
            if (rc == 0)
                same_again(&m, buf.data, buf.size);
        }
        buf.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        repair_checksum(buf.data, buf.size);
    }
}
END_TEST

START_TEST(random_changes)
{
    struct kl_base_rng rng;
    struct kl_wire_message m;

    kl_base_rng_seed(&rng, (uint64_t)_i);
    for (uint64_t round = 0; round < 3000; round++) {
        int rc;

        if (round % 50 == 0) {
            make(_i, round, &m);
            kl_base_buf_clear(&buf);
            ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), 0);
        }
        buf.data[KL_WIRE_MESSAGE_PREFIX +
                 kl_base_rng_below(&rng, buf.size - KL_WIRE_MESSAGE_PREFIX)] =
            (uint8_t)kl_base_rng_next(&rng);
        repair_checksum(buf.data, buf.size);
        rc = decode(&m, buf.data, buf.size);
        ck_assert(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
        if (rc == 0)
            same_again(&m, buf.data, buf.size);
    }
}
END_TEST

START_TEST(later_version)
{
    struct kl_wire_message m;

    make(_i, 1, &m);
    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), 0);
    kl_base_put_le16(buf.data + KL_WIRE_MESSAGE_PREFIX + 2, 1);
    repair_checksum(buf.data, buf.size);
    ck_assert_int_eq(decode(&m, buf.data, buf.size), KL_EFORMAT);
}
END_TEST

START_TEST(encode_without_memory)
{
    struct kl_wire_message m;

    make(_i, 1, &m);
    fail_alloc_arm(&memory, 1);
    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), KL_ENOMEM);
    ck_assert_uint_eq(buf.size, 0);
}
END_TEST

static struct kl_wire_message vote(void)
{
    struct kl_wire_message m;

    memset(&m, 0, sizeof m);
    m.envelope.api_key = KL_WIRE_VOTE;
    m.envelope.correlation_id = 9;
    memset(m.envelope.cluster_id.bytes, 0xc1, 16);
    m.envelope.source_id = 1;
    m.envelope.destination_id = 2;
    memset(m.envelope.source_directory.bytes, 0xd1, 16);
    memset(m.envelope.source_session.bytes, 0x51, 16);
    memset(m.envelope.destination_directory.bytes, 0xd2, 16);
    m.vote_request.candidate_epoch = 5;
    m.vote_request.last_epoch = 4;
    m.vote_request.last_offset = 1000;
    m.vote_request.pre_vote = 1;
    return m;
}

/* Other releases must read what this one sends. */
START_TEST(known_bytes)
{
#define SIXTEEN(x) x x x x x x x x x x x x x x x x
    static const char known[] = "\x34\0\0\0\0\0\x09\0\0\0\0\0\0\0" SIXTEEN(
        "\xc1") "\1\0\0\0\2\0\0\0" SIXTEEN("\xd1") SIXTEEN("\x51")
        SIXTEEN("\xd2") SIXTEEN("\0") "\5\0\0\0\4\0\0\0\xe8\3\0\0\0\0\0\0\1";
    struct kl_wire_message m = vote();

    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), 0);
    ck_assert_uint_eq(buf.size, 137);
    ck_assert_mem_eq(buf.data, "\x89\0\0\0KLM\1", 8);
    ck_assert_uint_eq(kl_base_get_le64(buf.data + 8),
                      UINT64_C(15148967733420987429));
    ck_assert_mem_eq(buf.data + 16, "\x34\0\0\0\0\0\0\0", 8);
    ck_assert_mem_eq(buf.data + 24, known + 6, 8);
    ck_assert_mem_eq(buf.data + 32, known + 14, sizeof known - 1 - 14);
}
END_TEST

START_TEST(print_line)
{
    static const char line[] = "VoteRequest 1>2 #9 candidate_epoch=5"
                               " last_epoch=4 last_offset=1000 pre_vote=1";
    struct kl_wire_message m = vote();

    kl_wire_message_print(&m, &buf);
    ck_assert_uint_eq(buf.size, sizeof line - 1);
    ck_assert_mem_eq(buf.data, line, buf.size);
    kl_base_buf_clear(&buf);
    m.envelope.api_key = 999;
    kl_wire_message_print(&m, &buf);
    ck_assert_mem_eq(buf.data, "message key=999", 15);
}
END_TEST

START_TEST(peek)
{
    struct kl_wire_message m = vote();
    size_t size = 0;

    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), 0);
    for (size_t n = 0; n < 8; n++)
        ck_assert_int_eq(kl_wire_message_peek(buf.data, n, 1000, &size, &error),
                         KL_EAGAIN);
    ck_assert_int_eq(kl_wire_message_peek(buf.data, 8, 137, &size, &error), 0);
    ck_assert_uint_eq(size, 137);
    ck_assert_int_eq(kl_wire_message_peek(buf.data, 8, 136, &size, &error),
                     KL_ECORRUPT);
    kl_base_put_le32(buf.data, KL_WIRE_MESSAGE_HEADER - 1);
    ck_assert_int_eq(kl_wire_message_peek(buf.data, 8, 1000, &size, &error),
                     KL_ECORRUPT);
    kl_base_put_le32(buf.data, UINT32_MAX);
    ck_assert_int_eq(
        kl_wire_message_peek(buf.data, 8, KL_WIRE_MESSAGE_MAX, &size, &error),
        KL_ECORRUPT);
    buf.data[7] = 2;
    ck_assert_int_eq(kl_wire_message_peek(buf.data, 8, 1000, &size, &error),
                     KL_EFORMAT);
}
END_TEST

START_TEST(refuse_invalid)
{
    struct kl_wire_message m = vote();

    m.vote_request.pre_vote = 2;
    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), KL_EINVAL);
    m = vote();
    m.envelope.correlation_id = -1;
    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), KL_EINVAL);
    m = vote();
    m.envelope.api_key = 999;
    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), KL_EINVAL);
    ck_assert_uint_eq(kl_wire_message_size(&m), 0);
    ck_assert_uint_eq(buf.size, 0);
    m = vote();
    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), 0);
    kl_base_put_le16(buf.data + KL_WIRE_MESSAGE_PREFIX, 999);
    repair_checksum(buf.data, buf.size);
    ck_assert_int_eq(decode(&m, buf.data, buf.size), KL_EFORMAT);
}
END_TEST

/* Two partitions of 33 MiB are more than a message may have. */
START_TEST(refuse_too_large)
{
    static const uint8_t byte;
    struct kl_wire_fetched_partition parts[2];
    struct kl_wire_message m = vote();

    m.envelope.api_key = KL_WIRE_FETCH;
    m.envelope.is_response = 1;
    memset(&m.fetch_response, 0, sizeof m.fetch_response);
    memset(parts, 0, sizeof parts);
    for (int i = 0; i < 2; i++) {
        parts[i].topic_id.bytes[0] = 1;
        parts[i].records = (struct kl_wire_bytes){&byte, 33 << 20};
    }
    m.fetch_response.partitions.items = parts;
    m.fetch_response.partitions.count = 2;
    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), KL_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "FetchResponse of 6"));
}
END_TEST

/* A list that would need more memory than its message has bytes is refused
 * before any is taken. */
START_TEST(refuse_count_without_items)
{
    struct kl_wire_fetch_partition part;
    struct kl_wire_message m = vote();
    size_t at;

    m.envelope.api_key = KL_WIRE_FETCH;
    memset(&m.fetch_request, 0, sizeof m.fetch_request);
    memset(&part, 0, sizeof part);
    part.topic_id.bytes[0] = 1;
    m.fetch_request.partitions.items = &part;
    m.fetch_request.partitions.count = 1;
    ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), 0);
    at = KL_WIRE_MESSAGE_HEADER + 8;
    ck_assert_uint_eq(kl_base_get_le16(buf.data + at), 1);
    fail_alloc_arm(&memory, 0);
    for (uint16_t count = 0; count < 5000; count += count == 0 ? 2 : 997) {
        kl_base_put_le16(buf.data + at, count);
        repair_checksum(buf.data, buf.size);
        ck_assert_int_eq(decode(&m, buf.data, buf.size), KL_ECORRUPT);
    }
    ck_assert_uint_eq(memory.calls, 0);
}
END_TEST

START_TEST(envelope_check)
{
    struct kl_wire_message m = vote();
    struct kl_wire_envelope v = m.envelope;
    struct kl_base_uuid cluster = v.cluster_id, mine = v.destination_directory;
    struct kl_base_uuid other = v.source_directory;

    ck_assert_int_eq(kl_wire_envelope_check(&v, &cluster, 2, &mine), 0);
    ck_assert_int_eq(kl_wire_envelope_check(&v, &other, 2, &mine), KL_EFOREIGN);
    ck_assert_int_eq(kl_wire_envelope_check(&v, &cluster, 3, &mine), KL_ENOENT);
    ck_assert_int_eq(kl_wire_envelope_check(&v, &cluster, 2, &other),
                     KL_ENOENT);
    memset(&v.destination_directory, 0, sizeof v.destination_directory);
    ck_assert_int_eq(kl_wire_envelope_check(&v, &cluster, 2, &other), 0);
    v.destination_id = -1;
    ck_assert_int_eq(kl_wire_envelope_check(&v, &cluster, 3, &other), 0);
    memset(&v.cluster_id, 0, sizeof v.cluster_id);
    ck_assert_int_eq(kl_wire_envelope_check(&v, &cluster, 3, &other), 0);
}
END_TEST

/* Every number has a meaning, and what is sent for a code means that code. */
START_TEST(error_numbers)
{
#define ERROR_ROW(name, number, code) {KL_WIRE_##name, code},
    static const struct
    {
        int number;
        int code;
    } rows[] = {KL_WIRE_ERRORS(ERROR_ROW)};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int sent = (int)kl_wire_error_of(rows[i].code);

        ck_assert_int_eq(kl_wire_error_code((int16_t)rows[i].number),
                         rows[i].code);
        ck_assert_int_eq(kl_wire_error_code((int16_t)sent), rows[i].code);
        for (size_t j = 0; j < i; j++)
            ck_assert_int_ne(rows[i].number, rows[j].number);
    }
    ck_assert_int_eq(kl_wire_error_of(KL_EFENCED), KL_WIRE_FENCED_LEADER_EPOCH);
    ck_assert_int_eq(kl_wire_error_of(KL_EFORK), KL_WIRE_REQUEST_TIMED_OUT);
    ck_assert_int_eq(kl_wire_error_code(INT16_MAX), KL_EUNKNOWN);
    ck_assert_int_eq(kl_wire_error_code(-1), KL_EUNKNOWN);
}
END_TEST

/* Who belongs to no cluster may ask which one this is, and nothing else. */
START_TEST(message_of_no_cluster)
{
    for (int i = 0; i < TABLES; i++) {
        struct kl_wire_message m, d;
        int is_allowed;

        make(i, 5, &m);
        is_allowed = m.envelope.api_key == KL_WIRE_DESCRIBE_CLUSTER && !(i & 1);
        memset(&m.envelope.cluster_id, 0, 16);
        kl_base_buf_clear(&buf);
        ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error),
                         is_allowed ? 0 : KL_EINVAL);
        make(i, 5, &m);
        kl_base_buf_clear(&buf);
        ck_assert_int_eq(kl_wire_message_encode(&m, &buf, &error), 0);
        memset(buf.data + KL_WIRE_MESSAGE_PREFIX + 16, 0, 16);
        repair_checksum(buf.data, buf.size);
        ck_assert_int_eq(decode(&d, buf.data, buf.size),
                         is_allowed ? 0 : KL_ECORRUPT);
    }
}
END_TEST

Suite *suite_wire_message(void);
Suite *suite_wire_message(void)
{
    Suite *s = suite_create("wire_message");
    TCase *t = tcase_create("message");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, all_tables_are_tested);
    tcase_add_loop_test(t, round_trip, 0, TABLES);
    tcase_add_loop_test(t, every_truncation, 0, TABLES);
    tcase_add_loop_test(t, every_bit_flip, 0, TABLES);
    tcase_add_loop_test(t, random_changes, 0, TABLES);
    tcase_add_loop_test(t, later_version, 0, TABLES);
    tcase_add_loop_test(t, encode_without_memory, 0, TABLES);
    tcase_add_test(t, known_bytes);
    tcase_add_test(t, print_line);
    tcase_add_test(t, peek);
    tcase_add_test(t, refuse_invalid);
    tcase_add_test(t, refuse_too_large);
    tcase_add_test(t, refuse_count_without_items);
    tcase_add_test(t, envelope_check);
    tcase_add_test(t, message_of_no_cluster);
    tcase_add_test(t, error_numbers);
    suite_add_tcase(s, t);
    return s;
}
