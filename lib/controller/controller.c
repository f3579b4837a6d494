/*
 * Life cycle, the bootstrap, and what every command starts with.
 */
#include "controller/state.h"

#include <string.h>

int kl_controller_new(struct kl_controller **out, const struct kl_base_alloc *a,
                      const struct kl_controller_options *options)
{
    struct kl_controller *c = kl_base_calloc(a, sizeof *c);

    if (!c)
        return KL_ENOMEM;
    c->alloc = a;
    c->options = *options;
    if (c->options.partitions_max == 0)
        c->options.partitions_max = KL_CONTROLLER_PARTITIONS_MAX;
    if (c->options.batch_bytes_max == 0)
        c->options.batch_bytes_max = KL_CONTROLLER_BATCH_BYTES;
    kl_base_map_init(&c->by_id, a);
    kl_base_rng_seed(&c->rng, options->seed);
    *out = c;
    return 0;
}

void kl_controller_free(struct kl_controller *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->topic_count; i++)
        kl_controller_topic_free(c->alloc, c->topics[i]);
    kl_base_free(c->alloc, c->topics, c->topic_capacity * sizeof *c->topics);
    kl_base_free(c->alloc, c->deltas, c->delta_capacity * sizeof *c->deltas);
    kl_base_map_deinit(&c->by_id);
    kl_base_free(c->alloc, c, sizeof *c);
}

int kl_controller_command_begin(const struct kl_controller *c,
                                struct kl_controller_records *out,
                                struct kl_base_error *e)
{
    kl_controller_records_clear(out);
    if (c->feature_level == 0)
        return kl_base_error_set(
            e, KL_ESTATE,
            "the metadata log has no " KL_CONTROLLER_FEATURE " yet");
    return 0;
}

int kl_controller_command_topic(const struct kl_controller *c, const char *name,
                                const struct kl_controller_topic **out,
                                struct kl_base_error *e)
{
    int rc = kl_controller_topic_name_check(name, strlen(name), e);

    if (rc)
        return rc;
    *out = kl_controller_topic_find(c, name);
    return *out ? 0
                : kl_base_error_set(e, KL_ENOTOPIC, "topic %s does not exist",
                                    name);
}

struct kl_wire_text kl_controller_text(const char *text)
{
    size_t size = strlen(text);
    struct kl_wire_text t = {text, UINT32_MAX};

    /* No field is longer than 64 KiB: the encoder still refuses it. */
    if (size < UINT32_MAX)
        t.size = (uint32_t)size;
    return t;
}

int kl_controller_bootstrap(struct kl_controller *c,
                            struct kl_controller_records *out,
                            struct kl_base_error *e)
{
    struct kl_wire_record r = {.type = KL_WIRE_FEATURE_LEVEL_RECORD};

    kl_controller_records_clear(out);
    if (c->feature_level)
        return 0;
    r.feature_level.name = kl_controller_text(KL_CONTROLLER_FEATURE);
    r.feature_level.level = KL_CONTROLLER_FEATURE_LEVEL;
    return kl_controller_records_add(out, &r, c->options.batch_bytes_max, e);
}
