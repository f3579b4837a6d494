/*
 * Noticing a fork: a page that the kernel wipes in a child (MADV_WIPEONFORK),
 * and the process id where there is none.
 */
#include "os/fork.h"
#include "os/thread.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef MADV_WIPEONFORK
static volatile unsigned char *fork_page(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, size, MADV_WIPEONFORK)) {
        munmap(page, size);
        return NULL;
    }
    *page = 1;
    return page;
}
#else
static volatile unsigned char *fork_page(void)
{
    return NULL;
}
#endif

void kl_os_fork_guard_init(struct kl_os_fork_guard *g)
{
    g->pid = kl_os_process_id();
    g->page = fork_page();
}

void kl_os_fork_guard_deinit(struct kl_os_fork_guard *g)
{
    if (g->page)
        munmap((void *)(uintptr_t)g->page, (size_t)sysconf(_SC_PAGESIZE));
    g->page = NULL;
}

int kl_os_fork_guard_is_child(const struct kl_os_fork_guard *g)
{
    return g->page ? *g->page == 0 : kl_os_process_id() != g->pid;
}
