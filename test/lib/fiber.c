/*
 * Fibers by ucontext. The sanitizers have to be told about every change of
 * stacks.
 */
#include "fiber.h"

#include "need.h"
#include "pool.h"

#include <stdint.h>
#include <ucontext.h>

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FIBER_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define FIBER_TSAN 1
#endif
#ifdef FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

enum { FIBER_STACK = 1 << 20 };

struct fiber
{
    ucontext_t inside;
    ucontext_t outside;
    fiber_fn fn;
    void *user;
    int is_under_way;
    char *stack;
#ifdef FIBER_ASAN
    void *fake_inside;
    void *fake_outside;
    const void *outside_stack;
    size_t outside_size;
#endif
#ifdef FIBER_TSAN
    void *tsan_inside;
    void *tsan_outside;
#endif
};

struct fiber *fiber_new(void)
{
    struct fiber *f = pool_zeroed(sizeof *f);

    f->stack = pool_take(FIBER_STACK);
#ifdef FIBER_TSAN
    f->tsan_inside = __tsan_create_fiber(0);
#endif
    return f;
}

void fiber_free(struct fiber *f)
{
    need(!f->is_under_way);
#ifdef FIBER_TSAN
    __tsan_destroy_fiber(f->tsan_inside);
#endif
    pool_give(f->stack, FIBER_STACK);
    pool_give(f, sizeof *f);
}

static void fiber_enter(struct fiber *f)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&f->fake_outside, f->stack, FIBER_STACK);
#endif
#ifdef FIBER_TSAN
    f->tsan_outside = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->tsan_inside, 0);
#endif
    need_ok(swapcontext(&f->outside, &f->inside));
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(f->fake_outside, NULL, NULL);
#endif
}

/* Its stack is not needed any more after the end. */
static void fiber_exit(struct fiber *f, int is_end)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(is_end ? NULL : &f->fake_inside,
                                   f->outside_stack, f->outside_size);
#endif
#ifdef FIBER_TSAN
    __tsan_switch_to_fiber(f->tsan_outside, 0);
#endif
    f->is_under_way = !is_end;
    need_ok(swapcontext(&f->inside, &f->outside));
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(f->fake_inside, &f->outside_stack,
                                    &f->outside_size);
#endif
}

/* makecontext gives int arguments alone. */
static void fiber_main(unsigned high, unsigned low)
{
    uintptr_t bits = (uintptr_t)high << 16 << 16 | low;
    struct fiber *f = (struct fiber *)bits;

#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(NULL, &f->outside_stack, &f->outside_size);
#endif
    f->fn(f->user);
    fiber_exit(f, 1);
}

void fiber_begin(struct fiber *f, fiber_fn fn, void *user)
{
    uintptr_t bits = (uintptr_t)f;

    need(!f->is_under_way);
    f->fn = fn;
    f->user = user;
    f->is_under_way = 1;
    need_ok(getcontext(&f->inside));
    f->inside.uc_stack.ss_sp = f->stack;
    f->inside.uc_stack.ss_size = FIBER_STACK;
    f->inside.uc_link = NULL;
    makecontext(&f->inside, (void (*)(void))fiber_main, 2,
                (unsigned)(bits >> 16 >> 16), (unsigned)bits);
    fiber_enter(f);
}

void fiber_resume(struct fiber *f)
{
    need(f->is_under_way);
    fiber_enter(f);
}

void fiber_leave(struct fiber *f)
{
    fiber_exit(f, 0);
}

int fiber_is_under_way(const struct fiber *f)
{
    return f->is_under_way;
}
