/*
 * The accumulator: when batches close, in which order they leave, what they
 * remember, and what is left behind when memory runs out.
 */
#include "fail_alloc.h"
#include "pubsub/pubsub.h"

#include <check.h>
#include <kraftlog/error.h>
#include <stdio.h>
#include <string.h>

enum { BATCH_SIZE = 1024, BATCH_MAX = 8192, SENT_MAX = 64 };

static struct fail_alloc memory;
static struct kl_pubsub_accumulator acc;
static struct kl_pubsub_topic *topic;
static const struct kl_base_uuid id_a = {{1}};
static const struct kl_base_uuid id_b = {{2}};

static struct kl_base_chunk *chunk_get(size_t capacity, void *user)
{
    struct kl_base_chunk *chunk;

    (void)user;
    if (kl_base_chunk_new(&chunk, &memory.alloc, capacity) != KL_OK)
        return NULL;
    return chunk;
}

static struct kl_pubsub_config config_default(void)
{
    struct kl_pubsub_config c = {0};

    c.batch_size = BATCH_SIZE;
    c.in_flight_max = 2;
    c.memory_max = 1024 * 1024;
    c.user_size = 40;
    c.chunk_get = chunk_get;
    return c;
}

static void begin(const struct kl_pubsub_config *c, int32_t partitions)
{
    fail_alloc_init(&memory);
    kl_pubsub_accumulator_init(&acc, &memory.alloc, c);
    ck_assert_int_eq(
        kl_pubsub_topic_update(&acc, "t", &id_a, partitions, BATCH_MAX, &topic),
        KL_OK);
}

static void end(void)
{
    struct kl_pubsub_batch *b;

    while ((b = kl_pubsub_drop_next(&acc)))
        kl_pubsub_release(&acc, b);
    ck_assert_uint_eq(acc.memory_used, 0);
    ck_assert_uint_eq(acc.idle_count, 0);
    ck_assert_uint_eq(kl_pubsub_oldest(&acc), UINT64_MAX);
    kl_pubsub_accumulator_deinit(&acc);
    fail_alloc_deinit(&memory);
}

static int add_at(int32_t partition, const char *key, const void *value,
                  size_t size, int64_t now_ns)
{
    struct kl_batch_input in = {0};

    in.timestamp = 1000;
    in.key = key;
    in.key_size = key ? (uint32_t)strlen(key) : 0;
    in.value = value;
    in.value_size = (uint32_t)size;
    return kl_pubsub_accumulate(&acc, topic, partition, &in, now_ns, NULL, 0);
}

static int add(int32_t partition, const void *value, size_t size)
{
    return add_at(partition, NULL, value, size, 0);
}

/* Adds a record whose value is its number. */
static void add_number(int32_t partition, uint32_t number)
{
    ck_assert_int_eq(add(partition, &number, sizeof number), KL_OK);
}

static void build_all(void)
{
    struct kl_pubsub_batch *b;

    while ((b = kl_pubsub_build_next(&acc))) {
        kl_pubsub_build(&acc, b);
        kl_pubsub_built(&acc, b);
    }
}

static struct kl_pubsub_batch *take(void)
{
    build_all();
    return kl_pubsub_outbox_next(&acc);
}

static void finish(struct kl_pubsub_batch *b, int64_t now_ns)
{
    kl_pubsub_finished(&acc, b, now_ns);
    kl_pubsub_release(&acc, b);
}

/* Checks the numbers in a built batch: they go on from *next. */
static void check_numbers(const struct kl_pubsub_batch *b, uint32_t *next)
{
    struct kl_batch_iter it;
    struct kl_batch_record r;
    struct kl_batch_info info;
    uint32_t number;

    ck_assert_int_eq(kl_batch_frame_verify(b->frame->data, b->frame->size,
                                           b->partition->seed, &info),
                     KL_OK);
    ck_assert_int_eq(kl_batch_iter_init(&it, &memory.alloc, b->frame->data,
                                        b->frame->size, BATCH_MAX),
                     KL_OK);
    while (kl_batch_iter_next(&it, &r) == KL_OK) {
        ck_assert_uint_eq(r.value_size, sizeof number);
        memcpy(&number, r.value, sizeof number);
        ck_assert_uint_eq(number, *next);
        ++*next;
    }
    kl_batch_iter_deinit(&it);
}

/* ---- closing ----------------------------------------------------------- */

START_TEST(accumulate_idle_closes_at_once)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_batch *b;
    uint32_t next = 0;

    begin(&c, 1);
    add_number(0, 0);
    b = take();
    ck_assert_ptr_nonnull(b);
    check_numbers(b, &next);
    ck_assert_uint_eq(next, 1);
    /* While that one is on its way, one batch grows. */
    add_number(0, 1);
    add_number(0, 2);
    add_number(0, 3);
    ck_assert_ptr_null(take());
    finish(b, 0);
    b = take();
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(b->record_count, 3);
    check_numbers(b, &next);
    finish(b, 0);
    ck_assert_ptr_null(take());
    end();
}
END_TEST

START_TEST(accumulate_full_closes_and_keeps_order)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_batch *window[8];
    uint32_t next = 0;
    uint32_t i;
    size_t head = 0;
    size_t tail = 0;

    begin(&c, 1);
    for (i = 0; i < 2000; i++) {
        struct kl_pubsub_batch *b;

        add_number(0, i);
        while ((b = take())) {
            ck_assert_uint_le(b->frame->size, BATCH_SIZE);
            check_numbers(b, &next);
            window[tail++ % 8] = b;
        }
        ck_assert_uint_le(tail - head, 2);
        if (tail - head == 2 && i % 3 == 0)
            finish(window[head++ % 8], 0);
    }
    kl_pubsub_close_all(&acc);
    while (head != tail || !kl_base_list_is_empty(&acc.live)) {
        struct kl_pubsub_batch *b = take();

        if (b) {
            check_numbers(b, &next);
            window[tail++ % 8] = b;
            continue;
        }
        finish(window[head++ % 8], 0);
    }
    ck_assert_uint_eq(next, 2000);
    end();
}
END_TEST

START_TEST(accumulate_window_holds_built_batches)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_batch *b[4];
    uint8_t value[600] = {0};
    int i;

    begin(&c, 1);
    /* Each closes the one before it. */
    for (i = 0; i < 5; i++)
        ck_assert_int_eq(add(0, value, sizeof value), KL_OK);
    b[0] = take();
    b[1] = take();
    ck_assert_ptr_nonnull(b[0]);
    ck_assert_ptr_nonnull(b[1]);
    ck_assert_ptr_null(take());
    ck_assert_uint_eq(topic->partitions[0]->in_flight, 2);
    finish(b[1], 0);
    b[2] = take();
    ck_assert_ptr_nonnull(b[2]);
    ck_assert_ptr_null(take());
    finish(b[0], 0);
    finish(b[2], 0);
    b[3] = take();
    ck_assert_ptr_nonnull(b[3]);
    finish(b[3], 0);
    end();
}
END_TEST

START_TEST(built_out_of_order_waits_for_the_first)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_batch *first;
    struct kl_pubsub_batch *second;
    uint8_t value[600] = {0};

    begin(&c, 1);
    ck_assert_int_eq(add(0, value, sizeof value), KL_OK);
    ck_assert_int_eq(add(0, value, sizeof value), KL_OK);
    ck_assert_int_eq(add(0, value, sizeof value), KL_OK);
    first = kl_pubsub_build_next(&acc);
    second = kl_pubsub_build_next(&acc);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(second);
    kl_pubsub_build(&acc, second);
    kl_pubsub_built(&acc, second);
    ck_assert_ptr_null(kl_pubsub_outbox_next(&acc));
    kl_pubsub_build(&acc, first);
    kl_pubsub_built(&acc, first);
    ck_assert_ptr_eq(kl_pubsub_outbox_next(&acc), first);
    ck_assert_ptr_eq(kl_pubsub_outbox_next(&acc), second);
    finish(first, 0);
    finish(second, 0);
    end();
}
END_TEST

START_TEST(accumulate_large_record_has_its_own_batch)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_batch *b[3];
    static uint8_t value[BATCH_MAX];

    begin(&c, 1);
    ck_assert_int_eq(add(0, value, 10), KL_OK);
    ck_assert_int_eq(add(0, value, 10), KL_OK);
    ck_assert_int_eq(add(0, value, 5000), KL_OK);
    ck_assert_int_eq(add(0, value, 10), KL_OK);
    b[0] = take();
    b[1] = take();
    finish(b[0], 0);
    finish(b[1], 0);
    b[2] = take();
    ck_assert_ptr_nonnull(b[2]);
    ck_assert_int_eq(b[2]->record_count, 1);
    ck_assert_uint_gt(b[2]->frame->size, 5000);
    finish(b[2], 0);
    /* Nothing is left of one that is too large. */
    ck_assert_int_eq(add(0, value, BATCH_MAX), KL_ERECORDSIZE);
    b[0] = take();
    ck_assert_int_eq(b[0]->record_count, 1);
    finish(b[0], 0);
    ck_assert_int_eq(add(0, value, BATCH_MAX), KL_ERECORDSIZE);
    ck_assert_ptr_null(topic->partitions[0]->open);
    ck_assert_uint_eq(acc.memory_used, 0);
    /* The largest possible one fits exactly. */
    ck_assert_int_eq(add(0, value, BATCH_MAX - KL_BATCH_OVERHEAD - 9), KL_OK);
    end();
}
END_TEST

/* ---- partitions -------------------------------------------------------- */

START_TEST(accumulate_partition_out_of_range)
{
    struct kl_pubsub_config c = config_default();

    begin(&c, 3);
    ck_assert_int_eq(add(3, "x", 1), KL_ENOTOPIC);
    ck_assert_int_eq(add(INT32_MAX, "x", 1), KL_ENOTOPIC);
    ck_assert_int_eq(add(2, "x", 1), KL_OK);
    end();
}
END_TEST

START_TEST(accumulate_keys_and_sticky)
{
    struct kl_pubsub_config c = config_default();
    int seen[4] = {0};
    struct kl_pubsub_batch *b;
    int i;

    begin(&c, 4);
    for (i = 0; i < 8; i++)
        ck_assert_int_eq(add_at(-1, "foobar", "v", 1, 0), KL_OK);
    ck_assert_int_eq(topic->partition_count, 4);
    i = kl_pubsub_key_partition("foobar", 6, 4);
    ck_assert_ptr_nonnull(topic->partitions[i]);
    b = take();
    ck_assert_int_eq(b->partition->index, i);
    finish(b, 0);
    b = take();
    ck_assert_int_eq(b->record_count, 7);
    finish(b, 0);
    /* Without a key and nothing under way each record is a batch, and each
     * batch goes to the next partition. */
    for (i = 0; i < 4; i++)
        ck_assert_int_eq(add(-1, "v", 1), KL_OK);
    for (i = 0; i < 4; i++) {
        b = take();
        seen[b->partition->index]++;
        finish(b, 0);
    }
    for (i = 0; i < 4; i++)
        ck_assert_int_eq(seen[i], 1);
    end();
}
END_TEST

START_TEST(accumulate_sticky_fills_a_batch)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_batch *b;
    uint32_t i;
    int32_t last = -1;
    int count = 0;

    c.linger_ns = 1000;
    begin(&c, 3);
    for (i = 0; i < 1000; i++)
        add_number(-1, i);
    while ((b = take())) {
        ck_assert_int_gt(b->record_count, 50);
        ck_assert_int_eq(b->partition->index, (last + 1) % 3);
        last = b->partition->index;
        finish(b, 0);
        count++;
    }
    ck_assert_int_gt(count, 8);
    /* One open batch is left, not three. */
    ck_assert_uint_eq(acc.idle_count, 1);
    end();
}
END_TEST

START_TEST(topic_update_with_another_id)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_topic *old;
    struct kl_pubsub_batch *b;

    begin(&c, 1);
    ck_assert_int_eq(add(0, "v", 1), KL_OK);
    b = take();
    old = topic;
    ck_assert_ptr_eq(kl_pubsub_topic_find(&acc, "t"), old);
    ck_assert_int_eq(
        kl_pubsub_topic_update(&acc, "t", &id_b, 2, BATCH_MAX, &topic), KL_OK);
    ck_assert_ptr_ne(topic, old);
    ck_assert_ptr_eq(kl_pubsub_topic_find(&acc, "t"), topic);
    ck_assert_ptr_eq(b->partition->topic, old);
    ck_assert_int_eq(add(1, "v", 1), KL_OK);
    ck_assert_uint_ne(topic->partitions[1]->seed, b->partition->seed);
    finish(b, 0); /* frees the old topic */
    /* The same topic with more partitions. */
    old = topic;
    ck_assert_int_eq(
        kl_pubsub_topic_update(&acc, "t", &id_b, 9, BATCH_MAX, &topic), KL_OK);
    ck_assert_ptr_eq(topic, old);
    ck_assert_int_eq(add(8, "v", 1), KL_OK);
    kl_pubsub_topic_forget(&acc, topic);
    ck_assert_ptr_null(kl_pubsub_topic_find(&acc, "t"));
    end();
}
END_TEST

/* ---- time -------------------------------------------------------------- */

START_TEST(linger_waits_for_its_time)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_batch *b;

    c.linger_ns = 100;
    begin(&c, 2);
    ck_assert_int_eq(kl_pubsub_deadline(&acc), INT64_MAX);
    ck_assert_int_eq(add_at(0, NULL, "a", 1, 1000), KL_OK);
    ck_assert_int_eq(add_at(1, NULL, "b", 1, 1050), KL_OK);
    ck_assert_ptr_null(take());
    ck_assert_uint_eq(acc.idle_count, 2);
    ck_assert_int_eq(kl_pubsub_deadline(&acc), 1100);
    kl_pubsub_close_due(&acc, 1099);
    ck_assert_ptr_null(take());
    kl_pubsub_close_due(&acc, 1100);
    b = take();
    ck_assert_int_eq(b->partition->index, 0);
    ck_assert_ptr_null(take());
    ck_assert_int_eq(kl_pubsub_deadline(&acc), 1150);
    /* Over, but something is under way: its end closes the next. */
    ck_assert_int_eq(add_at(0, NULL, "c", 1, 1110), KL_OK);
    kl_pubsub_close_due(&acc, 1149);
    ck_assert_ptr_null(take());
    finish(b, 1209);
    ck_assert_ptr_null(take());
    ck_assert_int_eq(kl_pubsub_deadline(&acc), 1150);
    kl_pubsub_close_due(&acc, 1300);
    b = take();
    ck_assert_int_eq(b->partition->index, 1);
    finish(b, 1300);
    b = take();
    ck_assert_int_eq(b->partition->index, 0);
    ck_assert_int_eq(add_at(0, NULL, "d", 1, 1300), KL_OK);
    ck_assert_int_eq(kl_pubsub_deadline(&acc), INT64_MAX);
    finish(b, 1400);
    b = take();
    ck_assert_ptr_nonnull(b);
    finish(b, 1400);
    end();
}
END_TEST

START_TEST(close_all_and_close_idle)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_batch *b;

    c.linger_ns = 1000000;
    begin(&c, 2);
    ck_assert_int_eq(add(0, "a", 1), KL_OK);
    kl_pubsub_close_all(&acc);
    b = take();
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(add(0, "b", 1), KL_OK);
    ck_assert_int_eq(add(1, "c", 1), KL_OK);
    kl_pubsub_close_idle(&acc);
    build_all();
    ck_assert_int_eq(kl_pubsub_outbox_next(&acc)->partition->index, 1);
    ck_assert_ptr_null(kl_pubsub_outbox_next(&acc));
    kl_pubsub_close_all(&acc);
    build_all();
    ck_assert_int_eq(kl_pubsub_outbox_next(&acc)->partition->index, 0);
    ck_assert_uint_eq(kl_pubsub_oldest(&acc), b->sequence);
    /* All three are with who sends them. */
    while (!kl_base_list_is_empty(&acc.live))
        finish(KL_BASE_CONTAINER(acc.live.next, struct kl_pubsub_batch, live),
               0);
    end();
}
END_TEST

/* ---- operations -------------------------------------------------------- */

START_TEST(parts_of_operations)
{
    struct kl_pubsub_config c = config_default();
    struct kl_batch_input in = {0};
    struct kl_pubsub_batch *b;
    int op[3];
    uint32_t i;

    c.linger_ns = 1000;
    begin(&c, 1);
    in.value = "v";
    in.value_size = 1;
#define ADD(op, slot)                                                          \
    ck_assert_int_eq(                                                          \
        kl_pubsub_accumulate(&acc, topic, 0, &in, 0, (op), (slot)), KL_OK)
    ADD(&op[0], KL_PUBSUB_SLOT_NONE);
    ADD(&op[1], KL_PUBSUB_SLOT_NONE);
    ADD(NULL, 0);
    for (i = 0; i < 5; i++)
        ADD(&op[2], i);
    ADD(NULL, 0);
    ADD(&op[2], 5);
    ADD(&op[2], 7); /* 6 went elsewhere */
#undef ADD
    kl_pubsub_close_all(&acc);
    b = take();
    ck_assert_uint_eq(b->part_count, 5);
    ck_assert_ptr_eq(b->parts[0].op, &op[0]);
    ck_assert_uint_eq(b->parts[0].record, 0);
    ck_assert_ptr_eq(b->parts[1].op, &op[1]);
    ck_assert_uint_eq(b->parts[1].record, 1);
    ck_assert_uint_eq(b->parts[1].slot, KL_PUBSUB_SLOT_NONE);
    ck_assert_ptr_eq(b->parts[2].op, &op[2]);
    ck_assert_uint_eq(b->parts[2].record, 3);
    ck_assert_uint_eq(b->parts[2].slot, 0);
    ck_assert_uint_eq(b->parts[2].count, 5);
    ck_assert_uint_eq(b->parts[3].record, 9);
    ck_assert_uint_eq(b->parts[3].slot, 5);
    ck_assert_uint_eq(b->parts[4].record, 10);
    ck_assert_uint_eq(b->parts[4].slot, 7);
    finish(b, 0);
    end();
}
END_TEST

/* ---- memory ------------------------------------------------------------ */

START_TEST(accumulate_memory_is_bounded)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_batch *sent[SENT_MAX];
    uint8_t value[300] = {0};
    size_t count = 0;
    int rc;
    int i;

    c.memory_max = 16 * 1024;
    c.in_flight_max = SENT_MAX;
    begin(&c, 5);
    for (i = 0; (rc = add(i % 5, value, sizeof value)) == KL_OK; i++) {
        ck_assert_uint_le(acc.memory_used, c.memory_max);
        while ((sent[count] = take()))
            count++;
        ck_assert_int_lt(i, 100);
    }
    ck_assert_int_eq(rc, KL_EAGAIN);
    ck_assert_int_gt(i, 20);
    ck_assert_int_eq(add(i % 5, value, sizeof value), KL_EAGAIN);
    while (count > 0)
        finish(sent[--count], 0);
    /* Their end closed what was open. */
    while ((sent[count] = take()))
        count++;
    while (count > 0)
        finish(sent[--count], 0);
    ck_assert_uint_eq(acc.memory_used, 0);
    ck_assert_int_eq(add(0, value, sizeof value), KL_OK);
    end();
}
END_TEST

START_TEST(accumulate_record_above_all_memory)
{
    struct kl_pubsub_config c = config_default();
    static uint8_t value[4096];

    c.memory_max = 2048;
    begin(&c, 1);
    ck_assert_int_eq(add(0, value, sizeof value), KL_ERECORDSIZE);
    ck_assert_int_eq(add(0, value, 1500), KL_OK);
    end();
}
END_TEST

START_TEST(hint_follows_the_last_batch)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_batch *b;
    static uint8_t value[4000];
    int i;

    c.batch_size = BATCH_MAX;
    begin(&c, 1);
    ck_assert_int_eq(add(0, value, sizeof value), KL_OK);
    b = take();
    finish(b, 0);
    ck_assert_uint_ge(topic->partitions[0]->hint, sizeof value);
    /* The next one needs not grow. */
    ck_assert_int_eq(add(0, value, 10), KL_OK);
    b = kl_pubsub_build_next(&acc);
    ck_assert_uint_ge(b->builder.chunk->capacity, sizeof value);
    kl_pubsub_build(&acc, b);
    kl_pubsub_built(&acc, b);
    finish(take(), 0);
    for (i = 0; i < 10; i++) {
        ck_assert_int_eq(add(0, value, 10), KL_OK);
        finish(take(), 0);
    }
    ck_assert_uint_eq(topic->partitions[0]->hint, 1024);
    end();
}
END_TEST

START_TEST(drop_leaves_what_is_under_way)
{
    struct kl_pubsub_config c = config_default();
    struct kl_pubsub_batch *taken;
    struct kl_pubsub_batch *b;
    uint8_t value[600] = {0};
    int dropped = 0;
    int i;

    c.in_flight_max = 2;
    begin(&c, 1);
    ck_assert_int_eq(add(0, value, sizeof value), KL_OK);
    taken = take();
    for (i = 0; i < 5; i++)
        ck_assert_int_eq(add(0, value, sizeof value), KL_OK);
    build_all(); /* one in the outbox, three in the queue, one open */
    while ((b = kl_pubsub_drop_next(&acc))) {
        ck_assert_ptr_ne(b, taken);
        ck_assert_int_eq(b->builder.record_count + b->record_count, 1);
        kl_pubsub_release(&acc, b);
        dropped++;
    }
    ck_assert_int_eq(dropped, 5);
    ck_assert_ptr_null(kl_pubsub_outbox_next(&acc));
    finish(taken, 0);
    ck_assert_ptr_null(take());
    end();
}
END_TEST

/* Every allocation fails in turn: the record is refused, and everything goes
 * on afterwards. */
START_TEST(accumulate_allocation_failure)
{
    struct kl_pubsub_config c = config_default();
    struct kl_batch_input in = {0};
    static uint8_t value[3000];
    uint64_t fail_at;
    int op;

    in.value = value;
    in.value_size = sizeof value;
    for (fail_at = 1;; fail_at++) {
        struct kl_pubsub_topic *t = NULL;
        uint64_t failed;
        int rc;

        begin(&c, 1);
        fail_alloc_arm(&memory, fail_at);
        rc = kl_pubsub_topic_update(&acc, "u", &id_b, 3, BATCH_MAX, &t);
        if (rc == KL_OK)
            rc = kl_pubsub_accumulate(&acc, t, 2, &in, 0, &op, 0);
        failed = memory.failed;
        fail_alloc_arm(&memory, 0);
        ck_assert_int_eq(rc, failed ? KL_ENOMEM : KL_OK);
        if (rc == KL_ENOMEM) {
            ck_assert_uint_eq(acc.memory_used, 0);
            ck_assert_int_eq(
                kl_pubsub_topic_update(&acc, "u", &id_b, 3, BATCH_MAX, &t),
                KL_OK);
            ck_assert_int_eq(kl_pubsub_accumulate(&acc, t, 2, &in, 0, &op, 0),
                             KL_OK);
        }
        finish(take(), 0);
        end();
        if (!failed)
            break;
    }
    ck_assert_uint_gt(fail_at, 5);
}
END_TEST

/* Without memory to compress in, a batch goes as it is. */
START_TEST(build_without_memory)
{
    struct kl_pubsub_config c = config_default();
    struct kl_batch_info info;
    struct kl_pubsub_batch *b;
    static uint8_t value[BATCH_SIZE / 2];

    c.attributes = KL_BATCH_CODEC_LZ4;
    begin(&c, 1);
    ck_assert_int_eq(add(0, value, sizeof value), KL_OK);
    fail_alloc_arm(&memory, 1);
    memory.fail_after = 1;
    b = take();
    fail_alloc_arm(&memory, 0);
    memory.fail_after = 0;
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(kl_batch_frame_verify(b->frame->data, b->frame->size,
                                           b->partition->seed, &info),
                     KL_OK);
    ck_assert_int_eq(info.attributes, 0);
    ck_assert_uint_gt(b->frame->size, sizeof value);
    finish(b, 0);
    ck_assert_uint_eq(acc.memory_used, 0);
    end();
}
END_TEST

Suite *suite_pubsub_accumulate(void);

Suite *suite_pubsub_accumulate(void)
{
    Suite *suite = suite_create("pubsub_accumulate");
    TCase *tc = tcase_create("accumulate");

    tcase_add_test(tc, accumulate_idle_closes_at_once);
    tcase_add_test(tc, accumulate_full_closes_and_keeps_order);
    tcase_add_test(tc, accumulate_window_holds_built_batches);
    tcase_add_test(tc, built_out_of_order_waits_for_the_first);
    tcase_add_test(tc, accumulate_large_record_has_its_own_batch);
    tcase_add_test(tc, accumulate_partition_out_of_range);
    tcase_add_test(tc, accumulate_keys_and_sticky);
    tcase_add_test(tc, accumulate_sticky_fills_a_batch);
    tcase_add_test(tc, topic_update_with_another_id);
    tcase_add_test(tc, linger_waits_for_its_time);
    tcase_add_test(tc, close_all_and_close_idle);
    tcase_add_test(tc, parts_of_operations);
    tcase_add_test(tc, accumulate_memory_is_bounded);
    tcase_add_test(tc, accumulate_record_above_all_memory);
    tcase_add_test(tc, hint_follows_the_last_batch);
    tcase_add_test(tc, drop_leaves_what_is_under_way);
    tcase_add_test(tc, accumulate_allocation_failure);
    tcase_add_test(tc, build_without_memory);
    suite_add_tcase(suite, tc);
    return suite;
}
