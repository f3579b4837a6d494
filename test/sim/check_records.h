/*
 * Acknowledged records: each is at its offset, unchanged, for ever; and what a
 * consumer has seen at an offset is what everybody sees there (D9).
 *
 * A record is known by its tag, which no other record has. 0 = no record.
 */
#ifndef SIM_CHECK_RECORDS_H
#define SIM_CHECK_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum { RECORDS_LOGS = 256 };

struct records_log
{
    uint64_t *tags; /* by offset; acknowledged or seen */
    uint8_t *acked;
    size_t count;
    size_t capacity;
    size_t acked_capacity;
};

struct check_records
{
    struct records_log logs[RECORDS_LOGS];
    char text[256];
};

const char *check_records_acked(struct check_records *c, int log,
                                int64_t offset, uint64_t tag);
const char *check_records_seen(struct check_records *c, int log, int64_t offset,
                               uint64_t tag);
/* The log ends here, for everybody. */
const char *check_records_end(struct check_records *c, int log, int64_t end);
void check_records_deinit(struct check_records *c);

#endif
