/*
 * Notices that this process is a child made by fork after the guard: threads
 * are gone there and locks may be held by nobody. Looking costs a load, so that
 * every call of a handle can look.
 */
#ifndef KL_OS_FORK_H
#define KL_OS_FORK_H

#include <stdint.h>

struct kl_os_fork_guard
{
    volatile const unsigned char *page; /* zero in a child; NULL = use pid */
    int64_t pid;
};

/* Never fails: without such a page it compares process ids. */
void kl_os_fork_guard_init(struct kl_os_fork_guard *g);
void kl_os_fork_guard_deinit(struct kl_os_fork_guard *g);
/* 1 in a child of the process that made the guard. Any thread. */
int kl_os_fork_guard_is_child(const struct kl_os_fork_guard *g);

#endif
