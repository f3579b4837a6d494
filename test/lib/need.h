/*
 * Assertions that cost nothing where they hold. Check's own note every line
 * that they pass in a file, with a system call: too slow for what all tests go
 * through a million times.
 */
#ifndef TEST_NEED_H
#define TEST_NEED_H

/* Fails the test. A program that is no test of Check has a function of its
 * own. */
_Noreturn void need_failed(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define need(expr)                                                             \
    ((expr) ? (void)0 : need_failed(__FILE__, __LINE__, "not so: %s", #expr))

#define need_msg(expr, ...)                                                    \
    ((expr) ? (void)0 : need_failed(__FILE__, __LINE__, __VA_ARGS__))

/* Of a call that has to succeed. */
#define need_ok(expr) need_ok_at((expr), #expr, __FILE__, __LINE__)

static inline void need_ok_at(int code, const char *expr, const char *file,
                              int line)
{
    if (code)
        need_failed(file, line, "%s: code %d", expr, code);
}

#endif
