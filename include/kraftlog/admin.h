/*
 * Administration of topics. Every function begins an operation (op.h) and may
 * be called by any thread; op_out may be NULL. What they return themselves is
 * about the arguments and the client: KL_EINVAL, KL_ESTATE where the node is
 * not open yet, KL_ECLOSED, KL_EFORK, KL_ENOMEM; the operation says the rest:
 * KL_ECLOSED, KL_ENOMEM, for changes also KL_EUNKNOWN, and what is named below.
 * flags is 0.
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
 * KL_ENOTOPIC. */
KL_API int kl_admin_describe_topic(kl_client *client, const char *topic,
                                   uint32_t flags, kl_op **op_out);

/* Deletes the records of a partition before an offset (KL_OFFSET_END = all that
 * can be read now). kl_op_log_start gives the new first offset. Operation:
 * KL_ENOTOPIC, KL_EOFFSETRANGE above the readable end. */
KL_API int kl_admin_delete_before(kl_client *client, const char *topic,
                                  int32_t partition, int64_t offset,
                                  uint32_t flags, kl_op **op_out);

/* Looks an offset up: spec is KL_OFFSET_BEGIN, KL_OFFSET_END or
 * KL_OFFSET_TIMESTAMP with timestamp_ms since 1970, at least 0 (the end where
 * no record is that young). kl_op_offset, kl_op_log_start, kl_op_high_watermark
 * give the answers. Operation: KL_ENOTOPIC. */
KL_API int kl_admin_list_offset(kl_client *client, const char *topic,
                                int32_t partition, int64_t spec,
                                int64_t timestamp_ms, uint32_t flags,
                                kl_op **op_out);

#ifdef __cplusplus
}
#endif

#endif
