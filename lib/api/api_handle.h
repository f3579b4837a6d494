/*
 * What is behind the public handles, for the files of this room.
 */
#ifndef KL_API_API_HANDLE_H
#define KL_API_API_HANDLE_H

#include "base/config.h"
#include "base/error.h"
#include "os/thread.h"
#include "runtime/runtime.h"

#include <kraftlog/client.h>
#include <kraftlog/config.h>
#include <kraftlog/node.h>
#include <kraftlog/op.h>

struct kl_config
{
    struct kl_base_alloc alloc;
    struct kl_base_config values;
    struct kl_base_error error;
    int trace_level;
    kl_trace_fn trace_fn;
    void *trace_user;
    kl_panic_fn panic_fn;
    void *panic_user;
};

struct kl_client
{
    struct kl_runtime_node *node; /* a reference */
};

/* Copies a text into a caller's buffer, cut to size and terminated; the whole
 * length goes to size_out, which may be NULL. */
void kl_api_text_copy(const char *text, size_t text_size, char *buf,
                      size_t size, size_t *size_out);

/* The text of a handle's last failure, under the handle's mutex; a child that
 * was forked must not take it. */
int kl_api_error_text(const struct kl_runtime_node *node,
                      struct kl_os_mutex *mutex,
                      const struct kl_base_error *error, char *buf,
                      size_t size);

/* Values of a configuration, all defaults for NULL. */
static inline const struct kl_base_config *
kl_api_config_values(const kl_config *config)
{
    return config ? &config->values : NULL;
}

/* kl_op is the public name of the runtime's operation. */
static inline kl_op *kl_api_op_wrap(struct kl_runtime_op *op)
{
    return (kl_op *)op;
}

static inline struct kl_runtime_op *kl_api_op_unwrap(const kl_op *op)
{
    return (struct kl_runtime_op *)op;
}

#endif
