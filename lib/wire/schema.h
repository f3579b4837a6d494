/*
 * The fields of every metadata record, declared once. These tables drive the
 * structs in wire.h, the encoder, the decoder, the printer and validation; a
 * field that is not here does not exist.
 *
 * On disk a record is u16 type, u16 version, then its fields in this order,
 * little-endian, without padding. Names and numbers are KRaft's.
 *
 *   kind    bytes                           min, max
 *   I8..I64 1, 2, 4, 8                      of the value
 *   UUID    16                              min 1: all zero is refused
 *   TEXT    u16 size, UTF-8 without NUL     of the size in bytes
 *   I32S    u16 count, then 4 each          of the count
 *   TEXTS   u16 count, then TEXT each       of the count; each is 1 to
 *                                           KL_WIRE_TEXTS_ITEM_MAX bytes
 *
 * A change of fields or of a range raises the version of the record: readers
 * refuse a version that they do not know.
 */
#ifndef KL_WIRE_SCHEMA_H
#define KL_WIRE_SCHEMA_H

enum {
    KL_WIRE_TOPIC_NAME_MAX = 249,
    KL_WIRE_CONFIG_KEY_MAX = 255,
    KL_WIRE_CONFIG_VALUE_MAX = 4096,
    KL_WIRE_REPLICAS_MAX = 32,
    KL_WIRE_RACK_MAX = 255,
    KL_WIRE_ENDPOINTS_MAX = 16,
    KL_WIRE_TEXTS_ITEM_MAX = 255
};

/* Values of flags in PartitionRecord. */
enum {
    KL_WIRE_PARTITION_RECOVERING = 1, /* elected uncleanly (KIP-704) */
    KL_WIRE_PARTITION_FLAGS = 1       /* all that are known */
};

/* Values of flags in RegisterBrokerRecord. */
enum {
    KL_WIRE_BROKER_FENCED = 1,
    KL_WIRE_BROKER_SHUTDOWN = 2, /* controlled shutdown (KIP-841) */
    KL_WIRE_BROKER_FLAGS = 3     /* all that are known */
};

/* Values of fenced in BrokerRegistrationChangeRecord. */
enum {
    KL_WIRE_BROKER_UNFENCES = -1,
    KL_WIRE_BROKER_STAYS = 0,
    KL_WIRE_BROKER_FENCES = 1
};

/* Values of resource_type in ConfigRecord. */
enum { KL_WIRE_RESOURCE_TOPIC = 2 };

/* X(type, number, version, member, name) */
#define KL_WIRE_RECORDS(X)                                                     \
    X(REGISTER_BROKER, 0, 0, register_broker, "RegisterBrokerRecord")          \
    X(UNREGISTER_BROKER, 1, 0, unregister_broker, "UnregisterBrokerRecord")    \
    X(TOPIC, 2, 0, topic, "TopicRecord")                                       \
    X(PARTITION, 3, 0, partition, "PartitionRecord")                           \
    X(CONFIG, 4, 0, config, "ConfigRecord")                                    \
    X(REMOVE_TOPIC, 9, 0, remove_topic, "RemoveTopicRecord")                   \
    X(FEATURE_LEVEL, 12, 0, feature_level, "FeatureLevelRecord")               \
    X(PRODUCER_IDS, 15, 0, producer_ids, "ProducerIdsRecord")                  \
    X(BROKER_CHANGE, 17, 0, broker_change, "BrokerRegistrationChangeRecord")

/* X(record, kind, name, min, max); record is passed through. */

/* broker_epoch is the offset of this record in the metadata log. An endpoint is
 * an address that a transport reads; batch_bytes_max is the largest batch that
 * the broker can store. */
#define KL_WIRE_REGISTER_BROKER_FIELDS(X, record)                              \
    X(record, I32, broker_id, 0, INT32_MAX)                                    \
    X(record, I64, broker_epoch, 0, INT64_MAX)                                 \
    X(record, UUID, incarnation_id, 1, 1)                                      \
    X(record, UUID, directory_id, 1, 1)                                        \
    X(record, I16, feature_min, 0, INT16_MAX)                                  \
    X(record, I16, feature_max, 0, INT16_MAX)                                  \
    X(record, I32, batch_bytes_max, 0, INT32_MAX)                              \
    X(record, TEXT, rack, 0, KL_WIRE_RACK_MAX)                                 \
    X(record, TEXTS, endpoints, 0, KL_WIRE_ENDPOINTS_MAX)                      \
    X(record, I8, flags, 0, KL_WIRE_BROKER_FLAGS)

#define KL_WIRE_UNREGISTER_BROKER_FIELDS(X, record)                            \
    X(record, I32, broker_id, 0, INT32_MAX)                                    \
    X(record, I64, broker_epoch, 0, INT64_MAX)

#define KL_WIRE_TOPIC_FIELDS(X, record)                                        \
    X(record, TEXT, name, 1, KL_WIRE_TOPIC_NAME_MAX)                           \
    X(record, UUID, topic_id, 1, 1)

/* Identifiers are brokers; -1 stands for none. */
#define KL_WIRE_PARTITION_FIELDS(X, record)                                    \
    X(record, UUID, topic_id, 1, 1)                                            \
    X(record, I32, partition, 0, INT32_MAX)                                    \
    X(record, I32S, replicas, 1, KL_WIRE_REPLICAS_MAX)                         \
    X(record, I32S, isr, 0, KL_WIRE_REPLICAS_MAX)                              \
    X(record, I32S, elr, 0, KL_WIRE_REPLICAS_MAX)                              \
    X(record, I32S, last_known_elr, 0, KL_WIRE_REPLICAS_MAX)                   \
    X(record, I32, last_known_leader, -1, INT32_MAX)                           \
    X(record, I32, leader, -1, INT32_MAX)                                      \
    X(record, I32, leader_epoch, 0, INT32_MAX)                                 \
    X(record, I32, partition_epoch, 0, INT32_MAX)                              \
    X(record, I32S, adding, 0, KL_WIRE_REPLICAS_MAX)                           \
    X(record, I32S, removing, 0, KL_WIRE_REPLICAS_MAX)                         \
    X(record, I32, flags, 0, KL_WIRE_PARTITION_FLAGS)

/* removed 1: the key falls back to its default; value is empty then. */
#define KL_WIRE_CONFIG_FIELDS(X, record)                                       \
    X(record, I8, resource_type, 0, INT8_MAX)                                  \
    X(record, TEXT, resource_name, 0, KL_WIRE_TOPIC_NAME_MAX)                  \
    X(record, TEXT, key, 1, KL_WIRE_CONFIG_KEY_MAX)                            \
    X(record, TEXT, value, 0, KL_WIRE_CONFIG_VALUE_MAX)                        \
    X(record, I8, removed, 0, 1)

#define KL_WIRE_REMOVE_TOPIC_FIELDS(X, record) X(record, UUID, topic_id, 1, 1)

#define KL_WIRE_FEATURE_LEVEL_FIELDS(X, record)                                \
    X(record, TEXT, name, 1, KL_WIRE_CONFIG_KEY_MAX)                           \
    X(record, I16, level, 0, INT16_MAX)

/* A block of producer ids below next_producer_id went to a broker, -1 and -1
 * where none is registered. */
#define KL_WIRE_PRODUCER_IDS_FIELDS(X, record)                                 \
    X(record, I32, broker_id, -1, INT32_MAX)                                   \
    X(record, I64, broker_epoch, -1, INT64_MAX)                                \
    X(record, I64, next_producer_id, 0, INT64_MAX)

/* shutdown 1: a controlled shutdown begins; 0: as it was. */
#define KL_WIRE_BROKER_CHANGE_FIELDS(X, record)                                \
    X(record, I32, broker_id, 0, INT32_MAX)                                    \
    X(record, I64, broker_epoch, 0, INT64_MAX)                                 \
    X(record, I8, fenced, KL_WIRE_BROKER_UNFENCES, KL_WIRE_BROKER_FENCES)      \
    X(record, I8, shutdown, 0, 1)

#endif
