/*
 * Error codes as text and by class, from the table in base/error.c.
 */
#include <kraftlog/error.h>

#include "base/error.h"

const char *kl_strerror(int code)
{
    return kl_base_error_lookup(code)->text;
}

const char *kl_error_name(int code)
{
    return kl_base_error_lookup(code)->name;
}

int kl_error_is_retriable(int code)
{
    return (kl_base_error_lookup(code)->flags & KL_BASE_ERROR_RETRIABLE) != 0;
}

int kl_error_is_fatal(int code)
{
    return (kl_base_error_lookup(code)->flags & KL_BASE_ERROR_FATAL) != 0;
}
