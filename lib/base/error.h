/*
 * Error text that travels with its code. The lowest place that knows the cause
 * writes the text: one line, impersonal, naming the object.
 */
#ifndef KL_BASE_ERROR_H
#define KL_BASE_ERROR_H

#include <kraftlog/error.h>
#include <stddef.h>

#define KL_BASE_ERROR_TEXT 256

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
void kl_base_error_clear(struct kl_base_error *e);
/* Copies the text, cut to size and terminated; the public errmsg functions. */
int kl_base_error_copy(const struct kl_base_error *e, char *buf, size_t size);

#endif
