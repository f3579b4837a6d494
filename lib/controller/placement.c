/*
 * Which brokers get the replicas of a partition: active ones first, spread over
 * racks, those with the fewest replicas, and among equals one drawn by lot, so
 * that not always the same brokers share their partitions. The first replica is
 * the preferred leader and goes to the one that is preferred least.
 */
#include "controller/state.h"

#include <string.h>

/* Less is better, from the first number on. */
struct placement_score
{
    uint32_t parts[4];
};

static int placement_has(const int32_t *replicas, uint32_t count, int32_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (replicas[i] == id)
            return 1;
    return 0;
}

/* Replicas of the partition in a rack so far. */
static uint32_t placement_in_rack(const struct kl_controller_candidate *all,
                                  size_t n, uint32_t rack,
                                  const int32_t *replicas, uint32_t count)
{
    uint32_t found = 0;

    for (size_t i = 0; i < n; i++)
        if (all[i].rack == rack &&
            placement_has(replicas, count, all[i].broker_id))
            found++;
    return found;
}

static struct placement_score
placement_rate(const struct kl_controller_candidate *all, size_t n,
               const struct kl_controller_candidate *c, const int32_t *replicas,
               uint32_t count)
{
    struct placement_score s;

    s.parts[0] = !c->active;
    s.parts[1] = placement_in_rack(all, n, c->rack, replicas, count);
    s.parts[2] = count ? c->replicas : c->leaders;
    s.parts[3] = count ? 0 : c->replicas;
    return s;
}

static int placement_compare(const struct placement_score *a,
                             const struct placement_score *b)
{
    for (int i = 0; i < 4; i++)
        if (a->parts[i] != b->parts[i])
            return a->parts[i] < b->parts[i] ? -1 : 1;
    return 0;
}

/* The next replica, or NULL. */
static struct kl_controller_candidate *
placement_next(struct kl_controller_candidate *all, size_t n,
               struct kl_base_rng *rng, const int32_t *replicas, uint32_t count)
{
    struct kl_controller_candidate *best = NULL;
    struct placement_score best_score = {{0}};
    uint64_t equals = 0;

    for (size_t i = 0; i < n; i++) {
        struct placement_score s;
        int order;

        if (placement_has(replicas, count, all[i].broker_id))
            continue;
        s = placement_rate(all, n, &all[i], replicas, count);
        order = best ? placement_compare(&s, &best_score) : -1;
        equals = order < 0 ? 1 : equals + (order == 0);
        if (order < 0 || (order == 0 && kl_base_rng_below(rng, equals) == 0)) {
            best = &all[i];
            best_score = s;
        }
    }
    return best;
}

int kl_controller_place(struct kl_controller_candidate *candidates, size_t n,
                        struct kl_base_rng *rng, int32_t *replicas,
                        uint32_t keep, uint32_t count)
{
    for (uint32_t i = keep; i < count; i++) {
        struct kl_controller_candidate *next =
            placement_next(candidates, n, rng, replicas, i);

        if (!next || (i == 0 && !next->active))
            return KL_EREPLICATION;
        replicas[i] = next->broker_id;
        next->replicas++;
        next->leaders += i == 0;
    }
    return 0;
}
