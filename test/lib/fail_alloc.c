#include "fail_alloc.h"

#include <stdlib.h>

static void *fail_alloc_fn(void *ptr, size_t old_size, size_t new_size,
                           void *user)
{
    struct test_fail_alloc *f = user;
    void *p;

    if (!new_size) {
        f->live -= old_size;
        free(ptr);
        return NULL;
    }
    if (f->grants == 0) {
        f->refusals++;
        return NULL;
    }
    p = realloc(ptr, new_size);
    if (!p)
        return NULL;
    if (f->grants > 0)
        f->grants--;
    f->live += new_size - (ptr ? old_size : 0);
    return p;
}

void test_fail_alloc_init(struct test_fail_alloc *f, int64_t grants)
{
    f->alloc.fn = fail_alloc_fn;
    f->alloc.user = f;
    f->grants = grants;
    f->refusals = 0;
    f->live = 0;
}
