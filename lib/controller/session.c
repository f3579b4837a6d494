/*
 * What only the active controller knows: when each broker was heard of last.
 * None of it is in a record; a new active controller begins anew, with a whole
 * session for every broker that is not fenced (KAFKA-18138, KAFKA-19130).
 */
#include "controller/state.h"

#define SESSION_NS_PER_MS INT64_C(1000000)

static int64_t session_timeout_ns(const struct kl_controller *c)
{
    return c->options.session_timeout_ms * SESSION_NS_PER_MS;
}

static int64_t session_end(const struct kl_controller *c, size_t index)
{
    return c->sessions[index].contact_ns + session_timeout_ns(c);
}

/* A fenced broker has no session. */
static int session_counts(const struct kl_controller *c, size_t index)
{
    return !(c->brokers[index]->flags & KL_WIRE_BROKER_FENCED);
}

/* The unfenced broker that was silent for longest, or broker_count. */
static size_t session_oldest(const struct kl_controller *c)
{
    size_t oldest = c->broker_count;

    for (size_t i = 0; i < c->broker_count; i++)
        if (session_counts(c, i) &&
            (oldest == c->broker_count ||
             c->sessions[i].contact_ns < c->sessions[oldest].contact_ns))
            oldest = i;
    return oldest;
}

static int64_t session_first_end(const struct kl_controller *c)
{
    size_t i = session_oldest(c);

    return i < c->broker_count ? session_end(c, i) : INT64_MAX;
}

static void session_renew_all(struct kl_controller *c, int64_t now_ns)
{
    for (size_t i = 0; i < c->broker_count; i++)
        c->sessions[i].contact_ns = now_ns;
}

/* Silence proves nothing where the controller itself did not listen: if nobody
 * told the time when it was due, sessions begin anew (KAFKA-15019,
 * KAFKA-17793). */
static void session_see(struct kl_controller *c, int64_t now_ns)
{
    int64_t due = session_first_end(c);

    if (due < c->seen_ns)
        due = c->seen_ns;
    if (now_ns > due && now_ns - due > session_timeout_ns(c) / 2)
        session_renew_all(c, now_ns);
    if (now_ns > c->seen_ns)
        c->seen_ns = now_ns;
}

int kl_controller_time(struct kl_controller *c, int64_t now_ns,
                       struct kl_base_error *e)
{
    if (!c->is_active)
        return kl_base_error_set(e, KL_ENOTCONTROLLER,
                                 "this node is not the active controller");
    session_see(c, now_ns);
    return 0;
}

void kl_controller_session_begin(struct kl_controller *c, size_t index)
{
    c->sessions[index] = (struct kl_controller_session){
        .contact_ns = c->seen_ns, .metadata_offset = -1, .shutdown_offset = -1};
}

int kl_controller_session_is_over(const struct kl_controller *c, size_t index)
{
    return session_end(c, index) <= c->seen_ns;
}

size_t kl_controller_session_first_over(const struct kl_controller *c)
{
    size_t i = session_oldest(c);

    return i < c->broker_count && kl_controller_session_is_over(c, i)
               ? i
               : c->broker_count;
}

void kl_controller_activate(struct kl_controller *c, int64_t now_ns)
{
    c->is_active = 1;
    c->seen_ns = now_ns;
    c->rebalance_ns = now_ns;
    kl_controller_rebalance_later(c);
    for (size_t i = 0; i < c->broker_count; i++)
        kl_controller_session_begin(c, i);
    /* The one before may have stopped between two batches. */
    c->elect_wanted = 1;
}

void kl_controller_resign(struct kl_controller *c)
{
    c->is_active = 0;
}

int kl_controller_is_active(const struct kl_controller *c)
{
    return c->is_active;
}

void kl_controller_contact(struct kl_controller *c, int32_t broker_id,
                           int64_t broker_epoch, int64_t now_ns)
{
    size_t i;

    if (kl_controller_time(c, now_ns, NULL) ||
        kl_controller_broker_check(c, broker_id, broker_epoch, &i, NULL))
        return;
    if (c->sessions[i].contact_ns < now_ns)
        c->sessions[i].contact_ns = now_ns;
}

void kl_controller_contact_lost(struct kl_controller *c, int32_t broker_id,
                                int64_t broker_epoch)
{
    size_t i;

    if (c->is_active &&
        kl_controller_broker_check(c, broker_id, broker_epoch, &i, NULL) == 0)
        c->sessions[i].contact_ns = c->seen_ns - session_timeout_ns(c);
}

void kl_controller_rebalance_later(struct kl_controller *c)
{
    if (c->options.rebalance_ms < 0)
        c->rebalance_ns = INT64_MAX;
    else
        c->rebalance_ns =
            c->seen_ns + c->options.rebalance_ms * SESSION_NS_PER_MS;
}

int64_t kl_controller_deadline(const struct kl_controller *c)
{
    int64_t first;

    if (!c->is_active)
        return INT64_MAX;
    if (c->elect_wanted)
        return INT64_MIN;
    first = session_first_end(c);
    return first < c->rebalance_ns ? first : c->rebalance_ns;
}
