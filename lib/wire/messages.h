/*
 * The fields of every message, declared once in the kinds of wire/schema.h.
 * Names and numbers are Kafka's where it has such a message.
 *
 * A message is a prefix, an envelope and a body:
 *
 *    0  u32  size of the whole message
 *    4  u32  magic, with the version of the envelope in its last byte
 *    8  u64  XXH3-64 of all that follows, seeded with the eight bytes before
 *   16       envelope, its fields in this order
 *  120       body, the fields of the request or response
 *
 * Who asks whom is in the envelope and nowhere else: a candidate, a fetching
 * replica or a leader is the source, the voter that is asked the destination.
 */
#ifndef KL_WIRE_MESSAGES_H
#define KL_WIRE_MESSAGES_H

enum {
    KL_WIRE_MESSAGE_PREFIX = 16,
    KL_WIRE_MESSAGE_ENVELOPE = 104,
    KL_WIRE_MESSAGE_HEADER = KL_WIRE_MESSAGE_PREFIX + KL_WIRE_MESSAGE_ENVELOPE,
    KL_WIRE_MESSAGE_MAX = (64 << 20) + (64 << 10), /* sanity bound */
    KL_WIRE_BYTES_MAX = 64 << 20,
    KL_WIRE_PARTITIONS_MAX = 4096, /* in one message */
    KL_WIRE_OBSERVERS_MAX = 255,   /* in one description */
    KL_WIRE_ERROR_TEXT_MAX = 255,
    KL_WIRE_CONFIGS_MAX = 64 /* of one topic to be made */
};

/* source_session: drawn anew at each start of the sender. source_id is -1 for
 * a client, destination_id for anyone; a zero destination_directory is any. A
 * zero cluster_id is of one that belongs to none yet; the request of a
 * DescribeCluster may have it and nothing else. */
#define KL_WIRE_ENVELOPE_FIELDS(X, record)                                     \
    X(record, I16, api_key, 0, INT16_MAX)                                      \
    X(record, I16, version, 0, INT16_MAX)                                      \
    X(record, I8, is_response, 0, 1)                                           \
    X(record, I8, flags, 0, 0)                                                 \
    X(record, I16, reserved, 0, 0)                                             \
    X(record, I64, correlation_id, 0, INT64_MAX)                               \
    X(record, UUID, cluster_id, 0, 1)                                          \
    X(record, I32, source_id, -1, INT32_MAX)                                   \
    X(record, I32, destination_id, -1, INT32_MAX)                              \
    X(record, UUID, source_directory, 0, 1)                                    \
    X(record, UUID, source_session, 1, 1)                                      \
    X(record, UUID, destination_directory, 0, 1)                               \
    X(record, UUID, destination_session, 0, 1)

/* X(name, number, code): what a response says about the request, and our code
 * for it. Kafka's numbers, ours from 1000. Of several rows with one code the
 * first is sent. */
/* clang-format off */
#define KL_WIRE_ERRORS(X)                                                      \
    X(NONE, 0, KL_OK)                                                          \
    X(OFFSET_OUT_OF_RANGE, 1, KL_EOFFSETRANGE)                                 \
    X(UNKNOWN_TOPIC_OR_PARTITION, 3, KL_ENOTOPIC)                              \
    X(NOT_LEADER, 6, KL_ENOTLEADER) /* NOT_LEADER_OR_FOLLOWER */               \
    X(REQUEST_TIMED_OUT, 7, KL_EUNKNOWN)                                       \
    X(MESSAGE_TOO_LARGE, 10, KL_ERECORDSIZE)                                   \
    X(INVALID_TOPIC, 17, KL_ETOPICNAME)                                        \
    X(UNSUPPORTED_VERSION, 35, KL_EUNSUPPORTED)                                \
    X(TOPIC_ALREADY_EXISTS, 36, KL_ETOPICEXISTS)                               \
    X(INVALID_PARTITIONS, 37, KL_EPARTITIONS)                                  \
    X(INVALID_REPLICATION_FACTOR, 38, KL_EREPLICATION)                         \
    X(INVALID_CONFIG, 40, KL_ECONFIG)                                          \
    X(NOT_CONTROLLER, 41, KL_ENOTCONTROLLER)                                   \
    X(INVALID_REQUEST, 42, KL_EINVAL)                                          \
    X(OPERATION_NOT_ATTEMPTED, 55, KL_ECANCELED)                               \
    X(FENCED_LEADER_EPOCH, 74, KL_EFENCED)                                     \
    X(ELIGIBLE_LEADERS_NOT_AVAILABLE, 83, KL_ENOCANDIDATE)                     \
    X(NO_REASSIGNMENT_IN_PROGRESS, 85, KL_ENOREASSIGNMENT)                     \
    X(INVALID_UPDATE_VERSION, 95, KL_EPARTITIONEPOCH)                          \
    X(SNAPSHOT_NOT_FOUND, 98, KL_ENOENT)                                       \
    X(DUPLICATE_BROKER_REGISTRATION, 101, KL_EDUPLICATENODE)                   \
    X(BROKER_ID_NOT_REGISTERED, 102, KL_ENOBROKER)                             \
    X(INCONSISTENT_CLUSTER_ID, 104, KL_EFOREIGN)                               \
    X(INELIGIBLE_REPLICA, 107, KL_EINELIGIBLE)                                 \
    X(NEW_LEADER_ELECTED, 108, KL_ENEWLEADER)                                  \
    X(DUPLICATE_VOTER, 126, KL_EVOTEREXISTS)                                   \
    X(VOTER_NOT_FOUND, 127, KL_ENOVOTER)                                       \
    X(LOG_REGRESSED, 1000, KL_EREGRESSED) /* the folder is older than it was */\
    X(NOT_CAUGHT_UP, 1002, KL_ELAGGING)   /* a replica lags or is not known */ \
    X(CHANGE_PENDING, 1003, KL_EAGAIN)    /* one change of voters at a time */ \
    X(STORAGE_FAILED, 1004, KL_EFAILED)   /* the disk of the asked one */      \
    X(NO_REDUNDANCY, 1006, KL_EREDUNDANCY)                                     \
    X(ILLEGAL_STATE, 1007, KL_ESTATE)                                          \
    X(OUT_OF_MEMORY, 1008, KL_ENOMEM)     /* of the asked one */               \
    X(DISK_FULL, 1009, KL_EDISKFULL)                                           \
    X(SHUTTING_DOWN, 1010, KL_ECLOSED)                                         \
    X(UNKNOWN_LEADER_EPOCH, 75, KL_EAGAIN)                                     \
    X(STALE_BROKER_EPOCH, 77, KL_EFENCED)                                      \
    X(INCONSISTENT_VOTER_SET, 94, KL_ESTATE)                                   \
    X(POSITION_OUT_OF_RANGE, 99, KL_EOFFSETRANGE)                              \
    X(INVALID_VOTER_KEY, 125, KL_EINVAL)                                       \
    X(DUPLICATE_NODE, 1001, KL_EDUPLICATENODE) /* another of this identity */  \
    X(OUTCOME_UNKNOWN, 1005, KL_EUNKNOWN) /* leadership was lost meanwhile */
/* clang-format on */

/* X(api, key, version, member, name): a request and a response each. */
#define KL_WIRE_MESSAGES(X)                                                    \
    X(FETCH, 1, 0, fetch, "Fetch")                                             \
    X(CREATE_TOPICS, 19, 0, create_topics, "CreateTopics")                     \
    X(DELETE_TOPICS, 20, 0, delete_topics, "DeleteTopics")                     \
    X(CREATE_PARTITIONS, 37, 0, create_partitions, "CreatePartitions")         \
    X(ELECT_LEADERS, 43, 0, elect_leaders, "ElectLeaders")                     \
    X(INCREMENTAL_ALTER_CONFIGS, 44, 0, incremental_alter_configs,             \
      "IncrementalAlterConfigs")                                               \
    X(ALTER_PARTITION_REASSIGNMENTS, 45, 0, alter_partition_reassignments,     \
      "AlterPartitionReassignments")                                           \
    X(VOTE, 52, 0, vote, "Vote")                                               \
    X(BEGIN_QUORUM_EPOCH, 53, 0, begin_quorum_epoch, "BeginQuorumEpoch")       \
    X(END_QUORUM_EPOCH, 54, 0, end_quorum_epoch, "EndQuorumEpoch")             \
    X(DESCRIBE_QUORUM, 55, 0, describe_quorum, "DescribeQuorum")               \
    X(ALTER_PARTITION, 56, 0, alter_partition, "AlterPartition")               \
    X(FETCH_SNAPSHOT, 59, 0, fetch_snapshot, "FetchSnapshot")                  \
    X(DESCRIBE_CLUSTER, 60, 0, describe_cluster, "DescribeCluster")            \
    X(BROKER_REGISTRATION, 62, 0, broker_registration, "BrokerRegistration")   \
    X(BROKER_HEARTBEAT, 63, 0, broker_heartbeat, "BrokerHeartbeat")            \
    X(UNREGISTER_BROKER, 64, 0, unregister_broker, "UnregisterBroker")         \
    X(ALLOCATE_PRODUCER_IDS, 67, 0, allocate_producer_ids,                     \
      "AllocateProducerIds")                                                   \
    X(ADD_RAFT_VOTER, 80, 0, add_raft_voter, "AddRaftVoter")                   \
    X(REMOVE_RAFT_VOTER, 81, 0, remove_raft_voter, "RemoveRaftVoter")          \
    X(UPDATE_RAFT_VOTER, 82, 0, update_raft_voter, "UpdateRaftVoter")

#define KL_WIRE_MESSAGE_ITEMS(X)                                               \
    X(FETCH_PARTITION, fetch_partition, "FetchPartition")                      \
    X(FETCHED_PARTITION, fetched_partition, "FetchedPartition")                \
    X(QUORUM_REPLICA, quorum_replica, "QuorumReplica")                         \
    X(LOG_ID, log_id, "LogId")                                                 \
    X(ISR_MEMBER, isr_member, "IsrMember")                                     \
    X(PROPOSED_PARTITION, proposed_partition, "ProposedPartition")             \
    X(ALTERED_PARTITION, altered_partition, "AlteredPartition")                \
    X(CONFIG_PAIR, config_pair, "ConfigPair")                                  \
    X(CLUSTER_NODE, cluster_node, "ClusterNode")

/* What every response begins with: the leader as the sender knows it, -1 and
 * empty where it does not. */
#define KL_WIRE_LEADER_FIELDS(X, record)                                       \
    X(record, I16, error_code, 0, INT16_MAX)                                   \
    X(record, I32, leader_id, -1, INT32_MAX)                                   \
    X(record, I32, leader_epoch, 0, INT32_MAX)                                 \
    X(record, TEXTS, leader_endpoints, 0, KL_WIRE_ENDPOINTS_MAX)

/* ---- elections --------------------------------------------------------- */

/* last_offset is exclusive: the end of the candidate's log. */
#define KL_WIRE_VOTE_REQUEST_FIELDS(X, record)                                 \
    X(record, I32, candidate_epoch, 0, INT32_MAX)                              \
    X(record, I32, last_epoch, -1, INT32_MAX)                                  \
    X(record, I64, last_offset, 0, INT64_MAX)                                  \
    X(record, I8, pre_vote, 0, 1)

#define KL_WIRE_VOTE_RESPONSE_FIELDS(X, record)                                \
    KL_WIRE_LEADER_FIELDS(X, record)                                           \
    X(record, I8, vote_granted, 0, 1)

/* Also the round of a read barrier. */
#define KL_WIRE_BEGIN_QUORUM_EPOCH_REQUEST_FIELDS(X, record)                   \
    X(record, I32, leader_epoch, 0, INT32_MAX)                                 \
    X(record, TEXTS, leader_endpoints, 0, KL_WIRE_ENDPOINTS_MAX)

#define KL_WIRE_BEGIN_QUORUM_EPOCH_RESPONSE_FIELDS(X, record)                  \
    KL_WIRE_LEADER_FIELDS(X, record)

#define KL_WIRE_END_QUORUM_EPOCH_REQUEST_FIELDS(X, record)                     \
    X(record, I32, leader_epoch, 0, INT32_MAX)                                 \
    X(record, LIST, preferred_candidates, 0, KL_WIRE_VOTERS_MAX, voter_key)

#define KL_WIRE_END_QUORUM_EPOCH_RESPONSE_FIELDS(X, record)                    \
    KL_WIRE_LEADER_FIELDS(X, record)

/* ---- fetch ------------------------------------------------------------- */

#define KL_WIRE_FETCH_REQUEST_FIELDS(X, record)                                \
    X(record, I32, max_wait_ms, 0, INT32_MAX)                                  \
    X(record, I32, max_bytes, 0, INT32_MAX)                                    \
    X(record, LIST, partitions, 1, KL_WIRE_PARTITIONS_MAX, fetch_partition)

/* fetch_offset: what to send next. durable_offset: below it everything is on
 * the medium of the sender; -1 where it is not to be counted. */
#define KL_WIRE_FETCH_PARTITION_FIELDS(X, record)                              \
    X(record, UUID, topic_id, 1, 1)                                            \
    X(record, I32, partition, 0, INT32_MAX)                                    \
    X(record, I32, current_leader_epoch, 0, INT32_MAX)                         \
    X(record, I64, fetch_offset, 0, INT64_MAX)                                 \
    X(record, I32, last_fetched_epoch, -1, INT32_MAX)                          \
    X(record, I64, durable_offset, -1, INT64_MAX)                              \
    X(record, I64, log_start_offset, 0, INT64_MAX)                             \
    X(record, I64, high_watermark, 0, INT64_MAX)                               \
    X(record, I32, max_bytes, 0, INT32_MAX)

#define KL_WIRE_FETCH_RESPONSE_FIELDS(X, record)                               \
    KL_WIRE_LEADER_FIELDS(X, record)                                           \
    X(record, LIST, partitions, 0, KL_WIRE_PARTITIONS_MAX, fetched_partition)

/* Both of diverging_ and of snapshot_ are -1 where they do not apply. */
#define KL_WIRE_FETCHED_PARTITION_FIELDS(X, record)                            \
    X(record, UUID, topic_id, 1, 1)                                            \
    X(record, I32, partition, 0, INT32_MAX)                                    \
    X(record, I16, error_code, 0, INT16_MAX)                                   \
    X(record, I64, fetch_offset, 0, INT64_MAX)                                 \
    X(record, I64, high_watermark, 0, INT64_MAX)                               \
    X(record, I64, log_start_offset, 0, INT64_MAX)                             \
    X(record, I32, diverging_epoch, -1, INT32_MAX)                             \
    X(record, I64, diverging_end_offset, -1, INT64_MAX)                        \
    X(record, I64, snapshot_end_offset, -1, INT64_MAX)                         \
    X(record, I32, snapshot_epoch, -1, INT32_MAX)                              \
    X(record, BYTES, records, 0, KL_WIRE_BYTES_MAX)

#define KL_WIRE_FETCH_SNAPSHOT_REQUEST_FIELDS(X, record)                       \
    X(record, I32, current_leader_epoch, 0, INT32_MAX)                         \
    X(record, I64, durable_offset, -1, INT64_MAX)                              \
    X(record, I64, end_offset, 0, INT64_MAX)                                   \
    X(record, I32, epoch, 0, INT32_MAX)                                        \
    X(record, I64, position, 0, INT64_MAX)                                     \
    X(record, I32, max_bytes, 1, INT32_MAX)

#define KL_WIRE_FETCH_SNAPSHOT_RESPONSE_FIELDS(X, record)                      \
    KL_WIRE_LEADER_FIELDS(X, record)                                           \
    X(record, I64, end_offset, 0, INT64_MAX)                                   \
    X(record, I32, epoch, 0, INT32_MAX)                                        \
    X(record, I64, size, 0, INT64_MAX)                                         \
    X(record, I64, position, 0, INT64_MAX)                                     \
    X(record, BYTES, bytes, 0, KL_WIRE_BYTES_MAX)

/* ---- voters ------------------------------------------------------------ */

/* voters_offset: the set that the sender means to change, as the offset of its
 * record; -1 for any. A late copy of a request then changes nothing. force:
 * also where the result would tolerate less than before. */
#define KL_WIRE_ADD_RAFT_VOTER_REQUEST_FIELDS(X, record)                       \
    X(record, I32, node_id, 0, INT32_MAX)                                      \
    X(record, UUID, directory_id, 1, 1)                                        \
    X(record, TEXTS, endpoints, 0, KL_WIRE_ENDPOINTS_MAX)                      \
    X(record, I16, version_min, 0, INT16_MAX)                                  \
    X(record, I16, version_max, 0, INT16_MAX)                                  \
    X(record, I64, voters_offset, -1, INT64_MAX)                               \
    X(record, I32, timeout_ms, 0, INT32_MAX)                                   \
    X(record, I8, force, 0, 1)

#define KL_WIRE_ADD_RAFT_VOTER_RESPONSE_FIELDS(X, record)                      \
    KL_WIRE_LEADER_FIELDS(X, record)                                           \
    X(record, I64, voters_offset, -1, INT64_MAX)

#define KL_WIRE_REMOVE_RAFT_VOTER_REQUEST_FIELDS(X, record)                    \
    X(record, I32, node_id, 0, INT32_MAX)                                      \
    X(record, UUID, directory_id, 1, 1)                                        \
    X(record, I64, voters_offset, -1, INT64_MAX)                               \
    X(record, I32, timeout_ms, 0, INT32_MAX)                                   \
    X(record, I8, force, 0, 1)

#define KL_WIRE_REMOVE_RAFT_VOTER_RESPONSE_FIELDS(X, record)                   \
    KL_WIRE_ADD_RAFT_VOTER_RESPONSE_FIELDS(X, record)

#define KL_WIRE_UPDATE_RAFT_VOTER_REQUEST_FIELDS(X, record)                    \
    X(record, I32, node_id, 0, INT32_MAX)                                      \
    X(record, UUID, directory_id, 1, 1)                                        \
    X(record, TEXTS, endpoints, 0, KL_WIRE_ENDPOINTS_MAX)                      \
    X(record, I16, version_min, 0, INT16_MAX)                                  \
    X(record, I16, version_max, 0, INT16_MAX)                                  \
    X(record, I64, voters_offset, -1, INT64_MAX)                               \
    X(record, I32, timeout_ms, 0, INT32_MAX)

#define KL_WIRE_UPDATE_RAFT_VOTER_RESPONSE_FIELDS(X, record)                   \
    KL_WIRE_ADD_RAFT_VOTER_RESPONSE_FIELDS(X, record)

#define KL_WIRE_DESCRIBE_QUORUM_REQUEST_FIELDS(X, record)                      \
    X(record, I8, include_observers, 0, 1)

/* voters_offset is -1 for the set that the first start was given. */
#define KL_WIRE_DESCRIBE_QUORUM_RESPONSE_FIELDS(X, record)                     \
    KL_WIRE_LEADER_FIELDS(X, record)                                           \
    X(record, I64, high_watermark, 0, INT64_MAX)                               \
    X(record, I64, log_end_offset, 0, INT64_MAX)                               \
    X(record, I64, voters_offset, -1, INT64_MAX)                               \
    X(record, LIST, voters, 0, KL_WIRE_VOTERS_MAX, quorum_replica)             \
    X(record, LIST, observers, 0, KL_WIRE_OBSERVERS_MAX, quorum_replica)

/* Ages are -1 where it never happened. */
#define KL_WIRE_QUORUM_REPLICA_FIELDS(X, record)                               \
    X(record, I32, node_id, 0, INT32_MAX)                                      \
    X(record, UUID, directory_id, 1, 1)                                        \
    X(record, TEXTS, endpoints, 0, KL_WIRE_ENDPOINTS_MAX)                      \
    X(record, I64, fetch_offset, -1, INT64_MAX)                                \
    X(record, I64, durable_offset, -1, INT64_MAX)                              \
    X(record, I64, last_fetch_ms, -1, INT64_MAX)                               \
    X(record, I64, last_caught_up_ms, -1, INT64_MAX)

/* ---- the controller ---------------------------------------------------- */

/* What every response of the controller begins with. What the request has
 * changed is in the metadata log below metadata_offset; -1 where nothing is
 * known of it. */
#define KL_WIRE_CONTROLLER_FIELDS(X, record)                                   \
    KL_WIRE_LEADER_FIELDS(X, record)                                           \
    X(record, TEXT, error_message, 0, KL_WIRE_ERROR_TEXT_MAX)                  \
    X(record, I64, metadata_offset, -1, INT64_MAX)

/* ---- brokers ----------------------------------------------------------- */

/* The broker, its directory and its incarnation are in the envelope.
 * previous_epoch and previous_incarnation: as stored in its folder; zero where
 * there was no start before. recovery: enum
 * kl_controller_recovery, with damaged logs in the order of their ids. */
#define KL_WIRE_BROKER_REGISTRATION_REQUEST_FIELDS(X, record)                  \
    X(record, I64, previous_epoch, -1, INT64_MAX)                              \
    X(record, UUID, previous_incarnation, 0, 1)                                \
    X(record, I8, recovery, 0, 2)                                              \
    X(record, LIST, damaged, 0, KL_WIRE_PARTITIONS_MAX, log_id)                \
    X(record, I64, metadata_offset, 0, INT64_MAX)                              \
    X(record, I16, feature_min, 0, INT16_MAX)                                  \
    X(record, I16, feature_max, 0, INT16_MAX)                                  \
    X(record, I32, batch_bytes_max, 0, INT32_MAX)                              \
    X(record, TEXT, rack, 0, KL_WIRE_RACK_MAX)                                 \
    X(record, TEXTS, endpoints, 0, KL_WIRE_ENDPOINTS_MAX)

#define KL_WIRE_LOG_ID_FIELDS(X, record)                                       \
    X(record, UUID, topic_id, 1, 1)                                            \
    X(record, I32, partition, 0, INT32_MAX)

#define KL_WIRE_BROKER_REGISTRATION_RESPONSE_FIELDS(X, record)                 \
    KL_WIRE_CONTROLLER_FIELDS(X, record)                                       \
    X(record, I64, broker_epoch, -1, INT64_MAX)

/* metadata_offset: applied and durable below it. */
#define KL_WIRE_BROKER_HEARTBEAT_REQUEST_FIELDS(X, record)                     \
    X(record, I64, broker_epoch, 0, INT64_MAX)                                 \
    X(record, I64, metadata_offset, 0, INT64_MAX)                              \
    X(record, I8, want_fence, 0, 1)                                            \
    X(record, I8, want_shutdown, 0, 1)

#define KL_WIRE_BROKER_HEARTBEAT_RESPONSE_FIELDS(X, record)                    \
    KL_WIRE_CONTROLLER_FIELDS(X, record)                                       \
    X(record, I8, is_caught_up, 0, 1)                                          \
    X(record, I8, is_fenced, 0, 1)                                             \
    X(record, I8, should_shutdown, 0, 1)

#define KL_WIRE_UNREGISTER_BROKER_REQUEST_FIELDS(X, record)                    \
    X(record, I32, broker_id, 0, INT32_MAX)

#define KL_WIRE_UNREGISTER_BROKER_RESPONSE_FIELDS(X, record)                   \
    KL_WIRE_CONTROLLER_FIELDS(X, record)

#define KL_WIRE_ALLOCATE_PRODUCER_IDS_REQUEST_FIELDS(X, record)                \
    X(record, I64, broker_epoch, 0, INT64_MAX)

#define KL_WIRE_ALLOCATE_PRODUCER_IDS_RESPONSE_FIELDS(X, record)               \
    KL_WIRE_CONTROLLER_FIELDS(X, record)                                       \
    X(record, I64, first_producer_id, -1, INT64_MAX)                           \
    X(record, I32, count, 0, INT32_MAX)

/* ---- partitions -------------------------------------------------------- */

#define KL_WIRE_ALTER_PARTITION_REQUEST_FIELDS(X, record)                      \
    X(record, I64, broker_epoch, 0, INT64_MAX)                                 \
    X(record, LIST, partitions, 1, KL_WIRE_PARTITIONS_MAX, proposed_partition)

#define KL_WIRE_PROPOSED_PARTITION_FIELDS(X, record)                           \
    X(record, UUID, topic_id, 1, 1)                                            \
    X(record, I32, partition, 0, INT32_MAX)                                    \
    X(record, I32, leader_epoch, 0, INT32_MAX)                                 \
    X(record, I32, partition_epoch, 0, INT32_MAX)                              \
    X(record, I8, recovering, 0, 1)                                            \
    X(record, LIST, new_isr, 1, KL_WIRE_REPLICAS_MAX, isr_member)

/* broker_epoch is -1 where it is not known. */
#define KL_WIRE_ISR_MEMBER_FIELDS(X, record)                                   \
    X(record, I32, broker_id, 0, INT32_MAX)                                    \
    X(record, I64, broker_epoch, -1, INT64_MAX)

#define KL_WIRE_ALTER_PARTITION_RESPONSE_FIELDS(X, record)                     \
    KL_WIRE_CONTROLLER_FIELDS(X, record)                                       \
    X(record, LIST, partitions, 0, KL_WIRE_PARTITIONS_MAX, altered_partition)

/* What became of each proposal, in their order, and the partition as it is
 * now; -1 and empty where it is not known. */
#define KL_WIRE_ALTERED_PARTITION_FIELDS(X, record)                            \
    X(record, UUID, topic_id, 1, 1)                                            \
    X(record, I32, partition, 0, INT32_MAX)                                    \
    X(record, I16, error_code, 0, INT16_MAX)                                   \
    X(record, I32, leader_id, -1, INT32_MAX)                                   \
    X(record, I32, leader_epoch, -1, INT32_MAX)                                \
    X(record, I32, partition_epoch, -1, INT32_MAX)                             \
    X(record, I32, min_isr, 0, KL_WIRE_REPLICAS_MAX)                           \
    X(record, I8, recovering, 0, 1)                                            \
    X(record, I32S, isr, 0, KL_WIRE_REPLICAS_MAX)

/* ---- administration ---------------------------------------------------- */

/* One topic, partition or change in each; what is wrong with it the controller
 * says. */
#define KL_WIRE_CREATE_TOPICS_REQUEST_FIELDS(X, record)                        \
    X(record, TEXT, name, 0, KL_WIRE_TOPIC_NAME_MAX)                           \
    X(record, I32, partitions, INT32_MIN, INT32_MAX)                           \
    X(record, I32, replication_factor, INT32_MIN, INT32_MAX)                   \
    X(record, LIST, configs, 0, KL_WIRE_CONFIGS_MAX, config_pair)

#define KL_WIRE_CONFIG_PAIR_FIELDS(X, record)                                  \
    X(record, TEXT, key, 1, KL_WIRE_CONFIG_KEY_MAX)                            \
    X(record, TEXT, value, 0, KL_WIRE_CONFIG_VALUE_MAX)

#define KL_WIRE_CREATE_TOPICS_RESPONSE_FIELDS(X, record)                       \
    KL_WIRE_CONTROLLER_FIELDS(X, record)                                       \
    X(record, UUID, topic_id, 0, 1)

#define KL_WIRE_DELETE_TOPICS_REQUEST_FIELDS(X, record)                        \
    X(record, TEXT, name, 0, KL_WIRE_TOPIC_NAME_MAX)

#define KL_WIRE_DELETE_TOPICS_RESPONSE_FIELDS(X, record)                       \
    KL_WIRE_CONTROLLER_FIELDS(X, record)

#define KL_WIRE_CREATE_PARTITIONS_REQUEST_FIELDS(X, record)                    \
    X(record, TEXT, name, 0, KL_WIRE_TOPIC_NAME_MAX)                           \
    X(record, I32, count, INT32_MIN, INT32_MAX)

#define KL_WIRE_CREATE_PARTITIONS_RESPONSE_FIELDS(X, record)                   \
    KL_WIRE_CONTROLLER_FIELDS(X, record)

/* operation: 0 sets, 1 deletes, as Kafka's. */
#define KL_WIRE_INCREMENTAL_ALTER_CONFIGS_REQUEST_FIELDS(X, record)            \
    X(record, I8, resource_type, 0, INT8_MAX)                                  \
    X(record, TEXT, resource_name, 0, KL_WIRE_TOPIC_NAME_MAX)                  \
    X(record, TEXT, key, 1, KL_WIRE_CONFIG_KEY_MAX)                            \
    X(record, TEXT, value, 0, KL_WIRE_CONFIG_VALUE_MAX)                        \
    X(record, I8, operation, 0, 1)

#define KL_WIRE_INCREMENTAL_ALTER_CONFIGS_RESPONSE_FIELDS(X, record)           \
    KL_WIRE_CONTROLLER_FIELDS(X, record)

/* election_type: 0 preferred, 1 unclean, as Kafka's; leader_id: whom the
 * operator wants, -1 = nobody in particular. */
#define KL_WIRE_ELECT_LEADERS_REQUEST_FIELDS(X, record)                        \
    X(record, TEXT, name, 0, KL_WIRE_TOPIC_NAME_MAX)                           \
    X(record, I32, partition, INT32_MIN, INT32_MAX)                            \
    X(record, I8, election_type, 0, 1)                                         \
    X(record, I32, leader_id, -1, INT32_MAX)

#define KL_WIRE_ELECT_LEADERS_RESPONSE_FIELDS(X, record)                       \
    KL_WIRE_CONTROLLER_FIELDS(X, record)

/* Without replicas: count of them, to be chosen; 0 gives up the reassignment
 * that is under way. */
#define KL_WIRE_ALTER_PARTITION_REASSIGNMENTS_REQUEST_FIELDS(X, record)        \
    X(record, TEXT, name, 0, KL_WIRE_TOPIC_NAME_MAX)                           \
    X(record, I32, partition, INT32_MIN, INT32_MAX)                            \
    X(record, I32S, replicas, 0, KL_WIRE_REPLICAS_MAX)                         \
    X(record, I32, count, 0, INT32_MAX)

#define KL_WIRE_ALTER_PARTITION_REASSIGNMENTS_RESPONSE_FIELDS(X, record)       \
    KL_WIRE_CONTROLLER_FIELDS(X, record)

/* ---- the cluster ------------------------------------------------------- */

/* Anyone may ask, also who belongs to no cluster: so the answer says where the
 * cluster is and nothing of what it holds. */
#define KL_WIRE_DESCRIBE_CLUSTER_REQUEST_FIELDS(X, record)                     \
    X(record, I8, reserved, 0, 0)

#define KL_WIRE_DESCRIBE_CLUSTER_RESPONSE_FIELDS(X, record)                    \
    KL_WIRE_LEADER_FIELDS(X, record)                                           \
    X(record, UUID, cluster_id, 1, 1)                                          \
    X(record, LIST, voters, 0, KL_WIRE_VOTERS_MAX, cluster_node)

#define KL_WIRE_CLUSTER_NODE_FIELDS(X, record)                                 \
    X(record, I32, node_id, 0, INT32_MAX)                                      \
    X(record, TEXTS, endpoints, 0, KL_WIRE_ENDPOINTS_MAX)

#endif
