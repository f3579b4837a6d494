/*
 * What happens when an invariant of ours is broken: the host's hook hears of
 * it, then the process ends. Going on would write wrong bytes.
 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * The only variable of the library that outlives a call. An assertion deep in
 * a room has no handle at hand, and a process-wide hook would be state shared
 * by nodes of different hosts; so the hook belongs to the thread and the
 * runtime sets it while the thread is inside one node.
 */
static _Thread_local const struct kl_base_panic_hook *panic_hook;

void kl_base_panic_enter(const struct kl_base_panic_hook *hook)
{
    panic_hook = hook;
}

const struct kl_base_panic_hook *kl_base_panic_current(void)
{
    return panic_hook;
}

void kl_base_panic(const char *file, int line, const char *text)
{
    const struct kl_base_panic_hook *hook = panic_hook;
    char message[256];

    /* A hook that trips over an assertion itself must not be called again. */
    panic_hook = NULL;
    snprintf(message, sizeof message, "%s:%d: %s", file, line, text);
    if (hook && hook->fn)
        hook->fn(message, hook->user);
    abort();
}
