/*
 * The clock of the system.
 */
#include "os/clock.h"

#include <time.h>

static int64_t clock_monotonic_ns(void *user)
{
    struct timespec t;

    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t clock_wall_ms(void *user)
{
    struct timespec t;

    (void)user;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#ifdef CLOCK_REALTIME_COARSE
static int64_t clock_wall_tick_ms(void *user)
{
    struct timespec t;

    (void)user;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
#endif

const struct kl_os_clock kl_os_clock_posix = {
    .monotonic_ns = clock_monotonic_ns,
    .wall_ms = clock_wall_ms,
#ifdef CLOCK_REALTIME_COARSE
    .wall_tick_ms = clock_wall_tick_ms,
#endif
};
