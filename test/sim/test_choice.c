/*
 * The stream of choices: recorded, replayed, cut down.
 */
#include "choice.h"

#include <check.h>
#include <string.h>

enum { BLOCKS = 10 };

/* A step of an actor: as many choices as the first says. */
static uint64_t draw_block(struct choice *c)
{
    uint64_t sum = 0, count;

    choice_block(c);
    count = choice_below(c, 5);
    for (uint64_t i = 0; i < count; i++)
        sum = sum * 1000 + choice_below(c, 1000);
    return sum;
}

START_TEST(replay_repeats)
{
    struct choice c, again;
    uint64_t drawn[BLOCKS];

    choice_init(&c, 7);
    c.is_recording = 1;
    for (int i = 0; i < BLOCKS; i++)
        drawn[i] = draw_block(&c);
    choice_replay(&again, c.items, c.count);
    for (int i = 0; i < BLOCKS; i++)
        ck_assert_uint_eq(draw_block(&again), drawn[i]);
    ck_assert(choice_is_over(&again));
    ck_assert_uint_eq(draw_block(&again), 0);
    choice_deinit(&c);
}
END_TEST

/* What follows a block that was left out keeps its meaning. */
START_TEST(blocks_can_be_left_out)
{
    struct choice c, again;
    uint64_t drawn[3];
    size_t ends[3];

    choice_init(&c, 9);
    c.is_recording = 1;
    for (int i = 0; i < 3; i++) {
        drawn[i] = draw_block(&c);
        ends[i] = c.count;
    }
    memmove(c.items + ends[0], c.items + ends[1],
            (ends[2] - ends[1]) * sizeof *c.items);
    choice_replay(&again, c.items, ends[0] + ends[2] - ends[1]);
    ck_assert_uint_eq(draw_block(&again), drawn[0]);
    ck_assert_uint_eq(draw_block(&again), drawn[2]);
    ck_assert(choice_is_over(&again));
    choice_deinit(&c);
}
END_TEST

/* A block that wants more than it was given gets zeros, and one that wants less
 * leaves nothing to the next. */
START_TEST(blocks_have_their_own)
{
    const uint64_t items[] = {4 | CHOICE_BLOCK, 5, 1 | CHOICE_BLOCK, 6, 7, 8,
                              1 | CHOICE_BLOCK, 9};
    struct choice c;

    choice_replay(&c, items, sizeof items / sizeof items[0]);
    ck_assert_uint_eq(draw_block(&c), UINT64_C(5000000000));
    ck_assert_uint_eq(draw_block(&c), 6);
    ck_assert_uint_eq(draw_block(&c), 9);
}
END_TEST

START_TEST(sizes_are_within)
{
    struct choice c;

    choice_init(&c, 3);
    for (int i = 0; i < 1000; i++) {
        int64_t size = choice_log(&c, 10, 1000);

        ck_assert(size >= 10 && size <= 1000);
    }
    choice_deinit(&c);
}
END_TEST

Suite *suite_sim_choice(void);

Suite *suite_sim_choice(void)
{
    Suite *s = suite_create("sim_choice");
    TCase *t = tcase_create("choice");

    tcase_add_test(t, replay_repeats);
    tcase_add_test(t, blocks_can_be_left_out);
    tcase_add_test(t, blocks_have_their_own);
    tcase_add_test(t, sizes_are_within);
    suite_add_tcase(s, t);
    return s;
}
