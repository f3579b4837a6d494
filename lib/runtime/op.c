/*
 * One result that comes later, from its making to its callback.
 */
#include "runtime/op.h"
#include "runtime/state.h"

#include <string.h>

enum { OP_DONE = 1, OP_CLAIMED = 2, OP_CALLBACK = 4 };

static struct kl_runtime_op *op_of(struct kl_runtime_request *r)
{
    return KL_BASE_CONTAINER(r, struct kl_runtime_op, request);
}

int kl_runtime_op_new(struct kl_runtime_op **out, struct kl_runtime_node *n,
                      unsigned ref_count)
{
    struct kl_runtime_op *op = kl_base_malloc(&n->alloc, sizeof *op);

    *out = op;
    if (!op)
        return KL_ENOMEM;
    atomic_init(&op->refs, ref_count);
    atomic_init(&op->state, 0);
    kl_runtime_ref(n);
    op->node = n;
    op->fn = NULL;
    op->extra = NULL;
    op->code = 0;
    op->results = 0;
    return 0;
}

void kl_runtime_op_ref(struct kl_runtime_op *op)
{
    atomic_fetch_add_explicit(&op->refs, 1, memory_order_relaxed);
}

static void op_extra_free(const struct kl_base_alloc *a,
                          struct kl_runtime_op_extra *x)
{
    if (!x)
        return;
    kl_base_free(a, x->partitions, x->count * sizeof *x->partitions);
    kl_base_free(a, x->offsets, x->count * sizeof *x->offsets);
    kl_base_free(a, x->json, x->json_capacity);
    kl_base_free(a, x, sizeof *x);
}

void kl_runtime_op_unref(struct kl_runtime_op *op)
{
    struct kl_runtime_node *n;

    if (!op ||
        atomic_fetch_sub_explicit(&op->refs, 1, memory_order_acq_rel) != 1)
        return;
    n = op->node;
    op_extra_free(&n->alloc, op->extra);
    kl_base_free(&n->alloc, op, sizeof *op);
    kl_runtime_unref(n);
}

struct kl_runtime_op_extra *kl_runtime_op_extra(struct kl_runtime_op *op)
{
    if (!op->extra)
        op->extra = kl_base_calloc(&op->node->alloc, sizeof *op->extra);
    return op->extra;
}

int kl_runtime_op_reserve(struct kl_runtime_op *op, size_t count)
{
    const struct kl_base_alloc *a = &op->node->alloc;
    struct kl_runtime_op_extra *x = kl_runtime_op_extra(op);
    int32_t *partitions;
    int64_t *offsets;

    if (!x || count > SIZE_MAX / sizeof *offsets)
        return KL_ENOMEM;
    partitions = kl_base_malloc(a, count * sizeof *partitions);
    offsets = kl_base_malloc(a, count * sizeof *offsets);
    if (!partitions || !offsets) {
        kl_base_free(a, partitions, count * sizeof *partitions);
        kl_base_free(a, offsets, count * sizeof *offsets);
        return KL_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        partitions[i] = -1;
        offsets[i] = -1;
    }
    x->partitions = partitions;
    x->offsets = offsets;
    x->count = count;
    return 0;
}

int kl_runtime_op_take_json(struct kl_runtime_op *op, struct kl_base_buf *buf)
{
    struct kl_runtime_op_extra *x = kl_runtime_op_extra(op);

    kl_base_buf_put8(buf, 0);
    if (buf->error || !x) {
        kl_base_buf_deinit(buf);
        return KL_ENOMEM;
    }
    x->json = (char *)buf->data;
    x->json_size = buf->size - 1;
    x->json_capacity = buf->capacity;
    kl_base_buf_init(buf, buf->alloc);
    return 0;
}

void kl_runtime_op_set_text(struct kl_runtime_op *op, const char *text)
{
    struct kl_runtime_op_extra *x = kl_runtime_op_extra(op);
    size_t size = strlen(text);

    if (!x)
        return;
    if (size > sizeof x->text - 1)
        size = sizeof x->text - 1;
    memcpy(x->text, text, size);
    x->text[size] = 0;
}

/* User code; the queue's reference keeps the operation alive. */
static void op_call(struct kl_runtime_node *n, struct kl_runtime_request *r,
                    int closed)
{
    struct kl_runtime_op *op = op_of(r);

    (void)n;
    (void)closed;
    op->fn(op, op->user);
    kl_runtime_op_unref(op);
}

static void op_queue_call(struct kl_runtime_node *n,
                          struct kl_runtime_request *r, int closed)
{
    (void)closed;
    r->run = op_call;
    kl_runtime_queue_push(&n->callbacks, r);
}

void kl_runtime_op_complete(struct kl_runtime_op *op, int code)
{
    struct kl_runtime_node *n;
    unsigned before;

    if (!op)
        return;
    n = op->node;
    op->code = code;
    before =
        atomic_fetch_or_explicit(&op->state, OP_DONE, memory_order_acq_rel);
    KL_ASSERT(!(before & OP_DONE));
    kl_runtime_notify(n);
    if (before & OP_CALLBACK)
        op_queue_call(n, &op->request, 0);
    else
        kl_runtime_op_unref(op);
}

int kl_runtime_op_is_done(const struct kl_runtime_op *op)
{
    return (atomic_load_explicit((atomic_uint *)&op->state,
                                 memory_order_acquire) &
            OP_DONE) != 0;
}

static int op_ready(void *arg)
{
    return kl_runtime_op_is_done(arg);
}

int kl_runtime_op_wait(struct kl_runtime_op *op, int32_t timeout_ms)
{
    return kl_runtime_wait(op->node, op_ready, op, timeout_ms);
}

int kl_runtime_op_set_callback(struct kl_runtime_op *op, kl_runtime_op_fn fn,
                               void *user)
{
    struct kl_runtime_node *n = op->node;
    unsigned before;

    if (kl_os_fork_guard_is_child(&n->fork))
        return KL_EFORK;
    if (atomic_fetch_or(&op->state, OP_CLAIMED) & OP_CLAIMED)
        return KL_ESTATE;
    op->fn = fn;
    op->user = user;
    /* For the queue, where completing came first; else it passes its own on. */
    kl_runtime_op_ref(op);
    before =
        atomic_fetch_or_explicit(&op->state, OP_CALLBACK, memory_order_acq_rel);
    if (before & OP_DONE) {
        op->request.run = op_queue_call;
        /* Where the node is closed fn runs inside and may free op, which may
         * hold the last reference. */
        kl_runtime_ref(n);
        kl_runtime_submit(n, &op->request);
        kl_runtime_unref(n);
    } else {
        kl_runtime_op_unref(op);
    }
    return 0;
}
