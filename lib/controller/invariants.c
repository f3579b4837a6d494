/*
 * What holds of any image, and what holds of those that commands make.
 */
#include "controller/state.h"

#include <string.h>

static const char *invariants_brokers(const struct kl_controller *c)
{
    for (size_t i = 0; i < c->broker_count; i++) {
        if (i > 0 && c->brokers[i - 1]->id >= c->brokers[i]->id)
            return "broker ids ascend";
        for (size_t j = 0; j < i; j++)
            if (kl_base_uuid_equal(&c->brokers[i]->directory_id,
                                   &c->brokers[j]->directory_id))
                return "a directory belongs to one broker";
    }
    return NULL;
}

static const char *invariants_topic(const struct kl_controller *c,
                                    const struct kl_controller_topic *t)
{
    const char *broken;

    if (kl_controller_topic_name_check(t->name, strlen(t->name), NULL))
        return "topic names are legal";
    if (kl_controller_topic_find_id(c, &t->id) != t)
        return "every topic is found by its id";
    for (int32_t i = 0; i < t->partition_count; i++) {
        broken = kl_controller_partition_check(t->partitions[i]);
        if (broken)
            return broken;
    }
    for (uint32_t i = 1; i < t->config_count; i++)
        if (strcmp(t->configs[i - 1].key, t->configs[i].key) >= 0)
            return "configuration keys ascend";
    return NULL;
}

const char *kl_controller_invariant(const struct kl_controller *c)
{
    const char *wrong = invariants_brokers(c);
    size_t partitions = 0;

    if (wrong)
        return wrong;
    if (c->by_id.count != c->topic_count)
        return "the topics by id are the topics by name";
    for (size_t i = 0; i < c->topic_count; i++) {
        const struct kl_controller_topic *t = c->topics[i];
        const char *broken = invariants_topic(c, t);

        if (broken)
            return broken;
        if (i > 0 && strcmp(c->topics[i - 1]->name, t->name) >= 0)
            return "topic names ascend";
        partitions += (size_t)t->partition_count;
    }
    if (partitions != c->partition_count)
        return "the partition count is the sum over the topics";
    return NULL;
}

/* ---- between two batches ----------------------------------------------- */

static const char *invariants_rules(const struct kl_controller *c,
                                    const struct kl_controller_topic *t,
                                    const struct kl_controller_partition *p)
{
    size_t count;
    const int32_t *isr =
        kl_controller_partition_list(p, KL_CONTROLLER_ISR, &count);

    for (size_t i = 0; i < count; i++) {
        const struct kl_controller_broker *b =
            kl_controller_broker_find(c, isr[i]);

        if (b && !kl_controller_broker_is_active(b))
            return "an ISR has only active brokers (D2)";
    }
    if ((int32_t)count >= kl_controller_partition_min_isr(t, p) &&
        p->counts[KL_CONTROLLER_ELR])
        return "an ISR of min or more leaves no ELR (D3)";
    return NULL;
}

const char *kl_controller_rule_broken(const struct kl_controller *c)
{
    for (size_t i = 0; i < c->topic_count; i++) {
        const struct kl_controller_topic *t = c->topics[i];

        for (int32_t j = 0; j < t->partition_count; j++) {
            const char *broken = invariants_rules(c, t, t->partitions[j]);

            if (broken)
                return broken;
        }
    }
    return NULL;
}
