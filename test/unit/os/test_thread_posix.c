/*
 * Threads, conditions and the descriptor that wakes a loop.
 */
#include "os/clock.h"
#include "os/thread.h"

#include <check.h>
#include <kraftlog/error.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int64_t now(void)
{
    return kl_os_clock_posix.monotonic_ns(NULL);
}

START_TEST(cond_wait_until_a_deadline)
{
    struct kl_os_mutex m;
    struct kl_os_cond c;
    int64_t deadline = now() + 1000000;

    ck_assert_int_eq(kl_os_mutex_init(&m), 0);
    ck_assert_int_eq(kl_os_cond_init(&c), 0);
    kl_os_mutex_lock(&m);
    while (!kl_os_cond_wait(&c, &m, deadline))
        continue;
    ck_assert_int_ge(now(), deadline);
    ck_assert_int_eq(kl_os_cond_wait(&c, &m, 0), 1);
    kl_os_mutex_unlock(&m);
    kl_os_cond_deinit(&c);
    kl_os_mutex_deinit(&m);
}
END_TEST

/* Two threads hand a turn to each other. */
struct turns
{
    struct kl_os_mutex m;
    struct kl_os_cond c;
    int turn;
    int count;
    int64_t deadline;
};

static void turns_take(struct turns *t, int mine)
{
    kl_os_mutex_lock(&t->m);
    for (int i = 0; i < 500; i++) {
        while (t->turn != mine)
            ck_assert_int_eq(kl_os_cond_wait(&t->c, &t->m, t->deadline), 0);
        t->turn = !mine;
        t->count++;
        kl_os_cond_broadcast(&t->c);
    }
    kl_os_mutex_unlock(&t->m);
}

static void turns_main(void *user)
{
    turns_take(user, 1);
}

START_TEST(cond_wakes_in_turn)
{
    struct kl_os_thread thread;
    struct turns t = {.deadline = _i ? now() + 100000000000 : -1};

    ck_assert_int_eq(kl_os_mutex_init(&t.m), 0);
    ck_assert_int_eq(kl_os_cond_init(&t.c), 0);
    ck_assert_int_eq(kl_os_thread_start(&thread, turns_main, &t, "turns"), 0);
    turns_take(&t, 0);
    kl_os_thread_join(&thread);
    ck_assert_int_eq(t.count, 1000);
    kl_os_cond_deinit(&t.c);
    kl_os_mutex_deinit(&t.m);
}
END_TEST

struct inside
{
    uint64_t self;
    sigset_t blocked;
    char name[16];
};

static void inside_main(void *user)
{
    struct inside *in = user;

    in->self = kl_os_thread_self();
    pthread_sigmask(SIG_SETMASK, NULL, &in->blocked);
#ifdef __linux__
    pthread_getname_np(pthread_self(), in->name, sizeof in->name);
#endif
}

START_TEST(thread_blocks_all_signals)
{
    struct kl_os_thread thread;
    struct inside in = {0};
    sigset_t mine;

    ck_assert_int_eq(kl_os_thread_start(&thread, inside_main, &in, "x"), 0);
    kl_os_thread_join(&thread);
    ck_assert_int_eq(sigismember(&in.blocked, SIGINT), 1);
    ck_assert_int_eq(sigismember(&in.blocked, SIGTERM), 1);
    ck_assert_int_eq(sigismember(&in.blocked, SIGALRM), 1);
    ck_assert_int_eq(sigismember(&in.blocked, SIGUSR1), 1);
    /* The starter's own mask is as before. */
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    ck_assert_int_eq(sigismember(&mine, SIGINT), 0);
}
END_TEST

START_TEST(thread_has_a_name)
{
    struct kl_os_thread thread;
    struct inside in = {0};

    ck_assert_int_eq(kl_os_thread_start(&thread, inside_main, &in,
                                        "a name that is too long"),
                     0);
    kl_os_thread_join(&thread);
    ck_assert_str_eq(thread.name, "a name that is ");
#ifdef __linux__
    ck_assert_str_eq(in.name, thread.name);
#endif
}
END_TEST

START_TEST(self_tells_threads_apart)
{
    struct kl_os_thread thread;
    struct inside in = {0};

    ck_assert_int_eq(kl_os_thread_start(&thread, inside_main, &in, "x"), 0);
    kl_os_thread_join(&thread);
    ck_assert_uint_ne(in.self, 0);
    ck_assert_uint_ne(kl_os_thread_self(), 0);
    ck_assert_uint_ne(kl_os_thread_self(), in.self);
    ck_assert_uint_eq(kl_os_thread_self(), kl_os_thread_self());
}
END_TEST

static int is_readable(const struct kl_os_wakeup *w)
{
    struct pollfd p = {.fd = w->fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

START_TEST(gate_post_before_wait)
{
    struct kl_os_gate g;

    ck_assert_int_eq(kl_os_gate_init(&g), 0);
    kl_os_gate_post(&g);
    kl_os_gate_post(&g);
    ck_assert_int_eq(kl_os_gate_wait(&g, -1), 0);
    /* Two are one. */
    ck_assert_int_eq(kl_os_gate_wait(&g, 0), 1);
    kl_os_gate_deinit(&g);
}
END_TEST

START_TEST(gate_wait_with_a_deadline)
{
    struct kl_os_gate g;
    int64_t deadline = now() + 1500000;

    ck_assert_int_eq(kl_os_gate_init(&g), 0);
    ck_assert_int_eq(kl_os_gate_wait(&g, deadline), 1);
    ck_assert_int_ge(now(), deadline);
    /* What was posted counts, however late. */
    kl_os_gate_post(&g);
    ck_assert_int_eq(kl_os_gate_wait(&g, deadline), 0);
    kl_os_gate_deinit(&g);
}
END_TEST

struct gate_pair
{
    struct kl_os_gate ping;
    struct kl_os_gate pong;
};

enum { GATE_ROUNDS = 2000 };

static void gate_main(void *user)
{
    struct gate_pair *p = user;

    for (int i = 0; i < GATE_ROUNDS; i++) {
        ck_assert_int_eq(kl_os_gate_wait(&p->ping, -1), 0);
        kl_os_gate_post(&p->pong);
    }
}

START_TEST(gate_between_two_threads)
{
    struct kl_os_thread thread;
    struct gate_pair p;

    ck_assert_int_eq(kl_os_gate_init(&p.ping), 0);
    ck_assert_int_eq(kl_os_gate_init(&p.pong), 0);
    ck_assert_int_eq(kl_os_thread_start(&thread, gate_main, &p, "x"), 0);
    for (int i = 0; i < GATE_ROUNDS; i++) {
        kl_os_gate_post(&p.ping);
        ck_assert_int_eq(kl_os_gate_wait(&p.pong, -1), 0);
    }
    kl_os_thread_join(&thread);
    kl_os_gate_deinit(&p.pong);
    kl_os_gate_deinit(&p.ping);
}
END_TEST

START_TEST(wakeup_signal_before_wait)
{
    struct kl_os_wakeup w;

    ck_assert_int_eq(kl_os_wakeup_init(&w), 0);
    ck_assert(!is_readable(&w));
    kl_os_wakeup_signal(&w);
    kl_os_wakeup_wait(&w, -1);
    ck_assert(is_readable(&w));
    kl_os_wakeup_signal(&w);
    ck_assert_uint_eq(kl_os_wakeup_drain(&w), 2);
    ck_assert(!is_readable(&w));
    ck_assert_uint_eq(kl_os_wakeup_drain(&w), 0);
    kl_os_wakeup_deinit(&w);
}
END_TEST

/* More signals than a pipe holds; one drain takes them all. */
START_TEST(wakeup_many_signals)
{
    struct kl_os_wakeup w;

    ck_assert_int_eq(kl_os_wakeup_init(&w), 0);
    for (int i = 0; i < 20000; i++)
        kl_os_wakeup_signal(&w);
    kl_os_wakeup_wait(&w, -1);
    kl_os_wakeup_drain(&w);
    ck_assert(!is_readable(&w));
    kl_os_wakeup_deinit(&w);
}
END_TEST

START_TEST(wakeup_wait_with_a_limit)
{
    struct kl_os_wakeup w;
    int64_t before = now();

    ck_assert_int_eq(kl_os_wakeup_init(&w), 0);
    kl_os_wakeup_wait(&w, 0);
    kl_os_wakeup_wait(&w, 1500000);
    ck_assert_int_ge(now() - before, 1500000);
    ck_assert(!is_readable(&w));
    kl_os_wakeup_deinit(&w);
}
END_TEST

static void signal_main(void *user)
{
    kl_os_wakeup_signal(user);
}

START_TEST(wakeup_from_another_thread)
{
    struct kl_os_thread thread;
    struct kl_os_wakeup w;

    ck_assert_int_eq(kl_os_wakeup_init(&w), 0);
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(kl_os_thread_start(&thread, signal_main, &w, "x"), 0);
        while (!is_readable(&w))
            kl_os_wakeup_wait(&w, -1);
        kl_os_wakeup_drain(&w);
        kl_os_thread_join(&thread);
    }
    kl_os_wakeup_deinit(&w);
}
END_TEST

START_TEST(wakeup_without_descriptors)
{
    struct rlimit limit, none;
    struct kl_os_wakeup w;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(kl_os_wakeup_init(&w), KL_ENOFILES);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
END_TEST

START_TEST(process_id_is_the_systems)
{
    ck_assert_int_eq(kl_os_process_id(), getpid());
}
END_TEST

Suite *suite_os_thread_posix(void);
Suite *suite_os_thread_posix(void)
{
    Suite *s = suite_create("os_thread_posix");
    TCase *tc = tcase_create("thread");

    tcase_add_test(tc, cond_wait_until_a_deadline);
    tcase_add_loop_test(tc, cond_wakes_in_turn, 0, 2);
    tcase_add_test(tc, thread_blocks_all_signals);
    tcase_add_test(tc, thread_has_a_name);
    tcase_add_test(tc, self_tells_threads_apart);
    tcase_add_test(tc, gate_post_before_wait);
    tcase_add_test(tc, gate_wait_with_a_deadline);
    tcase_add_test(tc, gate_between_two_threads);
    tcase_add_test(tc, wakeup_signal_before_wait);
    tcase_add_test(tc, wakeup_many_signals);
    tcase_add_test(tc, wakeup_wait_with_a_limit);
    tcase_add_test(tc, wakeup_from_another_thread);
    tcase_add_test(tc, wakeup_without_descriptors);
    tcase_add_test(tc, process_id_is_the_systems);
    suite_add_tcase(s, tc);
    return s;
}
