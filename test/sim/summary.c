/*
 * What came of a swarm, in a few lines; and what a swarm of this size cannot
 * have missed by chance.
 */
#include "swarm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Fewer seeds may miss a kind of fault, or a mark, by chance. */
enum { SUMMARY_SEEDS = 1000, SUMMARY_SHOWN = 20 };

struct sums
{
    uint64_t bad;
    uint64_t hash;
    int hosts; /* of the largest world */
    struct tally tally;
    uint64_t faults;
};

static void sum_tally(struct tally *to, const struct tally *t)
{
    to->events += t->events;
    to->polls += t->polls;
    to->disk_calls += t->disk_calls;
    to->messages += t->messages;
    to->boots += t->boots;
    to->elections += t->elections;
    to->isr_changes += t->isr_changes;
    to->commands += t->commands;
    to->records += t->records;
    to->refused += t->refused;
    to->simulated_ns += t->simulated_ns;
    if (t->elect_ns > to->elect_ns)
        to->elect_ns = t->elect_ns;
    for (int i = 0; i < FAULT_KINDS; i++)
        to->faults[i] += t->faults[i];
}

static void sum(const struct swarm *s, struct sums *out)
{
    for (uint64_t i = 0; i < s->count; i++) {
        const struct result *r = &s->results[i];

        out->bad += r->state != RESULT_GOOD;
        out->hash = out->hash * 31 + r->hash;
        out->hosts = r->hosts > out->hosts ? r->hosts : out->hosts;
        sum_tally(&out->tally, &r->tally);
    }
}

/* ---- medians --------------------------------------------------------------
 */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static uint64_t seed_events(const struct result *r)
{
    return r->tally.events;
}

/* Kinds that have struck. */
static uint64_t seed_kinds(const struct result *r)
{
    uint64_t kinds = 0;

    for (int i = FAULT_NONE + 1; i < FAULT_KINDS; i++)
        kinds += r->tally.faults[i] != 0;
    return kinds;
}

static uint64_t seed_elect(const struct result *r)
{
    return (uint64_t)r->tally.elect_ns;
}

static uint64_t median(const struct swarm *s,
                       uint64_t (*value)(const struct result *r))
{
    uint64_t *values = calloc(s->count, sizeof *values);
    uint64_t middle;

    for (uint64_t i = 0; values && i < s->count; i++)
        values[i] = value(&s->results[i]);
    if (!values)
        return 0;
    qsort(values, s->count, sizeof *values, compare);
    middle = values[s->count / 2];
    free(values);
    return middle;
}

/* ---- telling --------------------------------------------------------------
 */

static void show_bad(const struct swarm *s)
{
    int shown = 0;

    for (uint64_t i = 0; i < s->count && shown < SUMMARY_SHOWN; i++) {
        const struct result *r = &s->results[i];

        if (r->state == RESULT_GOOD)
            continue;
        shown++;
        printf("klsim: seed %" PRIu64 " FAILED %s: %s\n", s->first + i,
               r->state == RESULT_BAD ? r->checker : "died",
               r->state == RESULT_BAD ? r->text : "its process has ended");
    }
}

static void show_sums(const struct swarm *s, const struct sums *sums)
{
    const struct tally *t = &sums->tally;
    double seconds = s->seconds > 0 ? s->seconds : 1;

    printf("klsim: %" PRIu64 " seeds, %" PRIu64 " failed, %.1f simulated "
           "hours, hash %016" PRIx64 "\n",
           s->count, sums->bad, (double)t->simulated_ns / 3.6e12, sums->hash);
    printf("klsim: events %" PRIu64 ", %.0f per second and process; of a seed "
           "(median) %" PRIu64 ", kinds of faults %" PRIu64 "\n",
           t->events, (double)t->events / seconds / s->jobs,
           median(s, seed_events), median(s, seed_kinds));
    printf("klsim: boots %" PRIu64 ", polls %" PRIu64 ", disk calls %" PRIu64
           ", messages %" PRIu64 ", elections %" PRIu64 "\n",
           t->boots, t->polls, t->disk_calls, t->messages, t->elections);
    printf("klsim: after the heal a controller within %.2f s (median), %.2f s "
           "(most)\n",
           (double)median(s, seed_elect) / 1e9, (double)t->elect_ns / 1e9);
    printf("klsim: acknowledged commands %" PRIu64 ", records %" PRIu64
           ", refused %" PRIu64 "\nklsim: faults",
           t->commands, t->records, t->refused);
    for (int i = FAULT_NONE + 1; i < FAULT_KINDS; i++)
        printf(" %s %" PRIu64, fault_name((enum fault_kind)i), t->faults[i]);
    printf("\n");
}

/* A kind of fault that never struck, or a state that was never reached. */
static int show_missed(const struct swarm *s, const struct sums *sums)
{
    int missed = 0;

    for (int i = FAULT_NONE + 1; i < FAULT_KINDS; i++) {
        if (sums->tally.faults[i] ||
            !fault_is_due((enum fault_kind)i, sums->hosts))
            continue;
        missed++;
        printf("klsim: no seed has had the fault: %s\n",
               fault_name((enum fault_kind)i));
    }
    for (int i = 0; i < MARKS; i++) {
        if (s->marks[i] || !mark_is_due((enum mark)i, sums->hosts))
            continue;
        missed++;
        printf("klsim: no seed has reached: %s\n", mark_text((enum mark)i));
    }
    return missed;
}

int swarm_show(const struct swarm *s)
{
    struct sums sums = {0};
    int missed = 0;

    sum(s, &sums);
    show_bad(s);
    show_sums(s, &sums);
    if (s->count >= SUMMARY_SEEDS)
        missed = show_missed(s, &sums);
    return sums.bad || missed;
}
