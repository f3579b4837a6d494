/*
 * Configuration. Input: a byte that may choose a key by its number, the name
 * of the key up to a zero byte, then the value. What is accepted is within its
 * range and means the same when it is printed and set again; what is refused
 * changes nothing.
 */
#include "base/config.h"
#include "fuzz.h"

#include <kraftlog/config.h>
#include <kraftlog/error.h>
#include <string.h>

enum { CONFIG_TEXT = 256 };

static void config_text(struct fuzz_input *in, char out[CONFIG_TEXT])
{
    size_t size = 0;

    while (in->size > 0 && size + 1 < CONFIG_TEXT) {
        out[size] = (char)fuzz_take8(in);
        if (!out[size++])
            break;
    }
    out[size] = 0;
}

static void config_check_accepted(const struct kl_base_config *c,
                                  const char *name)
{
    struct kl_base_config again;
    const struct kl_base_config_row *row;
    char text[KL_BASE_CONFIG_TEXT];
    struct kl_base_error error = {0};
    size_t key;
    int64_t value;

    FUZZ_CHECK(kl_base_config_find(name, &key, &error) == 0);
    row = kl_base_config_row(key);
    FUZZ_CHECK(strcmp(row->name, name) == 0);
    value = kl_base_config_value(c, (enum kl_base_config_key)key);
    FUZZ_CHECK(value >= row->min && value <= row->max);
    FUZZ_CHECK(kl_base_config_is_set(c, key));
    kl_base_config_format(c, key, text);
    kl_base_config_init(&again);
    FUZZ_CHECK(kl_base_config_set(&again, name, text, &error) == 0);
    FUZZ_CHECK(memcmp(&again, c, sizeof again) == 0);
    FUZZ_CHECK(kl_base_config_set(&again, name, NULL, &error) == 0);
    FUZZ_CHECK(!kl_base_config_is_set(&again, key));
    if (row->type != KL_CONFIG_ENUM && row->type != KL_CONFIG_TEXT) {
        FUZZ_CHECK(kl_base_config_set_int(&again, name, value, &error) == 0);
        FUZZ_CHECK(memcmp(&again, c, sizeof again) == 0);
    }
}

static void config_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    size_t chosen = fuzz_take8(&in);
    struct kl_base_config c, before;
    struct kl_base_error error = {0};
    char name[CONFIG_TEXT], value[CONFIG_TEXT];
    int rc;

    config_text(&in, name);
    config_text(&in, value);
    kl_base_config_init(&c);
    before = c;
    if (chosen < KL_BASE_CONFIG_COUNT)
        memcpy(name, kl_base_config_row(chosen)->name,
               strlen(kl_base_config_row(chosen)->name) + 1);
    rc = kl_base_config_set(&c, name, value, &error);
    if (rc == 0) {
        config_check_accepted(&c, name);
        return;
    }
    FUZZ_CHECK(rc == KL_ECONFIG && error.code == rc && error.text[0]);
    FUZZ_CHECK(memcmp(&c, &before, sizeof c) == 0);
}

static void config_seeds(struct fuzz_seeds *seeds)
{
    static const char *const values[] = {"1",  "64k", "commit",
                                         "-1", "7g",  "9223372036854775807"};
    uint8_t input[CONFIG_TEXT];

    for (size_t key = 0; key < KL_BASE_CONFIG_COUNT; key++)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            input[0] = (uint8_t)key;
            input[1] = 0;
            memcpy(input + 2, values[i], strlen(values[i]));
            seeds->emit(seeds, input, 2 + strlen(values[i]));
        }
    memcpy(input, "\377segment.bytes\0009000", 19);
    seeds->emit(seeds, input, 19);
}

const struct fuzz_target fuzz_config = {"config", config_run, config_seeds,
                                        1000};
