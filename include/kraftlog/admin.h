/*
 * Administration of topics and of the cluster. Every function begins an
 * operation (op.h) and may be called by any thread; op_out may be NULL. What
 * they return themselves is about the arguments and the client: KL_EINVAL,
 * KL_ESTATE where the node is not open yet, KL_ECLOSED, KL_EFORK, KL_ENOMEM;
 * the operation says the rest: KL_ECLOSED, KL_ENOMEM, for changes also
 * KL_EUNKNOWN, and what is named below. flags is 0 where nothing is said of it.
 *
 * A node that is not the active controller has the controller do it; where none
 * is found within 30 s the operation ends with KL_ETIMEDOUT and nothing was
 * done.
 */
#ifndef KRAFTLOG_ADMIN_H
#define KRAFTLOG_ADMIN_H

#include <kraftlog/client.h>
#include <kraftlog/config.h>
#include <kraftlog/export.h>
#include <kraftlog/op.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a topic. name: 1 to 249 of A-Z a-z 0-9 . _ - but not "." or "..".
 * partitions from 1; replication: copies of every partition, from 1 to the
 * number of nodes, or -1 for the default, which is 1. config: topic keys that
 * differ from their defaults, NULL = none; keys of other scopes that are set
 * are refused (KL_ECONFIG, at once).
 * Operation: KL_ETOPICEXISTS, KL_ETOPICNAME, KL_EPARTITIONS, KL_EREPLICATION,
 * KL_ECONFIG, KL_EDISKFULL, KL_EFAILED. */
KL_API int kl_admin_create_topic(kl_client *client, const char *name,
                                 int32_t partitions, int32_t replication,
                                 const kl_config *config, uint32_t flags,
                                 kl_op **op_out);

/* Deletes a topic with everything in it. Operation: KL_ENOTOPIC. */
KL_API int kl_admin_delete_topic(kl_client *client, const char *name,
                                 uint32_t flags, kl_op **op_out);

/* Gives a topic more partitions; partitions is their number then. Keys may go
 * to other partitions than before. Operation: KL_ENOTOPIC, KL_EPARTITIONS where
 * there are not fewer, KL_EREPLICATION where too few nodes are there. */
KL_API int kl_admin_grow_topic(kl_client *client, const char *topic,
                               int32_t partitions, uint32_t flags,
                               kl_op **op_out);

/* Sets a key of a topic; value NULL = the default again. Operation:
 * KL_ENOTOPIC, KL_ECONFIG where the key is unknown, not a topic's or fixed at
 * creation, or the value not allowed. */
KL_API int kl_admin_set_config(kl_client *client, const char *topic,
                               const char *key, const char *value,
                               uint32_t flags, kl_op **op_out);

/* kl_op_json gives {"topics":[{"name":…,"id":…,"partitions":N},…]}, sorted by
 * name. */
KL_API int kl_admin_list_topics(kl_client *client, uint32_t flags,
                                kl_op **op_out);

/* kl_op_json gives one object: name, id, replication, config (every topic key
 * with its value), config_set (the keys that were set), partitions (number,
 * leader, epoch, replicas, isr, start, end, size in bytes). Operation:
 * KL_ENOTOPIC. start and end are 0 for partitions of other nodes. */
KL_API int kl_admin_describe_topic(kl_client *client, const char *topic,
                                   uint32_t flags, kl_op **op_out);

/* Deletes the records of a partition before an offset (KL_OFFSET_END = all that
 * can be read now). kl_op_log_start gives the new first offset. Operation:
 * KL_ENOTOPIC, KL_ENOTLEADER at a node that does not lead it, KL_EOFFSETRANGE
 * above the readable end. */
KL_API int kl_admin_delete_before(kl_client *client, const char *topic,
                                  int32_t partition, int64_t offset,
                                  uint32_t flags, kl_op **op_out);

/* Looks an offset up: spec is KL_OFFSET_BEGIN, KL_OFFSET_END or
 * KL_OFFSET_TIMESTAMP with timestamp_ms since 1970, at least 0 (the end where
 * no record is that young). kl_op_offset, kl_op_log_start, kl_op_high_watermark
 * give the answers. Operation: KL_ENOTOPIC, KL_ENOTLEADER. */
KL_API int kl_admin_list_offset(kl_client *client, const char *topic,
                                int32_t partition, int64_t spec,
                                int64_t timestamp_ms, uint32_t flags,
                                kl_op **op_out);

/* ---- partitions -------------------------------------------------------- */

#define KL_ELECT_UNCLEAN 1U /* whatever is lost */

/* Elects the leader of a partition: the preferred one, which is its first
 * replica, where that is in sync. With KL_ELECT_UNCLEAN, for a partition
 * without a leader: the node leader_id, -1 = any, although it may lack records
 * that were acknowledged. leader_id is -1 without that flag. Operation:
 * KL_ENOTOPIC, KL_ENOCANDIDATE. */
KL_API int kl_admin_elect_leader(kl_client *client, const char *topic,
                                 int32_t partition, int32_t leader_id,
                                 uint32_t flags, kl_op **op_out);

/* Moves a partition to count nodes, up to 32; the first one is its preferred
 * leader. replicas NULL with count 0: gives up the reassignment that is under
 * way. Operation: KL_ENOTOPIC, KL_EREPLICATION, KL_ENOREASSIGNMENT, KL_ESTATE
 * where it cannot be given up, KL_EUNSUPPORTED for nodes that have no replica
 * yet: this release does not copy records. */
KL_API int kl_admin_reassign(kl_client *client, const char *topic,
                             int32_t partition, const int32_t *replicas,
                             uint32_t count, uint32_t flags, kl_op **op_out);

/* ---- the cluster ------------------------------------------------------- */

/* kl_op_json gives one object: node and directory (of this node), cluster,
 * controller (the node that acts as it, -1 = not known), feature_level, voters
 * (their nodes), brokers (node, directory, epoch, fenced, stopping, rack,
 * endpoints), as this node knows it. A node by itself is no broker. */
KL_API int kl_admin_describe_cluster(kl_client *client, uint32_t flags,
                                     kl_op **op_out);

/* Forgets a node that does not run any more, and the replicas that it had.
 * Operation: KL_ENOBROKER, KL_ESTATE while it is not fenced. */
KL_API int kl_admin_unregister_broker(kl_client *client, int32_t node_id,
                                      uint32_t flags, kl_op **op_out);

/* kl_op_json gives one object of what the leader of the metadata quorum knows:
 * leader, epoch, high_watermark, end, voters and observers (node, directory,
 * endpoints, end, durable, last_fetch_ms, last_caught_up_ms; ages are 0 for the
 * leader itself and -1 where it never happened). Operation: KL_ETIMEDOUT where
 * no leader is found. */
KL_API int kl_admin_describe_quorum(kl_client *client, uint32_t flags,
                                    kl_op **op_out);

#define KL_VOTER_FORCE 1U /* also where less is tolerated afterwards */

/* Makes a node that is registered a voter of the metadata quorum. It is one
 * when the operation succeeds. flags: KL_VOTER_FORCE. Operation: KL_ENOBROKER,
 * KL_EVOTEREXISTS, KL_ELAGGING where it has not caught up, KL_EREDUNDANCY where
 * the voters would tolerate less, as one that becomes two without a third node
 * in sight; KL_ETIMEDOUT where another change was under way all the time. */
KL_API int kl_admin_add_voter(kl_client *client, int32_t node_id,
                              uint32_t flags, kl_op **op_out);

/* Makes a voter an observer. flags: KL_VOTER_FORCE. Operation: KL_ENOVOTER,
 * KL_EINVAL for the only one, KL_EREDUNDANCY, KL_ETIMEDOUT. */
KL_API int kl_admin_remove_voter(kl_client *client, int32_t node_id,
                                 uint32_t flags, kl_op **op_out);

#ifdef __cplusplus
}
#endif

#endif
