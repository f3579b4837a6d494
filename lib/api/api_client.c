/*
 * kl_client_*: a reference to the node that it talks to.
 */
#include "api/api_handle.h"

void kl_client_free(kl_client *client)
{
    struct kl_runtime_node *node;

    /* A child process leaves it alone. */
    if (!client || kl_runtime_check(client->node) == KL_EFORK)
        return;
    node = client->node;
    kl_base_free(kl_runtime_alloc(node), client, sizeof *client);
    kl_runtime_unref(node);
}

int kl_client_partition_count(kl_client *client, const char *topic,
                              int32_t *count_out)
{
    const struct kl_runtime_topic *t;
    int r;

    if (!client || !topic || !count_out)
        return KL_EINVAL;
    r = kl_runtime_check(client->node);
    if (r)
        return r;
    t = kl_runtime_topic_get(client->node, topic);
    if (!t)
        return KL_ENOTOPIC;
    *count_out = t->partition_count;
    kl_runtime_topic_unref(client->node, t);
    return 0;
}
