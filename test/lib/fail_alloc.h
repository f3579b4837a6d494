/*
 * An allocator for tests: it checks that the sizes at free are those of the
 * allocation, counts what is live, and fails on demand. Any thread.
 */
#ifndef TEST_FAIL_ALLOC_H
#define TEST_FAIL_ALLOC_H

#include "base/alloc.h"

#include <pthread.h>
#include <stdint.h>

struct fail_alloc
{
    struct kl_base_alloc alloc; /* what the code under test gets */
    pthread_mutex_t mutex;
    size_t live_blocks;
    size_t live_bytes;
    uint64_t calls;   /* allocations and growths asked for so far */
    uint64_t fail_at; /* this call fails, counted from 1; 0 = none */
    int fail_after;   /* 1 = all calls after it fail too */
    uint64_t failed;  /* calls that were refused */
};

void fail_alloc_init(struct fail_alloc *f);
/* Counts calls from 0 again; call number fail_at will be refused. */
void fail_alloc_arm(struct fail_alloc *f, uint64_t fail_at);
/* Fails the test where something is still allocated. */
void fail_alloc_deinit(struct fail_alloc *f);

#endif
