/*
 * Threads, mutex, condition with deadline, and the descriptor that wakes a
 * sleeping loop. The only user of pthread.
 */
#ifndef KL_OS_THREAD_H
#define KL_OS_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct kl_os_mutex
{
    pthread_mutex_t m;
};

struct kl_os_cond
{
    pthread_cond_t c; /* on the monotonic clock */
};

/* Stays where it is from start to join. */
struct kl_os_thread
{
    pthread_t t;
    void (*fn)(void *user);
    void *user;
    char name[16]; /* cut to what Linux shows */
};

/* Not recursive. 0 or KL_ENOMEM. */
int kl_os_mutex_init(struct kl_os_mutex *m);
void kl_os_mutex_deinit(struct kl_os_mutex *m);
void kl_os_mutex_lock(struct kl_os_mutex *m);
void kl_os_mutex_unlock(struct kl_os_mutex *m);

int kl_os_cond_init(struct kl_os_cond *c);
void kl_os_cond_deinit(struct kl_os_cond *c);
/* deadline_ns on the monotonic clock, negative = no limit. 1 when it passed. */
int kl_os_cond_wait(struct kl_os_cond *c, struct kl_os_mutex *m,
                    int64_t deadline_ns);
void kl_os_cond_broadcast(struct kl_os_cond *c);

/* Where one thread sleeps until another one lets it through. A post that comes
 * first is remembered, once. Cheaper than mutex and condition: there is no lock
 * to wake into. */
struct kl_os_gate
{
    atomic_uint posted;
#ifndef __linux__
    struct kl_os_mutex mutex;
    struct kl_os_cond cond;
#endif
};

/* 0 or KL_ENOMEM. */
int kl_os_gate_init(struct kl_os_gate *g);
void kl_os_gate_deinit(struct kl_os_gate *g);
void kl_os_gate_post(struct kl_os_gate *g); /* any thread */
/* Until posted; deadline_ns as in kl_os_cond_wait. 1 when it passed. */
int kl_os_gate_wait(struct kl_os_gate *g, int64_t deadline_ns);

/* All signals are blocked in the new thread: the host's handlers never run on
 * a thread of ours. 0 or KL_ENOMEM. */
int kl_os_thread_start(struct kl_os_thread *t, void (*fn)(void *user),
                       void *user, const char *name);
void kl_os_thread_join(struct kl_os_thread *t);
/* A number that is equal for equal threads and never 0. */
uint64_t kl_os_thread_self(void);

/* A descriptor that becomes readable when signalled (eventfd; a pipe where
 * there is none). */
struct kl_os_wakeup
{
    int fd;
    int write_fd;
};

/* 0, KL_ENOFILES or KL_ENOMEM. */
int kl_os_wakeup_init(struct kl_os_wakeup *w);
void kl_os_wakeup_deinit(struct kl_os_wakeup *w);
void kl_os_wakeup_signal(struct kl_os_wakeup *w); /* any thread */
/* Gives the number of signals that were there. */
uint64_t kl_os_wakeup_drain(struct kl_os_wakeup *w);
/* Sleeps until signalled or timeout_ns passed (negative = no limit). Returns
 * early when a signal handler of the host ran in this thread. */
void kl_os_wakeup_wait(struct kl_os_wakeup *w, int64_t timeout_ns);

/* Process id, to notice a fork. */
int64_t kl_os_process_id(void);

#endif
