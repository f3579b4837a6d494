/*
 * kl_node_*: checks of the arguments, then the runtime.
 */
#include "api/api_handle.h"
#include "api/api_storage.h"
#include "api/api_transport.h"

#include "base/buf.h"

struct kl_node
{
    struct kl_base_alloc alloc;
    struct kl_runtime_node *core; /* a reference */
    kl_storage *storage;          /* a reference; NULL = the real files */
    kl_transport *transport;      /* a reference; NULL = a node by itself */
};

int kl_node_new(kl_node **out, const kl_config *config)
{
    struct kl_runtime_options options = {0};
    kl_node *node;
    int r;

    if (!out)
        return KL_EINVAL;
    *out = NULL;
    options.alloc = config ? config->alloc : kl_base_alloc_libc;
    kl_base_config_init(&options.config);
    if (config) {
        options.config = config->values;
        options.trace_level = config->trace_level;
        options.trace = config->trace_fn;
        options.trace_user = config->trace_user;
        options.panic.fn = config->panic_fn;
        options.panic.user = config->panic_user;
    }
    node = kl_base_malloc(&options.alloc, sizeof *node);
    if (!node)
        return KL_ENOMEM;
    node->alloc = options.alloc;
    node->storage = NULL;
    node->transport = NULL;
    r = kl_runtime_new(&node->core, &options);
    if (r) {
        kl_base_free(&options.alloc, node, sizeof *node);
        return r;
    }
    *out = node;
    return 0;
}

int kl_node_set_storage(kl_node *node, kl_storage *storage)
{
    int r;

    if (!node)
        return KL_EINVAL;
    r = kl_runtime_set_vfs(node->core,
                           storage ? kl_api_storage_vfs(storage) : NULL);
    if (r)
        return r;
    if (storage)
        kl_api_storage_ref(storage);
    kl_storage_free(node->storage);
    node->storage = storage;
    return 0;
}

int kl_node_set_transport(kl_node *node, kl_transport *transport)
{
    int r;

    if (!node)
        return KL_EINVAL;
    r = kl_runtime_set_net(node->core,
                           transport ? kl_api_transport_net(transport) : NULL);
    if (r)
        return r;
    if (transport)
        kl_api_transport_ref(transport);
    kl_transport_free(node->transport);
    node->transport = transport;
    return 0;
}

int kl_node_open(kl_node *node, const char *dir, uint32_t flags)
{
    struct kl_base_error error;

    if (!node || !dir || !*dir ||
        (flags &
         ~(uint32_t)(KL_OPEN_CREATE | KL_OPEN_ACCEPT_LOSS | KL_OPEN_JOIN)) ||
        (flags & KL_OPEN_JOIN && !(flags & KL_OPEN_CREATE)))
        return KL_EINVAL;
    if ((node->storage && kl_api_storage_use(node->storage, &error)) ||
        (node->transport && kl_api_transport_use(node->transport, &error))) {
        kl_runtime_set_error(node->core, &error);
        return error.code;
    }
    return kl_runtime_open(node->core, dir, flags);
}

int kl_node_start(kl_node *node)
{
    return node ? kl_runtime_start(node->core) : KL_EINVAL;
}

int kl_node_poll(kl_node *node, int32_t timeout_ms)
{
    return node ? kl_runtime_poll(node->core, timeout_ms) : KL_EINVAL;
}

int kl_node_fd(const kl_node *node, int *fd_out)
{
    if (!node || !fd_out)
        return KL_EINVAL;
    *fd_out = kl_runtime_fd(node->core);
    return 0;
}

int kl_node_deadline(const kl_node *node, int64_t *ns_out)
{
    if (!node || !ns_out)
        return KL_EINVAL;
    return kl_runtime_deadline(node->core, ns_out);
}

int kl_node_stop(kl_node *node, int32_t timeout_ms)
{
    return node ? kl_runtime_stop(node->core, timeout_ms) : KL_EINVAL;
}

void kl_node_free(kl_node *node)
{
    struct kl_base_alloc alloc;

    if (!node || kl_runtime_close(node->core))
        return;
    alloc = node->alloc;
    kl_storage_free(node->storage);
    kl_transport_free(node->transport);
    kl_base_free(&alloc, node, sizeof *node);
}

int kl_node_state(const kl_node *node, int *state_out)
{
    if (!node || !state_out)
        return KL_EINVAL;
    *state_out = kl_runtime_state(node->core);
    return 0;
}

int kl_node_verdict(const kl_node *node, int *verdict_out)
{
    if (!node || !verdict_out)
        return KL_EINVAL;
    return kl_runtime_verdict(node->core, verdict_out);
}

int kl_node_id(const kl_node *node, int32_t *id_out)
{
    if (!node || !id_out)
        return KL_EINVAL;
    return kl_runtime_id(node->core, id_out);
}

int kl_node_errmsg(const kl_node *node, char *buf, size_t size)
{
    if (!node || !buf || !size)
        return KL_EINVAL;
    if (kl_runtime_check(node->core) == KL_EFORK)
        return KL_EFORK;
    kl_runtime_errmsg(node->core, buf, size);
    return 0;
}

int kl_node_client(kl_node *node, kl_client **out)
{
    kl_client *client;

    if (!node || !out)
        return KL_EINVAL;
    client = kl_base_malloc(&node->alloc, sizeof *client);
    *out = client;
    if (!client)
        return KL_ENOMEM;
    client->node = node->core;
    kl_runtime_ref(node->core);
    return 0;
}

typedef int node_print_fn(const struct kl_runtime_node *n,
                          struct kl_base_buf *out);

static int node_print(const kl_node *node, node_print_fn *print, char *buf,
                      size_t size, size_t *size_out)
{
    struct kl_base_buf text;
    int r;

    if (!node || (!buf && size))
        return KL_EINVAL;
    kl_base_buf_init(&text, &node->alloc);
    r = print(node->core, &text);
    if (!r)
        kl_api_text_copy((const char *)text.data, text.size, buf, size,
                         size_out);
    kl_base_buf_deinit(&text);
    return r;
}

int kl_node_stats_json(const kl_node *node, char *buf, size_t size,
                       size_t *size_out)
{
    return node_print(node, kl_runtime_stats_json, buf, size, size_out);
}

int kl_node_stats_prometheus(const kl_node *node, char *buf, size_t size,
                             size_t *size_out)
{
    return node_print(node, kl_runtime_stats_prometheus, buf, size, size_out);
}
