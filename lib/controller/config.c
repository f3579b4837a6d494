/*
 * Configuration of topics: judging pairs, and the command that alters them.
 */
#include "controller/state.h"

#include <string.h>

static int config_check_once(const struct kl_controller_config *pairs,
                             size_t index, struct kl_base_error *e)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(pairs[i].key, pairs[index].key) == 0)
            return kl_base_error_set(e, KL_ECONFIG, "%s is given twice",
                                     pairs[index].key);
    return 0;
}

int kl_controller_config_check(const struct kl_controller *c,
                               const struct kl_controller_config *pairs,
                               size_t index, struct kl_base_error *e)
{
    int rc = config_check_once(pairs, index, e);

    if (rc)
        return rc;
    return c->options.check(pairs[index].key, pairs[index].value,
                            c->options.user, e);
}

int kl_controller_config_add(const struct kl_controller *c, const char *topic,
                             const struct kl_controller_config *pair,
                             struct kl_controller_records *out,
                             struct kl_base_error *e)
{
    struct kl_wire_record r = {.type = KL_WIRE_CONFIG_RECORD};
    int rc;

    r.config.resource_type = KL_WIRE_RESOURCE_TOPIC;
    r.config.resource_name = kl_controller_text(topic);
    r.config.key = kl_controller_text(pair->key);
    r.config.value = kl_controller_text(pair->value ? pair->value : "");
    r.config.removed = pair->value == NULL;
    rc = kl_controller_records_add(out, &r, c->options.batch_bytes_max, e);
    if (rc != KL_EINVAL)
        return rc;
    /* Only length and encoding of key and value can be wrong here. */
    if (e)
        e->code = KL_ECONFIG;
    return KL_ECONFIG;
}

/* A change that the topic needs: 1, 0, or a code below 0. */
static int config_alter_one(const struct kl_controller *c,
                            const struct kl_controller_topic *t,
                            const struct kl_controller_config *changes,
                            size_t index, struct kl_base_error *e)
{
    const struct kl_controller_config *change = &changes[index];
    const char *old = kl_controller_config_get(t, change->key);
    int rc;

    if (strcmp(change->key, KL_CONTROLLER_FLUSH_KEY) == 0)
        return kl_base_error_set(e, KL_ECONFIG,
                                 "topic %s: %s is fixed at creation", t->name,
                                 change->key);
    /* What is set can always be taken back, even a key that is not known any
     * more. */
    if (old && !change->value) {
        rc = config_check_once(changes, index, e);
        return rc ? rc : 1;
    }
    rc = kl_controller_config_check(c, changes, index, e);
    if (rc || !change->value)
        return rc;
    return !old || strcmp(old, change->value) != 0;
}

/* ---- another min ISR --------------------------------------------------- */

/* Eligible replicas were so by the old min: the ELR goes, but not where it is
 * all there is (protocol 0.5, KAFKA-16540). The epoch rises in any case, so
 * that nobody counts by the old min any more. */
static int config_min_isr_partition(const struct kl_controller *c,
                                    const struct kl_controller_topic *t,
                                    int32_t index,
                                    const struct kl_controller_rules *rules,
                                    struct kl_controller_records *out,
                                    struct kl_base_error *e)
{
    const struct kl_controller_partition *p = t->partitions[index];
    struct kl_controller_context context = {{c, -1, 0}, *rules, -1, 0};
    struct kl_controller_change x;

    kl_controller_change_load(&x, p);
    if (x.isr) {
        x.last_known |= x.elr;
        x.elr = 0;
    }
    x.forced = 1;
    (void)kl_controller_change_finish(&x, p, &context);
    return kl_controller_change_add(&x, &t->id, index, out,
                                    c->options.batch_bytes_max, e);
}

/* The partitions that another min.insync.replicas means something for. */
static int config_min_isr(const struct kl_controller *c,
                          const struct kl_controller_topic *t,
                          const struct kl_controller_config *change,
                          struct kl_controller_records *out,
                          struct kl_base_error *e)
{
    struct kl_controller_rules rules = kl_controller_topic_rules(t);
    int rc = 0;

    rules.min_isr = kl_controller_min_isr_value(change->value);
    for (int32_t i = 0; rc == 0 && i < t->partition_count; i++) {
        const struct kl_controller_partition *p = t->partitions[i];
        uint32_t replicas = (uint32_t)p->counts[KL_CONTROLLER_REPLICAS] -
                            p->counts[KL_CONTROLLER_ADDING];

        if ((int32_t)kl_controller_min_isr(rules.min_isr, replicas) !=
            kl_controller_partition_min_isr(t, p))
            rc = config_min_isr_partition(c, t, i, &rules, out, e);
    }
    return rc;
}

static int config_alter_partitions(const struct kl_controller *c,
                                   const struct kl_controller_topic *t,
                                   const struct kl_controller_config *changes,
                                   size_t change_count,
                                   struct kl_controller_records *out,
                                   struct kl_base_error *e)
{
    for (size_t i = 0; i < change_count; i++)
        if (strcmp(changes[i].key, KL_CONTROLLER_MIN_ISR_KEY) == 0)
            return config_min_isr(c, t, &changes[i], out, e);
    return 0;
}

/* ---- the command ------------------------------------------------------- */

int kl_controller_alter_config(struct kl_controller *c, const char *name,
                               const struct kl_controller_config *changes,
                               size_t change_count,
                               struct kl_controller_records *out,
                               struct kl_base_error *e)
{
    const struct kl_controller_topic *t;
    int rc = kl_controller_command_begin(c, out, e);

    if (rc)
        return rc;
    rc = kl_controller_command_topic(c, name, &t, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < change_count; i++) {
        rc = config_alter_one(c, t, changes, i, e);
        if (rc > 0)
            rc = kl_controller_config_add(c, name, &changes[i], out, e);
        if (rc) {
            kl_controller_records_clear(out);
            return rc;
        }
    }
    return config_alter_partitions(c, t, changes, change_count, out, e);
}
