/*
 * Threads on POSIX.
 */
#include "base/assert.h"
#include "os/syserror.h"
#include "os/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <kraftlog/error.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* KL_OS_NO_EVENTFD lets Linux test what other systems use. */
#if defined(__linux__) && !defined(KL_OS_NO_EVENTFD)
#include <sys/eventfd.h>
#define THREAD_HAVE_EVENTFD 1
#else
#define THREAD_HAVE_EVENTFD 0
#endif

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#define NS_PER_S 1000000000

/* Every lock of the library is held for a moment only, so that trying again a
 * few times costs less than sleeping; where the C library can do that. */
int kl_os_mutex_init(struct kl_os_mutex *m)
{
    pthread_mutexattr_t attr;
    int failed;

    if (pthread_mutexattr_init(&attr))
        return KL_ENOMEM;
#ifdef __GLIBC__
    (void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    failed = pthread_mutex_init(&m->m, &attr);
    pthread_mutexattr_destroy(&attr);
    return failed ? KL_ENOMEM : 0;
}

void kl_os_mutex_deinit(struct kl_os_mutex *m)
{
    KL_ASSERT(pthread_mutex_destroy(&m->m) == 0);
}

void kl_os_mutex_lock(struct kl_os_mutex *m)
{
    KL_ASSERT(pthread_mutex_lock(&m->m) == 0);
}

void kl_os_mutex_unlock(struct kl_os_mutex *m)
{
    KL_ASSERT(pthread_mutex_unlock(&m->m) == 0);
}

int kl_os_cond_init(struct kl_os_cond *c)
{
    pthread_condattr_t attr;
    int failed;

    if (pthread_condattr_init(&attr))
        return KL_ENOMEM;
    failed = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) ||
             pthread_cond_init(&c->c, &attr);
    pthread_condattr_destroy(&attr);
    return failed ? KL_ENOMEM : 0;
}

void kl_os_cond_deinit(struct kl_os_cond *c)
{
    KL_ASSERT(pthread_cond_destroy(&c->c) == 0);
}

int kl_os_cond_wait(struct kl_os_cond *c, struct kl_os_mutex *m,
                    int64_t deadline_ns)
{
    struct timespec t;
    int rc;

    if (deadline_ns < 0) {
        KL_ASSERT(pthread_cond_wait(&c->c, &m->m) == 0);
        return 0;
    }
    t.tv_sec = (time_t)(deadline_ns / NS_PER_S);
    t.tv_nsec = (long)(deadline_ns % NS_PER_S);
    rc = pthread_cond_timedwait(&c->c, &m->m, &t);
    KL_ASSERT(rc == 0 || rc == ETIMEDOUT);
    return rc == ETIMEDOUT;
}

void kl_os_cond_broadcast(struct kl_os_cond *c)
{
    KL_ASSERT(pthread_cond_broadcast(&c->c) == 0);
}

#ifdef __linux__

/* What the call takes on every Linux whose long is that of the kernel. */
struct gate_time
{
    long s;
    long ns;
};

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
    (void)syscall(SYS_futex, &g->posted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

int kl_os_gate_wait(struct kl_os_gate *g, int64_t deadline_ns)
{
    struct gate_time t = {(long)(deadline_ns / NS_PER_S),
                          (long)(deadline_ns % NS_PER_S)};
    int passed = 0;

    /* The kernel sleeps only while nothing was posted. */
    while (!atomic_exchange(&g->posted, 0)) {
        if (passed)
            return 1;
        passed = syscall(SYS_futex, &g->posted, FUTEX_WAIT_BITSET_PRIVATE, 0,
                         deadline_ns < 0 ? NULL : &t, NULL,
                         FUTEX_BITSET_MATCH_ANY) != 0 &&
                 errno == ETIMEDOUT;
    }
    return 0;
}

#else

int kl_os_gate_init(struct kl_os_gate *g)
{
    int rc = kl_os_mutex_init(&g->mutex);

    atomic_init(&g->posted, 0);
    if (rc)
        return rc;
    rc = kl_os_cond_init(&g->cond);
    if (rc)
        kl_os_mutex_deinit(&g->mutex);
    return rc;
}

void kl_os_gate_deinit(struct kl_os_gate *g)
{
    kl_os_cond_deinit(&g->cond);
    kl_os_mutex_deinit(&g->mutex);
}

void kl_os_gate_post(struct kl_os_gate *g)
{
    kl_os_mutex_lock(&g->mutex);
    atomic_store(&g->posted, 1);
    kl_os_cond_broadcast(&g->cond);
    kl_os_mutex_unlock(&g->mutex);
}

int kl_os_gate_wait(struct kl_os_gate *g, int64_t deadline_ns)
{
    int passed = 0;
    int posted;

    kl_os_mutex_lock(&g->mutex);
    while (!(posted = (int)atomic_exchange(&g->posted, 0)) && !passed)
        passed = kl_os_cond_wait(&g->cond, &g->mutex, deadline_ns);
    kl_os_mutex_unlock(&g->mutex);
    return !posted;
}

#endif

static void *thread_main(void *arg)
{
    struct kl_os_thread *t = arg;

#ifdef __linux__
    pthread_setname_np(pthread_self(), t->name);
#endif
    t->fn(t->user);
    return NULL;
}

int kl_os_thread_start(struct kl_os_thread *t, void (*fn)(void *user),
                       void *user, const char *name)
{
    size_t size = strlen(name);
    sigset_t all, before;
    int rc;

    if (size > sizeof t->name - 1)
        size = sizeof t->name - 1;
    memcpy(t->name, name, size);
    t->name[size] = 0;
    t->fn = fn;
    t->user = user;
    /* The mask is inherited, so there is no moment without it. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&t->t, NULL, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? KL_ENOMEM : 0;
}

void kl_os_thread_join(struct kl_os_thread *t)
{
    KL_ASSERT(pthread_join(t->t, NULL) == 0);
}

uint64_t kl_os_thread_self(void)
{
    /* A number or a pointer, depending on the C library; 0 in none. */
    return (uint64_t)(uintptr_t)pthread_self();
}

#if !THREAD_HAVE_EVENTFD
static int wakeup_set_flags(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
           fcntl(fd, F_SETFD, FD_CLOEXEC) < 0;
}
#endif

int kl_os_wakeup_init(struct kl_os_wakeup *w)
{
#if THREAD_HAVE_EVENTFD
    w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->write_fd = w->fd;
    if (w->fd < 0)
        return errno == ENOMEM ? KL_ENOMEM : KL_ENOFILES;
#else
    int fds[2];

    if (pipe(fds))
        return KL_ENOFILES;
    w->fd = fds[0];
    w->write_fd = fds[1];
    if (wakeup_set_flags(w->fd) || wakeup_set_flags(w->write_fd)) {
        kl_os_wakeup_deinit(w);
        return KL_ENOMEM;
    }
#endif
    return 0;
}

void kl_os_wakeup_deinit(struct kl_os_wakeup *w)
{
    close(w->fd);
    if (w->write_fd != w->fd)
        close(w->write_fd);
    w->fd = -1;
    w->write_fd = -1;
}

void kl_os_wakeup_signal(struct kl_os_wakeup *w)
{
    uint64_t one = 1;
    ssize_t n;

    do
        n = write(w->write_fd, &one, sizeof one);
    while (n < 0 && errno == EINTR);
    /* Full means that it is readable already. */
    KL_ASSERT(n == (ssize_t)sizeof one || errno == EAGAIN);
}

uint64_t kl_os_wakeup_drain(struct kl_os_wakeup *w)
{
    uint64_t count = 0;
    uint64_t buf[64];
    ssize_t n;

    /* One read empties an eventfd; a pipe may hold more than the buffer. */
    do {
        n = read(w->fd, buf, sizeof buf);
        if (n > 0)
            count += THREAD_HAVE_EVENTFD ? buf[0] : (uint64_t)n / sizeof *buf;
    } while (n == (ssize_t)sizeof buf || (n < 0 && errno == EINTR));
    return count;
}

void kl_os_wakeup_wait(struct kl_os_wakeup *w, int64_t timeout_ns)
{
    struct pollfd p = {.fd = w->fd, .events = POLLIN};
#ifdef __linux__
    struct timespec t;

    if (timeout_ns >= 0) {
        t.tv_sec = (time_t)(timeout_ns / NS_PER_S);
        t.tv_nsec = (long)(timeout_ns % NS_PER_S);
    }
    (void)ppoll(&p, 1, timeout_ns < 0 ? NULL : &t, NULL);
#else
    int64_t ms = timeout_ns < 0 ? -1 : timeout_ns / 1000000;

    /* Rounded up: a deadline that has not come yet must not spin. */
    if (timeout_ns > 0 && timeout_ns % 1000000)
        ms++;
    (void)poll(&p, 1, ms > INT32_MAX ? INT32_MAX : (int)ms);
#endif
}

int64_t kl_os_process_id(void)
{
    return getpid();
}
