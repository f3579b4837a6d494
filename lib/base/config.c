/*
 * Values of configuration: parsed, checked and printed by the one table.
 */
#include "base/config.h"

#include <kraftlog/config.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define RANGE_INT(min, max, words) #min ".." #max
#define RANGE_SIZE(min, max, words) #min ".." #max
#define RANGE_MS(min, max, words) #min ".." #max
#define RANGE_ENUM(min, max, words) words
#define RANGE_TEXT(min, max, words) words
#define ROW(id, name, scope, type, text, min, max, words, doc)                 \
    {name,                                                                     \
     KL_CONFIG_##scope,                                                        \
     KL_CONFIG_##type,                                                         \
     text,                                                                     \
     min,                                                                      \
     max,                                                                      \
     RANGE_##type(min, max, words),                                            \
     doc},

static const struct kl_base_config_row config_rows[KL_BASE_CONFIG_COUNT] = {
    KL_BASE_CONFIG_TABLE(ROW)};

_Static_assert(KL_BASE_CONFIG_COUNT <= 64, "one bit per key");

#define IS_KL_CONFIG_INT 0
#define IS_KL_CONFIG_SIZE 0
#define IS_KL_CONFIG_MS 0
#define IS_KL_CONFIG_ENUM 0
#define IS_KL_CONFIG_TEXT 1
#define COUNT_TEXT(id, name, scope, type, text, min, max, words, doc)          \
    +IS_KL_CONFIG_##type
_Static_assert(0 KL_BASE_CONFIG_TABLE(COUNT_TEXT) == KL_BASE_CONFIG_TEXTS,
               "a place per text");

/* Where the text of a key is: it is a key of type TEXT. */
static size_t config_place(size_t key)
{
    size_t place = 0;

    for (size_t i = 0; i < key; i++)
        place += config_rows[i].type == KL_CONFIG_TEXT;
    return place;
}

/* Index of a word in "a|b|c", or -1. */
static int64_t config_word_index(const char *words, const char *text)
{
    size_t size = strlen(text);

    for (int64_t i = 0;; i++) {
        size_t n = strcspn(words, "|");
        if (n == size && memcmp(words, text, n) == 0)
            return i;
        if (!words[n])
            return -1;
        words += n + 1;
    }
}

static int config_suffix(const char *text, int *shift_out)
{
    static const char letters[] = "kmg";
    const char *at;

    if (!text[0])
        return 0;
    at = strchr(letters, text[0] | 0x20);
    if (text[1] || !at || !*at)
        return KL_ECONFIG;
    *shift_out = 10 * (int)(at - letters + 1);
    return 0;
}

/* A decimal number, with a unit where the type has one. */
static int config_number(const struct kl_base_config_row *row, const char *text,
                         int64_t *out)
{
    const char *p = text + (*text == '-');
    uint64_t v = 0;
    int shift = 0;

    if (*p < '0' || *p > '9')
        return KL_ECONFIG;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (v > (uint64_t)INT64_MAX / 10 - 1)
            return KL_ECONFIG;
        v = v * 10 + (uint64_t)(*p - '0');
    }
    if (row->type == KL_CONFIG_SIZE) {
        if (config_suffix(p, &shift) || v > (uint64_t)INT64_MAX >> shift)
            return KL_ECONFIG;
    } else if (*p) {
        return KL_ECONFIG;
    }
    v <<= shift;
    *out = *text == '-' ? -(int64_t)v : (int64_t)v;
    return 0;
}

static int config_parse(const struct kl_base_config_row *row, const char *text,
                        int64_t *out)
{
    if (row->type != KL_CONFIG_ENUM)
        return config_number(row, text, out);
    *out = config_word_index(row->range, text);
    return *out < 0 ? KL_ECONFIG : 0;
}

static int64_t config_default(size_t key)
{
    int64_t v = 0;

    if (config_rows[key].type == KL_CONFIG_TEXT)
        return (int64_t)config_place(key);
    (void)config_parse(&config_rows[key], config_rows[key].text, &v);
    return v;
}

void kl_base_config_init(struct kl_base_config *c)
{
    for (size_t i = 0; i < KL_BASE_CONFIG_COUNT; i++)
        c->values[i] = config_default(i);
    c->set = 0;
    memset(c->texts, 0, sizeof c->texts);
}

const struct kl_base_config_row *kl_base_config_row(size_t key)
{
    return key < KL_BASE_CONFIG_COUNT ? &config_rows[key] : NULL;
}

int kl_base_config_find(const char *name, size_t *key_out,
                        struct kl_base_error *error)
{
    for (size_t i = 0; i < KL_BASE_CONFIG_COUNT; i++) {
        if (strcmp(config_rows[i].name, name) == 0) {
            *key_out = i;
            return 0;
        }
    }
    return kl_base_error_set(error, KL_ECONFIG, "unknown key '%.64s'", name);
}

static void config_put(struct kl_base_config *c, size_t key, int64_t value)
{
    c->values[key] = value;
    c->set |= UINT64_C(1) << key;
}

/* Visible characters of ASCII. */
static int config_put_text(struct kl_base_config *c, size_t key,
                           const char *value, struct kl_base_error *error)
{
    const struct kl_base_config_row *row = &config_rows[key];
    size_t size = strlen(value);

    if (size > (size_t)row->max)
        return kl_base_error_set(error, KL_ECONFIG,
                                 "%s: %zu characters, %lld are allowed",
                                 row->name, size, (long long)row->max);
    for (size_t i = 0; i < size; i++)
        if (value[i] <= ' ' || value[i] > '~')
            return kl_base_error_set(error, KL_ECONFIG,
                                     "%s: character %zu is not visible ASCII",
                                     row->name, i + 1);
    config_put(c, key, c->values[key]);
    memset(c->texts[c->values[key]], 0, KL_BASE_CONFIG_TEXT);
    memcpy(c->texts[c->values[key]], value, size);
    return 0;
}

int kl_base_config_set(struct kl_base_config *c, const char *name,
                       const char *value, struct kl_base_error *error)
{
    const struct kl_base_config_row *row;
    int64_t v = 0;
    size_t key = 0;
    int r = kl_base_config_find(name, &key, error);

    if (r)
        return r;
    row = &config_rows[key];
    if (!value) {
        c->values[key] = config_default(key);
        c->set &= ~(UINT64_C(1) << key);
        if (row->type == KL_CONFIG_TEXT)
            memset(c->texts[c->values[key]], 0, KL_BASE_CONFIG_TEXT);
        return 0;
    }
    if (row->type == KL_CONFIG_TEXT)
        return config_put_text(c, key, value, error);
    if (config_parse(row, value, &v) || v < row->min || v > row->max)
        return kl_base_error_set(error, KL_ECONFIG, "%s: '%.64s' is not in %s",
                                 row->name, value, row->range);
    config_put(c, key, v);
    return 0;
}

int kl_base_config_set_int(struct kl_base_config *c, const char *name,
                           int64_t value, struct kl_base_error *error)
{
    const struct kl_base_config_row *row;
    size_t key = 0;
    int r = kl_base_config_find(name, &key, error);

    if (r)
        return r;
    row = &config_rows[key];
    if (row->type == KL_CONFIG_TEXT)
        return kl_base_error_set(error, KL_ECONFIG, "%s is a text", row->name);
    if (row->type == KL_CONFIG_ENUM)
        return kl_base_error_set(error, KL_ECONFIG, "%s is a word, one of %s",
                                 row->name, row->range);
    if (value < row->min || value > row->max)
        return kl_base_error_set(error, KL_ECONFIG, "%s: %lld is not in %s",
                                 row->name, (long long)value, row->range);
    config_put(c, key, value);
    return 0;
}

int64_t kl_base_config_value(const struct kl_base_config *c,
                             enum kl_base_config_key key)
{
    return c ? c->values[key] : config_default(key);
}

const char *kl_base_config_text(const struct kl_base_config *c,
                                enum kl_base_config_key key)
{
    return c ? c->texts[c->values[key]] : "";
}

int kl_base_config_is_set(const struct kl_base_config *c, size_t key)
{
    return c && (c->set >> key & 1);
}

void kl_base_config_format(const struct kl_base_config *c, size_t key,
                           char out[KL_BASE_CONFIG_TEXT])
{
    const struct kl_base_config_row *row = &config_rows[key];
    int64_t v = c ? c->values[key] : config_default(key);
    const char *word = row->range;

    if (row->type == KL_CONFIG_TEXT) {
        (void)snprintf(out, KL_BASE_CONFIG_TEXT, "%s", c ? c->texts[v] : "");
        return;
    }
    if (row->type != KL_CONFIG_ENUM) {
        (void)snprintf(out, KL_BASE_CONFIG_TEXT, "%lld", (long long)v);
        return;
    }
    for (; v > 0; v--)
        word += strcspn(word, "|") + 1;
    (void)snprintf(out, KL_BASE_CONFIG_TEXT, "%.*s", (int)strcspn(word, "|"),
                   word);
}
