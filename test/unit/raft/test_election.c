/*
 * Elections in small clusters.
 */
#include "raft_world.h"

#include <check.h>

static struct world *w;

static void make(int nodes, int voters)
{
    struct world_options options = {.seed = 1};

    options.nodes = nodes;
    options.voters = voters;
    options.links_tell = 1;
    w = world_new(&options);
}

static void tear_down(void)
{
    world_free(w);
}

START_TEST(elects_one_leader)
{
    make(_i, _i);
    ck_assert(world_until(w, 20 * SECOND, world_is_settled));
    world_run(w, 60 * SECOND);
    ck_assert(world_is_settled(w));
    ck_assert_int_eq(world_view(w, 0).epoch, 1);
}
END_TEST

Suite *suite_raft_election(void);
Suite *suite_raft_election(void)
{
    Suite *s = suite_create("raft_election");
    TCase *t = tcase_create("election");

    tcase_add_checked_fixture(t, NULL, tear_down);
    tcase_add_loop_test(t, elects_one_leader, 1, 8);
    suite_add_tcase(s, t);
    return s;
}
