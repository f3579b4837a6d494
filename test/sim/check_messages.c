#include "check_messages.h"

#include <stdio.h>
#include <string.h>

/* No run has so many elections between two looks. */
#define MESSAGES_EPOCHS 1000

static const char *const bad_names[BAD_MESSAGES] = {
    "of another cluster", "of an unknown kind", "for somebody else",
    "malformed"};

static struct messages_seen *messages_of(struct check_messages *c, int host,
                                         uint32_t boots)
{
    struct messages_seen *m = &c->hosts[host];

    if (m->boots != boots) {
        memset(m, 0, sizeof *m);
        m->boots = boots;
    }
    return m;
}

void check_messages_delivered(struct check_messages *c, int host,
                              uint32_t boots, enum bad_message what)
{
    messages_of(c, host, boots)->delivered[what]++;
}

void check_messages_cut(struct check_messages *c, int host)
{
    c->hosts[host].is_cut = 1;
}

void check_messages_excuse(struct check_messages *c, int host, uint32_t boots,
                           const uint64_t counted[BAD_MESSAGES])
{
    struct messages_seen *m = messages_of(c, host, boots);

    memcpy(m->delivered, counted, sizeof m->delivered);
}

/* Restarts of others make good messages that are for somebody else, and damage
 * on the way makes malformed ones. */
static int messages_are_exact(int what)
{
    return what == BAD_FOREIGN || what == BAD_UNKNOWN;
}

const char *check_messages(struct check_messages *c, int host, uint32_t boots,
                           const uint64_t counted[BAD_MESSAGES])
{
    struct messages_seen *m = messages_of(c, host, boots);

    for (int i = 0; i < BAD_MESSAGES; i++) {
        uint64_t delivered = m->delivered[i];

        if (m->is_cut || !messages_are_exact(i))
            m->delivered[i] = counted[i];
        if (counted[i] == delivered || (counted[i] < delivered && m->is_cut) ||
            (counted[i] > delivered && !messages_are_exact(i)))
            continue;
        snprintf(c->text, sizeof c->text,
                 "host %d: messages %s: delivered %llu, counted %llu", host,
                 bad_names[i], (unsigned long long)delivered,
                 (unsigned long long)counted[i]);
        return c->text;
    }
    m->is_cut = 0;
    return NULL;
}

const char *check_messages_epoch(struct check_messages *c, int host,
                                 int32_t epoch)
{
    if (epoch <= c->epoch + MESSAGES_EPOCHS) {
        if (epoch > c->epoch)
            c->epoch = epoch;
        return NULL;
    }
    snprintf(c->text, sizeof c->text,
             "host %d: epoch %d, that nobody has begun after %d", host,
             (int)epoch, (int)c->epoch);
    return c->text;
}
