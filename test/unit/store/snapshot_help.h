/*
 * A store and one snapshot at a time, for the tests of snapshots.
 */
#ifndef TEST_SNAPSHOT_HELP_H
#define TEST_SNAPSHOT_HELP_H

#include "store_fixture.h"

enum { SNAP_DATA = KL_STORE_SNAPSHOT_DATA, SNAP_BIG = 20 * SNAP_DATA + 77 };

extern struct store_fixture snap_fx;
extern uint8_t snap_content[SNAP_BIG];
extern struct kl_store_event snap_last; /* event of a snapshot */

void snap_setup(void);
void snap_teardown(void);
void snap_reopen(void);
/* One turn; 1 where an event of a snapshot came. */
int snap_turn(void);
/* Waits for the event of a writer; its code. */
int snap_await(const struct kl_store_snapshot_writer *w);
/* Wait, too. */
int snap_append(struct kl_store_snapshot_writer *w, size_t from, size_t size);
int snap_commit(struct kl_store_snapshot_writer *w);
struct kl_store_snapshot_writer *snap_begin(int64_t end, int32_t epoch);
/* One of the first size bytes of the content. */
void snap_make(int64_t end, int32_t epoch, size_t size);
int snap_read_rc(int64_t end, int32_t epoch, uint64_t position,
                 uint32_t bytes_max, struct kl_store_snapshot_read *r);
/* It is there, with the first size bytes of the content. */
void snap_expect(int64_t end, int32_t epoch, size_t size, uint32_t bytes_max);
/* How many are listed. */
size_t snap_count(void);
const char *snap_path_of(int64_t end, int32_t epoch);
int snap_names(const char *folder, const char *ending);

#endif
