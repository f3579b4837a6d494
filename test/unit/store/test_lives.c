/*
 * Bytes of another store, of another log, or of another life of a log are
 * nobody's, however good their checksums are.
 */
#include "store_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct store_fixture f;
static struct kl_store_id id;
static struct kl_store_log *subject;

static void setup(void)
{
    store_fixture_init(&f);
    f.config.ring_bytes = 1 << 20; /* no checkpoint but where one is wanted */
    ck_assert_int_eq(store_fixture_open(&f), 0);
    id = store_fixture_id(1, 0);
    subject = store_fixture_create(&f, &id, KL_STORE_FLUSH_COMMIT, 8192);
}

static void teardown(void)
{
    store_fixture_deinit(&f);
}

/* ---- manifests ----------------------------------------------------------- */

/* Stops with two segments, and puts a manifest there that leaves the first one
 * out; whoever believes it deletes that segment. */
static void stop_with_manifest(const struct kl_store_id *of, uint64_t instance)
{
    struct kl_store_manifest m;
    struct kl_base_buf b;
    char path[KL_STORE_PATH_MAX];
    uint8_t *data;
    size_t size;

    store_fixture_fill(&f, subject, 12, 500, 1);
    store_fixture_settle(&f);
    kl_store_path_in_log(subject, "manifest", path);
    store_fixture_close(&f);
    data = store_fixture_load(&f, path, &size);
    ck_assert_int_eq(kl_store_manifest_decode(data, size, &f.alloc.alloc, &m),
                     0);
    free(data);
    ck_assert_uint_eq(m.count, 2);
    memmove(&m.segments[0], &m.segments[1], sizeof *m.segments);
    m.count = 1;
    m.id = *of;
    m.instance += instance;
    kl_base_buf_init(&b, &f.alloc.alloc);
    ck_assert_int_eq(kl_store_manifest_encode(&b, &m), 0);
    store_fixture_save(&f, path, b.data, b.size);
    kl_base_buf_deinit(&b);
    kl_base_free(&f.alloc.alloc, m.segments, 2 * sizeof *m.segments);
    subject = store_fixture_reopen(&f, &id);
}

START_TEST(manifest_of_another_log)
{
    struct kl_store_id other = store_fixture_id(1, 1);

    stop_with_manifest(&other, 0);
    store_fixture_expect(&f, subject, 0, 12, 500, 1);
}
END_TEST

START_TEST(manifest_of_another_life)
{
    stop_with_manifest(&id, 1);
    store_fixture_expect(&f, subject, 0, 12, 500, 1);
}
END_TEST

/* ---- groups -------------------------------------------------------------- */

/* Where the next group will be, and its bytes once it is there. */
static struct kl_store_position next_group(void)
{
    store_fixture_turn(&f);
    store_fixture_turn(&f);
    return f.store->wal.next;
}

static void change_group(const struct kl_store_position *p,
                         void (*change)(uint8_t *data,
                                        struct kl_store_group_header *h))
{
    struct kl_store_group_header h;
    char path[KL_STORE_PATH_MAX];
    uint8_t *data;
    size_t size;

    kl_store_path_wal(f.store, p->file, path);
    store_fixture_crash(&f);
    data = store_fixture_load(&f, path, &size);
    ck_assert_int_eq(kl_store_group_decode(data + p->offset, &h), 0);
    ck_assert_int_eq(kl_store_group_verify(data + p->offset, &h), 0);
    change(data + p->offset, &h);
    store_fixture_save(&f, path, data, size);
    free(data);
}

static void of_another_store(uint8_t *data, struct kl_store_group_header *h)
{
    h->directory++;
    kl_store_group_encode(data, h);
}

START_TEST(group_of_another_store)
{
    struct kl_store_position p;

    store_fixture_fill(&f, subject, 2, 100, 1);
    p = next_group();
    store_fixture_fill(&f, subject, 1, 100, 1);
    next_group();
    change_group(&p, of_another_store);
    subject = store_fixture_reopen(&f, &id);
    ck_assert_int_eq(store_fixture_view(subject).leo, 2);
}
END_TEST

static void rotten(uint8_t *data, struct kl_store_group_header *h)
{
    (void)h;
    data[KL_STORE_GROUP_HEADER] ^= 0x40;
}

/* The group that ends one life and begins the next is lost: what is appended
 * in the new life would fit behind the old one, but proves that it is over. */
START_TEST(entry_of_another_life)
{
    struct kl_store_position p;
    struct kl_store_read read;

    store_fixture_fill(&f, subject, 3, 100, 1);
    p = next_group();
    if (_i == 0) {
        ck_assert_int_eq(kl_store_delete(subject), 0);
        subject = store_fixture_create(&f, &id, KL_STORE_FLUSH_COMMIT, 8192);
        store_fixture_fill(&f, subject, 3, 100, 2);
    } else {
        ck_assert_int_eq(kl_store_reset(&subject, 3, 0), 0);
    }
    next_group();
    store_fixture_fill(&f, subject, 1, 100, 3);
    next_group();
    change_group(&p, rotten);
    subject = store_fixture_reopen(&f, &id);
    ck_assert_int_eq(kl_store_verdict(f.store), KL_STORE_VERDICT_DAMAGED);
    ck_assert_int_eq(store_fixture_view(subject).leo, 4);
    store_fixture_read(&f, subject, 0, 4, 8192, &read);
    ck_assert_int_eq(read.code, KL_ECORRUPT);
    ck_assert_int_eq(read.next_offset, 3);
    kl_store_read_release(&read);
    store_fixture_expect(&f, subject, 3, 4, 100, 3);
    ck_assert(!store_fixture_view(subject).is_suspect);
}
END_TEST

/* ---- segments ------------------------------------------------------------ */

/* The folder of an earlier life is another one, and goes with it. */
START_TEST(folder_of_another_life)
{
    char path[KL_STORE_PATH_MAX], again[KL_STORE_PATH_MAX];

    store_fixture_fill(&f, subject, 3, 100, 1);
    store_fixture_settle(&f);
    kl_store_path_log(subject, path);
    ck_assert_int_eq(kl_store_delete(subject), 0);
    subject = store_fixture_create(&f, &id, KL_STORE_FLUSH_COMMIT, 8192);
    store_fixture_fill(&f, subject, 2, 100, 2);
    store_fixture_settle(&f);
    kl_store_path_log(subject, again);
    ck_assert_str_ne(path, again);
    store_fixture_close(&f);
    subject = store_fixture_reopen(&f, &id);
    ck_assert_int_eq(store_fixture_view(subject).leo, 2);
    store_fixture_expect(&f, subject, 0, 2, 100, 2);
    ck_assert_int_eq(store_fixture_count(&f, path, ""), 0);
}
END_TEST

/* A frame of another log at the right place, whole: read and lookup pass it
 * by. */
START_TEST(frame_of_another_log)
{
    struct kl_store_id other_id = store_fixture_id(1, 1);
    struct kl_store_log *other =
        store_fixture_create(&f, &other_id, KL_STORE_FLUSH_COMMIT, 8192);
    char from[KL_STORE_PATH_MAX], to[KL_STORE_PATH_MAX];
    struct kl_store_read read;
    uint8_t *data;
    size_t size;

    store_fixture_fill(&f, subject, 3, 100, 1);
    store_fixture_fill(&f, other, 3, 100, 2);
    store_fixture_settle(&f);
    kl_store_path_segment(other, 0, "seg", from);
    kl_store_path_segment(subject, 0, "seg", to);
    store_fixture_close(&f);
    data = store_fixture_load(&f, from, &size);
    store_fixture_patch(&f, to, KL_STORE_BLOCK, data + KL_STORE_BLOCK,
                        size - KL_STORE_BLOCK);
    free(data);
    subject = store_fixture_reopen(&f, &id);
    store_fixture_read(&f, subject, 0, 3, 8192, &read);
    ck_assert_int_eq(read.code, KL_ECORRUPT);
    ck_assert_uint_eq(read.slice_count, 0);
    kl_store_read_release(&read);
}
END_TEST

Suite *suite_store_lives(void);

Suite *suite_store_lives(void)
{
    Suite *suite = suite_create("store_lives");
    TCase *t = tcase_create("lives");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, manifest_of_another_log);
    tcase_add_test(t, manifest_of_another_life);
    tcase_add_test(t, group_of_another_store);
    tcase_add_loop_test(t, entry_of_another_life, 0, 2);
    tcase_add_test(t, folder_of_another_life);
    tcase_add_test(t, frame_of_another_log);
    suite_add_tcase(suite, t);
    return suite;
}
