/*
 * Diagnostics: one line an event, to the host's hook and nowhere else.
 */
#include "base/fmt.h"
#include "runtime/state.h"

#include <stdarg.h>

#define TRACE_TEXT 512

void kl_runtime_trace(const struct kl_runtime_node *n, int level,
                      const char *format, ...)
{
    char text[TRACE_TEXT];
    va_list args;

    if (!n->trace || level > n->trace_level)
        return;
    va_start(args, format);
    (void)kl_base_fmt_v(text, sizeof text, format, args);
    va_end(args);
    n->trace(level, text, n->trace_user);
}
