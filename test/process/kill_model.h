/*
 * What a log must hold after the process that wrote it was killed.
 *
 * A round is one life of a producing process: it is fed lines that anybody can
 * make again from the number of the round and of the line. The model knows what
 * each partition held when it was last looked at, and which lines of the round
 * were acknowledged where.
 */
#ifndef TEST_KILL_MODEL_H
#define TEST_KILL_MODEL_H

#include <kraftlog/kraftlog.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KILL_PARTITIONS = 3,
    KILL_KEYS = 16,
    KILL_LINE = 80 * 1024 /* bytes of the longest line */
};

struct kill_place
{
    uint32_t round;
    uint32_t line;
};

/* An acknowledgement: line number n of the round is the nth of them. */
struct kill_ack
{
    int32_t partition;
    int64_t offset;
};

struct kill_partition
{
    struct kill_place *records; /* by offset */
    size_t count;
    size_t capacity;
};

struct kill_topic
{
    const char *name;
    int32_t partition_count;
    struct kill_partition partitions[KILL_PARTITIONS];
    int32_t key_partition[KILL_KEYS]; /* -1 = not known yet */
};

struct kill_round
{
    uint32_t number;
    int with_keys;
    uint32_t fed; /* lines of which at least a byte was written */
    struct kill_ack *acks;
    size_t ack_count;
    size_t ack_capacity;
};

void kill_topic_init(struct kill_topic *t, const char *name,
                     int32_t partition_count);
void kill_topic_deinit(struct kill_topic *t);

/* Makes a line with its line feed and returns its size: "key:value", or the
 * value alone. */
size_t kill_line(const struct kill_round *r, uint32_t line,
                 char out[KILL_LINE]);

void kill_round_add_ack(struct kill_round *r, int32_t partition,
                        int64_t offset);
void kill_round_deinit(struct kill_round *r);

/* Reads the whole topic through the client and fails the test where it is not
 * what it must be: what was there before, then lines of the round in order,
 * among them every acknowledged one at its offset; with keys, without a gap.
 * The topic holds what was found then. */
void kill_topic_verify(struct kill_topic *t, const struct kill_round *r,
                       kl_client *client);

#endif
