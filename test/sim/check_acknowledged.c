#include "check_acknowledged.h"

#include <stdio.h>

void check_acknowledged_create(struct check_acknowledged *c, int topic,
                               int is_answer, enum outcome outcome)
{
    struct ack_topic *t = &c->topics[topic];

    t->is_asked = 1;
    if (is_answer && outcome == OUTCOME_DONE)
        t->is_created = 1;
    if (is_answer && outcome == OUTCOME_REFUSED)
        t->is_refused = 1;
}

void check_acknowledged_delete(struct check_acknowledged *c, int topic,
                               int is_answer, enum outcome outcome)
{
    struct ack_topic *t = &c->topics[topic];

    if (!is_answer)
        t->is_delete_asked++;
    else if (outcome == OUTCOME_REFUSED)
        t->is_delete_asked--;
    else if (outcome == OUTCOME_DONE)
        t->is_deleted = 1;
}

/* While a value is on its way it may be there. */
void check_acknowledged_set(struct check_acknowledged *c, int topic,
                            int64_t value, int is_answer, enum outcome outcome)
{
    struct ack_topic *t = &c->topics[topic];

    if (!is_answer) {
        if (t->maybe_count < ACK_VALUES)
            t->maybe[t->maybe_count++] = value;
        return;
    }
    if (outcome == OUTCOME_UNKNOWN)
        return;
    for (int i = 0; i < t->maybe_count; i++)
        if (t->maybe[i] == value)
            t->maybe[i] = t->maybe[--t->maybe_count];
    if (outcome == OUTCOME_DONE)
        t->value = value;
}

static int value_is_legal(const struct ack_topic *t, int64_t value)
{
    if (value == t->value)
        return 1;
    for (int i = 0; i < t->maybe_count; i++)
        if (t->maybe[i] == value)
            return 1;
    return 0;
}

const char *check_acknowledged(struct check_acknowledged *c, int topic,
                               int is_there, int64_t value)
{
    const struct ack_topic *t = &c->topics[topic];
    const char *wrong = NULL;

    if (is_there && !t->is_asked)
        wrong = "nobody has asked for it";
    else if (is_there && t->is_refused)
        wrong = "it was refused and is there";
    else if (is_there && t->is_deleted)
        wrong = "it was deleted and is there";
    else if (!is_there && t->is_created && !t->is_delete_asked)
        wrong = "it was created and is not there";
    else if (is_there && !value_is_legal(t, value))
        wrong = "its value is not the one that was set last";
    if (!wrong)
        return NULL;
    snprintf(c->text, sizeof c->text, "topic %d: %s (value %lld, set was %lld)",
             topic, wrong, (long long)value, (long long)t->value);
    return c->text;
}
