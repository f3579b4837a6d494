/*
 * Configuration values. The keys, their defaults, ranges and sentences are in
 * config_table.h and nowhere else; this file parses, checks and prints them.
 */
#ifndef KL_BASE_CONFIG_H
#define KL_BASE_CONFIG_H

#include "base/config_table.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum kl_base_config_key {
#define KL_BASE_CONFIG_ID(id, name, scope, type, text, min, max, words, doc)   \
    KL_BASE_CONFIG_##id,
    KL_BASE_CONFIG_TABLE(KL_BASE_CONFIG_ID)
#undef KL_BASE_CONFIG_ID
        KL_BASE_CONFIG_COUNT
};

/* Values of the enumerated keys. */
enum { KL_BASE_FLUSH_COMMIT, KL_BASE_FLUSH_INTERVAL };
enum { KL_BASE_FULL_REFUSE, KL_BASE_FULL_DROP_OLDEST };
enum { KL_BASE_CODEC_NONE, KL_BASE_CODEC_LZ4, KL_BASE_CODEC_ZSTD };
enum { KL_BASE_RESET_EARLIEST, KL_BASE_RESET_LATEST, KL_BASE_RESET_NONE };

/* One row of the table. scope and type are KL_CONFIG_* of the public header. */
struct kl_base_config_row
{
    const char *name;
    int scope;
    int type;
    const char *text; /* the default */
    int64_t min;
    int64_t max;
    const char *range; /* "1..4" or "commit|interval" or "text" */
    const char *doc;
};

#define KL_BASE_CONFIG_TEXT 256 /* longest value with its terminator */
#define KL_BASE_CONFIG_TEXTS 2  /* keys of type TEXT */

/* Plain values: copied by assignment. The value of a TEXT is where it is among
 * the texts. */
struct kl_base_config
{
    int64_t values[KL_BASE_CONFIG_COUNT];
    uint64_t set; /* bit per key: given, not the default */
    char texts[KL_BASE_CONFIG_TEXTS][KL_BASE_CONFIG_TEXT];
};

/* All defaults. */
void kl_base_config_init(struct kl_base_config *c);
/* Row of a key, or NULL past the last. */
const struct kl_base_config_row *kl_base_config_row(size_t key);
/* Number of a key by its name; KL_ECONFIG and a text for an unknown one. */
int kl_base_config_find(const char *name, size_t *key_out,
                        struct kl_base_error *error);
/* value NULL = the default, not set. KL_ECONFIG and a text; then unchanged. */
int kl_base_config_set(struct kl_base_config *c, const char *name,
                       const char *value, struct kl_base_error *error);
int kl_base_config_set_int(struct kl_base_config *c, const char *name,
                           int64_t value, struct kl_base_error *error);
/* Value of a key: a number, or the index of the word. Enough for every
 * reader; c NULL = the default. */
int64_t kl_base_config_value(const struct kl_base_config *c,
                             enum kl_base_config_key key);
int kl_base_config_is_set(const struct kl_base_config *c, size_t key);
/* Value of a key of type TEXT; empty where it is not set. */
const char *kl_base_config_text(const struct kl_base_config *c,
                                enum kl_base_config_key key);
/* The value as text. */
void kl_base_config_format(const struct kl_base_config *c, size_t key,
                           char out[KL_BASE_CONFIG_TEXT]);

#endif
