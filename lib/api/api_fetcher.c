/*
 * The owner's side of a consumer: looks offsets up, fetches ahead.
 */
#include "api/api_consumer.h"

#include "base/assert.h"

#include <kraftlog/client.h>
#include <kraftlog/error.h>

/* ---- what is under way ------------------------------------------------- */

static void fetcher_drain(struct kl_consumer *c);

/* Ends what was begun: with the mutex, which is free afterwards. */
static void fetcher_answered(struct kl_consumer *c, struct kl_api_assignment *a)
{
    kl_api_assignment_settle(a);
    kl_api_assignment_push(a);
    kl_api_assignment_unref(a);
    fetcher_drain(c);
    kl_os_mutex_unlock(&c->mutex);
    kl_runtime_notify(c->node);
    kl_api_consumer_unref(c);
}

static void fetcher_fetched(struct kl_runtime_node *n,
                            struct kl_runtime_fetch *f)
{
    struct kl_event *e = KL_BASE_CONTAINER(f, struct kl_event, fetch);
    struct kl_api_assignment *a = e->assignment;
    struct kl_consumer *c = e->consumer;
    int64_t asked = e->offset;
    int kept;

    (void)n;
    kl_os_mutex_lock(&c->mutex);
    a->fetching = NULL;
    a->cursor = f->read.cursor;
    kept = kl_pubsub_fetched(&a->position, f->read.code, f->read.next_offset,
                             f->log_start, f->high_watermark);
    if (kept) {
        e->offset = asked;
        e->high_watermark = f->high_watermark;
        kl_base_list_push(&a->results, &e->link);
    } else {
        /* Dropping chunks takes no lock of ours but the pool's of their
         * producer; still not under this one. */
        kl_os_mutex_unlock(&c->mutex);
        kl_api_event_clear(e);
        kl_os_mutex_lock(&c->mutex);
        kl_api_event_put(c, e);
        /* The event's reference to the consumer. */
        kl_api_consumer_unref(c);
    }
    fetcher_answered(c, a);
}

static void fetcher_looked_up(struct kl_runtime_node *n,
                              struct kl_runtime_list_offset *l)
{
    struct kl_api_assignment *a =
        KL_BASE_CONTAINER(l, struct kl_api_assignment, lookup);
    struct kl_consumer *c = a->consumer;

    (void)n;
    kl_os_mutex_lock(&c->mutex);
    kl_pubsub_looked_up(&a->position, l->code, l->offset, l->log_start,
                        l->high_watermark);
    fetcher_answered(c, a);
}

/* ---- beginning --------------------------------------------------------- */

/* References of what is under way; given up by fetcher_answered. */
static void fetcher_begin(struct kl_consumer *c, struct kl_api_assignment *a)
{
    a->refs++;
    kl_api_consumer_ref(c);
}

/* The following are called with the mutex and let go of it meanwhile. */

static void fetcher_look_up(struct kl_consumer *c, struct kl_api_assignment *a)
{
    struct kl_runtime_list_offset *l = &a->lookup;
    int64_t spec = a->position.spec;

    l->topic_id = a->topic_id;
    l->partition = a->partition;
    /* Of a plain offset only the log's bounds are wanted. */
    l->spec = spec >= 0 ? KL_OFFSET_END : spec;
    l->timestamp = a->position.timestamp;
    l->done = fetcher_looked_up;
    fetcher_begin(c, a);
    kl_os_mutex_unlock(&c->mutex);
    kl_runtime_list_offset(c->node, l);
    kl_os_mutex_lock(&c->mutex);
}

static void fetcher_fetch(struct kl_consumer *c, struct kl_api_assignment *a)
{
    struct kl_event *e = kl_api_event_get(c, a);
    struct kl_runtime_fetch *f;

    if (!e) {
        (void)kl_pubsub_fetched(&a->position, KL_ENOMEM, -1, -1, -1);
        kl_api_assignment_settle(a);
        kl_runtime_notify(c->node);
        return;
    }
    f = &e->fetch;
    e->offset = a->position.fetch_offset;
    f->topic_id = a->topic_id;
    f->partition = a->partition;
    f->read.offset = a->position.fetch_offset;
    f->read.bytes_max = c->bytes_max;
    f->read.cursor = a->cursor;
    f->done = fetcher_fetched;
    a->fetching = e;
    fetcher_begin(c, a);
    kl_os_mutex_unlock(&c->mutex);
    kl_runtime_fetch(c->node, f);
    kl_os_mutex_lock(&c->mutex);
}

static void fetcher_cancel(struct kl_consumer *c, struct kl_api_assignment *a)
{
    struct kl_event *e = a->fetching;

    KL_ASSERT(e);
    kl_os_mutex_unlock(&c->mutex);
    kl_runtime_fetch_cancel(c->node, &e->fetch);
    kl_os_mutex_lock(&c->mutex);
}

static void fetcher_step(struct kl_consumer *c, struct kl_api_assignment *a)
{
    if (a->removed && !a->position.busy)
        return;
    switch (kl_pubsub_want(&a->position)) {
    case KL_PUBSUB_WANT_LOOKUP:
        fetcher_look_up(c, a);
        break;
    case KL_PUBSUB_WANT_FETCH:
        fetcher_fetch(c, a);
        break;
    case KL_PUBSUB_WANT_CANCEL:
        fetcher_cancel(c, a);
        break;
    case KL_PUBSUB_WANT_NOTHING:
        break;
    }
}

/* Works on the list until it is empty. An answer may come while something is
 * being begun: then it only puts its assignment into the list again. */
static void fetcher_drain(struct kl_consumer *c)
{
    struct kl_base_list *item;

    if (c->draining)
        return;
    c->draining = 1;
    while ((item = kl_base_list_pop(&c->todo))) {
        struct kl_api_assignment *a =
            KL_BASE_CONTAINER(item, struct kl_api_assignment, todo);

        fetcher_step(c, a);
        kl_api_assignment_unref(a);
    }
    c->draining = 0;
}

/* ---- requests ---------------------------------------------------------- */

/* The node is gone: nothing is begun any more. */
static void fetcher_forget(struct kl_consumer *c)
{
    struct kl_base_list *item;

    while ((item = kl_base_list_pop(&c->todo)))
        kl_api_assignment_unref(
            KL_BASE_CONTAINER(item, struct kl_api_assignment, todo));
}

static void fetcher_run(struct kl_runtime_node *n, struct kl_runtime_request *r,
                        int closed)
{
    struct kl_consumer *c = KL_BASE_CONTAINER(r, struct kl_consumer, request);

    (void)n;
    kl_os_mutex_lock(&c->mutex);
    c->requested = 0;
    if (closed)
        fetcher_forget(c);
    else
        fetcher_drain(c);
    kl_os_mutex_unlock(&c->mutex);
    kl_api_consumer_unref(c);
}

static void fetcher_run_end(struct kl_runtime_node *n,
                            struct kl_runtime_request *r, int closed)
{
    struct kl_consumer *c = KL_BASE_CONTAINER(r, struct kl_consumer, end);

    (void)n;
    kl_os_mutex_lock(&c->mutex);
    if (closed)
        fetcher_forget(c);
    else
        fetcher_drain(c);
    kl_os_mutex_unlock(&c->mutex);
    kl_api_consumer_unref(c);
}

int kl_api_fetcher_wants(struct kl_consumer *c)
{
    if (c->requested || c->draining || kl_base_list_is_empty(&c->todo))
        return 0;
    c->requested = 1;
    return 1;
}

void kl_api_fetcher_init(struct kl_consumer *c)
{
    c->request.run = fetcher_run;
    c->end.run = fetcher_run_end;
}

void kl_api_fetcher_wake(struct kl_consumer *c)
{
    kl_api_consumer_ref(c);
    kl_runtime_submit(c->node, &c->request);
}

void kl_api_fetcher_end(struct kl_consumer *c)
{
    struct kl_runtime_node *n = c->node;

    /* Where the node is closed the request runs at once and frees c. */
    kl_runtime_ref(n);
    kl_runtime_submit(n, &c->end);
    kl_runtime_unref(n);
}
