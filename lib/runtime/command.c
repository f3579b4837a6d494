/*
 * Administration. What changes the metadata waits in a queue for its turn in
 * the metadata log; what only looks, or touches one log, is done at once.
 */
#include "runtime/state.h"

#include <string.h>

static struct kl_runtime_command *command_of(struct kl_runtime_request *r)
{
    return KL_BASE_CONTAINER(r, struct kl_runtime_command, request);
}

void kl_runtime_command_free(struct kl_runtime_node *n,
                             struct kl_runtime_command *c)
{
    kl_base_free(&n->alloc, c, c->size);
    kl_runtime_unref(n);
}

void kl_runtime_command_finish(struct kl_runtime_node *n,
                               struct kl_runtime_command *c, int code,
                               const struct kl_base_error *error)
{
    if (c->asker.is_remote)
        kl_runtime_serve_answer(n, c, code, error);
    else if (code == KL_ENOTCONTROLLER && kl_runtime_forward(n, c))
        return;
    if (c->op && code && error && error->code == code)
        kl_runtime_op_set_text(c->op, error->text);
    kl_runtime_op_complete(c->op, code);
    kl_runtime_command_free(n, c);
}

/* ---- what becomes records -------------------------------------------------
 */

/* More than one copy would be empty: records stay where they are produced. */
static int command_check_copies(const struct kl_runtime_command *c,
                                int32_t replication,
                                struct kl_base_error *error)
{
    if (replication <= 1)
        return 0;
    return kl_base_error_set(error, KL_EREPLICATION,
                             "topic %s: %d replicas; this release keeps one",
                             c->wish.topic, (int)replication);
}

static int command_create(struct kl_runtime_node *n,
                          struct kl_runtime_command *c,
                          struct kl_controller_records *out,
                          struct kl_base_error *error)
{
    char values[KL_BASE_CONFIG_COUNT][KL_BASE_CONFIG_TEXT];
    struct kl_controller_config configs[KL_BASE_CONFIG_COUNT];
    struct kl_controller_create create = {0};
    int64_t min_isr =
        kl_base_config_value(&c->config, KL_BASE_CONFIG_MIN_INSYNC_REPLICAS);

    int r;

    create.name = c->wish.topic;
    create.partition_count = c->wish.number;
    /* Records are not copied between nodes yet. */
    create.replication_factor =
        c->wish.replication == -1 ? 1 : c->wish.replication;
    create.configs = configs;
    for (size_t i = 0; i < KL_BASE_CONFIG_COUNT; i++) {
        if (!kl_base_config_is_set(&c->config, i))
            continue;
        kl_base_config_format(&c->config, i, values[i]);
        configs[create.config_count].key = kl_base_config_row(i)->name;
        configs[create.config_count++].value = values[i];
    }
    if (kl_store_is_full(n->store))
        return kl_base_error_set(error, KL_EDISKFULL,
                                 "topic %s: no space left for the store",
                                 c->wish.topic);
    if (c->wish.replication > 0 && min_isr > c->wish.replication)
        return kl_base_error_set(error, KL_ECONFIG,
                                 "min.insync.replicas: %lld is more than the "
                                 "%d replicas of topic %s",
                                 (long long)min_isr, (int)c->wish.replication,
                                 c->wish.topic);
    r = kl_controller_create_topic(n->metadata.controller, &create, out,
                                   &c->outcome.topic_id, error);
    return r ? r : command_check_copies(c, create.replication_factor, error);
}

static int command_set_config(struct kl_runtime_node *n,
                              const struct kl_runtime_command *c,
                              struct kl_controller_records *out,
                              struct kl_base_error *error)
{
    struct kl_controller_config change = {c->wish.key, c->wish.value};
    const struct kl_controller_topic *topic =
        kl_controller_topic_find(n->metadata.controller, c->wish.topic);
    struct kl_base_config config;
    size_t replicas;

    if (topic && kl_runtime_topic_config_check(c->wish.key, c->wish.value, NULL,
                                               NULL) == 0) {
        (void)kl_controller_partition_list(kl_controller_partition_at(topic, 0),
                                           KL_CONTROLLER_REPLICAS, &replicas);
        kl_runtime_topic_config(topic, &config);
        (void)kl_base_config_set(&config, c->wish.key, c->wish.value, NULL);
        if ((uint64_t)kl_base_config_value(
                &config, KL_BASE_CONFIG_MIN_INSYNC_REPLICAS) > replicas)
            return kl_base_error_set(error, KL_ECONFIG,
                                     "min.insync.replicas: topic %s has %zu "
                                     "replicas",
                                     c->wish.topic, replicas);
    }
    return kl_controller_alter_config(n->metadata.controller, c->wish.topic,
                                      &change, 1, out, error);
}

/* Only the leader, or its order of preference, may be another. */
static int command_reassign(struct kl_runtime_node *n,
                            struct kl_runtime_command *c,
                            struct kl_controller_records *out,
                            struct kl_base_error *error)
{
    struct kl_controller *controller = n->metadata.controller;
    const struct kl_runtime_wish *w = &c->wish;
    const struct kl_controller_topic *topic;
    const struct kl_controller_partition *p = NULL;
    int r;

    if (!w->replicas && w->replication == 0)
        return kl_controller_cancel_reassignment(controller, w->topic,
                                                 w->number, out, error);
    r = kl_controller_reassign(
        controller, w->topic, w->number, w->replicas,
        w->replicas ? w->replica_count : (uint32_t)w->replication, out, error);
    if (r || !out->count)
        return r;
    topic = kl_controller_topic_find(controller, w->topic);
    p = topic ? kl_controller_partition_at(topic, w->number) : NULL;
    for (uint32_t i = 0; p && w->replicas && i < w->replica_count; i++)
        if (!kl_controller_partition_has(p, KL_CONTROLLER_REPLICAS,
                                         w->replicas[i]))
            return kl_base_error_set(
                error, KL_EUNSUPPORTED,
                "%s/%d: this release does not copy records to broker %d",
                w->topic, (int)w->number, (int)w->replicas[i]);
    if (!w->replicas)
        return kl_base_error_set(error, KL_EUNSUPPORTED,
                                 "%s/%d: this release keeps one replica",
                                 w->topic, (int)w->number);
    return 0;
}

int kl_runtime_command_records(struct kl_runtime_node *n,
                               struct kl_runtime_command *c,
                               struct kl_controller_records *out,
                               struct kl_base_error *error)
{
    switch (c->wish.type) {
    case KL_RUNTIME_CREATE_TOPIC:
        return command_create(n, c, out, error);
    case KL_RUNTIME_DELETE_TOPIC:
        return kl_controller_delete_topic(n->metadata.controller, c->wish.topic,
                                          out, error);
    case KL_RUNTIME_SET_CONFIG:
        return command_set_config(n, c, out, error);
    case KL_RUNTIME_GROW_TOPIC:
        return kl_controller_create_partitions(n->metadata.controller,
                                               c->wish.topic, c->wish.number,
                                               NULL, out, error);
    case KL_RUNTIME_ELECT_LEADER:
        return kl_controller_elect_leader(
            n->metadata.controller, c->wish.topic, c->wish.number,
            c->wish.is_unclean ? KL_CONTROLLER_UNCLEAN
                               : KL_CONTROLLER_PREFERRED,
            c->wish.broker_id, out, error);
    case KL_RUNTIME_REASSIGN:
        return command_reassign(n, c, out, error);
    case KL_RUNTIME_UNREGISTER_BROKER:
        return kl_controller_unregister_broker(n->metadata.controller,
                                               c->wish.broker_id, out,
                                               &c->outcome.more, error);
    case KL_RUNTIME_SERVE:
        return kl_runtime_serve_records(n, c, out, error);
    default:
        KL_UNREACHABLE();
    }
}

/* ---- what is done at once -------------------------------------------------
 */

/* The partition that a command names. */
static int command_partition(struct kl_runtime_node *n,
                             const struct kl_runtime_command *c,
                             struct kl_runtime_partition **out,
                             struct kl_base_error *error)
{
    const struct kl_controller_topic *topic =
        kl_controller_topic_find(n->metadata.controller, c->wish.topic);

    int r = topic ? kl_runtime_partition_led(n, &topic->id, c->wish.number, out)
                  : KL_ENOTOPIC;

    if (r == KL_ENOTLEADER)
        return kl_base_error_set(error, r, "%s/%d: another node leads it",
                                 c->wish.topic, (int)c->wish.number);
    if (r)
        return kl_base_error_set(error, r, "topic %s has no partition %d",
                                 c->wish.topic, (int)c->wish.number);
    return 0;
}

static void command_show(struct kl_runtime_node *n,
                         struct kl_runtime_command *c)
{
    const struct kl_controller_topic *topic = NULL;
    struct kl_base_error error = {0};
    struct kl_base_buf buf;
    int r = 0;

    kl_base_buf_init(&buf, &n->alloc);
    if (c->wish.type == KL_RUNTIME_LIST_TOPICS) {
        kl_runtime_describe_topics(n, &buf);
    } else if (c->wish.type == KL_RUNTIME_DESCRIBE_CLUSTER) {
        kl_runtime_describe_cluster(n, &buf);
    } else {
        topic = kl_controller_topic_find(n->metadata.controller, c->wish.topic);
        if (topic)
            kl_runtime_describe_topic(n, topic, &buf);
        else
            r = kl_base_error_set(&error, KL_ENOTOPIC, "topic %s: unknown",
                                  c->wish.topic);
    }
    if (!r && c->op)
        r = kl_runtime_op_take_json(c->op, &buf);
    kl_base_buf_deinit(&buf);
    kl_runtime_command_finish(n, c, r, &error);
}

/* The log start that a command asks for. */
static int command_start(struct kl_runtime_node *n,
                         struct kl_runtime_command *c,
                         struct kl_runtime_partition **out,
                         struct kl_base_error *error)
{
    struct kl_store_view view;
    int r = command_partition(n, c, out, error);

    if (r)
        return r;
    kl_store_log_view((*out)->log, &view);
    if (c->wish.offset == KL_OFFSET_END)
        c->wish.offset = view.durable_leo;
    if (c->wish.offset < 0 || c->wish.offset > view.durable_leo)
        return kl_base_error_set(
            error, KL_EOFFSETRANGE, "%s/%d: offset %lld is above the end, %lld",
            c->wish.topic, (int)c->wish.number, (long long)c->wish.offset,
            (long long)view.durable_leo);
    return kl_store_set_start((*out)->log, c->wish.offset);
}

static void command_delete_before(struct kl_runtime_node *n,
                                  struct kl_runtime_command *c)
{
    struct kl_runtime_partition *part;
    struct kl_base_error error = {0};
    struct kl_store_view view;
    int r = command_start(n, c, &part, &error);

    if (r) {
        kl_runtime_command_finish(n, c, r, &error);
        return;
    }
    kl_base_list_push(&part->waits->starts, &c->link);
    kl_store_log_view(part->log, &view);
    kl_runtime_command_started(n, part, view.durable_start, 0);
}

void kl_runtime_command_started(struct kl_runtime_node *n,
                                struct kl_runtime_partition *part,
                                int64_t durable_start, int code)
{
    struct kl_base_list waiting;
    struct kl_base_list *link;

    if (kl_base_list_is_empty(&part->waits->starts))
        return;
    kl_base_list_init(&waiting);
    while ((link = kl_base_list_pop(&part->waits->starts))) {
        struct kl_runtime_command *c =
            KL_BASE_CONTAINER(link, struct kl_runtime_command, link);

        if (c->wish.offset > durable_start && !code) {
            kl_base_list_push(&waiting, link);
            continue;
        }
        if (c->op && c->wish.offset <= durable_start) {
            c->op->log_start = durable_start;
            c->op->results = KL_RUNTIME_OP_START;
        }
        kl_runtime_command_finish(n, c, code, NULL);
    }
    while ((link = kl_base_list_pop(&waiting)))
        kl_base_list_push(&part->waits->starts, link);
}

static void command_offset_done(struct kl_runtime_node *n,
                                struct kl_runtime_list_offset *l)
{
    struct kl_runtime_command *c =
        KL_BASE_CONTAINER(l, struct kl_runtime_command, list_offset);

    if (c->op && !l->code) {
        c->op->offset = l->offset;
        c->op->log_start = l->log_start;
        c->op->high_watermark = l->high_watermark;
        c->op->results =
            KL_RUNTIME_OP_OFFSET | KL_RUNTIME_OP_START | KL_RUNTIME_OP_END;
    }
    kl_runtime_command_finish(n, c, l->code, NULL);
}

static void command_list_offset(struct kl_runtime_node *n,
                                struct kl_runtime_command *c)
{
    struct kl_runtime_partition *part;
    struct kl_base_error error = {0};
    int r = command_partition(n, c, &part, &error);

    if (r) {
        kl_runtime_command_finish(n, c, r, &error);
        return;
    }
    c->list_offset.topic_id = kl_store_log_id(part->log)->topic_id;
    c->list_offset.partition = c->wish.number;
    c->list_offset.spec = c->wish.offset;
    c->list_offset.timestamp = c->wish.timestamp;
    c->list_offset.done = command_offset_done;
    kl_runtime_list_offset(n, &c->list_offset);
}

static void command_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                        int closed)
{
    struct kl_runtime_command *c = command_of(r);

    if (closed) {
        kl_runtime_command_finish(n, c, KL_ECLOSED, NULL);
        return;
    }
    switch (c->wish.type) {
    case KL_RUNTIME_CREATE_TOPIC:
    case KL_RUNTIME_DELETE_TOPIC:
    case KL_RUNTIME_SET_CONFIG:
    case KL_RUNTIME_GROW_TOPIC:
    case KL_RUNTIME_ELECT_LEADER:
    case KL_RUNTIME_REASSIGN:
    case KL_RUNTIME_UNREGISTER_BROKER:
        kl_base_list_push(&n->metadata.commands, &c->link);
        break;
    case KL_RUNTIME_ADD_VOTER:
    case KL_RUNTIME_REMOVE_VOTER:
    case KL_RUNTIME_DESCRIBE_QUORUM:
        kl_runtime_voters_ask(n, c);
        break;
    case KL_RUNTIME_LIST_TOPICS:
    case KL_RUNTIME_DESCRIBE_TOPIC:
    case KL_RUNTIME_DESCRIBE_CLUSTER:
        command_show(n, c);
        break;
    case KL_RUNTIME_DELETE_BEFORE:
        command_delete_before(n, c);
        break;
    case KL_RUNTIME_LIST_OFFSET:
        command_list_offset(n, c);
        break;
    case KL_RUNTIME_SERVE:
        KL_UNREACHABLE();
    }
}

/* ---- making one ------------------------------------------------------------
 */

static size_t command_text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* Copies a text behind the command and points to the copy. */
static char *command_text_copy(char *at, const char **text)
{
    size_t size = command_text_size(*text);

    if (size)
        memcpy(at, *text, size);
    *text = size ? at : NULL;
    return at + size;
}

/* Copies the replicas behind the command, where a number may be. */
static char *command_replicas_copy(char *at, struct kl_runtime_wish *wish)
{
    size_t size = wish->replica_count * sizeof *wish->replicas;

    if (size)
        memcpy(at, wish->replicas, size);
    wish->replicas = wish->replicas ? (const int32_t *)(const void *)at : NULL;
    return at + size;
}

int kl_runtime_command_new(struct kl_runtime_node *n,
                           const struct kl_runtime_wish *wish,
                           struct kl_runtime_command **out)
{
    size_t size = sizeof(struct kl_runtime_command) +
                  wish->replica_count * sizeof *wish->replicas +
                  command_text_size(wish->topic) +
                  command_text_size(wish->key) + command_text_size(wish->value);
    struct kl_runtime_command *c = kl_base_calloc(&n->alloc, size);
    char *at;

    *out = c;
    if (!c)
        return KL_ENOMEM;
    c->size = size;
    c->wish = *wish;
    at = command_replicas_copy((char *)(c + 1), &c->wish);
    at = command_text_copy(at, &c->wish.topic);
    at = command_text_copy(at, &c->wish.key);
    (void)command_text_copy(at, &c->wish.value);
    if (wish->config)
        c->config = *wish->config;
    else
        kl_base_config_init(&c->config);
    c->wish.config = &c->config;
    c->request.run = command_run;
    kl_base_list_init(&c->link);
    kl_runtime_ref(n);
    return 0;
}

int kl_runtime_command(struct kl_runtime_node *n,
                       const struct kl_runtime_wish *wish,
                       struct kl_runtime_op **out)
{
    struct kl_runtime_command *c;
    int r = kl_runtime_command_new(n, wish, &c);

    if (!r && out) {
        r = kl_runtime_op_new(&c->op, n, 2);
        if (r)
            kl_runtime_command_free(n, c);
        else
            *out = c->op;
    }
    if (!r)
        kl_runtime_submit(n, &c->request);
    return r;
}
