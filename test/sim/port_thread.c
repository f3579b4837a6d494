/*
 * The ports of lib/os that a whole node uses besides clock, files and lanes,
 * for one thread that never sleeps: the linker takes these in place of the
 * library's. No system call is left.
 */
#include "world.h"

#include "os/entropy.h"
#include "os/fork.h"
#include "os/limit.h"
#include "os/thread.h"

#include "need.h"

/* ---- threads --------------------------------------------------------------
 */

int kl_os_mutex_init(struct kl_os_mutex *m)
{
    (void)m;
    return 0;
}

void kl_os_mutex_deinit(struct kl_os_mutex *m)
{
    (void)m;
}

void kl_os_mutex_lock(struct kl_os_mutex *m)
{
    (void)m;
}

void kl_os_mutex_unlock(struct kl_os_mutex *m)
{
    (void)m;
}

int kl_os_cond_init(struct kl_os_cond *c)
{
    (void)c;
    return 0;
}

void kl_os_cond_deinit(struct kl_os_cond *c)
{
    (void)c;
}

int kl_os_cond_wait(struct kl_os_cond *c, struct kl_os_mutex *m,
                    int64_t deadline_ns)
{
    (void)c, (void)m, (void)deadline_ns;
    need_msg(0, "the simulator's only thread sleeps");
    return 1;
}

void kl_os_cond_broadcast(struct kl_os_cond *c)
{
    (void)c;
}

int kl_os_gate_init(struct kl_os_gate *g)
{
    atomic_init(&g->posted, 0);
    return 0;
}

void kl_os_gate_deinit(struct kl_os_gate *g)
{
    (void)g;
}

void kl_os_gate_post(struct kl_os_gate *g)
{
    atomic_store(&g->posted, 1);
}

int kl_os_gate_wait(struct kl_os_gate *g, int64_t deadline_ns)
{
    (void)deadline_ns;
    need_msg(atomic_exchange(&g->posted, 0), "the simulator's thread sleeps");
    return 0;
}

int kl_os_thread_start(struct kl_os_thread *t, void (*fn)(void *user),
                       void *user, const char *name)
{
    (void)t, (void)fn, (void)user, (void)name;
    return KL_ENOMEM;
}

void kl_os_thread_join(struct kl_os_thread *t)
{
    (void)t;
}

uint64_t kl_os_thread_self(void)
{
    return 1;
}

/* Nobody sleeps on the descriptor: the world steps a node whose inbox is not
 * empty. */
int kl_os_wakeup_init(struct kl_os_wakeup *w)
{
    w->fd = w->write_fd = 0;
    return 0;
}

void kl_os_wakeup_deinit(struct kl_os_wakeup *w)
{
    (void)w;
}

void kl_os_wakeup_signal(struct kl_os_wakeup *w)
{
    w->write_fd++;
}

uint64_t kl_os_wakeup_drain(struct kl_os_wakeup *w)
{
    uint64_t count = (uint64_t)w->write_fd;

    w->write_fd = 0;
    return count;
}

void kl_os_wakeup_wait(struct kl_os_wakeup *w, int64_t timeout_ns)
{
    (void)w, (void)timeout_ns;
    need_msg(0, "the simulator's only thread sleeps");
}

int64_t kl_os_process_id(void)
{
    return 1;
}

void kl_os_fork_guard_init(struct kl_os_fork_guard *g)
{
    g->page = NULL;
    g->pid = 1;
}

void kl_os_fork_guard_deinit(struct kl_os_fork_guard *g)
{
    (void)g;
}

int kl_os_fork_guard_is_child(const struct kl_os_fork_guard *g)
{
    (void)g;
    return 0;
}

/* ---- the rest -------------------------------------------------------------
 */

uint32_t kl_os_limit_files(void)
{
    return 1024;
}

int kl_os_entropy(void *buf, size_t size)
{
    world_entropy(buf, size);
    return 0;
}
