/*
 * kraftlog topic: creating, listing, describing, deleting and configuring.
 */
#include "kraftlog_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- key=value --------------------------------------------------------- */

static int topic_key_scope(const char *key)
{
    const char *name;

    for (size_t i = 0; (name = kl_config_key_at(i)); i++)
        if (strcmp(name, key) == 0)
            return kl_config_key_scope(i);
    return 0;
}

/* Splits text in place and tries the pair on a configuration, which knows what
 * is wrong with it. *value_out is NULL where nothing is behind the "=": the
 * key's default. 0, or a message has been printed. */
static int topic_pair(kl_config *config, const char *command, char *text,
                      const char **value_out)
{
    char why[TOOL_TEXT] = "";
    char *equals = strchr(text, '=');
    int rc;

    if (!equals || equals == text)
        return tool_misuse("%s: '%s' is not KEY=VALUE", command, text);
    *equals = '\0';
    *value_out = equals[1] ? equals + 1 : NULL;
    rc = kl_config_set(config, text, *value_out);
    if (rc != KL_OK) {
        kl_config_errmsg(config, why, sizeof why);
        return tool_misuse("%s: %s", command, *why ? why : kl_strerror(rc));
    }
    if (topic_key_scope(text) != KL_CONFIG_TOPIC)
        return tool_misuse("%s: '%s' is not a key of topics", command, text);
    return TOOL_OK;
}

/* ---- create ------------------------------------------------------------ */

static int topic_create_options(struct tool_args *args, kl_config *config,
                                int64_t *partitions)
{
    const char *value;
    int status;
    int c;

    while ((c = tool_option(args)) != -1) {
        switch (c) {
        case 'p':
            if (tool_number(args->value, 1, INT32_MAX, partitions) != 0)
                return tool_misuse("%s: -p: '%s' is not a number of partitions",
                                   args->command, args->value);
            break;
        case 'c':
            status = topic_pair(config, args->command, args->value, &value);
            if (status != TOOL_OK)
                return status;
            break;
        default:
            return TOOL_USAGE;
        }
    }
    return tool_operands(args, 1, 1, "NAME");
}

static int topic_create(struct tool *t, struct tool_args *args)
{
    kl_config *config = NULL;
    kl_op *op = NULL;
    int64_t partitions = 1;
    int status;
    int rc;

    rc = kl_config_new(&config, NULL, NULL);
    if (rc != KL_OK)
        return tool_fail_code(args->command, "configuration", rc, NULL);
    status = topic_create_options(args, config, &partitions);
    if (status == TOOL_OK)
        status = tool_open(t, 1);
    if (status == TOOL_OK) {
        rc = kl_admin_create_topic(t->client, args->operands[0],
                                   (int32_t)partitions, 1, config, 0, &op);
        status = tool_finish(rc, op, args->command, args->operands[0]);
    }
    kl_config_free(config);
    return status;
}

/* ---- what the others have in common ------------------------------------ */

/* Takes no options and min to max operands, and opens the folder. */
static int topic_open(struct tool *t, struct tool_args *args, int min, int max,
                      const char *wanted)
{
    if (tool_option(args) != -1 || tool_operands(args, min, max, wanted))
        return TOOL_USAGE;
    return tool_open(t, 0);
}

int tool_json(int begun, kl_op *op, const char *what, const char *object,
              char **text_out)
{
    const char *text;
    size_t size;

    *text_out = NULL;
    if (begun == KL_OK && kl_op_wait(op, -1) == KL_OK &&
        kl_op_code(op) == KL_OK && kl_op_json(op, &text, &size) == KL_OK) {
        *text_out = malloc(size + 1);
        if (!*text_out)
            begun = KL_ENOMEM;
        else
            memcpy(*text_out, text, size + 1);
    }
    return tool_finish(begun, op, what, object);
}

/* The description of a topic; *text_out is to be freed. */
static int topic_description(struct tool *t, const char *what, const char *name,
                             char **text_out)
{
    kl_op *op = NULL;
    int rc = kl_admin_describe_topic(t->client, name, 0, &op);

    return tool_json(rc, op, what, name, text_out);
}

int tool_topic_number(struct tool *t, const char *what, const char *topic,
                      const char *key, int64_t *out)
{
    const char *value = NULL;
    char *text;
    int status = topic_description(t, what, topic, &text);

    if (status == TOOL_OK) {
        value = json_get(text, "config");
        value = value ? json_get(value, key) : NULL;
        if (value)
            *out = strtoll(value, NULL, 10);
        else
            status = tool_fail("%s: %s has no %s", what, topic, key);
    }
    free(text);
    return status;
}

/* ---- list, describe, delete -------------------------------------------- */

static int topic_list(struct tool *t, struct tool_args *args)
{
    struct json_item item;
    const char *topics;
    const char *name;
    const char *at = NULL;
    char *text = NULL;
    kl_op *op = NULL;
    int status = topic_open(t, args, 0, 0, "none");
    int rc;

    if (status != TOOL_OK)
        return status;
    rc = kl_admin_list_topics(t->client, 0, &op);
    status = tool_json(rc, op, args->command, t->dir, &text);
    topics = text ? json_get(text, "topics") : NULL;
    /* Names of topics have no characters that JSON escapes. */
    while (topics && (at = json_next(topics, at, &item)))
        if ((name = json_get(item.value, "name")))
            printf("%.*s\n", (int)strcspn(name + 1, "\""), name + 1);
    free(text);
    return status != TOOL_OK ? status : tool_finish_output();
}

static int topic_describe(struct tool *t, struct tool_args *args)
{
    char *text = NULL;
    int status = topic_open(t, args, 1, 1, "NAME");

    if (status != TOOL_OK)
        return status;
    status = topic_description(t, args->command, args->operands[0], &text);
    if (status == TOOL_OK) {
        json_print(text);
        status = tool_finish_output();
    }
    free(text);
    return status;
}

static int topic_delete(struct tool *t, struct tool_args *args)
{
    kl_op *op = NULL;
    int status = topic_open(t, args, 1, 1, "NAME");
    int rc;

    if (status != TOOL_OK)
        return status;
    rc = kl_admin_delete_topic(t->client, args->operands[0], 0, &op);
    return tool_finish(rc, op, args->command, args->operands[0]);
}

/* ---- grow --------------------------------------------------------------- */

static int topic_grow(struct tool *t, struct tool_args *args)
{
    int64_t partitions;
    kl_op *op = NULL;
    int status;
    int rc;

    if (tool_option(args) != -1 || tool_operands(args, 2, 2, "NAME PARTITIONS"))
        return TOOL_USAGE;
    if (tool_number(args->operands[1], 1, INT32_MAX, &partitions) != 0)
        return tool_misuse("%s: '%s' is not a number of partitions",
                           args->command, args->operands[1]);
    status = tool_open(t, 0);
    if (status != TOOL_OK)
        return status;
    rc = kl_admin_grow_topic(t->client, args->operands[0], (int32_t)partitions,
                             0, &op);
    return tool_finish(rc, op, args->command, args->operands[0]);
}

/* ---- config ------------------------------------------------------------ */

/* A line KEY=VALUE for every key of topics. */
static int topic_config_print(struct tool *t, const struct tool_args *args)
{
    struct json_item item;
    const char *config;
    const char *at = NULL;
    char *text = NULL;
    int status = topic_description(t, args->command, args->operands[0], &text);

    if (status != TOOL_OK)
        return status;
    config = json_get(text, "config");
    while (config && (at = json_next(config, at, &item))) {
        int quotes = item.value[0] == '"';

        printf("%.*s=%.*s\n", (int)item.key_size, item.key,
               (int)item.value_size - 2 * quotes, item.value + quotes);
    }
    free(text);
    return tool_finish_output();
}

static int topic_config_set(struct tool *t, const struct tool_args *args,
                            const char *key, const char *value)
{
    const char *topic = args->operands[0];
    kl_op *op = NULL;
    int rc = kl_admin_set_config(t->client, topic, key, value, 0, &op);

    return tool_finish(rc, op, args->command, topic);
}

/* All pairs are looked at before the first is set. */
static int topic_config_pairs(struct tool_args *args,
                              const char *values[TOOL_OPERANDS])
{
    kl_config *config = NULL;
    int status = TOOL_OK;
    int rc = kl_config_new(&config, NULL, NULL);

    if (rc != KL_OK)
        return tool_fail_code(args->command, "configuration", rc, NULL);
    for (int i = 1; i < args->operand_count && status == TOOL_OK; i++)
        status =
            topic_pair(config, args->command, args->operands[i], &values[i]);
    kl_config_free(config);
    return status;
}

static int topic_config(struct tool *t, struct tool_args *args)
{
    const char *values[TOOL_OPERANDS] = {NULL};
    int status;

    if (tool_option(args) != -1 ||
        tool_operands(args, 1, TOOL_OPERANDS, "NAME [KEY=VALUE]..."))
        return TOOL_USAGE;
    status = topic_config_pairs(args, values);
    if (status == TOOL_OK)
        status = tool_open(t, 0);
    if (status == TOOL_OK && args->operand_count == 1)
        return topic_config_print(t, args);
    for (int i = 1; i < args->operand_count && status == TOOL_OK; i++)
        status = topic_config_set(t, args, args->operands[i], values[i]);
    return status;
}

/* ---- topic ------------------------------------------------------------- */

int tool_topic(struct tool *t, struct tool_args *args)
{
    static const struct
    {
        const char *name;
        const char *command;
        const char *with_value;
        int (*run)(struct tool *, struct tool_args *);
    } verbs[] = {
        {"create", "topic create", "pc", topic_create},
        {"list", "topic list", "", topic_list},
        {"describe", "topic describe", "", topic_describe},
        {"delete", "topic delete", "", topic_delete},
        {"grow", "topic grow", "", topic_grow},
        {"config", "topic config", "", topic_config},
    };
    const char *verb = *args->argv;

    if (!verb)
        return tool_misuse(
            "topic: create, list, describe, delete, grow or config?");
    args->argv++;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].name, verb) == 0) {
            args->command = verbs[i].command;
            args->with_value = verbs[i].with_value;
            return verbs[i].run(t, args);
        }
    }
    return tool_misuse("topic: no command '%s'", verb);
}
