/*
 * A client: what producers, consumers and administration talk through. The
 * client of a node talks to that node without a message.
 */
#ifndef KRAFTLOG_CLIENT_H
#define KRAFTLOG_CLIENT_H

#include <kraftlog/export.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_client kl_client;

/* How safe an acknowledged record is. */
enum {
    KL_LEVEL_MEMORY = 1,    /* handed to the operating system: survives the end
                               of the process, not a power cut */
    KL_LEVEL_DURABLE = 2,   /* on the medium of this node */
    KL_LEVEL_REPLICATED = 3 /* on the media of the in-sync replicas */
};

/* Places in a partition where an offset is asked for. */
enum {
    KL_OFFSET_END = -1,      /* behind the last readable record */
    KL_OFFSET_BEGIN = -2,    /* the first record that is still there */
    KL_OFFSET_TIMESTAMP = -3 /* the first record at or after a time */
};

/* Gives the handle up; its producers, consumers and operations stay usable.
 * NULL is ignored; a child process after fork leaves the handle alone. Any
 * thread. */
KL_API void kl_client_free(kl_client *client);

/* Number of partitions of a topic as far as this client knows. KL_ENOTOPIC,
 * KL_ESTATE where the node is not open yet, KL_ECLOSED, KL_EFORK, KL_EINVAL.
 * Any thread. */
KL_API int kl_client_partition_count(kl_client *client, const char *topic,
                                     int32_t *count_out);

#ifdef __cplusplus
}
#endif

#endif
