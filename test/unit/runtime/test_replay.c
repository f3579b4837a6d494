/*
 * Reading a metadata log back.
 */
#include "node_fixture.h"
#include "runtime/state.h"

#include <check.h>
#include <stdio.h>

static struct node_fixture f;

static void setup(void)
{
    node_fixture_init(&f);
    node_fixture_open(&f);
}

static void teardown(void)
{
    node_fixture_deinit(&f);
}

/* Long enough for several reads, and equal to what was there before. */
START_TEST(replay_gives_the_same_image)
{
    struct kl_controller_records before, after;

    kl_controller_records_init(&before, &kl_base_alloc_libc);
    kl_controller_records_init(&after, &kl_base_alloc_libc);
    for (int i = 0; i < 40; i++) {
        struct kl_runtime_wish wish = {.type = KL_RUNTIME_DELETE_TOPIC,
                                       .topic = "gone"};
        char name[32];

        (void)snprintf(name, sizeof name, "t%d", i);
        (void)node_fixture_topic(&f, name, 10, "segment.bytes", "1m");
        (void)node_fixture_topic(&f, "gone", 150, NULL, NULL);
        ck_assert_int_eq(node_fixture_code(&f, &wish), 0);
    }
    ck_assert_int_eq(kl_controller_encode(f.n->metadata.controller, &before),
                     0);
    node_fixture_stop(&f);
    node_fixture_open(&f);
    ck_assert_int_eq(kl_controller_encode(f.n->metadata.controller, &after), 0);
    ck_assert_mem_eq(before.buf.data, after.buf.data, before.buf.size);
    ck_assert_uint_eq(before.buf.size, after.buf.size);
    kl_controller_records_deinit(&before);
    kl_controller_records_deinit(&after);
}
END_TEST

/* Puts a record into the metadata log of a node that is stopped. */
static void append(const void *value, uint32_t size)
{
    struct kl_store_config config = {.path = "data",
                                     .pending_bytes_max = 1 << 20,
                                     .file_max = 64,
                                     .retention_check_ms = 1000};
    struct kl_store_id id = {kl_store_metadata_topic, 0};
    struct kl_batch_input in = {.value = value, .value_size = size};
    struct kl_base_chunk *frame = NULL;
    struct kl_batch_builder builder;
    struct kl_base_error error;
    struct kl_os_lanes *lanes;
    struct kl_store_view view;
    struct kl_store *store;
    struct kl_store_log *log;
    int64_t now = 1;

    ck_assert_int_eq(kl_os_lanes_inline_new(&lanes, &f.memory.alloc), 0);
    ck_assert_int_eq(
        kl_store_new(&store, &f.memory.alloc, f.vfs, lanes, &config), 0);
    ck_assert_int_eq(kl_store_open(store, 0, now, now, &error), 0);
    log = kl_store_find(store, &id);
    ck_assert_ptr_nonnull(log);
    kl_store_log_view(log, &view);
    kl_batch_builder_init(&builder, &f.memory.alloc);
    ck_assert_int_eq(kl_batch_builder_append(&builder, 4096, 256, &in), 0);
    ck_assert_int_eq(
        kl_batch_builder_finish(&builder, kl_store_log_seed(log), 0, &frame),
        0);
    kl_batch_builder_deinit(&builder);
    kl_batch_frame_stamp(frame->data, kl_store_log_seed(log), view.leo,
                         kl_batch_epochs_last(view.epochs));
    ck_assert_int_eq(kl_store_append(log, frame), 0);
    kl_store_stop(store);
    for (int i = 0; i < 1000 && !kl_store_is_stopped(store); i++) {
        now += 1000000;
        kl_store_turn(store, now, now / 1000000);
    }
    ck_assert(kl_store_is_stopped(store));
    kl_store_free(store);
    lanes->ops->free(lanes);
}

/* A record of a later release is not guessed at. */
START_TEST(replay_refuses_what_it_does_not_know)
{
    static const uint8_t unknown[] = {0xff, 0x7f, 0, 0};
    char text[256];

    node_fixture_stop(&f);
    append(unknown, sizeof unknown);
    ck_assert_int_eq(node_fixture_try_open(&f, 0), KL_EFORMAT);
    kl_runtime_errmsg(f.n, text, sizeof text);
    ck_assert_str_ne(text, "");
}
END_TEST

Suite *suite_runtime_replay(void);

Suite *suite_runtime_replay(void)
{
    Suite *s = suite_create("runtime_replay");
    TCase *t = tcase_create("replay");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, replay_gives_the_same_image);
    tcase_add_test(t, replay_refuses_what_it_does_not_know);
    suite_add_tcase(s, t);
    return s;
}
