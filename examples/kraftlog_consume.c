/*
 * kraftlog consume: records of one partition or of all to standard output.
 *
 * The node has its own thread, which reads ahead; this one formats and writes.
 */
#include "kraftlog_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct consume
{
    const char *topic;
    int32_t partition; /* -1 = all */
    int64_t offset;    /* or KL_OFFSET_* */
    int64_t timestamp_ms;
    int64_t count; /* records to go, -1 = all */
    int exit_at_end;
    int skip; /* damaged records do not end it */
    int skipped;
    const char *format_text;

    struct format format;
    struct output output;
    kl_consumer *consumer;
    int32_t running; /* partitions that have not come to their end */
};

/* ---- options ----------------------------------------------------------- */

static int consume_offset(struct consume *c, const char *text)
{
    if (strcmp(text, "begin") == 0)
        c->offset = KL_OFFSET_BEGIN;
    else if (strcmp(text, "end") == 0)
        c->offset = KL_OFFSET_END;
    else if (*text == '@') {
        c->offset = KL_OFFSET_TIMESTAMP;
        return tool_number(text + 1, 0, INT64_MAX, &c->timestamp_ms);
    } else
        return tool_number(text, 0, INT64_MAX, &c->offset);
    return 0;
}

static int consume_options(struct consume *c, struct tool_args *args)
{
    int64_t number;
    int option;

    while ((option = tool_option(args)) != -1) {
        switch (option) {
        case 'p':
            if (tool_number(args->value, 0, INT32_MAX, &number) != 0)
                return tool_misuse("consume: -p: '%s' is not a partition",
                                   args->value);
            c->partition = (int32_t)number;
            break;
        case 'o':
            if (consume_offset(c, args->value) != 0)
                return tool_misuse("consume: -o: '%s' is not begin, end, an "
                                   "offset or @milliseconds",
                                   args->value);
            break;
        case 'c':
            if (tool_number(args->value, 1, INT64_MAX, &c->count) != 0)
                return tool_misuse("consume: -c: '%s' is not a number of "
                                   "records",
                                   args->value);
            break;
        case 'e':
            c->exit_at_end = 1;
            break;
        case 'S':
            c->skip = 1;
            break;
        case 'f':
            c->format_text = args->value;
            break;
        default:
            return TOOL_USAGE;
        }
    }
    return tool_operands(args, 1, 1, "TOPIC");
}

/* ---- beginning --------------------------------------------------------- */

static int consume_fail(struct consume *c, int code)
{
    char text[TOOL_TEXT] = "";

    kl_consumer_errmsg(c->consumer, text, sizeof text);
    return tool_fail_code("consume", c->topic, code, text);
}

static int consume_assign(struct consume *c, int32_t partition)
{
    int by_time = c->offset == KL_OFFSET_TIMESTAMP;
    int rc = kl_consumer_assign(c->consumer, c->topic, partition,
                                by_time ? KL_OFFSET_END : c->offset, 0);

    if (rc == KL_OK && by_time)
        rc = kl_consumer_seek_timestamp(c->consumer, c->topic, partition,
                                        c->timestamp_ms);
    if (rc != KL_OK)
        return consume_fail(c, rc);
    c->running++;
    return TOOL_OK;
}

/* An offset that is not there is an error, not a reason to go elsewhere. */
static int consume_new(struct tool *t, struct consume *c)
{
    kl_config *config = NULL;
    int rc = kl_config_new(&config, NULL, NULL);

    if (rc == KL_OK)
        rc = kl_config_set(config, "auto.offset.reset", "none");
    if (rc == KL_OK)
        rc = kl_consumer_new(&c->consumer, t->client, config);
    kl_config_free(config);
    return rc == KL_OK ? TOOL_OK
                       : tool_fail_code("consume", c->topic, rc, NULL);
}

static int consume_begin(struct tool *t, struct consume *c)
{
    int32_t partitions;
    int status = tool_open(t, 0);
    int rc;

    if (status != TOOL_OK)
        return status;
    rc = kl_client_partition_count(t->client, c->topic, &partitions);
    if (rc != KL_OK)
        return tool_fail_code("consume", c->topic, rc, NULL);
    status = consume_new(t, c);
    if (status == TOOL_OK && c->partition >= 0)
        return consume_assign(c, c->partition);
    for (int32_t i = 0; i < partitions && status == TOOL_OK; i++)
        status = consume_assign(c, i);
    return status;
}

/* ---- events ------------------------------------------------------------ */

static int consume_records(struct consume *c, kl_event *event)
{
    int32_t partition = kl_event_partition(event);
    const kl_record *record;
    int rc = KL_OK;

    while (c->count != 0 && c->output.error == 0 &&
           (rc = kl_event_next(event, &record)) == KL_OK) {
        format_record(&c->format, &c->output, c->topic, partition, record);
        if (c->count > 0)
            c->count--;
    }
    if (rc == KL_OK || rc == KL_EEND)
        return TOOL_OK;
    output_flush(&c->output);
    return tool_fail("consume: %s-%d, offset %lld and behind: %s (%s)",
                     c->topic, (int)partition,
                     (long long)kl_event_offset(event), kl_strerror(rc),
                     kl_error_name(rc));
}

static int consume_error(struct consume *c, const kl_event *event)
{
    char text[TOOL_TEXT] = "";

    output_flush(&c->output);
    kl_event_errmsg(event, text, sizeof text);
    if (c->skip && kl_event_code(event) == KL_ECORRUPT) {
        tool_fail("consume: %s: skipped", text);
        c->skipped = 1;
        return kl_consumer_seek(c->consumer, c->topic,
                                kl_event_partition(event),
                                kl_event_next_offset(event)) == KL_OK
                   ? TOOL_OK
                   : TOOL_FAILED;
    }
    return tool_fail_code("consume", c->topic, kl_event_code(event), text);
}

static int consume_event(struct consume *c, kl_event *event)
{
    switch (kl_event_type(event)) {
    case KL_EVENT_RECORDS:
        return consume_records(c, event);
    case KL_EVENT_END:
        c->running--;
        return TOOL_OK;
    case KL_EVENT_ERROR:
        return consume_error(c, event);
    default:
        return TOOL_OK;
    }
}

/* What is there is written out before there is a wait for more. */
static int consume_poll(struct consume *c, kl_event **event)
{
    int rc = kl_consumer_poll(c->consumer, 0, event);

    if (rc != KL_OK || *event)
        return rc;
    if (output_flush(&c->output) != 0)
        return KL_OK;
    return kl_consumer_poll(c->consumer, -1, event);
}

static int consume_run(struct consume *c)
{
    int status = TOOL_OK;

    while (status == TOOL_OK && c->count != 0 && c->output.error == 0 &&
           !(c->exit_at_end && c->running == 0)) {
        kl_event *event = NULL;
        int rc = consume_poll(c, &event);

        if (rc != KL_OK)
            return consume_fail(c, rc);
        if (event)
            status = consume_event(c, event);
        kl_event_free(event);
    }
    if (output_flush(&c->output) != 0 && status == TOOL_OK)
        status = tool_fail_output(c->output.error);
    return status;
}

int tool_consume(struct tool *t, struct tool_args *args)
{
    struct consume *c = calloc(1, sizeof *c);
    int status;

    if (!c)
        return tool_fail_code("consume", "memory", KL_ENOMEM, NULL);
    c->partition = -1;
    c->offset = KL_OFFSET_BEGIN;
    c->count = -1;
    c->format_text = "%s\\n";
    c->output.fd = STDOUT_FILENO;
    status = consume_options(c, args);
    c->topic = args->operands[0];
    if (status == TOOL_OK)
        status = format_init(&c->format, c->format_text);
    if (status == TOOL_OK)
        status = consume_begin(t, c);
    if (status == TOOL_OK)
        status = consume_run(c);
    if (status == TOOL_OK && c->skipped)
        status = TOOL_FAILED;
    kl_consumer_free(c->consumer);
    format_deinit(&c->format);
    free(c);
    return status;
}
