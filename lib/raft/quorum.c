/*
 * Arithmetic of majorities.
 */
#include "raft/state.h"

uint32_t kl_raft_quorum_majority(uint32_t count)
{
    return count / 2 + 1;
}

int64_t kl_raft_quorum_reached(int64_t *values, uint32_t count)
{
    KL_ASSERT(count > 0);
    for (uint32_t i = 1; i < count; i++) {
        int64_t v = values[i];
        uint32_t at = i;

        for (; at > 0 && values[at - 1] < v; at--)
            values[at] = values[at - 1];
        values[at] = v;
    }
    return values[kl_raft_quorum_majority(count) - 1];
}
