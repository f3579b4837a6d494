/*
 * The table codec, with a record that has every kind of field.
 */
#include "wire/fields.h"

#include "fail_alloc.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define KL_WIRE_SAMPLE_FIELDS(X, record)                                       \
    X(record, I8, small, -5, 100)                                              \
    X(record, I16, half, INT16_MIN, INT16_MAX)                                 \
    X(record, I32, word, INT32_MIN, INT32_MAX)                                 \
    X(record, I64, wide, INT64_MIN, INT64_MAX)                                 \
    X(record, UUID, id, 1, 1)                                                  \
    X(record, UUID, other_id, 0, 1)                                            \
    X(record, TEXT, text, 1, 8)                                                \
    X(record, I32S, list, 1, 3)                                                \
    X(record, TEXTS, texts, 0, 3)                                              \
    X(record, BYTES, bytes, 0, 4)                                              \
    X(record, LIST, keys, 0, 2, voter_key)

struct kl_wire_sample_record
{
    KL_WIRE_SAMPLE_FIELDS(KL_WIRE_MEMBER, kl_wire_sample_record)
};

static const struct kl_wire_field sample_fields[] = {
    KL_WIRE_SAMPLE_FIELDS(KL_WIRE_FIELD, kl_wire_sample_record)};
static const struct kl_wire_table sample_table[] = {
    KL_WIRE_TABLE("SampleRecord", sample_fields, kl_wire_sample_record, 99, 0)};

/* 1 + 2 + 4 + 8 + 16 + 16, then text, array, texts, bytes and list. */
static const uint8_t sample_bytes[] =
    "\xfe"
    "\x02\x81"
    "\x04\x03\x02\x81"
    "\x08\x07\x06\x05\x04\x03\x02\x81"
    "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\x03\0a\xc3\xa9"
    "\x02\0\x01\0\0\0\xff\xff\xff\xff"
    "\x02\0\x02\0bc\x01\0d"
    "\x02\0\0\0\0\xff"
    "\x02\0"
    "\x07\0\0\0\x20\x21\x22\x23\x24\x25\x26\x27\x28\x29\x2a\x2b\x2c\x2d\x2e\x2f"
    "\x08\0\0\0\x30\x31\x32\x33\x34\x35\x36\x37\x38\x39\x3a\x3b\x3c\x3d\x3e"
    "\x3f";

enum {
    SAMPLE_SIZE = sizeof sample_bytes - 1,
    SAMPLE_ID = 15,
    SAMPLE_TEXT = 47,
    SAMPLE_LIST = 52,
    SAMPLE_TEXTS = 62,
    SAMPLE_BYTES = 71,
    SAMPLE_KEYS = 77
};

static struct fail_alloc memory;
static struct kl_base_buf lists;

static void set_up(void)
{
    fail_alloc_init(&memory);
    kl_base_buf_init(&lists, &memory.alloc);
}

static void tear_down(void)
{
    kl_base_buf_deinit(&lists);
    fail_alloc_deinit(&memory);
}

static int decode(const uint8_t *data, size_t size,
                  struct kl_wire_sample_record *out, struct kl_base_error *e)
{
    memset(out, 0, sizeof *out);
    return kl_wire_fields_decode(sample_table, data, size, out, &lists, e);
}

/* Decodes the sample with one byte changed. */
static int decode_with(size_t pos, uint8_t value)
{
    struct kl_wire_sample_record r;
    uint8_t copy[SAMPLE_SIZE];

    memcpy(copy, sample_bytes, sizeof copy);
    copy[pos] = value;
    return decode(copy, sizeof copy, &r, NULL);
}

START_TEST(decode_every_kind)
{
    struct kl_wire_sample_record r;
    struct kl_wire_text item;
    uint32_t pos = 0;

    ck_assert_int_eq(decode(sample_bytes, SAMPLE_SIZE, &r, NULL), 0);
    ck_assert_int_eq(r.small, -2);
    ck_assert_int_eq(r.half, (int16_t)0x8102);
    ck_assert_int_eq(r.word, (int32_t)0x81020304);
    ck_assert_int_eq(r.wide, (int64_t)0x8102030405060708);
    ck_assert_int_eq(r.id.bytes[15], 0x1f);
    ck_assert(kl_base_uuid_is_zero(&r.other_id));
    ck_assert_uint_eq(r.text.size, 3);
    ck_assert_mem_eq(r.text.data, "a\xc3\xa9", 3);
    ck_assert_uint_eq(r.list.count, 2);
    ck_assert_int_eq(kl_wire_i32s_get(&r.list, 0), 1);
    ck_assert_int_eq(kl_wire_i32s_get(&r.list, 1), -1);
    ck_assert_uint_eq(r.texts.count, 2);
    ck_assert_uint_eq(r.texts.size, 7);
    ck_assert_int_eq(kl_wire_texts_next(&r.texts, &pos, &item), 1);
    ck_assert_uint_eq(item.size, 2);
    ck_assert_mem_eq(item.data, "bc", 2);
    ck_assert_int_eq(kl_wire_texts_next(&r.texts, &pos, &item), 1);
    ck_assert_uint_eq(item.size, 1);
    ck_assert_mem_eq(item.data, "d", 1);
    ck_assert_int_eq(kl_wire_texts_next(&r.texts, &pos, &item), 0);
    ck_assert_uint_eq(r.bytes.size, 2);
    ck_assert_mem_eq(r.bytes.data, "\0\xff", 2);
    ck_assert_uint_eq(r.keys.count, 2);
    ck_assert_int_eq(r.keys.items[0].node_id, 7);
    ck_assert_int_eq(r.keys.items[1].node_id, 8);
    ck_assert_int_eq(r.keys.items[0].directory_id.bytes[15], 0x2f);
    ck_assert_int_eq(r.keys.items[1].directory_id.bytes[15], 0x3f);
}
END_TEST

START_TEST(decode_borrows_from_input)
{
    struct kl_wire_sample_record r;

    ck_assert_int_eq(decode(sample_bytes, SAMPLE_SIZE, &r, NULL), 0);
    ck_assert_ptr_eq(r.text.data, sample_bytes + SAMPLE_TEXT + 2);
    ck_assert_ptr_eq(r.list.data, sample_bytes + SAMPLE_LIST + 2);
    ck_assert_ptr_eq(r.texts.data, sample_bytes + SAMPLE_TEXTS + 2);
    ck_assert_ptr_eq(r.bytes.data, sample_bytes + SAMPLE_BYTES + 4);
    ck_assert_ptr_eq(r.keys.items, lists.data);
}
END_TEST

START_TEST(encode_gives_the_same_bytes)
{
    struct kl_wire_sample_record r;
    uint8_t out[SAMPLE_SIZE];

    ck_assert_int_eq(decode(sample_bytes, SAMPLE_SIZE, &r, NULL), 0);
    ck_assert_uint_eq(kl_wire_fields_size(sample_table, &r), SAMPLE_SIZE);
    ck_assert_ptr_eq(kl_wire_fields_encode(sample_table, &r, out),
                     out + SAMPLE_SIZE);
    ck_assert_mem_eq(out, sample_bytes, SAMPLE_SIZE);
}
END_TEST

START_TEST(decode_every_truncation)
{
    for (size_t size = 0; size < SAMPLE_SIZE; size++) {
        struct kl_wire_sample_record r;
        struct kl_base_error e = {0};
        uint8_t *exact = malloc(size ? size : 1);

        ck_assert_ptr_nonnull(exact);
        memcpy(exact, sample_bytes, size);
        ck_assert_int_eq(decode(exact, size, &r, &e), KL_ECORRUPT);
        ck_assert_int_eq(e.code, KL_ECORRUPT);
        ck_assert_ptr_nonnull(strstr(e.text, ": ends within "));
        free(exact);
    }
}
END_TEST

START_TEST(decode_trailing_byte)
{
    struct kl_wire_sample_record r;
    struct kl_base_error e = {0};
    uint8_t longer[SAMPLE_SIZE + 1] = {0};

    memcpy(longer, sample_bytes, SAMPLE_SIZE);
    ck_assert_int_eq(decode(longer, sizeof longer, &r, &e), KL_ECORRUPT);
    ck_assert_str_eq(e.text, "SampleRecord: 1 bytes behind the last field");
}
END_TEST

/* Nothing is allocated for an input that is not whole, nor for a list that is
 * longer than it may be. */
START_TEST(decode_allocates_last)
{
    struct kl_wire_sample_record r;
    struct kl_base_error e = {0};
    uint8_t copy[SAMPLE_SIZE];

    for (size_t size = 0; size < SAMPLE_SIZE; size++)
        decode(sample_bytes, size, &r, NULL);
    memcpy(copy, sample_bytes, sizeof copy);
    copy[SAMPLE_KEYS] = 3;
    ck_assert_int_eq(decode(copy, sizeof copy, &r, &e), KL_ECORRUPT);
    ck_assert_str_eq(e.text, "SampleRecord: keys is 3, allowed are 0 to 2");
    copy[SAMPLE_KEYS + 1] = 0xff;
    ck_assert_int_eq(decode(copy, sizeof copy, &r, &e), KL_ECORRUPT);
    ck_assert_uint_eq(memory.calls, 0);
    ck_assert_int_eq(decode(sample_bytes, SAMPLE_SIZE, &r, NULL), 0);
    ck_assert_uint_eq(memory.calls, 1);
    /* The next one takes the same memory. */
    ck_assert_int_eq(decode(sample_bytes, SAMPLE_SIZE, &r, NULL), 0);
    ck_assert_uint_eq(memory.calls, 1);
}
END_TEST

START_TEST(decode_without_memory)
{
    struct kl_wire_sample_record r;
    struct kl_base_error e = {0};

    fail_alloc_arm(&memory, 1);
    ck_assert_int_eq(decode(sample_bytes, SAMPLE_SIZE, &r, &e), KL_ENOMEM);
    ck_assert_int_eq(e.code, KL_ENOMEM);
    ck_assert_int_eq(decode(sample_bytes, SAMPLE_SIZE, &r, &e), 0);
}
END_TEST

START_TEST(decode_refuses_items)
{
    struct kl_wire_sample_record r;
    struct kl_base_error e = {0};
    uint8_t copy[SAMPLE_SIZE];

    memcpy(copy, sample_bytes, sizeof copy);
    copy[SAMPLE_KEYS + 2 + 20 + 3] = 0x80;
    ck_assert_int_eq(decode(copy, sizeof copy, &r, &e), KL_ECORRUPT);
    ck_assert_ptr_nonnull(strstr(e.text, "VoterKey: node_id is -"));
    memcpy(copy, sample_bytes, sizeof copy);
    memset(copy + SAMPLE_KEYS + 2 + 4, 0, 16);
    ck_assert_int_eq(decode(copy, sizeof copy, &r, &e), KL_ECORRUPT);
    ck_assert_ptr_nonnull(strstr(e.text, "VoterKey: directory_id is 0"));
}
END_TEST

START_TEST(decode_refuses_bytes)
{
    ck_assert_int_eq(decode_with(SAMPLE_BYTES, 1), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(SAMPLE_BYTES + 3, 0xff), KL_ECORRUPT);
}
END_TEST

START_TEST(decode_refuses_values_out_of_range)
{
    ck_assert_int_eq(decode_with(0, (uint8_t)-5), 0);
    ck_assert_int_eq(decode_with(0, (uint8_t)-6), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(0, 100), 0);
    ck_assert_int_eq(decode_with(0, 101), KL_ECORRUPT);
}
END_TEST

START_TEST(decode_refuses_zero_id_where_told)
{
    uint8_t copy[SAMPLE_SIZE];
    struct kl_wire_sample_record r;
    struct kl_base_error e = {0};

    memcpy(copy, sample_bytes, sizeof copy);
    memset(copy + SAMPLE_ID, 0, 16);
    ck_assert_int_eq(decode(copy, sizeof copy, &r, &e), KL_ECORRUPT);
    ck_assert_str_eq(e.text, "SampleRecord: id is 0, allowed are 1 to 1");
}
END_TEST

START_TEST(decode_refuses_text)
{
    ck_assert_int_eq(decode_with(SAMPLE_TEXT + 2, 0), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(SAMPLE_TEXT + 2, 0x80), KL_ECORRUPT);
    /* The end of the text cuts the sequence. */
    ck_assert_int_eq(decode_with(SAMPLE_TEXT + 4, 'x'), KL_ECORRUPT);
    /* Far beyond the input, and beyond the limit. */
    ck_assert_int_eq(decode_with(SAMPLE_TEXT + 1, 0xff), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(SAMPLE_TEXT, 0), KL_ECORRUPT);
}
END_TEST

START_TEST(decode_refuses_texts)
{
    ck_assert_int_eq(decode_with(SAMPLE_TEXTS, 2), 0);
    ck_assert_int_eq(decode_with(SAMPLE_TEXTS, 3), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(SAMPLE_TEXTS + 1, 0xff), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(SAMPLE_TEXTS + 2, 3), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(SAMPLE_TEXTS + 3, 0xff), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(SAMPLE_TEXTS + 4, 0), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(SAMPLE_TEXTS + 5, 0x80), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(SAMPLE_TEXTS + 6, 0), KL_ECORRUPT);
}
END_TEST

START_TEST(check_texts)
{
    static uint8_t bytes[2 + KL_WIRE_TEXTS_ITEM_MAX + 1];
    struct kl_wire_sample_record r;
    struct kl_base_error e = {0};

    ck_assert_int_eq(decode(sample_bytes, SAMPLE_SIZE, &r, NULL), 0);
    r.texts = (struct kl_wire_texts){NULL, 0, 0};
    ck_assert_int_eq(kl_wire_fields_check(sample_table, &r, KL_EINVAL, &e), 0);
    memset(bytes, 'x', sizeof bytes);
    kl_base_put_le16(bytes, KL_WIRE_TEXTS_ITEM_MAX);
    r.texts = (struct kl_wire_texts){bytes, 2 + KL_WIRE_TEXTS_ITEM_MAX, 1};
    ck_assert_int_eq(kl_wire_fields_check(sample_table, &r, KL_EINVAL, &e), 0);
    kl_base_put_le16(bytes, KL_WIRE_TEXTS_ITEM_MAX + 1);
    r.texts.size++;
    ck_assert_int_eq(kl_wire_fields_check(sample_table, &r, KL_EINVAL, &e),
                     KL_EINVAL);
    ck_assert_str_eq(e.text, "SampleRecord: texts is not a list of texts");
    /* Bytes behind the last text. */
    kl_base_put_le16(bytes, 1);
    r.texts.size = 4;
    ck_assert_int_eq(kl_wire_fields_check(sample_table, &r, KL_EINVAL, &e),
                     KL_EINVAL);
    r.texts.size = 3;
    ck_assert_int_eq(kl_wire_fields_check(sample_table, &r, KL_EINVAL, &e), 0);
    r.texts.count = 4;
    ck_assert_int_eq(kl_wire_fields_check(sample_table, &r, KL_EINVAL, &e),
                     KL_EINVAL);
    ck_assert_str_eq(e.text, "SampleRecord: texts is 4, allowed are 0 to 3");
}
END_TEST

START_TEST(decode_refuses_list_counts)
{
    ck_assert_int_eq(decode_with(SAMPLE_LIST, 2), 0);
    ck_assert_int_eq(decode_with(SAMPLE_LIST, 0), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(SAMPLE_LIST, 3), KL_ECORRUPT);
    ck_assert_int_eq(decode_with(SAMPLE_LIST + 1, 0xff), KL_ECORRUPT);
}
END_TEST

START_TEST(check_bounds_of_sizes)
{
    static const uint8_t ids[16];
    struct kl_wire_sample_record r;
    struct kl_base_error e = {0};

    ck_assert_int_eq(decode(sample_bytes, SAMPLE_SIZE, &r, NULL), 0);
    r.text = (struct kl_wire_text){"12345678", 8};
    r.list = (struct kl_wire_i32s){ids, 3};
    ck_assert_int_eq(kl_wire_fields_check(sample_table, &r, KL_EINVAL, &e), 0);
    r.list.count = 4;
    ck_assert_int_eq(kl_wire_fields_check(sample_table, &r, KL_EINVAL, &e),
                     KL_EINVAL);
    ck_assert_str_eq(e.text, "SampleRecord: list is 4, allowed are 1 to 3");
    r.list.count = 3;
    r.text = (struct kl_wire_text){"123456789", 9};
    ck_assert_int_eq(kl_wire_fields_check(sample_table, &r, KL_ECORRUPT, &e),
                     KL_ECORRUPT);
    ck_assert_str_eq(e.text, "SampleRecord: text is 9, allowed are 1 to 8");
    /* Sizes are not cut to the 16 bits that they have on disk. */
    r.text.size = 65536 + 3;
    ck_assert_int_eq(kl_wire_fields_check(sample_table, &r, KL_EINVAL, &e),
                     KL_EINVAL);
}
END_TEST

START_TEST(print_every_kind)
{
    static const char want[] =
        " small=-2 half=-32510 word=-2130574588 wide=-9150748177064392952"
        " id=101112131415161718191a1b1c1d1e1f"
        " other_id=00000000000000000000000000000000"
        " text=\"a\xc3\xa9\" list=[1,-1] texts=[\"bc\",\"d\"] bytes=(2 bytes)"
        " keys=[{ node_id=7 directory_id=202122232425262728292a2b2c2d2e2f }"
        " { node_id=8 directory_id=303132333435363738393a3b3c3d3e3f }]";
    struct kl_wire_sample_record r;
    struct kl_base_buf out;

    kl_base_buf_init(&out, &memory.alloc);
    ck_assert_int_eq(decode(sample_bytes, SAMPLE_SIZE, &r, NULL), 0);
    kl_wire_fields_print(sample_table, &r, &out);
    ck_assert_int_eq(out.error, 0);
    ck_assert_uint_eq(out.size, sizeof want - 1);
    ck_assert_mem_eq(out.data, want, out.size);
    kl_base_buf_deinit(&out);
}
END_TEST

Suite *suite_wire_fields(void);
Suite *suite_wire_fields(void)
{
    Suite *s = suite_create("wire_fields");
    TCase *t = tcase_create("fields");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, decode_every_kind);
    tcase_add_test(t, decode_borrows_from_input);
    tcase_add_test(t, encode_gives_the_same_bytes);
    tcase_add_test(t, decode_every_truncation);
    tcase_add_test(t, decode_trailing_byte);
    tcase_add_test(t, decode_allocates_last);
    tcase_add_test(t, decode_without_memory);
    tcase_add_test(t, decode_refuses_items);
    tcase_add_test(t, decode_refuses_bytes);
    tcase_add_test(t, decode_refuses_values_out_of_range);
    tcase_add_test(t, decode_refuses_zero_id_where_told);
    tcase_add_test(t, decode_refuses_text);
    tcase_add_test(t, decode_refuses_texts);
    tcase_add_test(t, check_texts);
    tcase_add_test(t, decode_refuses_list_counts);
    tcase_add_test(t, check_bounds_of_sizes);
    tcase_add_test(t, print_every_kind);
    suite_add_tcase(s, t);
    return s;
}
