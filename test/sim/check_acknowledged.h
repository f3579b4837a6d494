/*
 * Acknowledged commands: a topic whose creation was acknowledged is there until
 * its deletion was asked for, with the value that was set last; one that was
 * deleted never comes back. A command whose outcome nobody knows may have
 * happened, or may still.
 *
 * Names are never used again, and each value is used once.
 */
#ifndef SIM_CHECK_ACKNOWLEDGED_H
#define SIM_CHECK_ACKNOWLEDGED_H

#include <stddef.h>
#include <stdint.h>

enum outcome { OUTCOME_DONE, OUTCOME_REFUSED, OUTCOME_UNKNOWN };

enum { ACK_TOPICS = 64, ACK_VALUES = 64 };

struct ack_topic
{
    int is_asked;   /* to be created */
    int is_created; /* acknowledged */
    int is_refused; /* it was not created, and that is sure */
    int is_delete_asked;
    int is_deleted;            /* acknowledged */
    int64_t value;             /* acknowledged; 0 = the default */
    int64_t maybe[ACK_VALUES]; /* that may be there instead */
    int maybe_count;
};

struct check_acknowledged
{
    struct ack_topic topics[ACK_TOPICS];
    char text[256];
};

void check_acknowledged_create(struct check_acknowledged *c, int topic,
                               int is_answer, enum outcome outcome);
void check_acknowledged_delete(struct check_acknowledged *c, int topic,
                               int is_answer, enum outcome outcome);
void check_acknowledged_set(struct check_acknowledged *c, int topic,
                            int64_t value, int is_answer, enum outcome outcome);
/* What a node that has applied everything shows of a topic. */
const char *check_acknowledged(struct check_acknowledged *c, int topic,
                               int is_there, int64_t value);

#endif
