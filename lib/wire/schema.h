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
    KL_WIRE_REPLICAS_MAX = 128
};

/* Values of flags in PartitionRecord. */
enum {
    KL_WIRE_PARTITION_RECOVERING = 1, /* elected uncleanly (KIP-704) */
    KL_WIRE_PARTITION_FLAGS = 1       /* all that are known */
};

/* Values of resource_type in ConfigRecord. */
enum { KL_WIRE_RESOURCE_TOPIC = 2 };

/* X(type, number, version, member, name) */
#define KL_WIRE_RECORDS(X)                                                     \
    X(TOPIC, 2, 0, topic, "TopicRecord")                                       \
    X(PARTITION, 3, 0, partition, "PartitionRecord")                           \
    X(CONFIG, 4, 0, config, "ConfigRecord")                                    \
    X(REMOVE_TOPIC, 9, 0, remove_topic, "RemoveTopicRecord")                   \
    X(FEATURE_LEVEL, 12, 0, feature_level, "FeatureLevelRecord")

/* X(record, kind, name, min, max); record is passed through. */
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

#endif
