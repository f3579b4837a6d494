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

/* A record of a later release is not guessed at. */
START_TEST(replay_refuses_what_it_does_not_know)
{
    static const uint8_t unknown[] = {0xff, 0x7f, 0, 0};
    struct kl_batch_builder builder;
    struct kl_batch_input in = {.value = unknown, .value_size = sizeof unknown};
    struct kl_store_log *log = f.n->metadata.log;
    struct kl_base_chunk *frame = NULL;
    struct kl_store_view view;
    char text[256];

    kl_batch_builder_init(&builder, &f.memory.alloc);
    ck_assert_int_eq(kl_batch_builder_append(&builder, 4096, 256, &in), 0);
    ck_assert_int_eq(
        kl_batch_builder_finish(&builder, kl_store_log_seed(log), 0, &frame),
        0);
    kl_batch_builder_deinit(&builder);
    kl_store_log_view(log, &view);
    kl_batch_frame_stamp(frame->data, kl_store_log_seed(log), view.leo, 0);
    ck_assert_int_eq(kl_store_append(log, frame), 0);
    node_fixture_stop(&f);
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
