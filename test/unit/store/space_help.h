/*
 * A store on a simulated disk whose size a test can change.
 */
#ifndef TEST_SPACE_HELP_H
#define TEST_SPACE_HELP_H

#include "sim_disk.h"
#include "store_fixture.h"

enum { MIB = 1 << 20 };

struct space_help
{
    struct store_fixture f;
    struct sim_disk *disk;
};

/* The store is not open yet. capacity 0 = unlimited. */
void space_help_init(struct space_help *h, uint64_t capacity);
void space_help_deinit(struct space_help *h);
const struct kl_store_stats *space_help_stats(struct space_help *h);
/* Longer than any pause between two tries or looks. */
void space_help_wait(struct space_help *h);
/* Free bytes of the disk. */
uint64_t space_help_room(struct space_help *h);
/* Somebody else leaves only this much. */
void space_help_leave(struct space_help *h, uint64_t bytes);
/* A record as of store_fixture_fill with salt 1; the code of the store. */
int space_help_append(struct space_help *h, struct kl_store_log *log,
                      uint32_t size);
/* From start to LEO, all of it durable. */
void space_help_expect(struct space_help *h, struct kl_store_log *log,
                       uint32_t size);
/* What the statistics should say of the disk, from the files. */
uint64_t space_help_disk(struct space_help *h);

#endif
