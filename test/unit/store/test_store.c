/*
 * The store's door: opening, misuse, limits, events, stopping.
 */
#include "store_fixture.h"

#include "base/endian.h"
#include "base/hash.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct store_fixture fx;
static struct kl_store_id id;
static struct kl_store_log *subject;

static void setup(void)
{
    store_fixture_init(&fx);
    id = store_fixture_id(0, 0);
}

static void teardown(void)
{
    store_fixture_deinit(&fx);
}

static void open_with_log(void)
{
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    subject = store_fixture_create(&fx, &id, KL_STORE_FLUSH_COMMIT, 1 << 20);
}

static int open_flags(struct kl_store **out, uint32_t flags)
{
    int rc = kl_store_new(out, &fx.alloc.alloc, &fx.trace.base, fx.lanes,
                          &fx.config);

    ck_assert_int_eq(rc, 0);
    kl_base_error_clear(&fx.error);
    return kl_store_open(*out, flags, fx.now_ns, fx.wall_ms, &fx.error);
}

/* ---- opening
 * ------------------------------------------------------------------ */

START_TEST(open_without_create_makes_nothing)
{
    struct kl_store *s;

    ck_assert_int_eq(open_flags(&s, 0), KL_ENOSTORE);
    ck_assert_ptr_nonnull(strstr(fx.error.text, "data"));
    kl_store_free(s);
    ck_assert_int_eq(store_fixture_count(&fx, "data", ""), 0);
    ck_assert_int_eq(fx.memory->ops->mkdir(fx.memory, "data"), 0);
    ck_assert_int_eq(open_flags(&s, 0), KL_ENOSTORE);
    kl_store_free(s);
    ck_assert_int_eq(store_fixture_count(&fx, "data", ""), 0);
    open_with_log();
    store_fixture_close(&fx);
    ck_assert_int_eq(open_flags(&s, 0), 0);
    ck_assert_ptr_nonnull(kl_store_find(s, &id));
    kl_store_free(s);
}
END_TEST

START_TEST(open_of_a_folder_with_other_files)
{
    store_fixture_crash(&fx);
    ck_assert_int_eq(fx.memory->ops->mkdir(fx.memory, "data"), 0);
    store_fixture_save(&fx, "data/letter.txt", "dear", 4);
    ck_assert_int_eq(store_fixture_open(&fx), KL_EFOREIGN);
    store_fixture_crash(&fx);
    ck_assert(store_fixture_exists(&fx, "data/letter.txt"));
    ck_assert(!store_fixture_exists(&fx, "data/identity"));
    ck_assert_int_eq(store_fixture_count(&fx, "data/wal", ""), 0);
    store_fixture_unlink(&fx, "data/letter.txt");
    ck_assert_int_eq(store_fixture_open(&fx), 0);
}
END_TEST

START_TEST(open_twice)
{
    struct kl_store *s;

    open_with_log();
    trace_vfs_allow_owner(&fx.trace, 1);
    ck_assert_int_eq(open_flags(&s, KL_STORE_OPEN_CREATE), KL_EBUSY);
    ck_assert_ptr_nonnull(strstr(fx.error.text, "data/lock"));
    kl_store_free(s);
    trace_vfs_allow_owner(&fx.trace, 0);
    store_fixture_fill(&fx, subject, 1, 10, 1);
    store_fixture_settle(&fx);
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, 1);
    store_fixture_crash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), 0);
}
END_TEST

/* Whatever call is the last one before the crash: it can be done again. */
START_TEST(formatting_interrupted_at_every_call)
{
    uint64_t n;
    int rc = KL_EIO;

    for (n = 0; rc; n++) {
        teardown();
        setup();
        trace_vfs_cut(&fx.trace, n);
        rc = store_fixture_open(&fx);
        store_fixture_crash(&fx);
        if (rc)
            ck_assert_int_ne(fx.error.code, 0);
        trace_vfs_heal(&fx.trace);
        open_with_log();
        ck_assert_mem_eq(&kl_store_identity(fx.store)->cluster_id,
                         &fx.config.format.cluster_id, 16);
        store_fixture_fill(&fx, subject, 3, 100, 1);
        store_fixture_settle(&fx);
        store_fixture_crash(&fx);
        subject = store_fixture_reopen(&fx, &id);
        store_fixture_expect(&fx, subject, 0, 3, 100, 1);
        ck_assert_uint_lt(n, 1000);
    }
    ck_assert_uint_gt(n, 40);
}
END_TEST

START_TEST(formatting_without_memory)
{
    int rc = KL_ENOMEM;

    for (uint64_t n = 1; rc; n++) {
        teardown();
        setup();
        fail_alloc_arm(&fx.alloc, n);
        rc = store_fixture_open(&fx);
        fail_alloc_arm(&fx.alloc, 0);
        store_fixture_crash(&fx);
        if (rc)
            ck_assert_int_eq(rc, KL_ENOMEM);
        ck_assert_int_eq(store_fixture_open(&fx), 0);
        ck_assert_uint_lt(n, 1000);
    }
}
END_TEST

/* A whole small file of a later version. */
static void make_newer(const char *path)
{
    size_t size, whole;
    uint8_t *data = store_fixture_load(&fx, path, &size);

    whole = kl_base_get_le32(data + 8);
    kl_base_put_le16(data + 4, kl_base_get_le16(data + 4) + 1);
    kl_base_put_le64(data + 16, kl_base_hash(data + KL_STORE_ENVELOPE,
                                             whole - KL_STORE_ENVELOPE,
                                             kl_base_get_le64(data) ^ whole));
    store_fixture_save(&fx, path, data, size);
    free(data);
}

START_TEST(open_of_an_unknown_version)
{
    uint64_t hash;

    open_with_log();
    store_fixture_close(&fx);
    if (_i == 0) {
        make_newer("data/identity");
    } else {
        make_newer("data/checkpoint.a");
        make_newer("data/checkpoint.b");
    }
    hash = store_fixture_hash(&fx);
    ck_assert_int_eq(store_fixture_open(&fx), KL_EFORMAT);
    store_fixture_crash(&fx);
    ck_assert_uint_eq(store_fixture_hash(&fx), hash);
}
END_TEST

START_TEST(open_of_a_damaged_identity)
{
    open_with_log();
    store_fixture_close(&fx);
    store_fixture_patch(&fx, "data/identity", 30, "\xfe", 1);
    ck_assert_int_eq(store_fixture_open(&fx), KL_ECORRUPT);
    ck_assert_ptr_nonnull(strstr(fx.error.text, "data/identity"));
    store_fixture_crash(&fx);
    store_fixture_save(&fx, "data/identity", "", 0);
    ck_assert_int_eq(store_fixture_open(&fx), KL_ECORRUPT);
}
END_TEST

/* The WAL of another folder, as after copying files about. */
START_TEST(open_with_the_wal_of_another_store)
{
    uint8_t *files[4];
    size_t sizes[4];
    char path[] = "data/wal/0";

    open_with_log();
    store_fixture_fill(&fx, subject, 5, 100, 1);
    store_fixture_turn(&fx);
    store_fixture_turn(&fx);
    store_fixture_crash(&fx);
    for (int i = 0; i < 4; i++) {
        path[9] = (char)('0' + i);
        files[i] = store_fixture_load(&fx, path, &sizes[i]);
    }
    teardown();
    setup();
    fx.config.format.directory_id.bytes[3] ^= 1;
    open_with_log();
    store_fixture_crash(&fx);
    for (int i = 0; i < 4; i++) {
        path[9] = (char)('0' + i);
        store_fixture_save(&fx, path, files[i], sizes[i]);
        free(files[i]);
    }
    ck_assert_int_eq(store_fixture_open(&fx), 0);
    ck_assert_ptr_null(kl_store_find(fx.store, &id));
}
END_TEST

/* ---- misuse
 * --------------------------------------------------------------------- */

static struct kl_base_chunk *frame_of(uint64_t seed, uint32_t value_size)
{
    struct kl_batch_builder b;
    struct kl_base_chunk *chunk;
    uint8_t *value = calloc(1, value_size + 1);
    struct kl_batch_input in = {.value = value, .value_size = value_size};

    kl_batch_builder_init(&b, &fx.alloc.alloc);
    ck_assert_int_eq(kl_batch_builder_append(&b, 1 << 20, value_size, &in), 0);
    ck_assert_int_eq(kl_batch_builder_finish(&b, seed, 0, &chunk), 0);
    free(value);
    return chunk;
}

/* Appends a frame stamped like this; an error leaves it the caller's. */
static int append(int64_t base, int32_t epoch, uint32_t value_size)
{
    uint64_t seed = kl_store_log_seed(subject);
    struct kl_base_chunk *chunk = frame_of(seed, value_size);
    int rc;

    kl_batch_frame_stamp(chunk->data, seed, base, epoch);
    rc = kl_store_append(subject, chunk);
    if (rc)
        kl_base_chunk_unref(chunk);
    return rc;
}

START_TEST(append_of_what_does_not_fit_the_log)
{
    struct kl_base_chunk *chunk;

    open_with_log();
    ck_assert_int_eq(append(1, 0, 10), KL_EINVAL);
    ck_assert_int_eq(append(0, -1, 10), KL_EINVAL);
    ck_assert_int_eq(append(0, 3, 10), 0);
    ck_assert_int_eq(append(0, 3, 10), KL_EINVAL);
    ck_assert_int_eq(append(1, 2, 10), KL_EINVAL);
    ck_assert_int_eq(append(1, 3, 10), 0);
    ck_assert_int_eq(append(2, 7, 10), 0);
    /* Not stamped for this log, or not whole. */
    chunk = frame_of(kl_store_log_seed(subject) + 1, 10);
    kl_batch_frame_stamp(chunk->data, kl_store_log_seed(subject) + 1, 3, 7);
    ck_assert_int_eq(kl_store_append(subject, chunk), KL_EINVAL);
    kl_base_chunk_unref(chunk);
    chunk = frame_of(kl_store_log_seed(subject), 10);
    kl_batch_frame_stamp(chunk->data, kl_store_log_seed(subject), 3, 7);
    chunk->size--;
    ck_assert_int_eq(kl_store_append(subject, chunk), KL_EINVAL);
    chunk->size = 20;
    ck_assert_int_eq(kl_store_append(subject, chunk), KL_EINVAL);
    kl_base_chunk_unref(chunk);
    ck_assert_int_eq(store_fixture_view(subject).leo, 3);
    store_fixture_settle(&fx);
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, 3);
}
END_TEST

START_TEST(append_of_the_largest_frame)
{
    uint32_t max, overhead;
    struct kl_base_chunk *chunk;

    open_with_log();
    max = kl_store_frame_max(fx.store);
    ck_assert_uint_eq(max,
                      16384 - KL_STORE_GROUP_HEADER - KL_STORE_ENTRY_HEADER);
    chunk = frame_of(1, 16000);
    overhead = chunk->size - 16000;
    kl_base_chunk_unref(chunk);
    ck_assert_int_eq(append(0, 0, max - overhead + 1), KL_ERECORDSIZE);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(append(i, 0, max - overhead), 0);
        store_fixture_settle(&fx);
    }
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, 6);
    store_fixture_crash(&fx);
    subject = store_fixture_reopen(&fx, &id);
    ck_assert_int_eq(store_fixture_view(subject).leo, 6);
}
END_TEST

START_TEST(changes_out_of_range)
{
    struct kl_store_log_config config = {.segment_bytes = 1};
    struct kl_store_id bad = {.partition = -1};
    struct kl_store_log *out;

    open_with_log();
    ck_assert_int_eq(
        store_fixture_append(&fx, subject, 5, 10, 1, 0, fx.wall_ms), 0);
    ck_assert_int_eq(kl_store_truncate(subject, 6), KL_EINVAL);
    ck_assert_int_eq(kl_store_truncate(subject, -1), KL_EINVAL);
    ck_assert_int_eq(kl_store_truncate(subject, 3), KL_EINVAL); /* inside */
    ck_assert_int_eq(kl_store_truncate(subject, 5), 0); /* nothing to do */
    ck_assert_int_eq(kl_store_set_start(subject, 1), KL_EOFFSETRANGE);
    ck_assert_int_eq(kl_store_start_epoch(subject, -1), KL_EINVAL);
    ck_assert_int_eq(
        kl_store_create(fx.store, &bad, KL_STORE_FLUSH_COMMIT, &config, &out),
        KL_EINVAL);
    ck_assert_int_eq(
        kl_store_create(fx.store, &id, KL_STORE_FLUSH_COMMIT, &config, &out),
        KL_EEXIST);
    store_fixture_settle(&fx);
    ck_assert_int_eq(kl_store_truncate(subject, 3), KL_EINVAL);
    ck_assert_int_eq(kl_store_set_start(subject, 3), 0);
    ck_assert_int_eq(kl_store_truncate(subject, 0), KL_EINVAL);
    ck_assert_int_eq(kl_store_delete(subject), 0);
    ck_assert_int_eq(kl_store_delete(subject), KL_ECLOSED);
    ck_assert_int_eq(kl_store_start_epoch(subject, 9), KL_ECLOSED);
}
END_TEST

START_TEST(change_without_memory_changes_nothing)
{
    for (uint64_t n = 1; n <= 3; n++) {
        struct kl_store_log *out = NULL;
        struct kl_store_id other = store_fixture_id(1, 0);
        struct kl_store_view view;
        int codes[5];

        teardown();
        setup();
        open_with_log();
        store_fixture_fill(&fx, subject, 5, 100, 1);
        store_fixture_settle(&fx);
        store_fixture_fill(&fx, subject, 5, 100, 1);
        fail_alloc_arm(&fx.alloc, n);
        codes[0] = kl_store_truncate(subject, 7);
        fail_alloc_arm(&fx.alloc, n);
        codes[1] = kl_store_set_start(subject, 3);
        fail_alloc_arm(&fx.alloc, n);
        codes[2] = kl_store_start_epoch(subject, 8);
        fail_alloc_arm(&fx.alloc, n);
        codes[3] = kl_store_create(fx.store, &other, KL_STORE_FLUSH_COMMIT,
                                   &subject->config, &out);
        fail_alloc_arm(&fx.alloc, 0);
        for (int i = 0; i < 4; i++)
            ck_assert(codes[i] == 0 || codes[i] == KL_ENOMEM);
        ck_assert_int_eq(codes[0], n == 1 ? KL_ENOMEM : 0);
        view = store_fixture_view(subject);
        ck_assert_int_eq(view.leo, codes[0] ? 10 : 7);
        ck_assert_int_eq(view.start, codes[1] ? 0 : 3);
        ck_assert_int_eq(kl_batch_epochs_last(view.epochs), codes[2] ? 0 : 8);
        ck_assert_int_eq(kl_store_find(fx.store, &other) != NULL, !codes[3]);
        store_fixture_expect(&fx, subject, view.start, view.leo, 100, 1);
        store_fixture_settle(&fx);
        ck_assert_int_eq(store_fixture_view(subject).durable_leo, view.leo);
        store_fixture_crash(&fx);
        subject = store_fixture_reopen(&fx, &id);
        ck_assert_int_eq(store_fixture_view(subject).leo, view.leo);
        ck_assert_int_eq(store_fixture_view(subject).start, codes[1] ? 0 : 3);
        ck_assert_int_eq(
            kl_batch_epochs_last(store_fixture_view(subject).epochs),
            codes[2] ? 0 : 8);
        ck_assert_int_eq(kl_store_find(fx.store, &other) != NULL, !codes[3]);
    }
}
END_TEST

/* ---- back-pressure
 * ------------------------------------------------------------------ */

static int turn_for(enum kl_store_event_type type)
{
    struct kl_store_event event;
    int seen = 0;

    fx.now_ns += 1000000;
    kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
    while (kl_store_next_event(fx.store, &event))
        seen += event.type == type;
    return seen;
}

START_TEST(append_beyond_the_pending_limit)
{
    struct kl_store_id meta_id = {kl_store_metadata_topic, 0};
    struct kl_store_log *meta;
    int count = 0, room = 0, rc;

    fx.config.pending_bytes_max = 64 * 1024;
    open_with_log();
    meta = store_fixture_create(&fx, &meta_id, KL_STORE_FLUSH_COMMIT, 1 << 20);
    while ((rc = store_fixture_append(&fx, subject, 1, 3000, 1, 0, 0)) == 0)
        ck_assert_int_lt(++count, 1000);
    ck_assert_int_eq(rc, KL_EAGAIN);
    ck_assert_int_gt(count, 10);
    ck_assert_uint_le(fx.store->pending_bytes, 64 * 1024);
    ck_assert_int_eq(store_fixture_view(subject).leo, count);
    /* The metadata log is never refused. */
    store_fixture_fill(&fx, meta, 100, 2000, 1);
    for (int i = 0; i < 300; i++)
        room += turn_for(KL_STORE_EVENT_ROOM);
    ck_assert_int_eq(room, 1);
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, count);
    ck_assert_uint_eq(fx.store->pending_bytes, 0);
    store_fixture_fill(&fx, subject, 1, 3000, 1);
    for (int i = 0; i < 30; i++)
        ck_assert_int_eq(turn_for(KL_STORE_EVENT_ROOM), 0);
}
END_TEST

/* One frame always passes, however small the limit. */
START_TEST(append_with_a_tiny_pending_limit)
{
    fx.config.pending_bytes_max = 1;
    open_with_log();
    for (int i = 0; i < 3; i++) {
        store_fixture_fill(&fx, subject, 1, 3000, 1);
        ck_assert_int_eq(store_fixture_append(&fx, subject, 1, 10, 1, 0, 0),
                         KL_EAGAIN);
        store_fixture_settle(&fx);
    }
    ck_assert_int_eq(store_fixture_view(subject).durable_leo, 3);
}
END_TEST

/* ---- events
 * ----------------------------------------------------------------------------
 */

START_TEST(event_of_durable_logs)
{
    int seen = 0;

    open_with_log();
    store_fixture_settle(&fx);
    store_fixture_fill(&fx, subject, 5, 100, 1);
    for (int i = 0; i < 60; i++)
        seen += turn_for(KL_STORE_EVENT_DURABLE);
    ck_assert_int_eq(seen, 1); /* one group, one event */
    store_fixture_fill(&fx, subject, 5, 100, 1);
    kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
    kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
    ck_assert_int_eq(kl_store_delete(subject), 0);
    for (int i = 0; i < 60; i++) /* not of a log that is gone */
        ck_assert_int_eq(turn_for(KL_STORE_EVENT_DURABLE), 0);
}
END_TEST

/* ---- stopping
 * -----------------------------------------------------------------------------
 */

START_TEST(stop_refuses_changes_and_writes_everything)
{
    struct kl_store_id other = store_fixture_id(1, 0);
    struct kl_store_log *out, *interval;

    open_with_log();
    interval =
        store_fixture_create(&fx, &other, KL_STORE_FLUSH_INTERVAL, 1 << 20);
    store_fixture_fill(&fx, subject, 20, 1000, 1);
    store_fixture_fill(&fx, interval, 20, 1000, 2);
    kl_store_stop(fx.store);
    ck_assert(!kl_store_is_stopped(fx.store));
    ck_assert_int_eq(store_fixture_append(&fx, subject, 1, 1, 1, 0, 0),
                     KL_ECLOSED);
    ck_assert_int_eq(kl_store_truncate(subject, 0), KL_ECLOSED);
    ck_assert_int_eq(kl_store_delete(subject), KL_ECLOSED);
    other.partition = 9;
    ck_assert_int_eq(kl_store_create(fx.store, &other, KL_STORE_FLUSH_COMMIT,
                                     &subject->config, &out),
                     KL_ECLOSED);
    for (int i = 0; i < 1000 && !kl_store_is_stopped(fx.store); i++)
        store_fixture_turn(&fx);
    ck_assert(kl_store_is_stopped(fx.store));
    ck_assert_int_eq(store_fixture_view(interval).durable_leo, 20);
    ck_assert_int_eq(kl_store_log_synced_leo(interval), 20);
    store_fixture_crash(&fx);
    subject = store_fixture_reopen(&fx, &id);
    store_fixture_expect(&fx, subject, 0, 20, 1000, 1);
    other.partition = 0;
    store_fixture_expect(&fx, kl_store_find(fx.store, &other), 0, 20, 1000, 2);
}
END_TEST

START_TEST(next_while_deleting)
{
    struct kl_store_log *l, *next;
    int count = 0;

    ck_assert_int_eq(store_fixture_open(&fx), 0);
    ck_assert_ptr_null(kl_store_next(fx.store, NULL));
    for (int i = 0; i < 10; i++) {
        struct kl_store_id many = store_fixture_id(2, i);

        store_fixture_create(&fx, &many, KL_STORE_FLUSH_COMMIT, 1 << 20);
    }
    for (l = kl_store_next(fx.store, NULL); l; l = next, count++) {
        ck_assert_int_eq(kl_store_delete(l), 0);
        next = kl_store_next(fx.store, l);
    }
    ck_assert_int_eq(count, 10);
    ck_assert_ptr_null(kl_store_next(fx.store, NULL));
    store_fixture_settle(&fx);
}
END_TEST

Suite *suite_store_store(void);

Suite *suite_store_store(void)
{
    Suite *suite = suite_create("store_store");
    TCase *t = tcase_create("store");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, open_without_create_makes_nothing);
    tcase_add_test(t, open_of_a_folder_with_other_files);
    tcase_add_test(t, open_twice);
    tcase_add_test(t, formatting_interrupted_at_every_call);
    tcase_add_test(t, formatting_without_memory);
    tcase_add_loop_test(t, open_of_an_unknown_version, 0, 2);
    tcase_add_test(t, open_of_a_damaged_identity);
    tcase_add_test(t, open_with_the_wal_of_another_store);
    tcase_add_test(t, append_of_what_does_not_fit_the_log);
    tcase_add_test(t, append_of_the_largest_frame);
    tcase_add_test(t, changes_out_of_range);
    tcase_add_test(t, change_without_memory_changes_nothing);
    tcase_add_test(t, append_beyond_the_pending_limit);
    tcase_add_test(t, append_with_a_tiny_pending_limit);
    tcase_add_test(t, event_of_durable_logs);
    tcase_add_test(t, stop_refuses_changes_and_writes_everything);
    tcase_add_test(t, next_while_deleting);
    suite_add_tcase(suite, t);
    return suite;
}
