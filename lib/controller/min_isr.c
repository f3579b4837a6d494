/*
 * The effective min.insync.replicas. It comes from the metadata log alone
 * (protocol 1.9, rule 3): no node has a value of its own.
 */
#include "controller/state.h"

#include <string.h>

int32_t kl_controller_min_isr_value(const char *value)
{
    int32_t number = 0;

    if (!value)
        return 0;
    for (const char *p = value; *p; p++) {
        if (*p < '0' || *p > '9')
            return 0;
        number = number * 10 + (*p - '0');
        /* More than any partition has is as good as anything. */
        if (number > KL_WIRE_REPLICAS_MAX)
            number = KL_WIRE_REPLICAS_MAX;
    }
    return number;
}

struct kl_controller_rules
kl_controller_topic_rules(const struct kl_controller_topic *t)
{
    struct kl_controller_rules rules;
    const char *flush = kl_controller_config_get(t, KL_CONTROLLER_FLUSH_KEY);

    rules.min_isr = kl_controller_min_isr_value(
        kl_controller_config_get(t, KL_CONTROLLER_MIN_ISR_KEY));
    rules.interval = flush && strcmp(flush, KL_CONTROLLER_FLUSH_INTERVAL) == 0;
    return rules;
}

uint32_t kl_controller_min_isr(int32_t min_isr, uint32_t replicas)
{
    uint32_t wanted = (uint32_t)min_isr;

    if (min_isr == 0)
        wanted = replicas >= 3 ? 2 : 1;
    if (wanted > replicas)
        wanted = replicas;
    return wanted ? wanted : 1;
}

int32_t kl_controller_partition_min_isr(const struct kl_controller_topic *t,
                                        const struct kl_controller_partition *p)
{
    struct kl_controller_rules rules = kl_controller_topic_rules(t);

    return (int32_t)kl_controller_min_isr(rules.min_isr,
                                          p->counts[KL_CONTROLLER_REPLICAS] -
                                              p->counts[KL_CONTROLLER_ADDING]);
}
