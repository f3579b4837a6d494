/*
 * The next leader of a partition.
 */
#include "controller/state.h"

/* The first replica of a set: the order of the replicas is that of
 * preference. */
static int elect_first(uint32_t set)
{
    return set ? __builtin_ctz(set) : -1;
}

static int elect_has(uint32_t set, int position)
{
    return position >= 0 && (set >> position & 1);
}

static int elect_among(uint32_t set, int first_choice)
{
    return elect_has(set, first_choice) ? first_choice : elect_first(set);
}

int kl_controller_elect(const struct kl_controller_ballot *b,
                        enum kl_controller_elected *how)
{
    uint32_t isr = b->isr & b->active;
    uint32_t elr = b->elr & b->active;

    *how = KL_CONTROLLER_ELECTED_ISR;
    if (elect_has(isr, b->wanted))
        return b->wanted;
    if (isr)
        return elect_among(isr, b->leader);
    *how = KL_CONTROLLER_ELECTED_ELR;
    if (elr && !b->isr)
        return elect_among(elr, b->wanted);
    *how = KL_CONTROLLER_ELECTED_UNCLEAN;
    if (b->unclean && elect_has(b->active, b->wanted))
        return b->wanted;
    if (!b->isr && !b->elr && elect_has(b->active, b->last_known_leader))
        return b->last_known_leader;
    if (b->unclean && b->active)
        return elect_first(b->active);
    *how = KL_CONTROLLER_ELECTED_NONE;
    return -1;
}
