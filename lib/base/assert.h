/*
 * Assertions by kind (all evaluate their argument once):
 *   KL_ASSERT   broken means a bug of ours; on in release; panic hook, abort
 *   KL_DASSERT  the same, too dear for production: debug builds only
 *   KL_STATIC_ASSERT  relations of constants
 *   KL_UNREACHABLE()  an impossible switch arm
 * Bytes from disk, peers and callers never lead here: they get an error code.
 */
#ifndef KL_BASE_ASSERT_H
#define KL_BASE_ASSERT_H

/* Calls the panic hook of the thread's node, if any, then aborts. */
_Noreturn void kl_base_panic(const char *file, int line, const char *text);

/* The hook of a thread is that of the node that it is inside of, NULL outside;
 * there is no process-wide state. */
typedef void (*kl_base_panic_fn)(const char *text, void *user);
struct kl_base_panic_hook
{
    kl_base_panic_fn fn;
    void *user;
};
void kl_base_panic_enter(const struct kl_base_panic_hook *hook);
const struct kl_base_panic_hook *kl_base_panic_current(void);

#define KL_ASSERT(x) ((x) ? (void)0 : kl_base_panic(__FILE__, __LINE__, #x))
#ifdef KL_DEBUG
#define KL_DASSERT(x) KL_ASSERT(x)
#else
#define KL_DASSERT(x) ((void)sizeof(!(x)))
#endif
#define KL_STATIC_ASSERT(x, text) _Static_assert(x, text)
#define KL_UNREACHABLE() kl_base_panic(__FILE__, __LINE__, "unreachable")

#endif
