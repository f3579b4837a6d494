/*
 * Messages out of bytes in every split, and bytes that are none.
 */
#include "net/stream.h"

#include "base/rng.h"
#include "net_help.h"

#include <string.h>

enum { LIMIT = 600, BYTES = 120 + 333 + 121 + 600 };

static const size_t sizes[] = {120, 333, 121, 600};
enum { COUNT = sizeof sizes / sizeof sizes[0] };

static struct fail_alloc memory;
static struct kl_net_stream stream;
static struct kl_base_list out;
static uint8_t bytes[BYTES + 1];

static void set_up(void)
{
    size_t pos = 0;

    fail_alloc_init(&memory);
    kl_net_stream_init(&stream, &memory.alloc, LIMIT);
    kl_base_list_init(&out);
    for (unsigned i = 0; i < COUNT; i++) {
        net_message_put(bytes + pos, sizes[i], i);
        pos += sizes[i];
    }
}

static void tear_down(void)
{
    kl_net_messages_free(&memory.alloc, &out);
    kl_net_stream_deinit(&stream);
    fail_alloc_deinit(&memory);
}

static int take(size_t from, size_t to)
{
    return kl_net_stream_take(&stream, bytes + from, to - from, &out);
}

/* Exactly the first count messages have come out, and are taken. */
static void came(unsigned count)
{
    struct kl_base_list *item;

    for (unsigned i = 0; i < count; i++) {
        struct kl_net_message *m;

        item = kl_base_list_pop(&out);
        ck_assert_ptr_nonnull(item);
        m = KL_BASE_CONTAINER(item, struct kl_net_message, link);
        net_message_check(m->data, m->size, sizes[i], i);
        ck_assert_uint_eq(m->capacity, m->size);
        kl_net_message_free(&memory.alloc, m);
    }
    ck_assert(kl_base_list_is_empty(&out));
}

/* How many messages end at or before pos. */
static unsigned whole_at(size_t pos)
{
    unsigned count = 0;

    for (size_t end = sizes[0]; count < COUNT && end <= pos;)
        end += ++count < COUNT ? sizes[count] : 0;
    return count;
}

START_TEST(two_pieces)
{
    for (size_t cut = 0; cut <= BYTES; cut++) {
        unsigned before = 0;

        ck_assert_int_eq(take(0, cut), 0);
        for (struct kl_base_list *i = out.next; i != &out; i = i->next)
            before++;
        ck_assert_uint_eq(before, whole_at(cut));
        ck_assert_int_eq(take(cut, BYTES), 0);
        came(COUNT);
        ck_assert_ptr_null(stream.part);
    }
    ck_assert_uint_eq(memory.live_blocks, 0);
}
END_TEST

START_TEST(three_pieces)
{
    for (size_t a = 0; a <= BYTES; a += 3) {
        for (size_t b = a; b <= BYTES; b += 7) {
            ck_assert_int_eq(take(0, a), 0);
            ck_assert_int_eq(take(a, b), 0);
            ck_assert_int_eq(take(b, BYTES), 0);
            came(COUNT);
        }
    }
}
END_TEST

START_TEST(pieces_of_one_size)
{
    for (size_t size = 1; size <= BYTES; size++) {
        for (size_t pos = 0; pos < BYTES; pos += size)
            ck_assert_int_eq(take(pos, pos + size < BYTES ? pos + size : BYTES),
                             0);
        came(COUNT);
    }
}
END_TEST

START_TEST(random_pieces)
{
    struct kl_base_rng rng;

    kl_base_rng_seed(&rng, (uint64_t)_i);
    for (int i = 0; i < 200; i++) {
        for (size_t pos = 0, to; pos < BYTES; pos = to) {
            size_t most = kl_base_rng_below(&rng, 4) ? 12 : BYTES;

            to = pos + kl_base_rng_below(&rng, most + 1);
            to = to < BYTES ? to : BYTES;
            ck_assert_int_eq(take(pos, to), 0);
        }
        came(COUNT);
    }
}
END_TEST

/* ---- bytes that no node sends ------------------------------------------- */

/* Behind the first good messages, in two pieces that meet at every place. */
static void refused(unsigned good)
{
    size_t end = 0, last;

    for (unsigned i = 0; i < good; i++)
        end += sizes[i];
    last = end + 8;
    for (size_t cut = 0; cut < last; cut++) {
        ck_assert_int_eq(take(0, cut), 0);
        ck_assert_int_eq(take(cut, BYTES), KL_EFORMAT);
        ck_assert_ptr_null(stream.part);
        came(good);
        ck_assert_uint_eq(memory.live_blocks, 0);
    }
}

static void spoil(unsigned good, size_t at, uint32_t value)
{
    uint8_t kept[4];
    size_t end = 0;

    for (unsigned i = 0; i < good; i++)
        end += sizes[i];
    memcpy(kept, bytes + end + at, 4);
    kl_base_put_le32(bytes + end + at, value);
    refused(good);
    memcpy(bytes + end + at, kept, 4);
}

START_TEST(bad_prefixes)
{
    uint32_t magic = kl_base_get_le32(bytes + 4);

    for (unsigned good = 0; good < COUNT; good++) {
        spoil(good, 0, 0);
        spoil(good, 0, 103);
        spoil(good, 0, LIMIT + 1);
        spoil(good, 0, UINT32_MAX);
        for (unsigned bit = 0; bit < 32; bit++)
            spoil(good, 4, magic ^ UINT32_C(1) << bit);
    }
}
END_TEST

/* What a message claims to be costs nothing before it is there. */
START_TEST(memory_follows_what_arrived)
{
    enum { CLAIM = 1 << 30 };
    static uint8_t dribble[1 << 16];

    stream.message_bytes_max = CLAIM;
    memcpy(dribble, bytes, 8);
    kl_base_put_le32(dribble, CLAIM);
    for (size_t pos = 0; pos < sizeof dribble; pos++) {
        ck_assert_int_eq(kl_net_stream_take(&stream, dribble + pos, 1, &out),
                         0);
        ck_assert_uint_le(memory.live_bytes,
                          2 * (pos + 1) + sizeof(struct kl_net_message));
    }
    ck_assert_uint_le(memory.calls, 20);
    ck_assert_uint_eq(memory.live_blocks, 1);
}
END_TEST

/* ---- no memory ---------------------------------------------------------- */

/* The second of two pieces is refused until there is memory, and no trace of
 * the refusals is in what comes out then. */
START_TEST(a_refusal_leaves_no_trace)
{
    for (size_t cut = 0; cut < BYTES; cut++) {
        unsigned before = whole_at(cut);
        int rc = KL_ENOMEM;

        ck_assert_int_eq(take(0, cut), 0);
        for (uint64_t at = 1; rc; at++) {
            size_t whole = 0;

            fail_alloc_arm(&memory, at);
            rc = take(cut, BYTES);
            if (rc)
                ck_assert_int_eq(rc, KL_ENOMEM);
            for (struct kl_base_list *i = out.next; i != &out; i = i->next)
                whole++;
            ck_assert_uint_eq(whole, rc ? before : COUNT);
        }
        fail_alloc_arm(&memory, 0);
        came(COUNT);
        ck_assert_uint_eq(memory.live_blocks, 0);
    }
}
END_TEST

Suite *suite_net_stream(void);

Suite *suite_net_stream(void)
{
    Suite *s = suite_create("net_stream");
    TCase *tc = tcase_create("stream");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, two_pieces);
    tcase_add_test(tc, three_pieces);
    tcase_add_test(tc, pieces_of_one_size);
    tcase_add_loop_test(tc, random_pieces, 0, 4);
    tcase_add_test(tc, bad_prefixes);
    tcase_add_test(tc, memory_follows_what_arrived);
    tcase_add_test(tc, a_refusal_leaves_no_trace);
    suite_add_tcase(s, tc);
    return s;
}
