/*
 * What the tests of the write-ahead log share: a store with one log, and ways
 * to look at a group on disk and to spoil it.
 */
#ifndef TEST_WAL_HELP_H
#define TEST_WAL_HELP_H

#include "store_fixture.h"

struct wal_help
{
    struct store_fixture fx;
    struct kl_store_id id;
    struct kl_store_log *subject;
};

extern struct wal_help wal;

enum wal_damage { WAL_ZEROS, WAL_GARBAGE, WAL_FLIP };

void wal_setup_ring(uint64_t ring_bytes);
void wal_setup(void);
void wal_teardown(void);
/* Turns until all that was appended is durable: one group where it fits. */
void wal_commit(void);
/* The group at a position, as it is on disk; the result is to be freed. */
uint8_t *wal_group_at(const struct kl_store_position *p,
                      struct kl_store_group_header *h);
/* Long enough for a seal. */
void wal_idle(void);
/* Fills until less than size bytes are left in the WAL file. */
void wal_near_the_end(uint64_t size);
/* Spoils a group on disk: its bytes from one on, or one byte. */
void wal_spoil(const struct kl_store_position *p, uint32_t size, uint32_t from,
               enum wal_damage damage);
/* One group that matters, one to be spoilt; the sizes of the latter. */
struct kl_store_position wal_two_groups(struct kl_store_group_header *h,
                                        uint32_t *used);

#endif
