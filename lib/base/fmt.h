/*
 * Bounded printing into a buffer of fixed size: what stdio is for elsewhere.
 */
#ifndef KL_BASE_FMT_H
#define KL_BASE_FMT_H

#include <stdarg.h>
#include <stddef.h>

/* Writes at most size - 1 characters and a terminator; size > 0. Returns the
 * characters written: a longer text is cut, at a character of UTF-8. */
size_t kl_base_fmt(char *buf, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t kl_base_fmt_v(char *buf, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
