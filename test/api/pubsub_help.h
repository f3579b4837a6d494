/*
 * A node in a temporary folder, for the tests of producer, consumer and
 * record: polled by the test, or with a thread of its own.
 */
#ifndef KL_TEST_PUBSUB_HELP_H
#define KL_TEST_PUBSUB_HELP_H

#include "tmpdir.h"

#include <kraftlog/kraftlog.h>

enum { HELP_WAIT_MS = 60000 }; /* a bound against hanging */

struct help_node
{
    char dir[TEST_TMPDIR_SIZE];
    kl_node *node;
    kl_client *client;
};

/* threaded: 1 = kl_node_start. */
void help_open(struct help_node *h, int threaded);
/* Stops, frees and removes what is left. */
void help_close(struct help_node *h);
/* pairs: key, value, ..., NULL; may be NULL. */
void help_topic(struct help_node *h, const char *name, int32_t partitions,
                const char *const *pairs);
/* A configuration from pairs; freed by the caller. */
kl_config *help_config(const char *const *pairs);
kl_producer *help_producer(struct help_node *h, const char *const *pairs);
kl_consumer *help_consumer(struct help_node *h, const char *const *pairs);
/* Sends value and waits for its acknowledgement; the offset. */
int64_t help_send(kl_producer *p, const char *topic, int32_t partition,
                  const char *value);
/* Sends `count` records whose values are "prefix-0", ... without waiting. */
void help_send_many(kl_producer *p, const char *topic, int32_t partition,
                    const char *prefix, int count);
/* Reads a partition from its beginning and checks that its records have the
 * offsets 0 ... count - 1 and the values "prefix-0", ... in that order. */
void help_check_values(struct help_node *h, const char *topic,
                       int32_t partition, const char *prefix, int count);
/* Polls until an event comes, whatever it is; fails the test otherwise. */
kl_event *help_poll(kl_consumer *c);
/* Polls until records come and skips other events. */
kl_event *help_poll_records(kl_consumer *c);
/* Waits for an operation and frees it; its code. */
int help_finish(kl_op *op);

#endif
