/*
 * Reading below the high watermark. On a node alone that is the durable LEO:
 * nothing is shown that a crash could take back.
 */
#include "runtime/state.h"

enum { FETCH_PARKED = 1, FETCH_READING, FETCH_CANCELED, FETCH_FINISHED };

static struct kl_runtime_fetch *fetch_of(struct kl_base_list *link)
{
    return KL_BASE_CONTAINER(link, struct kl_runtime_fetch, link);
}

static void fetch_finish(struct kl_runtime_node *n, struct kl_runtime_fetch *f)
{
    f->state = FETCH_FINISHED;
    for (uint32_t i = 0; i < f->read.slice_count; i++)
        kl_base_stat_add(&n->stats.fetch_bytes, f->read.slices[i].size);
    kl_base_list_push(&n->fetch_done, &f->link);
}

static void fetch_fail(struct kl_runtime_node *n, struct kl_runtime_fetch *f,
                       int code)
{
    kl_store_read_release(&f->read);
    f->read.slice_count = 0;
    f->read.code = code;
    fetch_finish(n, f);
}

static void fetch_park(struct kl_runtime_node *n,
                       struct kl_runtime_partition *part,
                       struct kl_runtime_fetch *f)
{
    f->state = FETCH_PARKED;
    kl_base_list_push(&part->waits->parked, &f->link);
    kl_base_stat_add(&n->stats.fetch_parked, 1);
}

/* A read has come back, at once or by an event. */
static void fetch_read_done(struct kl_runtime_node *n,
                            struct kl_runtime_partition *part,
                            struct kl_runtime_fetch *f)
{
    if (f->read.code)
        fetch_fail(n, f,
                   f->read.code == KL_ECLOSED ? KL_ENOTOPIC : f->read.code);
    else if (!f->read.slice_count)
        fetch_park(n, part, f);
    else
        fetch_finish(n, f);
}

static void fetch_try(struct kl_runtime_node *n,
                      struct kl_runtime_partition *part,
                      struct kl_runtime_fetch *f)
{
    struct kl_store_view view;

    kl_store_log_view(part->log, &view);
    f->high_watermark = view.durable_leo;
    f->log_start = view.start;
    if (f->read.offset < view.start || f->read.offset > view.durable_leo) {
        fetch_fail(n, f, KL_EOFFSETRANGE);
        return;
    }
    if (f->read.offset == view.durable_leo) {
        fetch_park(n, part, f);
        return;
    }
    f->read.log = part->log;
    f->read.end = view.durable_leo;
    f->read.user = f;
    f->read.slice_count = 0;
    f->read.code = 0;
    if (kl_store_read(&f->read) == KL_EAGAIN) {
        f->state = FETCH_READING;
        n->read_count++;
        return;
    }
    fetch_read_done(n, part, f);
}

void kl_runtime_fetch(struct kl_runtime_node *n, struct kl_runtime_fetch *f)
{
    struct kl_runtime_partition *part;
    int code = KL_ECLOSED;

    kl_base_list_init(&f->link);
    kl_base_list_init(&f->read.link);
    f->high_watermark = -1;
    f->log_start = -1;
    f->read.slice_count = 0;
    kl_base_stat_add(&n->stats.fetches, 1);
    if (!n->refusing)
        code = kl_runtime_partition_led(n, &f->topic_id, f->partition, &part);
    if (!code)
        fetch_try(n, part, f);
    else
        fetch_fail(n, f, code);
}

void kl_runtime_fetch_cancel(struct kl_runtime_node *n,
                             struct kl_runtime_fetch *f)
{
    if (f->state == FETCH_PARKED) {
        kl_base_list_remove(&f->link);
        f->read.code = KL_ECANCELED;
        f->state = FETCH_FINISHED;
        f->done(n, f);
    } else if (f->state == FETCH_READING) {
        f->state = FETCH_CANCELED;
    } else if (f->state == FETCH_FINISHED && !kl_base_list_is_empty(&f->link)) {
        /* Finished, but not told yet: it is told that instead. */
        kl_store_read_release(&f->read);
        f->read.slice_count = 0;
        f->read.code = KL_ECANCELED;
    }
}

void kl_runtime_fetch_event(struct kl_runtime_node *n,
                            struct kl_store_read *read)
{
    struct kl_runtime_fetch *f = read->user;
    struct kl_runtime_partition *part;
    int code;

    n->read_count--;
    if (f->state == FETCH_CANCELED) {
        fetch_fail(n, f, KL_ECANCELED);
        return;
    }
    if (n->refusing) {
        fetch_fail(n, f, KL_ECLOSED);
        return;
    }
    code = kl_runtime_partition_led(n, &f->topic_id, f->partition, &part);
    if (code)
        fetch_fail(n, f, code);
    else
        fetch_read_done(n, part, f);
}

void kl_runtime_fetch_wake(struct kl_runtime_node *n,
                           struct kl_runtime_partition *part)
{
    struct kl_base_list woken;
    struct kl_base_list *link;

    if (kl_base_list_is_empty(&part->waits->parked))
        return;
    kl_base_list_init(&woken);
    while ((link = kl_base_list_pop(&part->waits->parked)))
        kl_base_list_push(&woken, link);
    while ((link = kl_base_list_pop(&woken)))
        fetch_try(n, part, fetch_of(link));
}

void kl_runtime_fetch_abort(struct kl_runtime_node *n,
                            struct kl_runtime_partition *part, int code)
{
    struct kl_base_list *link;

    while ((link = kl_base_list_pop(&part->waits->parked)))
        fetch_fail(n, fetch_of(link), code);
}

/* ---- offsets --------------------------------------------------------------
 */

static void lookup_finish(struct kl_runtime_node *n,
                          struct kl_runtime_list_offset *l, int code)
{
    l->code = code;
    kl_base_list_push(&n->lookup_done, &l->link);
}

static void lookup_done(struct kl_runtime_node *n,
                        struct kl_runtime_list_offset *l)
{
    int code = l->lookup.code;

    if (code == 0)
        l->offset = l->lookup.found_offset;
    else if (code == KL_EEND)
        l->offset = l->high_watermark;
    if (code == KL_ECLOSED)
        code = n->refusing ? KL_ECLOSED : KL_ENOTOPIC;
    lookup_finish(n, l, code == KL_EEND ? 0 : code);
}

void kl_runtime_lookup_event(struct kl_runtime_node *n,
                             struct kl_store_lookup *lookup)
{
    n->read_count--;
    lookup_done(n, lookup->user);
}

static void lookup_begin(struct kl_runtime_node *n,
                         struct kl_runtime_partition *part,
                         struct kl_runtime_list_offset *l)
{
    l->lookup.log = part->log;
    l->lookup.timestamp = l->timestamp;
    l->lookup.end = l->high_watermark;
    l->lookup.user = l;
    l->lookup.code = 0;
    kl_base_list_init(&l->lookup.link);
    if (kl_store_lookup(&l->lookup) == KL_EAGAIN)
        n->read_count++;
    else
        lookup_done(n, l);
}

void kl_runtime_list_offset(struct kl_runtime_node *n,
                            struct kl_runtime_list_offset *l)
{
    struct kl_runtime_partition *part;
    struct kl_store_view view;
    int code = KL_ECLOSED;

    kl_base_list_init(&l->link);
    l->offset = -1;
    if (!n->refusing)
        code = kl_runtime_partition_led(n, &l->topic_id, l->partition, &part);
    if (code) {
        lookup_finish(n, l, code);
        return;
    }
    kl_store_log_view(part->log, &view);
    l->log_start = view.start;
    l->high_watermark = view.durable_leo;
    if (l->spec == KL_OFFSET_TIMESTAMP) {
        lookup_begin(n, part, l);
        return;
    }
    l->offset = l->spec == KL_OFFSET_BEGIN ? view.start : view.durable_leo;
    lookup_finish(
        n, l,
        l->spec == KL_OFFSET_BEGIN || l->spec == KL_OFFSET_END ? 0 : KL_EINVAL);
}

/* ---- telling --------------------------------------------------------------
 */

int kl_runtime_finish_run(struct kl_runtime_node *n)
{
    struct kl_base_list *link;
    int moved = 0;

    while ((link = kl_base_list_pop(&n->produce_done))) {
        struct kl_runtime_produce *p =
            KL_BASE_CONTAINER(link, struct kl_runtime_produce, link);

        n->produce_count--;
        p->done(n, p);
        moved = 1;
    }
    while ((link = kl_base_list_pop(&n->fetch_done))) {
        struct kl_runtime_fetch *f = fetch_of(link);

        f->done(n, f);
        moved = 1;
    }
    while ((link = kl_base_list_pop(&n->lookup_done))) {
        struct kl_runtime_list_offset *l =
            KL_BASE_CONTAINER(link, struct kl_runtime_list_offset, link);

        l->done(n, l);
        moved = 1;
    }
    return moved;
}
