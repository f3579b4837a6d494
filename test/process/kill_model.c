#include "kill_model.h"

#include "base/rng.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Check notes every assertion in a file, which is too slow for every record. */
#define KILL_MUST(condition)                                                   \
    do {                                                                       \
        if (!(condition))                                                      \
            ck_abort_msg("%s", #condition);                                    \
    } while (0)

/* ---- topics and rounds ------------------------------------------------- */

void kill_topic_init(struct kill_topic *t, const char *name,
                     int32_t partition_count)
{
    memset(t, 0, sizeof *t);
    t->name = name;
    t->partition_count = partition_count;
    for (int i = 0; i < KILL_KEYS; i++)
        t->key_partition[i] = -1;
}

void kill_topic_deinit(struct kill_topic *t)
{
    for (int i = 0; i < KILL_PARTITIONS; i++)
        free(t->partitions[i].records);
}

void kill_round_add_ack(struct kill_round *r, int32_t partition, int64_t offset)
{
    if (r->ack_count == r->ack_capacity) {
        r->ack_capacity = r->ack_capacity ? 2 * r->ack_capacity : 1024;
        r->acks = realloc(r->acks, r->ack_capacity * sizeof *r->acks);
        ck_assert_ptr_nonnull(r->acks);
    }
    r->acks[r->ack_count].partition = partition;
    r->acks[r->ack_count].offset = offset;
    r->ack_count++;
}

void kill_round_deinit(struct kill_round *r)
{
    free(r->acks);
}

/* ---- lines ------------------------------------------------------------- */

/* Mostly short, now and then larger than a page or than a batch. */
static size_t line_filler_size(struct kl_base_rng *rng)
{
    uint64_t kind = kl_base_rng_below(rng, 256);

    if (kind == 0)
        return (size_t)kl_base_rng_below(rng, 70000);
    if (kind < 8)
        return (size_t)kl_base_rng_below(rng, 6000);
    return (size_t)kl_base_rng_below(rng, 160);
}

size_t kill_line(const struct kill_round *r, uint32_t line, char out[KILL_LINE])
{
    struct kl_base_rng rng;
    uint32_t state;
    size_t size = 0;
    size_t filler;

    kl_base_rng_seed(&rng, (uint64_t)r->number << 32 | line);
    if (r->with_keys)
        size = (size_t)snprintf(out, KILL_LINE, "k%u:", line % KILL_KEYS);
    size += (size_t)snprintf(out + size, KILL_LINE - size, "%u %u ", r->number,
                             line);
    filler = line_filler_size(&rng);
    state = (uint32_t)kl_base_rng_next(&rng);
    for (size_t i = 0; i < filler; i++) {
        state = state * 1664525 + 1013904223;
        out[size++] = (char)('a' + (state >> 28));
    }
    out[size++] = '\n';
    return size;
}

/* ---- reading ----------------------------------------------------------- */

struct kill_reader
{
    struct kill_topic *topic;
    const struct kill_round *round;
    size_t known[KILL_PARTITIONS]; /* records before the round */
    char line[KILL_LINE];
};

/* The bytes of a record against the line that they must be. */
static void reader_compare(struct kill_reader *k, struct kill_place place,
                           const void *key, size_t key_size, const void *value,
                           size_t value_size)
{
    struct kill_round round = {.number = place.round, .with_keys = key != NULL};
    size_t size = kill_line(&round, place.line, k->line);
    const char *expected = k->line;

    if (key) {
        KILL_MUST(key_size < size);
        KILL_MUST(memcmp(key, expected, key_size) == 0);
        KILL_MUST(expected[key_size] == ':');
        expected += key_size + 1;
        size -= key_size + 1;
    }
    KILL_MUST(value_size == size - 1);
    KILL_MUST(memcmp(value, expected, value_size) == 0);
}

static void reader_learn_key(struct kill_topic *t, uint32_t line,
                             int32_t partition)
{
    int32_t *known = &t->key_partition[line % KILL_KEYS];

    if (*known < 0)
        *known = partition;
    KILL_MUST(*known == partition);
}

/* A record behind those that were there before. */
static void reader_append(struct kill_reader *k, struct kill_partition *p,
                          struct kill_place place)
{
    const struct kill_place *last = p->count ? &p->records[p->count - 1] : NULL;

    KILL_MUST(place.round == k->round->number);
    KILL_MUST(place.line < k->round->fed);
    if (last && last->round == place.round)
        KILL_MUST(place.line > last->line);
    if (p->count == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 1024;
        p->records = realloc(p->records, p->capacity * sizeof *p->records);
        ck_assert_ptr_nonnull(p->records);
    }
    p->records[p->count++] = place;
}

static void reader_record(struct kill_reader *k, int32_t partition,
                          int64_t offset, const void *key, size_t key_size,
                          const void *value, size_t value_size)
{
    struct kill_partition *p = &k->topic->partitions[partition];
    struct kill_place place;
    char text[32] = "";

    memcpy(text, value,
           value_size < sizeof text - 1 ? value_size : sizeof text - 1);
    KILL_MUST(sscanf(text, "%u %u", &place.round, &place.line) == 2);
    reader_compare(k, place, key, key_size, value, value_size);
    if (key)
        reader_learn_key(k->topic, place.line, partition);
    if ((size_t)offset < k->known[partition]) {
        KILL_MUST(p->records[offset].round == place.round);
        KILL_MUST(p->records[offset].line == place.line);
        return;
    }
    KILL_MUST((size_t)offset == p->count);
    reader_append(k, p, place);
}

static void reader_event(struct kill_reader *k, kl_event *event,
                         int64_t next[KILL_PARTITIONS])
{
    int32_t partition = kl_event_partition(event);
    const int64_t *offsets;
    const void *const *keys;
    const void *const *values;
    const uint64_t *key_sizes;
    const uint64_t *value_sizes;
    size_t count;

    KILL_MUST(kl_event_columns(event, &count, &offsets, NULL, &keys, &key_sizes,
                               &values, &value_sizes) == KL_OK);
    for (size_t i = 0; i < count; i++) {
        KILL_MUST(offsets[i] == next[partition]);
        next[partition]++;
        reader_record(k, partition, offsets[i], keys[i], key_sizes[i],
                      values[i], value_sizes[i]);
    }
}

static void reader_run(struct kill_reader *k, kl_client *client)
{
    struct kill_topic *t = k->topic;
    int64_t next[KILL_PARTITIONS] = {0};
    kl_consumer *consumer;
    int running = t->partition_count;

    KILL_MUST(kl_consumer_new(&consumer, client, NULL) == KL_OK);
    for (int32_t i = 0; i < t->partition_count; i++)
        KILL_MUST(kl_consumer_assign(consumer, t->name, i, 0, 0) == KL_OK);
    while (running > 0) {
        kl_event *event;

        KILL_MUST(kl_consumer_poll(consumer, -1, &event) == KL_OK);
        if (kl_event_type(event) == KL_EVENT_ERROR) {
            kl_event_errmsg(event, k->line, sizeof k->line);
            ck_abort_msg("%s", k->line);
        }
        running -= kl_event_type(event) == KL_EVENT_END;
        reader_event(k, event, next);
        kl_event_free(event);
    }
    kl_consumer_free(consumer);
    /* What was there must not have become less. */
    for (int32_t i = 0; i < t->partition_count; i++)
        KILL_MUST((size_t)next[i] == t->partitions[i].count);
}

/* ---- judging ----------------------------------------------------------- */

/* Where a line of the round goes; -1 where nobody knows. */
static int32_t verify_partition_of(const struct kill_topic *t,
                                   const struct kill_round *r, uint32_t line)
{
    if (t->partition_count == 1)
        return 0;
    return r->with_keys ? t->key_partition[line % KILL_KEYS] : -1;
}

/* The records of the round are the first of those that went to the partition,
 * without a gap. */
static void verify_gaps(const struct kill_topic *t, const struct kill_round *r,
                        int32_t partition, size_t known)
{
    const struct kill_partition *p = &t->partitions[partition];
    uint32_t line = 0;

    for (size_t i = known; i < p->count; i++) {
        for (; line < p->records[i].line; line++)
            KILL_MUST(verify_partition_of(t, r, line) != partition);
        line++;
    }
}

static void verify_acks(const struct kill_topic *t, const struct kill_round *r)
{
    for (size_t i = 0; i < r->ack_count; i++) {
        const struct kill_ack *ack = &r->acks[i];
        const struct kill_partition *p;

        KILL_MUST(ack->partition >= 0);
        KILL_MUST(ack->partition < t->partition_count);
        p = &t->partitions[ack->partition];
        KILL_MUST(ack->offset >= 0);
        KILL_MUST((size_t)ack->offset < p->count);
        KILL_MUST(p->records[ack->offset].round == r->number);
        KILL_MUST(p->records[ack->offset].line == i);
    }
}

void kill_topic_verify(struct kill_topic *t, const struct kill_round *r,
                       kl_client *client)
{
    struct kill_reader *k = calloc(1, sizeof *k);

    ck_assert_ptr_nonnull(k);
    k->topic = t;
    k->round = r;
    for (int i = 0; i < KILL_PARTITIONS; i++)
        k->known[i] = t->partitions[i].count;
    reader_run(k, client);
    for (int32_t i = 0; i < t->partition_count; i++)
        verify_gaps(t, r, i, k->known[i]);
    verify_acks(t, r);
    free(k);
}
