/*
 * The next leader: protocol 1.9, rules 4 and 6. Sets are bits: 1, 2, 4, 8 are
 * replicas 0 to 3.
 */
#include "controller/state.h"

#include <check.h>

enum {
    NONE = KL_CONTROLLER_ELECTED_NONE,
    ISR = KL_CONTROLLER_ELECTED_ISR,
    ELR = KL_CONTROLLER_ELECTED_ELR,
    UNCLEAN = KL_CONTROLLER_ELECTED_UNCLEAN
};

static const struct
{
    const char *what;
    struct kl_controller_ballot b; /* active isr elr leader last wanted any */
    int want, how;
} cases[] = {
    {"the leader stays", {7, 7, 0, 1, -1, -1, 0}, 1, ISR},
    {"the first of the ISR", {6, 6, 0, 0, -1, -1, 0}, 1, ISR},
    {"in the order of the replicas", {7, 6, 0, -1, -1, -1, 0}, 1, ISR},
    {"the leader left the ISR", {7, 6, 0, 0, -1, -1, 0}, 1, ISR},
    {"a member that is not active", {4, 6, 0, 1, -1, -1, 0}, 2, ISR},
    {"the preferred one", {7, 7, 0, 2, -1, 0, 0}, 0, ISR},
    {"preferred but not in sync", {7, 6, 0, 2, -1, 0, 0}, 2, ISR},
    {"preferred but not active", {6, 7, 0, 2, -1, 0, 0}, 2, ISR},
    {"an eligible one", {6, 0, 6, -1, -1, -1, 0}, 1, ELR},
    {"the eligible one that is active", {4, 0, 6, -1, -1, -1, 0}, 2, ELR},
    {"none beside an ISR", {2, 1, 2, -1, -1, -1, 0}, -1, NONE},
    {"eligible, not last known", {3, 0, 2, -1, 0, -1, 0}, 1, ELR},
    {"last known", {3, 0, 0, -1, 1, -1, 0}, 1, UNCLEAN},
    {"last known but not active", {1, 0, 0, -1, 1, -1, 0}, -1, NONE},
    {"last known but one is eligible", {1, 0, 2, -1, 0, -1, 0}, -1, NONE},
    {"nobody is there", {0, 0, 0, -1, 1, -1, 1}, -1, NONE},
    {"active alone is not enough", {7, 0, 0, -1, -1, -1, 0}, -1, NONE},
    {"unclean: the first", {6, 0, 0, -1, -1, -1, 1}, 1, UNCLEAN},
    {"unclean: the last known first", {7, 0, 0, -1, 2, -1, 1}, 2, UNCLEAN},
    {"unclean: the wanted first", {7, 0, 0, -1, 2, 1, 1}, 1, UNCLEAN},
    {"unclean: the wanted is away", {5, 0, 0, -1, 2, 1, 1}, 2, UNCLEAN},
    {"unclean: eligible are away", {1, 0, 6, -1, 2, -1, 1}, 0, UNCLEAN},
    {"unclean: eligible is better", {7, 0, 2, -1, 2, 0, 1}, 1, ELR},
    {"unclean: the wanted eligible", {7, 0, 6, -1, -1, 2, 1}, 2, ELR},
    {"unclean: not with an ISR", {7, 2, 0, 1, -1, 0, 1}, 1, ISR},
};

START_TEST(elect_table)
{
    enum kl_controller_elected how;
    int leader = kl_controller_elect(&cases[_i].b, &how);

    ck_assert_msg(leader == cases[_i].want, "%s: %d", cases[_i].what, leader);
    ck_assert_msg((int)how == cases[_i].how, "%s: how %d", cases[_i].what,
                  (int)how);
}
END_TEST

/* Over all small cases: only who is active leads, and cleanly only who has all
 * that is committed. */
START_TEST(elect_is_safe)
{
    for (uint32_t n = 0; n < 512; n++)
        for (int leader = -1; leader < 3; leader++)
            for (int wanted = -1; wanted < 3; wanted++) {
                struct kl_controller_ballot b = {.active = n & 7,
                                                 .isr = n >> 3 & 7,
                                                 .elr = n >> 6 & ~(n >> 3) & 7,
                                                 .leader = leader,
                                                 .last_known_leader = -1,
                                                 .wanted = wanted};
                enum kl_controller_elected how;
                int got = kl_controller_elect(&b, &how);

                ck_assert_int_ne(how, UNCLEAN);
                if (got < 0) {
                    ck_assert_uint_eq(b.active & b.isr, 0);
                    ck_assert(b.isr || !(b.active & b.elr));
                } else {
                    ck_assert(b.active >> got & 1);
                    ck_assert((b.isr ? b.isr : b.elr) >> got & 1);
                }
            }
}
END_TEST

Suite *suite_controller_elect(void);
Suite *suite_controller_elect(void)
{
    Suite *s = suite_create("controller_elect");
    TCase *t = tcase_create("elect");

    tcase_add_loop_test(t, elect_table, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(t, elect_is_safe);
    suite_add_tcase(s, t);
    return s;
}
