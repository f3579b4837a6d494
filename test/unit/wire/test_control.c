/*
 * The control records: bytes that never change, and everything that a decoder
 * must refuse.
 */
#include "wire/wire.h"

#include "base/rng.h"
#include "fail_alloc.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct fail_alloc memory;
static struct kl_base_buf buf, lists;
static struct kl_base_error error;

static const struct kl_wire_voter_key keys[] = {
    {1, {{0xa1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}},
    {2, {{0xa2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}}};
static struct kl_wire_voter voters[2];

static void set_up(void)
{
    fail_alloc_init(&memory);
    kl_base_buf_init(&buf, &memory.alloc);
    kl_base_buf_init(&lists, &memory.alloc);
    kl_base_error_clear(&error);
    for (int i = 0; i < 2; i++) {
        voters[i].node_id = keys[i].node_id;
        voters[i].directory_id = keys[i].directory_id;
        voters[i].endpoints = (struct kl_wire_texts){
            (const uint8_t *)(i ? "\3\0b:2" : "\3\0a:1"), 5, 1};
        voters[i].version_min = 0;
        voters[i].version_max = 1;
    }
}

static void tear_down(void)
{
    kl_base_buf_deinit(&buf);
    kl_base_buf_deinit(&lists);
    fail_alloc_deinit(&memory);
}

static struct kl_wire_control leader_change(void)
{
    struct kl_wire_control r = {.type = KL_WIRE_LEADER_CHANGE_CONTROL};

    r.leader_change.leader_id = 1;
    r.leader_change.voters = (struct kl_wire_voter_key_list){keys, 2};
    r.leader_change.granting_voters = (struct kl_wire_voter_key_list){keys, 1};
    return r;
}

static struct kl_wire_control snapshot_header(void)
{
    struct kl_wire_control r = {.type = KL_WIRE_SNAPSHOT_HEADER_CONTROL};

    r.snapshot_header.last_contained_log_timestamp = 0x0102030405060708;
    return r;
}

static struct kl_wire_control snapshot_footer(void)
{
    struct kl_wire_control r = {.type = KL_WIRE_SNAPSHOT_FOOTER_CONTROL};

    r.snapshot_footer.count = 7;
    return r;
}

static struct kl_wire_control kraft_version(void)
{
    struct kl_wire_control r = {.type = KL_WIRE_KRAFT_VERSION_CONTROL};

    r.kraft_version.kraft_version = 1;
    return r;
}

static struct kl_wire_control voter_set(void)
{
    struct kl_wire_control r = {.type = KL_WIRE_VOTERS_CONTROL};

    r.voters.voters = (struct kl_wire_voter_list){voters, 2};
    return r;
}

#define ID_TAIL "\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"
#define ID_TEXT "02030405060708090a0b0c0d0e0f10"
#define KEY_1 "\1\0\0\0\xa1" ID_TAIL
#define KEY_2 "\2\0\0\0\xa2" ID_TAIL
static const struct
{
    struct kl_wire_control (*make)(void);
    const char *bytes;
    size_t size;
    const char *line;
} cases[] = {
#define CASE(make, bytes, line)                                                \
    {                                                                          \
        make, bytes, sizeof bytes - 1, line                                    \
    }
    CASE(leader_change, "\2\0\0\0\1\0\0\0\2\0" KEY_1 KEY_2 "\1\0" KEY_1,
         "LeaderChange leader_id=1"
         " voters=[{ node_id=1 directory_id=a1" ID_TEXT " }"
         " { node_id=2 directory_id=a2" ID_TEXT " }]"
         " granting_voters=[{ node_id=1 directory_id=a1" ID_TEXT " }]"),
    CASE(snapshot_header, "\3\0\0\0\x08\7\6\5\4\3\2\1",
         "SnapshotHeader last_contained_log_timestamp=72623859790382856"),
    CASE(snapshot_footer, "\4\0\0\0\7\0\0\0\0\0\0\0", "SnapshotFooter count=7"),
    CASE(kraft_version, "\5\0\0\0\1\0", "KRaftVersion kraft_version=1"),
    CASE(voter_set,
         "\6\0\0\0\2\0" KEY_1 "\1\0\3\0a:1\0\0\1\0" KEY_2 "\1\0\3\0b:2\0\0\1\0",
         "Voters voters=[{ node_id=1 directory_id=a1" ID_TEXT
         " endpoints=[\"a:1\"] version_min=0 version_max=1 }"
         " { node_id=2 directory_id=a2" ID_TEXT
         " endpoints=[\"b:2\"] version_min=0 version_max=1 }]"),
};
enum { CASES = sizeof cases / sizeof cases[0] };

static int decode(struct kl_wire_control *r, const void *data, size_t size)
{
    return kl_wire_control_decode(r, data, size, &lists, &error);
}

START_TEST(known_bytes)
{
    struct kl_wire_control r = cases[_i].make();

    ck_assert_uint_eq(kl_wire_control_size(&r), cases[_i].size);
    ck_assert_int_eq(kl_wire_control_encode(&r, &buf, &error), 0);
    ck_assert_uint_eq(buf.size, cases[_i].size);
    ck_assert_mem_eq(buf.data, cases[_i].bytes, buf.size);
    kl_base_buf_clear(&buf);
    ck_assert_int_eq(decode(&r, cases[_i].bytes, cases[_i].size), 0);
    kl_wire_control_print(&r, &buf);
    ck_assert_uint_eq(buf.size, strlen(cases[_i].line));
    ck_assert_mem_eq(buf.data, cases[_i].line, buf.size);
}
END_TEST

START_TEST(every_truncation)
{
    for (size_t size = 0; size < cases[_i].size; size++) {
        struct kl_wire_control r;
        uint8_t *exact = malloc(size ? size : 1);

        ck_assert_ptr_nonnull(exact);
        memcpy(exact, cases[_i].bytes, size);
        ck_assert_int_eq(decode(&r, exact, size), KL_ECORRUPT);
        free(exact);
    }
}
END_TEST

START_TEST(random_changes)
{
    struct kl_base_rng rng;

    kl_base_rng_seed(&rng, (uint64_t)_i);
    for (int round = 0; round < 5000; round++) {
        struct kl_wire_control r;
        uint8_t bytes[128];
        size_t size = cases[_i].size;
        int rc;

        ck_assert_uint_le(size, sizeof bytes);
        memcpy(bytes, cases[_i].bytes, size);
        for (int n = 0; n < 1 + round % 3; n++)
            bytes[kl_base_rng_below(&rng, size)] =
                (uint8_t)kl_base_rng_next(&rng);
        rc = decode(&r, bytes, size);
        ck_assert(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
        if (rc)
            continue;
        kl_base_buf_clear(&buf);
        ck_assert_int_eq(kl_wire_control_encode(&r, &buf, &error), 0);
        ck_assert_uint_eq(buf.size, size);
        ck_assert_mem_eq(buf.data, bytes, size);
    }
}
END_TEST

START_TEST(later_version)
{
    struct kl_wire_control r;

    kl_base_buf_append(&buf, cases[_i].bytes, cases[_i].size);
    kl_base_put_le16(buf.data + 2, 1);
    ck_assert_int_eq(decode(&r, buf.data, buf.size), KL_EFORMAT);
    ck_assert_int_eq(decode(&r, buf.data, 4), KL_EFORMAT);
}
END_TEST

/* A metadata record is no control record: the numbers overlap. */
START_TEST(unknown_type)
{
    static const uint16_t unknown[] = {0, 1, 7, 12, 256 + 2, UINT16_MAX};

    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        struct kl_wire_control r;
        uint8_t bytes[4] = {0};

        kl_base_put_le16(bytes, unknown[i]);
        ck_assert_int_eq(decode(&r, bytes, 4), KL_EFORMAT);
        ck_assert_ptr_nonnull(strstr(error.text, "control record of unknown"));
    }
}
END_TEST

START_TEST(no_voters)
{
    struct kl_wire_control r = voter_set();

    r.voters.voters.count = 0;
    ck_assert_int_eq(kl_wire_control_encode(&r, &buf, &error), KL_EINVAL);
    ck_assert_int_eq(decode(&r, "\6\0\0\0\0\0", 6), KL_ECORRUPT);
    ck_assert_uint_eq(memory.calls, 0);
}
END_TEST

Suite *suite_wire_control(void);
Suite *suite_wire_control(void)
{
    Suite *s = suite_create("wire_control");
    TCase *t = tcase_create("control");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, known_bytes, 0, CASES);
    tcase_add_loop_test(t, every_truncation, 0, CASES);
    tcase_add_loop_test(t, random_changes, 0, CASES);
    tcase_add_loop_test(t, later_version, 0, CASES);
    tcase_add_test(t, unknown_type);
    tcase_add_test(t, no_voters);
    suite_add_tcase(s, t);
    return s;
}
