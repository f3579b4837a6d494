/* one-node: opens a folder, makes a topic, appends a record, reads all back. */
#include <kraftlog/kraftlog.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    kl_node *node;
    kl_client *client;
    kl_producer *producer;
    kl_consumer *consumer;
    kl_event *event = NULL;
    const kl_record *r;
    kl_op *op;

    if (kl_node_new(&node, NULL) ||
        kl_node_open(node, argc > 1 ? argv[1] : "words.data", KL_OPEN_CREATE) ||
        kl_node_client(node, &client) ||
        kl_admin_create_topic(client, "words", 1, 1, NULL, 0, &op))
        return 1;
    kl_op_wait(op, -1); /* the second time it is there already */
    kl_op_free(op);
    if (kl_producer_new(&producer, client, NULL) ||
        kl_producer_send(producer, "words", 0, NULL, 0, "hello", 5,
                         KL_TIMESTAMP_NOW, 0, NULL) ||
        kl_producer_flush(producer, -1)) /* from here on it is on disk */
        return 1;
    if (kl_consumer_new(&consumer, client, NULL) ||
        kl_consumer_assign(consumer, "words", 0, KL_OFFSET_BEGIN, 0))
        return 1;
    while (kl_event_type(event) != KL_EVENT_END) {
        kl_event_free(event);
        if (kl_consumer_poll(consumer, -1, &event))
            return 1;
        while (kl_event_next(event, &r) == KL_OK)
            printf("%lld %.5s\n", (long long)kl_record_offset(r),
                   (const char *)kl_record_value(r, NULL));
    }
    kl_event_free(event);
    kl_consumer_free(consumer);
    kl_producer_free(producer);
    kl_client_free(client);
    kl_node_stop(node, -1);
    kl_node_free(node);
    return 0;
}
