/* one-node: opens a folder, makes a topic, appends a record, reads all back. */
#include <kraftlog/kraftlog.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int code)
{
    if (code == KL_OK)
        return;
    fprintf(stderr, "one-node: %s\n", kl_strerror(code));
    exit(1); /* nothing acknowledged is lost by this */
}

int main(int argc, char **argv)
{
    kl_node *node;
    kl_client *client;
    kl_producer *producer;
    kl_consumer *consumer;
    kl_event *event = NULL;
    const kl_record *record;
    const char *dir = argc > 1 ? argv[1] : "one-node.data";
    kl_op *op;

    check(kl_node_new(&node, NULL));
    check(kl_node_open(node, dir, KL_OPEN_CREATE));
    check(kl_node_client(node, &client));
    check(kl_admin_create_topic(client, "words", 1, 1, NULL, 0, &op));
    check(kl_op_wait(op, -1)); /* the second time it is there already */
    kl_op_free(op);

    check(kl_producer_new(&producer, client, NULL));
    check(kl_producer_send(producer, "words", 0, NULL, 0, "hello", 5,
                           KL_TIMESTAMP_NOW, 0, NULL));
    check(kl_producer_flush(producer, -1)); /* from here on it is on disk */

    check(kl_consumer_new(&consumer, client, NULL));
    check(kl_consumer_assign(consumer, "words", 0, KL_OFFSET_BEGIN, 0));
    while (kl_event_type(event) != KL_EVENT_END) {
        kl_event_free(event);
        check(kl_consumer_poll(consumer, -1, &event));
        while (kl_event_next(event, &record) == KL_OK)
            printf("%lld %.5s\n", (long long)kl_record_offset(record),
                   (const char *)kl_record_value(record, NULL));
    }
    kl_event_free(event);
    kl_consumer_free(consumer);
    kl_producer_free(producer);
    kl_client_free(client);
    check(kl_node_stop(node, -1));
    kl_node_free(node);
    return 0;
}
