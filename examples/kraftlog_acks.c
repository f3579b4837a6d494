/*
 * Acknowledgements printed in the order of the input, while standard input is
 * being waited for: a thread that waits for one operation after the other.
 */
#include "kraftlog_tool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { ACKS_PENDING = 32 }; /* operations that are not printed yet, at most */

struct acks
{
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t pushed;
    pthread_cond_t taken;
    kl_op *ops[ACKS_PENDING];
    unsigned first;
    unsigned count;
    int ending;
    int code;       /* of the first operation that failed */
    int error;      /* errno of writing */
    uint64_t lines; /* printed */
    char text[TOOL_TEXT];
    struct output output; /* the thread's alone */
};

/* The oldest operation; NULL at the end. */
static kl_op *acks_take(struct acks *a)
{
    kl_op *op = NULL;

    pthread_mutex_lock(&a->mutex);
    while (a->count == 0 && !a->ending)
        pthread_cond_wait(&a->pushed, &a->mutex);
    if (a->count > 0) {
        op = a->ops[a->first];
        a->first = (a->first + 1) % ACKS_PENDING;
        a->count--;
        pthread_cond_signal(&a->taken);
    }
    pthread_mutex_unlock(&a->mutex);
    return op;
}

/* Up to the first record that was not acknowledged: line n of the output is
 * always about line n of the input. */
static void acks_print(struct acks *a, kl_op *op)
{
    const int32_t *partitions;
    const int64_t *offsets;
    size_t count;

    if (kl_op_offsets(op, &offsets, &count) != KL_OK ||
        kl_op_partitions(op, &partitions, &count) != KL_OK)
        return;
    for (size_t i = 0; i < count && offsets[i] >= 0; i++) {
        output_number(&a->output, partitions[i]);
        output_bytes(&a->output, " ", 1);
        output_number(&a->output, offsets[i]);
        output_bytes(&a->output, "\n", 1);
        a->lines++;
    }
    output_flush(&a->output);
}

static void acks_fail(struct acks *a, kl_op *op, int code)
{
    pthread_mutex_lock(&a->mutex);
    if (a->code == KL_OK && code != KL_OK) {
        a->code = code;
        kl_op_errmsg(op, a->text, sizeof a->text);
    }
    a->error = a->output.error;
    pthread_mutex_unlock(&a->mutex);
}

static void *acks_run(void *user)
{
    struct acks *a = user;
    kl_op *op;

    while ((op = acks_take(a))) {
        int code = kl_op_wait(op, -1);

        if (code == KL_OK)
            code = kl_op_code(op);
        /* Only this thread writes a->code. */
        if (a->code == KL_OK && a->output.error == 0)
            acks_print(a, op);
        if (code != KL_OK || a->output.error != 0)
            acks_fail(a, op, code);
        kl_op_free(op);
    }
    return NULL;
}

struct acks *acks_start(void)
{
    struct acks *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->output.fd = STDOUT_FILENO;
    pthread_mutex_init(&a->mutex, NULL);
    pthread_cond_init(&a->pushed, NULL);
    pthread_cond_init(&a->taken, NULL);
    if (pthread_create(&a->thread, NULL, acks_run, a) == 0)
        return a;
    free(a);
    return NULL;
}

void acks_push(struct acks *a, kl_op *op)
{
    pthread_mutex_lock(&a->mutex);
    while (a->count == ACKS_PENDING)
        pthread_cond_wait(&a->taken, &a->mutex);
    a->ops[(a->first + a->count) % ACKS_PENDING] = op;
    a->count++;
    pthread_cond_signal(&a->pushed);
    pthread_mutex_unlock(&a->mutex);
}

int acks_have_failed(struct acks *a)
{
    int failed;

    pthread_mutex_lock(&a->mutex);
    failed = a->code != KL_OK || a->error != 0;
    pthread_mutex_unlock(&a->mutex);
    return failed;
}

int acks_finish(struct acks *a, const char *topic)
{
    int status = TOOL_OK;

    if (!a)
        return TOOL_OK;
    pthread_mutex_lock(&a->mutex);
    a->ending = 1;
    pthread_cond_signal(&a->pushed);
    pthread_mutex_unlock(&a->mutex);
    pthread_join(a->thread, NULL);
    if (a->code != KL_OK)
        status = tool_fail("produce: %s, line %llu: %s (%s)", topic,
                           (unsigned long long)a->lines + 1,
                           a->text[0] ? a->text : kl_strerror(a->code),
                           kl_error_name(a->code));
    else if (a->error != 0)
        status = tool_fail_output(a->error);
    pthread_cond_destroy(&a->taken);
    pthread_cond_destroy(&a->pushed);
    pthread_mutex_destroy(&a->mutex);
    free(a);
    return status;
}
