/*
 * What time asks of the active controller.
 */
#include "controller/state.h"

/* Partitions without a leader get one where they can. */
static int tick_elect(struct kl_controller *c,
                      struct kl_controller_records *out,
                      struct kl_base_error *e)
{
    struct kl_controller_sweep s = {.view = {c, -1, 0}, .elects = 1};
    int more, rc = kl_controller_sweep(&s, 0, out, &more, e);

    /* What the batch does not hold is looked at again behind it. */
    if (rc == 0 && out->count == 0)
        c->elect_wanted = 0;
    return rc;
}

static int tick_rebalance(struct kl_controller *c,
                          struct kl_controller_records *out,
                          struct kl_base_error *e)
{
    int rc = kl_controller_rebalance(c, out, e);

    if (rc == 0 && out->count == 0)
        kl_controller_rebalance_later(c);
    return rc;
}

int kl_controller_tick(struct kl_controller *c, int64_t now_ns,
                       struct kl_controller_records *out,
                       struct kl_base_error *e)
{
    int more, rc = kl_controller_command_begin(c, out, e);
    size_t over;

    if (rc == 0)
        rc = kl_controller_time(c, now_ns, e);
    if (rc)
        return rc;
    /* One broker in one batch, so that each election sees the effect of the
     * one before (KAFKA-13173). */
    over = kl_controller_session_first_over(c);
    if (over < c->broker_count)
        return kl_controller_fence(c, over, out, &more, e);
    if (c->elect_wanted) {
        rc = tick_elect(c, out, e);
        if (rc || out->count)
            return rc;
    }
    return now_ns >= c->rebalance_ns ? tick_rebalance(c, out, e) : 0;
}
