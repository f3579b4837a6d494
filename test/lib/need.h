/*
 * Assertions that cost nothing where they hold. Check's own note every line
 * that they pass in a file, with a system call: too slow for what all tests go
 * through a million times.
 */
#ifndef TEST_NEED_H
#define TEST_NEED_H

#include <check.h>

#define need(expr) ((expr) ? (void)0 : ck_abort_msg("not so: %s", #expr))

#define need_msg(expr, ...) ((expr) ? (void)0 : ck_abort_msg(__VA_ARGS__))

/* Of a call that has to succeed. */
#define need_ok(expr) need_ok_at((expr), #expr, __FILE__, __LINE__)

static inline void need_ok_at(int code, const char *expr, const char *file,
                              int line)
{
    if (code)
        ck_abort_msg("%s:%d: %s: code %d", file, line, expr, code);
}

#endif
