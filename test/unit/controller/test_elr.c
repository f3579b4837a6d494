/*
 * ELR bookkeeping: protocol 1.9, rule 1. Sets are bits: 1, 2, 4, 8 are the
 * replicas.
 */
#include "controller/state.h"

#include <check.h>

static const struct
{
    const char *what;
    uint32_t min, was_isr, isr, elr, known, lost, want_elr, want_known;
} cases[] = {
    {"nothing happens", 2, 7, 7, 0, 0, 0, 0, 0},
    {"a member leaves, min is kept", 2, 7, 3, 0, 0, 0, 0, 0},
    {"a member leaves below min", 2, 3, 1, 0, 0, 0, 2, 0},
    {"two leave at once below min", 2, 7, 1, 0, 0, 0, 6, 0},
    {"the last leaves", 2, 1, 0, 2, 0, 0, 3, 0},
    {"min 1: the last leaves", 1, 1, 0, 0, 0, 0, 1, 0},
    {"one comes back, still below min", 3, 1, 3, 6, 0, 0, 4, 0},
    {"one comes back and min is reached", 2, 1, 3, 6, 0, 0, 0, 0},
    {"an eligible one was restarted uncleanly", 2, 1, 1, 2, 0, 2, 0, 2},
    {"a member was restarted before it was fenced", 2, 3, 1, 0, 0, 2, 0, 2},
    {"the last was restarted uncleanly", 2, 1, 0, 2, 0, 1, 2, 1},
    {"all were", 2, 0, 0, 3, 0, 3, 0, 3},
    {"known stay known", 2, 1, 1, 0, 6, 0, 0, 6},
    {"a known one joins the ISR", 3, 1, 3, 0, 6, 0, 0, 4},
    {"known are forgotten with min", 2, 1, 3, 0, 4, 0, 0, 0},
    {"lost means nothing to those in the ISR", 2, 1, 1, 2, 0, 1, 2, 0},
    {"lost means nothing to others", 2, 1, 1, 2, 0, 8, 2, 0},
};

START_TEST(elr_table)
{
    struct kl_controller_elr s = {.isr = cases[_i].isr,
                                  .was_isr = cases[_i].was_isr,
                                  .lost = cases[_i].lost,
                                  .elr = cases[_i].elr,
                                  .last_known = cases[_i].known};

    kl_controller_elr_update(&s, cases[_i].min);
    ck_assert_msg(s.elr == cases[_i].want_elr, "%s: elr %u", cases[_i].what,
                  s.elr);
    ck_assert_msg(s.last_known == cases[_i].want_known, "%s: known %u",
                  cases[_i].what, s.last_known);
    /* It settles: nothing more comes of it. */
    s.was_isr = s.isr;
    kl_controller_elr_update(&s, cases[_i].min);
    ck_assert_uint_eq(s.elr, cases[_i].want_elr & ~cases[_i].lost);
}
END_TEST

/* Whoever held what is committed is still accounted for. */
START_TEST(elr_loses_nobody)
{
    for (uint32_t was = 0; was < 16; was++)
        for (uint32_t isr = 0; isr < 16; isr++)
            for (uint32_t elr = 0; elr < 16; elr++)
                for (uint32_t lost = 0; lost < 16; lost++) {
                    struct kl_controller_elr s = {.isr = isr,
                                                  .was_isr = was,
                                                  .lost = lost,
                                                  .elr = elr & ~was};
                    uint32_t before = was | isr | s.elr;

                    kl_controller_elr_update(&s, 3);
                    ck_assert_uint_eq(s.elr & isr, 0);
                    ck_assert_uint_eq(s.last_known & (s.elr | isr), 0);
                    ck_assert_uint_eq(s.elr & lost, 0);
                    if (kl_controller_set_size(isr) < 3)
                        ck_assert_uint_eq(isr | s.elr | s.last_known, before);
                    else
                        ck_assert_uint_eq(s.elr | s.last_known, 0);
                }
}
END_TEST

Suite *suite_controller_elr(void);
Suite *suite_controller_elr(void)
{
    Suite *s = suite_create("controller_elr");
    TCase *t = tcase_create("elr");

    tcase_add_loop_test(t, elr_table, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(t, elr_loses_nobody);
    suite_add_tcase(s, t);
    return s;
}
