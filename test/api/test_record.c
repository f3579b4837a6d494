/*
 * Records and events: what is set is what is read, one by one or as columns,
 * and what misuse gives.
 */
#include "pubsub_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct help_node h;

/* ---- building ---------------------------------------------------------- */

START_TEST(record_empty)
{
    kl_record *r;
    size_t size = 7;

    ck_assert_int_eq(kl_record_new(&r, NULL), KL_OK);
    ck_assert_ptr_null(kl_record_key(r, &size));
    ck_assert_uint_eq(size, 0);
    ck_assert_ptr_null(kl_record_value(r, NULL));
    ck_assert_int_eq(kl_record_offset(r), -1);
    ck_assert_int_eq(kl_record_epoch(r), -1);
    ck_assert_int_eq(kl_record_timestamp(r), KL_TIMESTAMP_NOW);
    ck_assert_uint_eq(kl_record_header_count(r), 0);
    ck_assert_int_eq(kl_record_header_at(r, 0, NULL, NULL, NULL, NULL),
                     KL_EEND);
    kl_record_free(r);
}
END_TEST

START_TEST(record_set_and_clear)
{
    static char large[100000];
    kl_record *r;
    const char *name;
    const void *value;
    size_t name_size;
    size_t size;
    int i;

    ck_assert_int_eq(kl_record_new(&r, NULL), KL_OK);
    for (i = 0; i < 3; i++) {
        ck_assert_int_eq(kl_record_set_key(r, "key", 3), KL_OK);
        ck_assert_mem_eq(kl_record_key(r, &size), "key", 3);
        ck_assert_uint_eq(size, 3);
        ck_assert_int_eq(kl_record_set_key(r, large, sizeof large), KL_OK);
        ck_assert_mem_eq(kl_record_key(r, &size), large, sizeof large);
        /* From its own bytes. */
        ck_assert_int_eq(kl_record_set_key(r, kl_record_key(r, NULL), 10),
                         KL_OK);
        ck_assert_mem_eq(kl_record_key(r, &size), large, 10);
        ck_assert_uint_eq(size, 10);
        ck_assert_int_eq(kl_record_set_value(r, "", 0), KL_OK);
        ck_assert_ptr_nonnull(kl_record_value(r, &size));
        ck_assert_uint_eq(size, 0);
        ck_assert_int_eq(kl_record_set_value(r, NULL, 0), KL_OK);
        ck_assert_ptr_null(kl_record_value(r, &size));
        ck_assert_int_eq(kl_record_set_timestamp(r, 0), KL_OK);
        ck_assert_int_eq(kl_record_timestamp(r), 0);
        ck_assert_int_eq(kl_record_set_timestamp(r, INT64_MAX), KL_OK);
        ck_assert_int_eq(kl_record_add_header(r, "n", "v", 1), KL_OK);
        ck_assert_int_eq(kl_record_add_header(r, "n", NULL, 0), KL_OK);
        ck_assert_uint_eq(kl_record_header_count(r), 2);
        ck_assert_int_eq(
            kl_record_header_at(r, 0, &name, &name_size, &value, &size), KL_OK);
        ck_assert_mem_eq(name, "n", 1);
        ck_assert_uint_eq(name_size, 1);
        ck_assert_mem_eq(value, "v", 1);
        ck_assert_int_eq(
            kl_record_header_at(r, 1, &name, &name_size, &value, &size), KL_OK);
        ck_assert_ptr_null(value);
        ck_assert_int_eq(kl_record_clear(r), KL_OK);
        ck_assert_ptr_null(kl_record_key(r, NULL));
        ck_assert_uint_eq(kl_record_header_count(r), 0);
        ck_assert_int_eq(kl_record_timestamp(r), KL_TIMESTAMP_NOW);
    }
    kl_record_free(r);
}
END_TEST

/* An allocator that counts and fails from the fail_at-th call on. */
struct counter
{
    size_t bytes;
    int calls;
    int fail_at;
};

static void *counter_alloc(void *ptr, size_t old_size, size_t new_size,
                           void *user)
{
    struct counter *c = user;
    void *fresh;

    if (new_size == 0) {
        c->bytes -= old_size;
        free(ptr);
        return NULL;
    }
    if (c->fail_at && ++c->calls >= c->fail_at)
        return NULL;
    fresh = realloc(ptr, new_size);
    if (fresh)
        c->bytes += new_size - (ptr ? old_size : 0);
    return fresh;
}

START_TEST(record_out_of_memory)
{
    struct counter counter = {0, 0, 0};
    kl_config *config;
    int fail_at;

    ck_assert_int_eq(kl_config_new(&config, counter_alloc, &counter), KL_OK);
    for (fail_at = 1; fail_at < 20; fail_at++) {
        size_t before = counter.bytes;
        kl_record *r = NULL;
        size_t size;
        int rc;

        counter.calls = 0;
        counter.fail_at = fail_at;
        rc = kl_record_new(&r, config);
        if (rc == KL_OK) {
            rc = kl_record_set_key(r, "key", 3);
            if (rc != KL_OK)
                ck_assert_ptr_null(kl_record_key(r, NULL));
        }
        if (rc == KL_OK)
            rc = kl_record_add_header(r, "name", "value", 5);
        if (r && rc == KL_ENOMEM) {
            ck_assert_uint_eq(kl_record_header_count(r), 0);
            counter.fail_at = 0;
            ck_assert_int_eq(kl_record_set_key(r, "key", 3), KL_OK);
            ck_assert_int_eq(kl_record_add_header(r, "name", "value", 5),
                             KL_OK);
            ck_assert_mem_eq(kl_record_key(r, &size), "key", 3);
        }
        counter.fail_at = 0;
        kl_record_free(r);
        ck_assert_uint_eq(counter.bytes, before);
        if (rc == KL_OK)
            break;
        ck_assert_int_eq(rc, KL_ENOMEM);
    }
    ck_assert_int_gt(fail_at, 3);
    ck_assert_int_lt(fail_at, 20);
    kl_config_free(config);
    ck_assert_uint_eq(counter.bytes, 0);
}
END_TEST

START_TEST(record_misuse)
{
    kl_record *r;
    size_t size = 3;

    ck_assert_int_eq(kl_record_new(NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_record_clear(NULL), KL_EINVAL);
    ck_assert_int_eq(kl_record_set_key(NULL, "k", 1), KL_EINVAL);
    ck_assert_int_eq(kl_record_set_value(NULL, "k", 1), KL_EINVAL);
    ck_assert_int_eq(kl_record_set_timestamp(NULL, 1), KL_EINVAL);
    ck_assert_int_eq(kl_record_add_header(NULL, "n", "v", 1), KL_EINVAL);
    kl_record_free(NULL);
    ck_assert_int_eq(kl_record_offset(NULL), -1);
    ck_assert_int_eq(kl_record_epoch(NULL), -1);
    ck_assert_int_eq(kl_record_timestamp(NULL), KL_TIMESTAMP_NOW);
    ck_assert_ptr_null(kl_record_key(NULL, &size));
    ck_assert_uint_eq(size, 0);
    ck_assert_ptr_null(kl_record_value(NULL, NULL));
    ck_assert_uint_eq(kl_record_header_count(NULL), 0);
    ck_assert_int_eq(kl_record_header_at(NULL, 0, NULL, NULL, NULL, NULL),
                     KL_EINVAL);
    ck_assert_int_eq(kl_record_new(&r, NULL), KL_OK);
    ck_assert_int_eq(kl_record_set_key(r, NULL, 1), KL_EINVAL);
    ck_assert_int_eq(kl_record_set_value(r, NULL, 1), KL_EINVAL);
    ck_assert_int_eq(kl_record_set_value(r, "v", SIZE_MAX), KL_EINVAL);
    ck_assert_int_eq(kl_record_set_timestamp(r, -2), KL_EINVAL);
    ck_assert_int_eq(kl_record_add_header(r, NULL, "v", 1), KL_EINVAL);
    ck_assert_int_eq(kl_record_add_header(r, "n", NULL, 1), KL_EINVAL);
    ck_assert_int_eq(kl_record_add_header(r, "n", "v", SIZE_MAX), KL_EINVAL);
    ck_assert_uint_eq(kl_record_header_count(r), 0);
    kl_record_free(r);
}
END_TEST

/* ---- events ------------------------------------------------------------ */

/* Records 0 ... count - 1 with key "k-i" (null for every third) and value
 * "value-i" (null for every fifth), timestamp 1000 + i. */
static void fill(const char *codec, int count)
{
    const char *pairs[] = {"compression.type", codec, "batch.size", "2k", NULL};
    kl_config *config = help_config(pairs);
    kl_producer *p;
    int i;

    help_open(&h, 1);
    help_topic(&h, "t", 1, NULL);
    if (kl_producer_new(&p, h.client, config) == KL_EUNSUPPORTED) {
        pairs[0] = NULL;
        p = help_producer(&h, pairs);
    }
    kl_config_free(config);
    for (i = 0; i < count; i++) {
        char key[32];
        char value[32];

        snprintf(key, sizeof key, "k-%d", i);
        snprintf(value, sizeof value, "value-%d", i);
        ck_assert_int_eq(
            kl_producer_send(p, "t", 0, i % 3 ? key : NULL,
                             i % 3 ? strlen(key) : 0, i % 5 ? value : NULL,
                             i % 5 ? strlen(value) : 0, 1000 + i, 0, NULL),
            KL_OK);
    }
    ck_assert_int_eq(kl_producer_flush(p, HELP_WAIT_MS), KL_OK);
    kl_producer_free(p);
}

static void check_bytes(const void *data, size_t size, int null,
                        const char *format, int i)
{
    char want[32];

    if (null) {
        ck_assert_ptr_null(data);
        ck_assert_uint_eq(size, 0);
        return;
    }
    snprintf(want, sizeof want, format, i);
    ck_assert_uint_eq(size, strlen(want));
    ck_assert_mem_eq(data, want, size);
}

static void check_columns(kl_event *e)
{
    const int64_t *offsets;
    const int64_t *timestamps;
    const void *const *keys;
    const void *const *values;
    const uint64_t *key_sizes;
    const uint64_t *value_sizes;
    const int64_t *again;
    size_t count;
    size_t i;

    ck_assert_int_eq(kl_event_columns(e, &count, &offsets, &timestamps, &keys,
                                      &key_sizes, &values, &value_sizes),
                     KL_OK);
    ck_assert_uint_eq(count, kl_event_record_count(e));
    for (i = 0; i < count; i++) {
        int n = (int)(kl_event_offset(e) + (int64_t)i);

        ck_assert_int_eq(offsets[i], n);
        ck_assert_int_eq(timestamps[i], 1000 + n);
        check_bytes(keys[i], key_sizes[i], n % 3 == 0, "k-%d", n);
        check_bytes(values[i], value_sizes[i], n % 5 == 0, "value-%d", n);
    }
    ck_assert_int_eq(
        kl_event_columns(e, &count, &again, NULL, NULL, NULL, NULL, NULL),
        KL_OK);
    ck_assert_ptr_eq(again, offsets);
}

static int check_records(kl_event *e)
{
    const kl_record *r;
    size_t size;
    int count = 0;
    int rc;

    while ((rc = kl_event_next(e, &r)) == KL_OK) {
        int n = (int)kl_event_offset(e) + count;
        const void *data;

        ck_assert_int_eq(kl_record_offset(r), n);
        ck_assert_int_eq(kl_record_timestamp(r), 1000 + n);
        ck_assert_int_ge(kl_record_epoch(r), 0);
        data = kl_record_key(r, &size);
        check_bytes(data, size, n % 3 == 0, "k-%d", n);
        data = kl_record_value(r, &size);
        check_bytes(data, size, n % 5 == 0, "value-%d", n);
        count++;
    }
    ck_assert_int_eq(rc, KL_EEND);
    ck_assert_ptr_null(r);
    ck_assert_int_eq(kl_event_next(e, &r), KL_EEND);
    return count;
}

static const char *const codecs[] = {"none", "lz4", "zstd"};

/* From within a batch on, in either order of reading. */
START_TEST(event_records_and_columns)
{
    enum { COUNT = 2000 };
    kl_consumer *c;
    int64_t from;

    fill(codecs[_i], COUNT);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 0, 0), KL_OK);
    for (from = 0; from < COUNT; from += 333) {
        int64_t next = from;

        ck_assert_int_eq(kl_consumer_seek(c, "t", 0, from), KL_OK);
        while (next < COUNT) {
            kl_event *e = help_poll_records(c);
            size_t count = kl_event_record_count(e);
            const kl_record *r;

            ck_assert_int_eq(kl_event_offset(e), next);
            if (from % 2) {
                check_columns(e);
                ck_assert_int_eq(check_records(e), (int)count);
            } else {
                /* Begun, then columns in between. */
                if (from % 4 == 0) {
                    ck_assert_int_eq(kl_event_next(e, &r), KL_OK);
                    check_columns(e);
                    while (kl_event_next(e, &r) == KL_OK)
                        continue;
                } else {
                    ck_assert_int_eq(check_records(e), (int)count);
                }
                check_columns(e);
            }
            next += (int64_t)count;
            kl_event_free(e);
        }
        ck_assert_int_eq(next, COUNT);
    }
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

/* Bytes of records stay where they are while the event is read on. */
START_TEST(event_lends_until_freed)
{
    kl_consumer *c;
    kl_event *e;
    const kl_record *r;
    const void *first;
    size_t size;
    int n = 0;

    fill(codecs[_i], 1000);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 1, 0), KL_OK);
    e = help_poll_records(c);
    ck_assert_int_eq(kl_event_next(e, &r), KL_OK);
    first = kl_record_value(r, &size);
    while (kl_event_next(e, &r) == KL_OK)
        n++;
    ck_assert_int_gt(n, 0);
    check_bytes(first, size, 0, "value-%d", 1);
    kl_event_free(e);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

START_TEST(event_bytes_are_frames)
{
    kl_consumer *c;
    kl_event *e;
    const void *data;
    size_t total = 0;
    size_t size;
    size_t i;
    int rc;

    fill("none", 100);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 50, 0), KL_OK);
    e = help_poll_records(c);
    for (i = 0; (rc = kl_event_bytes(e, i, &data, &size)) == KL_OK; i++) {
        const uint8_t *p = data;
        size_t at = 0;

        /* The size of a frame is its second word, kraftlog-format(5). */
        while (at < size) {
            uint32_t frame = (uint32_t)p[at + 4] | (uint32_t)p[at + 5] << 8 |
                             (uint32_t)p[at + 6] << 16 |
                             (uint32_t)p[at + 7] << 24;

            ck_assert_uint_gt(frame, 93);
            at += frame;
        }
        ck_assert_uint_eq(at, size);
        total += size;
    }
    ck_assert_int_eq(rc, KL_EEND);
    ck_assert_uint_gt(total, 500);
    kl_event_free(e);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

START_TEST(event_lent_record_is_not_changed)
{
    kl_consumer *c;
    kl_event *e;
    const kl_record *lent;
    kl_record *r;

    fill("none", 2);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 1, 0), KL_OK);
    e = help_poll_records(c);
    ck_assert_int_eq(kl_event_next(e, &lent), KL_OK);
    r = (kl_record *)lent;
    ck_assert_int_eq(kl_record_clear(r), KL_ESTATE);
    ck_assert_int_eq(kl_record_set_key(r, "x", 1), KL_ESTATE);
    ck_assert_int_eq(kl_record_set_value(r, "x", 1), KL_ESTATE);
    ck_assert_int_eq(kl_record_set_timestamp(r, 1), KL_ESTATE);
    ck_assert_int_eq(kl_record_add_header(r, "n", "v", 1), KL_ESTATE);
    kl_record_free(r);
    ck_assert_int_eq(kl_record_offset(lent), 1);
    kl_event_free(e);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

START_TEST(event_misuse)
{
    const kl_record *r;
    const int64_t *offsets;
    const void *data;
    kl_consumer *c;
    kl_event *e;
    size_t count;
    size_t size;
    char text[4];

    ck_assert_int_eq(kl_event_type(NULL), 0);
    ck_assert_ptr_null(kl_event_topic(NULL));
    ck_assert_int_eq(kl_event_partition(NULL), -1);
    ck_assert_int_eq(kl_event_offset(NULL), -1);
    ck_assert_int_eq(kl_event_next_offset(NULL), -1);
    ck_assert_int_eq(kl_event_code(NULL), KL_EINVAL);
    ck_assert_int_eq(kl_event_errmsg(NULL, text, sizeof text), KL_EINVAL);
    ck_assert_int_eq(kl_event_high_watermark(NULL), -1);
    ck_assert_uint_eq(kl_event_record_count(NULL), 0);
    ck_assert_int_eq(kl_event_next(NULL, &r), KL_EINVAL);
    ck_assert_int_eq(
        kl_event_columns(NULL, &count, NULL, NULL, NULL, NULL, NULL, NULL),
        KL_EINVAL);
    ck_assert_int_eq(kl_event_bytes(NULL, 0, &data, &size), KL_EINVAL);
    kl_event_free(NULL);
    fill("none", 1);
    c = help_consumer(&h, NULL);
    ck_assert_int_eq(kl_consumer_assign(c, "t", 0, 0, 0), KL_OK);
    e = help_poll_records(c);
    ck_assert_int_eq(kl_event_next(e, NULL), KL_EINVAL);
    ck_assert_int_eq(
        kl_event_columns(e, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        KL_EINVAL);
    ck_assert_int_eq(kl_event_bytes(e, 0, NULL, &size), KL_EINVAL);
    ck_assert_int_eq(kl_event_bytes(e, 0, &data, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_event_bytes(e, SIZE_MAX, &data, &size), KL_EEND);
    ck_assert_int_eq(kl_event_errmsg(e, NULL, 4), KL_EINVAL);
    ck_assert_int_eq(kl_event_errmsg(e, text, 0), KL_EINVAL);
    ck_assert_int_eq(kl_event_errmsg(e, text, sizeof text), KL_OK);
    ck_assert_str_eq(text, "");
    kl_event_free(e);
    /* The event at the end has no records. */
    e = help_poll(c);
    ck_assert_int_eq(kl_event_type(e), KL_EVENT_END);
    ck_assert_int_eq(kl_event_next(e, &r), KL_EEND);
    ck_assert_uint_eq(kl_event_record_count(e), 0);
    ck_assert_int_eq(kl_event_bytes(e, 0, &data, &size), KL_EEND);
    ck_assert_int_eq(
        kl_event_columns(e, &count, &offsets, NULL, NULL, NULL, NULL, NULL),
        KL_OK);
    ck_assert_uint_eq(count, 0);
    kl_event_free(e);
    kl_consumer_free(c);
    help_close(&h);
}
END_TEST

Suite *suite_api_record(void);

Suite *suite_api_record(void)
{
    Suite *suite = suite_create("api_record");
    TCase *tc = tcase_create("record");

    tcase_add_test(tc, record_empty);
    tcase_add_test(tc, record_set_and_clear);
    tcase_add_test(tc, record_out_of_memory);
    tcase_add_test(tc, record_misuse);
    tcase_add_loop_test(tc, event_records_and_columns, 0, 3);
    tcase_add_loop_test(tc, event_lends_until_freed, 0, 3);
    tcase_add_test(tc, event_bytes_are_frames);
    tcase_add_test(tc, event_lent_record_is_not_changed);
    tcase_add_test(tc, event_misuse);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite;
}
