/*
 * kl_op_*: reading the results of an operation.
 */
#include "api/api_handle.h"

#include <string.h>

int kl_op_wait(kl_op *op, int32_t timeout_ms)
{
    if (!op)
        return KL_EINVAL;
    return kl_runtime_op_wait(kl_api_op_unwrap(op), timeout_ms);
}

int kl_op_done(const kl_op *op)
{
    return op && kl_runtime_op_is_done(kl_api_op_unwrap(op));
}

int kl_op_code(const kl_op *op)
{
    if (!op)
        return KL_EINVAL;
    return kl_op_done(op) ? kl_api_op_unwrap(op)->code : KL_EAGAIN;
}

int kl_op_errmsg(const kl_op *op, char *buf, size_t size)
{
    const struct kl_runtime_op *o = kl_api_op_unwrap(op);
    const char *text = "";

    if (!op || !buf || !size)
        return KL_EINVAL;
    if (!kl_runtime_op_is_done(o))
        return KL_ESTATE;
    if (o->code)
        text = o->extra && o->extra->text[0] ? o->extra->text
                                             : kl_strerror(o->code);
    kl_api_text_copy(text, strlen(text), buf, size, NULL);
    return 0;
}

/* The public type of the callback is the runtime's with another name for the
 * operation, so it is called through a function of the right type. */
struct op_call
{
    kl_op_fn fn;
    void *user;
    struct kl_base_alloc alloc;
};

static void op_call_public(struct kl_runtime_op *op, void *user)
{
    struct op_call call = *(struct op_call *)user;

    kl_base_free(&call.alloc, user, sizeof call);
    call.fn(kl_api_op_wrap(op), call.user);
}

int kl_op_set_callback(kl_op *op, kl_op_fn fn, void *user)
{
    struct kl_runtime_op *o = kl_api_op_unwrap(op);
    struct op_call *call;
    int r;

    if (!op || !fn)
        return KL_EINVAL;
    call = kl_base_malloc(kl_runtime_alloc(o->node), sizeof *call);
    if (!call)
        return KL_ENOMEM;
    call->fn = fn;
    call->user = user;
    call->alloc = *kl_runtime_alloc(o->node);
    r = kl_runtime_op_set_callback(o, op_call_public, call);
    if (r)
        kl_base_free(kl_runtime_alloc(o->node), call, sizeof *call);
    return r;
}

void kl_op_free(kl_op *op)
{
    struct kl_runtime_op *o = kl_api_op_unwrap(op);

    /* In a child process locks, as those of the memory, may be held. */
    if (o && kl_runtime_check(o->node) != KL_EFORK)
        kl_runtime_op_unref(o);
}

/* 0 where the operation is done and has these results. */
static int op_check(const kl_op *op, const void *out, uint32_t results)
{
    const struct kl_runtime_op *o = kl_api_op_unwrap(op);

    if (!op || !out)
        return KL_EINVAL;
    if (!kl_runtime_op_is_done(o) || (o->results & results) != results)
        return KL_ESTATE;
    return 0;
}

int kl_op_offset(const kl_op *op, int64_t *offset_out)
{
    int r = op_check(op, offset_out, KL_RUNTIME_OP_OFFSET);

    if (!r)
        *offset_out = kl_api_op_unwrap(op)->offset;
    return r;
}

int kl_op_partition(const kl_op *op, int32_t *partition_out)
{
    int r = op_check(op, partition_out, KL_RUNTIME_OP_ACK);

    if (!r)
        *partition_out = kl_api_op_unwrap(op)->partition;
    return r;
}

int kl_op_epoch(const kl_op *op, int32_t *epoch_out)
{
    int r = op_check(op, epoch_out, KL_RUNTIME_OP_ACK);

    if (!r)
        *epoch_out = kl_api_op_unwrap(op)->epoch;
    return r;
}

int kl_op_level(const kl_op *op, int *level_out)
{
    int r = op_check(op, level_out, KL_RUNTIME_OP_ACK);

    if (!r)
        *level_out = kl_api_op_unwrap(op)->level;
    return r;
}

int kl_op_replica_count(const kl_op *op, int32_t *count_out)
{
    int r = op_check(op, count_out, KL_RUNTIME_OP_ACK);

    if (!r)
        *count_out = kl_api_op_unwrap(op)->replica_count;
    return r;
}

int kl_op_log_start(const kl_op *op, int64_t *offset_out)
{
    int r = op_check(op, offset_out, KL_RUNTIME_OP_START);

    if (!r)
        *offset_out = kl_api_op_unwrap(op)->log_start;
    return r;
}

int kl_op_high_watermark(const kl_op *op, int64_t *offset_out)
{
    int r = op_check(op, offset_out, KL_RUNTIME_OP_END);

    if (!r)
        *offset_out = kl_api_op_unwrap(op)->high_watermark;
    return r;
}

int kl_op_partitions(const kl_op *op, const int32_t **partitions_out,
                     size_t *count_out)
{
    const struct kl_runtime_op *o = kl_api_op_unwrap(op);
    int r = op_check(op, partitions_out, 0);

    if (r || !count_out)
        return r ? r : KL_EINVAL;
    if (!o->extra || !o->extra->partitions)
        return KL_ESTATE;
    *partitions_out = o->extra->partitions;
    *count_out = o->extra->count;
    return 0;
}

int kl_op_offsets(const kl_op *op, const int64_t **offsets_out,
                  size_t *count_out)
{
    const struct kl_runtime_op *o = kl_api_op_unwrap(op);
    int r = op_check(op, offsets_out, 0);

    if (r || !count_out)
        return r ? r : KL_EINVAL;
    if (!o->extra || !o->extra->offsets)
        return KL_ESTATE;
    *offsets_out = o->extra->offsets;
    *count_out = o->extra->count;
    return 0;
}

int kl_op_json(const kl_op *op, const char **text_out, size_t *size_out)
{
    const struct kl_runtime_op *o = kl_api_op_unwrap(op);
    int r = op_check(op, text_out, 0);

    if (r)
        return r;
    if (!o->extra || !o->extra->json)
        return KL_ESTATE;
    *text_out = o->extra->json;
    if (size_out)
        *size_out = o->extra->json_size;
    return 0;
}
