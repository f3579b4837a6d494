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
 *  104       body, the fields of the request or response
 *
 * Who asks whom is in the envelope and nowhere else: a candidate, a fetching
 * replica or a leader is the source, the voter that is asked the destination.
 */
#ifndef KL_WIRE_MESSAGES_H
#define KL_WIRE_MESSAGES_H

enum {
    KL_WIRE_MESSAGE_PREFIX = 16,
    KL_WIRE_MESSAGE_ENVELOPE = 88,
    KL_WIRE_MESSAGE_HEADER = KL_WIRE_MESSAGE_PREFIX + KL_WIRE_MESSAGE_ENVELOPE,
    KL_WIRE_MESSAGE_MAX = (64 << 20) + (64 << 10), /* sanity bound */
    KL_WIRE_BYTES_MAX = 64 << 20,
    KL_WIRE_PARTITIONS_MAX = 4096, /* in one fetch */
    KL_WIRE_OBSERVERS_MAX = 255    /* in one description */
};

/* source_session: drawn anew at each start of the sender. source_id is -1 for
 * a client, destination_id for anyone; a zero destination_directory is any. */
#define KL_WIRE_ENVELOPE_FIELDS(X, record)                                     \
    X(record, I16, api_key, 0, INT16_MAX)                                      \
    X(record, I16, version, 0, INT16_MAX)                                      \
    X(record, I8, is_response, 0, 1)                                           \
    X(record, I8, flags, 0, 0)                                                 \
    X(record, I16, reserved, 0, 0)                                             \
    X(record, I64, correlation_id, 0, INT64_MAX)                               \
    X(record, UUID, cluster_id, 1, 1)                                          \
    X(record, I32, source_id, -1, INT32_MAX)                                   \
    X(record, I32, destination_id, -1, INT32_MAX)                              \
    X(record, UUID, source_directory, 0, 1)                                    \
    X(record, UUID, source_session, 1, 1)                                      \
    X(record, UUID, destination_directory, 0, 1)

/* What a response says about the request: Kafka's numbers, ours from 1000. */
enum kl_wire_error {
    KL_WIRE_NONE = 0,
    KL_WIRE_NOT_LEADER = 6, /* NOT_LEADER_OR_FOLLOWER */
    KL_WIRE_REQUEST_TIMED_OUT = 7,
    KL_WIRE_INVALID_REQUEST = 42,
    KL_WIRE_FENCED_LEADER_EPOCH = 74,
    KL_WIRE_UNKNOWN_LEADER_EPOCH = 75,
    KL_WIRE_INCONSISTENT_VOTER_SET = 94,
    KL_WIRE_SNAPSHOT_NOT_FOUND = 98,
    KL_WIRE_POSITION_OUT_OF_RANGE = 99,
    KL_WIRE_INVALID_VOTER_KEY = 125,
    KL_WIRE_DUPLICATE_VOTER = 126,
    KL_WIRE_VOTER_NOT_FOUND = 127,
    KL_WIRE_LOG_REGRESSED = 1000,   /* the folder is older than it was */
    KL_WIRE_DUPLICATE_NODE = 1001,  /* another process uses this identity */
    KL_WIRE_NOT_CAUGHT_UP = 1002,   /* the replica lags or is not known */
    KL_WIRE_CHANGE_PENDING = 1003,  /* one change of voters at a time */
    KL_WIRE_STORAGE_FAILED = 1004,  /* the disk of the asked one */
    KL_WIRE_OUTCOME_UNKNOWN = 1005, /* leadership was lost meanwhile */
    KL_WIRE_NO_REDUNDANCY = 1006    /* the set would tolerate too little */
};

/* X(api, key, version, member, name): a request and a response each. */
#define KL_WIRE_MESSAGES(X)                                                    \
    X(FETCH, 1, 0, fetch, "Fetch")                                             \
    X(VOTE, 52, 0, vote, "Vote")                                               \
    X(BEGIN_QUORUM_EPOCH, 53, 0, begin_quorum_epoch, "BeginQuorumEpoch")       \
    X(END_QUORUM_EPOCH, 54, 0, end_quorum_epoch, "EndQuorumEpoch")             \
    X(DESCRIBE_QUORUM, 55, 0, describe_quorum, "DescribeQuorum")               \
    X(FETCH_SNAPSHOT, 59, 0, fetch_snapshot, "FetchSnapshot")                  \
    X(ADD_RAFT_VOTER, 80, 0, add_raft_voter, "AddRaftVoter")                   \
    X(REMOVE_RAFT_VOTER, 81, 0, remove_raft_voter, "RemoveRaftVoter")          \
    X(UPDATE_RAFT_VOTER, 82, 0, update_raft_voter, "UpdateRaftVoter")

#define KL_WIRE_MESSAGE_ITEMS(X)                                               \
    X(FETCH_PARTITION, fetch_partition, "FetchPartition")                      \
    X(FETCHED_PARTITION, fetched_partition, "FetchedPartition")                \
    X(QUORUM_REPLICA, quorum_replica, "QuorumReplica")

/* What every response of the quorum begins with: the leader as the sender
 * knows it, -1 and empty where it does not. */
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

#endif
