/*
 * An allocator that counts, refuses on demand, and knows what is not freed.
 * Single-threaded.
 */
#ifndef KL_TEST_FAIL_ALLOC_H
#define KL_TEST_FAIL_ALLOC_H

#include "base/alloc.h"

#include <stdint.h>

struct test_fail_alloc
{
    struct kl_base_alloc alloc;
    int64_t grants;   /* allocations left before refusal; negative = no limit */
    int64_t refusals; /* since init */
    size_t live;      /* bytes, by the sizes given at free */
};

void test_fail_alloc_init(struct test_fail_alloc *f, int64_t grants);

#endif
