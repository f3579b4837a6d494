/*
 * Error text that travels with its code. The lowest place that knows the cause
 * writes the text: one line, impersonal, naming the object.
 */
#ifndef KL_BASE_ERROR_H
#define KL_BASE_ERROR_H

#include <kraftlog/error.h>
#include <stddef.h>

#define KL_BASE_ERROR_TEXT 256

enum {
    KL_BASE_ERROR_RETRIABLE = 1, /* the same call may succeed later */
    KL_BASE_ERROR_FATAL = 2      /* the object will not work again */
};

/* What is known of a code. */
struct kl_base_error_info
{
    int code;
    unsigned flags;
    const char *name;
    const char *text;
};

/* Never NULL: unknown codes have an entry of their own. */
const struct kl_base_error_info *kl_base_error_lookup(int code);
/* Iterates over all codes: start with *pos = 0; NULL at the end. */
const struct kl_base_error_info *kl_base_error_next(size_t *pos);

struct kl_base_error
{
    int code;
    char text[KL_BASE_ERROR_TEXT];
};

/* Sets code and text and returns the code, so that `return
 * kl_base_error_set(e, KL_EIO, "...")` reads as one statement. e may be NULL.
 */
int kl_base_error_set(struct kl_base_error *e, int code, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
/* To "no error". */
void kl_base_error_clear(struct kl_base_error *e);
/* Copies the text, cut to size and terminated, and returns the code; the public
 * errmsg functions. buf may be NULL. */
int kl_base_error_copy(const struct kl_base_error *e, char *buf, size_t size);

#endif
