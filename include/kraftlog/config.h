/*
 * Configuration: text keys and values from one table, and the hooks of a
 * program. A configuration is copied by whatever is made with it; it may be
 * freed or changed afterwards. One object may hold keys of every scope: a node
 * reads the keys of nodes, a producer those of producers, and so on; only the
 * creation of a topic refuses keys of other scopes.
 *
 * A kl_config belongs to one thread at a time. The functions about the table
 * (kl_config_key_*) may be called by any thread.
 */
#ifndef KRAFTLOG_CONFIG_H
#define KRAFTLOG_CONFIG_H

#include <kraftlog/export.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_config kl_config;

/* One function for all memory: ptr NULL allocates new_size bytes, new_size 0
 * frees, otherwise resizes and leaves the block as it was where NULL is
 * returned. old_size is the size that was asked for ptr, 0 for NULL. Blocks are
 * aligned as malloc's. Called by any thread of the program and of the library,
 * also at the same time; must not call the library. */
typedef void *(*kl_allocator_fn)(void *ptr, size_t old_size, size_t new_size,
                                 void *user);

/* One line of diagnostics, without a line feed; text lives for the call. Called
 * by any thread; must not call the library. */
typedef void (*kl_trace_fn)(int level, const char *text, void *user);

/* A broken invariant of the library itself, before it aborts. Must not call the
 * library. */
typedef void (*kl_panic_fn)(const char *text, void *user);

/* Levels of kl_trace_fn; a hook gets its level and those below. */
enum {
    KL_TRACE_ERROR = 1, /* something is lost or has stopped working */
    KL_TRACE_WARN = 2,  /* worth an operator's look */
    KL_TRACE_INFO = 3,  /* life cycle: opened, recovered, stopped, topics */
    KL_TRACE_DEBUG = 4  /* more, for finding faults */
};

/* Who reads a key. */
enum {
    KL_CONFIG_NODE = 1,
    KL_CONFIG_TOPIC = 2,
    KL_CONFIG_PRODUCER = 3,
    KL_CONFIG_CONSUMER = 4
};

/* What a value looks like. */
enum {
    KL_CONFIG_INT = 1,  /* a decimal number */
    KL_CONFIG_SIZE = 2, /* bytes; k, m and g behind it mean 2^10, 2^20, 2^30 */
    KL_CONFIG_MS = 3,   /* milliseconds */
    KL_CONFIG_ENUM = 4, /* one of the words that kl_config_key_range lists */
    KL_CONFIG_TEXT = 5  /* visible ASCII, up to 255 characters */
};

/* Makes a configuration in which every key has its default. allocator (NULL =
 * the C library's) and user are used for it and for everything that is made
 * with it. Free with kl_config_free. KL_EINVAL, KL_ENOMEM. */
KL_API int kl_config_new(kl_config **out, kl_allocator_fn allocator,
                         void *user);

/* NULL is ignored. */
KL_API void kl_config_free(kl_config *config);

/* Sets a key from text; value NULL gives it its default again and counts as not
 * set. KL_ECONFIG where the key is unknown or the value not allowed:
 * kl_config_errmsg says which and what is. KL_EINVAL. */
KL_API int kl_config_set(kl_config *config, const char *key, const char *value);

/* The same for a key whose value is a number (INT, SIZE, MS).
 * KL_ECONFIG, KL_EINVAL. */
KL_API int kl_config_set_int(kl_config *config, const char *key, int64_t value);

/* Writes the value of a key, set or default, as text into buf, cut to size and
 * terminated (buf may be NULL where size is 0). size_out (may be NULL) is the
 * length of the whole text without terminator. KL_ECONFIG for an unknown key,
 * KL_EINVAL. */
KL_API int kl_config_get(const kl_config *config, const char *key, char *buf,
                         size_t size, size_t *size_out);

/* Copies the text of the last failure of this object into buf, cut to size and
 * terminated; empty where there was none. KL_EINVAL. */
KL_API int kl_config_errmsg(const kl_config *config, char *buf, size_t size);

/* Sends lines of diagnostics up to level (KL_TRACE_*; 0 = none) to fn. Read by
 * kl_node_new. KL_EINVAL. */
KL_API int kl_config_set_trace(kl_config *config, int level, kl_trace_fn fn,
                               void *user);

/* Called before the library aborts because an invariant of its own is broken.
 * Read by kl_node_new. KL_EINVAL. */
KL_API int kl_config_set_panic(kl_config *config, kl_panic_fn fn, void *user);

/* ---- the table of keys -------------------------------------------------- */

/* Number of keys; they are numbered from 0. */
KL_API size_t kl_config_key_count(void);

/* Name of a key, static; NULL past the last. */
KL_API const char *kl_config_key_at(size_t index);

/* One sentence or more on what the key does, static; NULL past the last. */
KL_API const char *kl_config_key_doc(size_t index);

/* KL_CONFIG_NODE, _TOPIC, _PRODUCER or _CONSUMER; 0 past the last. */
KL_API int kl_config_key_scope(size_t index);

/* KL_CONFIG_INT, _SIZE, _MS, _ENUM or _TEXT; 0 past the last. */
KL_API int kl_config_key_type(size_t index);

/* The default as text, static; NULL past the last. */
KL_API const char *kl_config_key_default(size_t index);

/* What is allowed, static: "4096..67108864" or "commit|interval", or how a text
 * is built; NULL past the last. */
KL_API const char *kl_config_key_range(size_t index);

#ifdef __cplusplus
}
#endif

#endif
