/*
 * The fields of every record of the metadata log, declared once; those of
 * messages are in wire/messages.h. These tables drive the structs in wire.h,
 * the encoder, the decoder, the printer and validation; a field that is not
 * here does not exist.
 *
 * On disk a record is u16 type, u16 version, then its fields in this order,
 * little-endian, without padding. Names and numbers are KRaft's.
 *
 *   kind    bytes                           min, max
 *   I8..I64 1, 2, 4, 8                      of the value
 *   UUID    16                              min 1: all zero is refused
 *   TEXT    u16 size, UTF-8 without NUL     of the size in bytes
 *   BYTES   u32 size, anything              of the size
 *   I32S    u16 count, then 4 each          of the count
 *   TEXTS   u16 count, then TEXT each       of the count; each is 1 to
 *                                           KL_WIRE_TEXTS_ITEM_MAX bytes
 *   LIST    u16 count, then the items       of the count
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
    KL_WIRE_TEXTS_ITEM_MAX = 255,
    KL_WIRE_VOTERS_MAX = 31
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

/* Control records say something about the log itself; they are in batches of
 * their own, which carry the control attribute. */
#define KL_WIRE_CONTROLS(X)                                                    \
    X(LEADER_CHANGE, 2, 0, leader_change, "LeaderChange")                      \
    X(SNAPSHOT_HEADER, 3, 0, snapshot_header, "SnapshotHeader")                \
    X(SNAPSHOT_FOOTER, 4, 0, snapshot_footer, "SnapshotFooter")                \
    X(KRAFT_VERSION, 5, 0, kraft_version, "KRaftVersion")                      \
    X(VOTERS, 6, 0, voters, "Voters")

/* X(item, member, name) of what lists are made of. */
#define KL_WIRE_RECORD_ITEMS(X)                                                \
    X(VOTER_KEY, voter_key, "VoterKey")                                        \
    X(VOTER, voter, "Voter")

/* X(record, kind, name, min, max); a list names its item behind them. record is
 * passed through. */

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

/* ---- control records --------------------------------------------------- */

/* A voter is a directory of a node: a wiped disk is another voter (KIP-853). */
#define KL_WIRE_VOTER_KEY_FIELDS(X, record)                                    \
    X(record, I32, node_id, 0, INT32_MAX)                                      \
    X(record, UUID, directory_id, 1, 1)

#define KL_WIRE_VOTER_FIELDS(X, record)                                        \
    X(record, I32, node_id, 0, INT32_MAX)                                      \
    X(record, UUID, directory_id, 1, 1)                                        \
    X(record, TEXTS, endpoints, 0, KL_WIRE_ENDPOINTS_MAX)                      \
    X(record, I16, version_min, 0, INT16_MAX)                                  \
    X(record, I16, version_max, 0, INT16_MAX)

/* The first record of an epoch. */
#define KL_WIRE_LEADER_CHANGE_FIELDS(X, record)                                \
    X(record, I32, leader_id, 0, INT32_MAX)                                    \
    X(record, LIST, voters, 1, KL_WIRE_VOTERS_MAX, voter_key)                  \
    X(record, LIST, granting_voters, 0, KL_WIRE_VOTERS_MAX, voter_key)

#define KL_WIRE_SNAPSHOT_HEADER_FIELDS(X, record)                              \
    X(record, I64, last_contained_log_timestamp, 0, INT64_MAX)

/* count: of the records between header and footer. */
#define KL_WIRE_SNAPSHOT_FOOTER_FIELDS(X, record)                              \
    X(record, I64, count, 0, INT64_MAX)

#define KL_WIRE_KRAFT_VERSION_FIELDS(X, record)                                \
    X(record, I16, kraft_version, 0, INT16_MAX)

#define KL_WIRE_VOTERS_FIELDS(X, record)                                       \
    X(record, LIST, voters, 1, KL_WIRE_VOTERS_MAX, voter)

#endif
