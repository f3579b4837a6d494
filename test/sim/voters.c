/*
 * Changes of the voters: what is asked for while all else goes on, and the set
 * that a world begins and ends its chaos with.
 */
#include "world.h"

/* How often it is tried again, and for how long. */
#define VOTERS_RETRY_NS (500 * MS)
#define VOTERS_NS (120 * SECOND)

static int voters_has(const struct observation *o, int32_t id)
{
    for (uint32_t i = 0; i < o->voter_count; i++)
        if (o->voters[i] == id)
            return 1;
    return 0;
}

void voters_change(struct host *h)
{
    struct world *w = h->w;
    int32_t id = 1 + (int32_t)choice_below(w->choice, (uint64_t)w->o.hosts);
    int is_forced = choice_below(w->choice, 8) == 7;
    struct observation o;

    if (!host_is_able(h))
        return;
    door_observe(h, &o);
    (void)client_ask_voter(w, h, id - 1, !voters_has(&o, id), is_forced);
}

/* ---- the set that there is to be ------------------------------------------
 */

/* The first that is missing, else one that is too many; 0 = all is well. */
static int32_t voters_next(struct world *w, int *is_add_out)
{
    struct observation o;

    door_observe(&w->hosts[0], &o);
    for (int32_t id = 1; id <= w->o.hosts; id++) {
        *is_add_out = id <= w->o.voters;
        if (voters_has(&o, id) != *is_add_out)
            return id;
    }
    return 0;
}

static int voters_are_as_wanted(struct world *w)
{
    int is_add;

    return world_is_settled(w) && voters_next(w, &is_add) == 0;
}

void voters_restore(struct world *w)
{
    int64_t until = w->now_ns + VOTERS_NS;

    /* Who is to be one has to be a broker first, and to have caught up. */
    while (!voters_are_as_wanted(w) && !w->failed) {
        int is_add;
        int32_t id = voters_next(w, &is_add);

        if (w->now_ns >= until)
            world_fail(w, "liveness", "node %d cannot be %s", (int)id,
                       is_add ? "added" : "removed");
        if (world_is_settled(w))
            (void)client_ask_voter(w, &w->hosts[0], id - 1, is_add, 0);
        (void)world_until_done(w, voters_are_as_wanted,
                               w->now_ns + VOTERS_RETRY_NS);
    }
}

void voters_verify(struct world *w)
{
    for (int i = 0; i < w->o.hosts; i++) {
        struct observation o;
        const char *wrong;

        door_observe(&w->hosts[i], &o);
        wrong = check_voters_settled(&w->checks.voters, &o);
        if (wrong)
            world_fail(w, "voters", "%s", wrong);
    }
}
