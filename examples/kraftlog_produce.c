/*
 * kraftlog produce: a record per line of standard input.
 *
 * The node has its own thread. This one reads large blocks, finds the lines in
 * them and hands over arrays that point into the block. With -v a third thread
 * prints what is acknowledged (kraftlog_acks.c).
 */
#include "kraftlog_tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PRODUCE_ROWS = 4096,    /* records of one bulk send */
    PRODUCE_ACK_ROWS = 512, /* with -v, where one operation answers for all */
    PRODUCE_TICK_MS = 250   /* of the progress line */
};

struct produce
{
    const char *topic;
    int32_t partition;
    const char *codec;
    char *separator; /* NULL = no keys */
    size_t separator_size;
    int verbose;
    int has_progress;

    kl_producer *producer;
    struct acks *acks;
    struct lines lines;
    uint64_t accepted; /* records */
    uint64_t bytes;    /* of them */
    int64_t start_ms;
    int64_t tick_ms;

    size_t count;
    const void *keys[PRODUCE_ROWS];
    const void *values[PRODUCE_ROWS];
    uint64_t key_sizes[PRODUCE_ROWS];
    uint64_t value_sizes[PRODUCE_ROWS];
};

/* ---- progress ---------------------------------------------------------- */

static int64_t produce_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void produce_progress(struct produce *p, int is_last)
{
    int64_t now = p->has_progress ? produce_now_ms() : 0;
    double seconds = (double)(now - p->start_ms) / 1000;
    double mebibytes = (double)p->bytes / 1048576;

    if (!p->has_progress || (!is_last && now - p->tick_ms < PRODUCE_TICK_MS))
        return;
    p->tick_ms = now;
    fprintf(stderr, "\r%s: %llu records, %.1f MiB, %.1f MiB/s%s", p->topic,
            (unsigned long long)p->accepted, mebibytes,
            seconds > 0 ? mebibytes / seconds : 0.0, is_last ? "\n" : "");
}

/* ---- sending ----------------------------------------------------------- */

/* A key is what is before the separator; a line without one has none. */
static void produce_add(struct produce *p, const char *line, size_t size)
{
    const char *at = NULL;
    size_t i = p->count++;

    if (p->separator)
        at = memmem(line, size, p->separator, p->separator_size);
    p->keys[i] = at ? line : NULL;
    p->key_sizes[i] = at ? (uint64_t)(at - line) : 0;
    p->values[i] = at ? at + p->separator_size : line;
    p->value_sizes[i] =
        at ? size - p->key_sizes[i] - p->separator_size : (uint64_t)size;
    p->bytes += size;
}

static int produce_refused(struct produce *p, int code)
{
    char text[TOOL_TEXT] = "";

    kl_producer_errmsg(p->producer, text, sizeof text);
    return tool_fail("produce: %s, line %llu: %s (%s)", p->topic,
                     (unsigned long long)p->accepted + 1,
                     *text ? text : kl_strerror(code), kl_error_name(code));
}

/* Hands the rows over, all of them. */
static int produce_send(struct produce *p)
{
    const void *const *keys = p->separator ? p->keys : NULL;
    size_t at = 0;

    while (at < p->count) {
        kl_op *op = NULL;
        size_t accepted;
        int rc = kl_producer_send_bulk(
            p->producer, p->topic, p->partition, keys ? keys + at : NULL,
            p->key_sizes + at, p->values + at, p->value_sizes + at, NULL,
            p->count - at, 0, &accepted, p->acks ? &op : NULL);

        at += accepted;
        p->accepted += accepted;
        if (op)
            acks_push(p->acks, op);
        if (rc == KL_EAGAIN)
            rc = kl_producer_wait(p->producer, -1);
        if (rc != KL_OK)
            return produce_refused(p, rc);
    }
    p->count = 0;
    return TOOL_OK;
}

/* 1 where a batch has failed, so that there is no use in going on; what it was
 * is told at the end. */
static int produce_has_failed(struct produce *p)
{
    char text[2] = "";

    if (p->acks)
        return acks_have_failed(p->acks);
    kl_producer_errmsg(p->producer, text, sizeof text);
    return text[0] != '\0';
}

static int produce_input(struct produce *p)
{
    size_t rows_max = p->acks ? PRODUCE_ACK_ROWS : PRODUCE_ROWS;
    int filled;

    while ((filled = lines_fill(&p->lines)) > 0) {
        const char *line;
        size_t size;

        while (lines_next(&p->lines, &line, &size)) {
            produce_add(p, line, size);
            if (p->count == rows_max && produce_send(p) != TOOL_OK)
                return TOOL_FAILED;
        }
        /* The rows point into the block that the next one replaces. */
        if (produce_send(p) != TOOL_OK)
            return TOOL_FAILED;
        if (produce_has_failed(p))
            return TOOL_OK;
        produce_progress(p, 0);
    }
    if (filled == 0)
        return TOOL_OK;
    if (errno == EMSGSIZE)
        return tool_fail("produce: %s, line %llu: longer than "
                         "max.message.bytes, %zu",
                         p->topic, (unsigned long long)p->lines.number + 1,
                         p->lines.line_max);
    return tool_fail("produce: standard input: %s", strerror(errno));
}

/* ---- beginning and end ------------------------------------------------- */

static int produce_options(struct produce *p, struct tool_args *args)
{
    int64_t number;
    int c;

    while ((c = tool_option(args)) != -1) {
        switch (c) {
        case 'p':
            if (tool_number(args->value, 0, INT32_MAX, &number) != 0)
                return tool_misuse("produce: -p: '%s' is not a partition",
                                   args->value);
            p->partition = (int32_t)number;
            break;
        case 'K':
            if (format_unescape(args->value, args->value, &p->separator_size) !=
                    0 ||
                p->separator_size == 0)
                return tool_misuse("produce: -K: '%s' is not a separator",
                                   args->value);
            p->separator = args->value;
            break;
        case 'z':
            p->codec = args->value;
            break;
        case 'v':
            p->verbose = 1;
            break;
        default:
            return TOOL_USAGE;
        }
    }
    return tool_operands(args, 1, 1, "TOPIC");
}

static int produce_config(const struct produce *p, kl_config **out)
{
    char text[TOOL_TEXT] = "";
    int rc = kl_config_new(out, NULL, NULL);

    if (rc != KL_OK)
        return tool_fail_code("produce", p->topic, rc, NULL);
    rc = kl_config_set(*out, "compression.type", p->codec);
    if (rc == KL_OK)
        return TOOL_OK;
    kl_config_errmsg(*out, text, sizeof text);
    return tool_misuse("produce: -z: %s", *text ? text : kl_strerror(rc));
}

static int produce_begin(struct tool *t, struct produce *p,
                         const kl_config *config)
{
    int64_t line_max = 0;
    int32_t partitions = 0;
    int status = tool_open(t, 0);
    int rc;

    if (status == TOOL_OK)
        status = tool_topic_number(t, "produce", p->topic, "max.message.bytes",
                                   &line_max);
    if (status != TOOL_OK)
        return status;
    rc = kl_client_partition_count(t->client, p->topic, &partitions);
    if (rc == KL_OK && p->partition >= partitions)
        return tool_fail("produce: %s-%d: no such partition of %d (%s)",
                         p->topic, (int)p->partition, (int)partitions,
                         kl_error_name(KL_ENOTOPIC));
    if (rc == KL_OK)
        rc = kl_producer_new(&p->producer, t->client, config);
    if (rc != KL_OK)
        return tool_fail_code("produce", p->topic, rc, NULL);
    if (lines_init(&p->lines, STDIN_FILENO, (size_t)line_max) != 0)
        return tool_fail_code("produce", p->topic, KL_ENOMEM, NULL);
    p->has_progress = isatty(STDERR_FILENO);
    if (p->has_progress)
        p->start_ms = produce_now_ms();
    if (p->verbose) {
        p->acks = acks_start();
        if (!p->acks)
            return tool_fail_code("produce", p->topic, KL_ENOMEM, NULL);
    }
    return TOOL_OK;
}

/* Waits for what is under way, whatever has happened, so that every record that
 * was accepted is either acknowledged or told as lost. */
static int produce_end(struct produce *p, int status)
{
    char text[TOOL_TEXT] = "";
    int rc = KL_OK;

    if (p->producer)
        rc = kl_producer_flush(p->producer, -1);
    if (p->has_progress && p->accepted > 0)
        produce_progress(p, 1);
    /* With -v the operations know more: which line. */
    if (acks_finish(p->acks, p->topic) != TOOL_OK) {
        status = TOOL_FAILED;
    } else if (rc != KL_OK) {
        kl_producer_errmsg(p->producer, text, sizeof text);
        status = tool_fail_code("produce", p->topic, rc, text);
    }
    kl_producer_free(p->producer);
    lines_deinit(&p->lines);
    return status;
}

int tool_produce(struct tool *t, struct tool_args *args)
{
    struct produce *p = calloc(1, sizeof *p);
    kl_config *config = NULL;
    int status;

    if (!p)
        return tool_fail_code("produce", "memory", KL_ENOMEM, NULL);
    p->partition = KL_PARTITION_ANY;
    status = produce_options(p, args);
    p->topic = args->operands[0];
    if (status == TOOL_OK)
        status = produce_config(p, &config);
    if (status == TOOL_OK) {
        status = produce_begin(t, p, config);
        if (status == TOOL_OK)
            status = produce_input(p);
        status = produce_end(p, status);
    }
    kl_config_free(config);
    free(p);
    return status;
}
