/*
 * Eligible leader replicas (KIP-966): members that left the ISR while it was
 * below min, and so hold all that is committed.
 */
#include "controller/state.h"

void kl_controller_elr_update(struct kl_controller_elr *s, uint32_t min)
{
    uint32_t eligible = (s->elr | s->was_isr) & ~s->isr;

    if (kl_controller_set_size(s->isr) >= min) {
        s->elr = 0;
        s->last_known = 0;
        return;
    }
    s->elr = eligible & ~s->lost;
    /* Who was eligible and is no more may still have the best there is. */
    s->last_known = (s->last_known | eligible) & ~s->isr & ~s->elr;
}
