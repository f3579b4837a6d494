/*
 * The clock port. Timers use monotonic time only; wall time stamps records and
 * ages segments.
 */
#ifndef KL_OS_CLOCK_H
#define KL_OS_CLOCK_H

#include <stdint.h>

struct kl_os_clock
{
    int64_t (*monotonic_ns)(void *user);
    int64_t (*wall_ms)(void *user); /* since 1970-01-01 UTC */
    /* The same as of the system's last tick, some milliseconds ago, for a
     * quarter of the price; NULL where there is no such clock. */
    int64_t (*wall_tick_ms)(void *user);
    void *user;
};

extern const struct kl_os_clock kl_os_clock_posix;

#endif
