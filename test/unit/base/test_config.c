/*
 * Configuration values and their table.
 */
#include "base/config.h"

#include <check.h>
#include <kraftlog/config.h>
#include <stdlib.h>
#include <string.h>

static struct kl_base_config c;
static struct kl_base_error e;

static void setup(void)
{
    kl_base_config_init(&c);
    kl_base_error_clear(&e);
}

static int set(const char *key, const char *value)
{
    return kl_base_config_set(&c, key, value, &e);
}

static int64_t value(enum kl_base_config_key key)
{
    return kl_base_config_value(&c, key);
}

/* Every row is a row that its own rules allow. */
START_TEST(table_is_consistent)
{
    for (size_t i = 0; i < KL_BASE_CONFIG_COUNT; i++) {
        const struct kl_base_config_row *row = kl_base_config_row(i);
        char text[KL_BASE_CONFIG_TEXT];
        size_t found;

        ck_assert_int_eq(kl_base_config_find(row->name, &found, NULL), 0);
        ck_assert_uint_eq(found, i);
        ck_assert_int_ge(c.values[i], row->min);
        ck_assert_int_le(c.values[i], row->max);
        ck_assert_int_eq(kl_base_config_is_set(&c, i), 0);
        kl_base_config_format(&c, i, text);
        ck_assert_str_eq(text, row->text);
        ck_assert_int_eq(set(row->name, text), 0);
        ck_assert_int_eq(kl_base_config_is_set(&c, i), 1);
        ck_assert_int_eq(kl_base_config_value(NULL, (enum kl_base_config_key)i),
                         c.values[i]);
        ck_assert_int_eq(row->doc[strlen(row->doc) - 1], '.');
        ck_assert_int_ge(row->scope, KL_CONFIG_NODE);
        ck_assert_int_le(row->scope, KL_CONFIG_CONSUMER);
    }
    ck_assert_ptr_null(kl_base_config_row(KL_BASE_CONFIG_COUNT));
}
END_TEST

START_TEST(text_is_kept_as_it_is)
{
    static const char *const bad[] = {"1@a b", "1@\ta", "1@\x7f", "1@\xc3\xa4"};
    const char *key = "controller.quorum.bootstrap.servers";
    char longest[257];

    ck_assert_str_eq(kl_base_config_text(&c, KL_BASE_CONFIG_BOOTSTRAP_SERVERS),
                     "");
    ck_assert_int_eq(set(key, "1@tcp://a:1,2@b"), 0);
    ck_assert_int_eq(set("advertised.listeners", "tcp://c:1"), 0);
    ck_assert_str_eq(kl_base_config_text(&c, KL_BASE_CONFIG_BOOTSTRAP_SERVERS),
                     "1@tcp://a:1,2@b");
    ck_assert_str_eq(
        kl_base_config_text(&c, KL_BASE_CONFIG_ADVERTISED_LISTENERS),
        "tcp://c:1");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(set(key, bad[i]), KL_ECONFIG);
    memset(longest, 'x', sizeof longest);
    longest[256] = '\0';
    ck_assert_int_eq(set(key, longest), KL_ECONFIG);
    ck_assert_str_eq(kl_base_config_text(&c, KL_BASE_CONFIG_BOOTSTRAP_SERVERS),
                     "1@tcp://a:1,2@b");
    longest[255] = '\0';
    ck_assert_int_eq(set(key, longest), 0);
    ck_assert_str_eq(kl_base_config_text(&c, KL_BASE_CONFIG_BOOTSTRAP_SERVERS),
                     longest);
    ck_assert_int_eq(kl_base_config_set_int(&c, key, 0, &e), KL_ECONFIG);
    ck_assert_int_eq(set(key, NULL), 0);
    ck_assert_str_eq(kl_base_config_text(&c, KL_BASE_CONFIG_BOOTSTRAP_SERVERS),
                     "");
    ck_assert_str_eq(
        kl_base_config_text(NULL, KL_BASE_CONFIG_BOOTSTRAP_SERVERS), "");
}
END_TEST

/* What is written as range is what is enforced. */
START_TEST(table_ranges_are_enforced)
{
    for (size_t i = 0; i < KL_BASE_CONFIG_COUNT; i++) {
        const struct kl_base_config_row *row = kl_base_config_row(i);

        if (row->type == KL_CONFIG_ENUM || row->type == KL_CONFIG_TEXT)
            continue;
        ck_assert_int_eq(strtoll(row->range, NULL, 10), row->min);
        ck_assert_int_eq(strtoll(strstr(row->range, "..") + 2, NULL, 10),
                         row->max);
        ck_assert_int_eq(kl_base_config_set_int(&c, row->name, row->min, &e),
                         0);
        ck_assert_int_eq(kl_base_config_set_int(&c, row->name, row->max, &e),
                         0);
        ck_assert_int_eq(
            kl_base_config_set_int(&c, row->name, row->min - 1, &e),
            KL_ECONFIG);
        ck_assert_int_eq(
            kl_base_config_set_int(&c, row->name, row->max + 1, &e),
            KL_ECONFIG);
        ck_assert_int_eq(c.values[i], row->max);
    }
}
END_TEST

START_TEST(set_sizes_with_units)
{
    ck_assert_int_eq(set("batch.size", "64k"), 0);
    ck_assert_int_eq(value(KL_BASE_CONFIG_BATCH_SIZE), 65536);
    ck_assert_int_eq(set("batch.size", "16M"), 0);
    ck_assert_int_eq(value(KL_BASE_CONFIG_BATCH_SIZE), 16 << 20);
    ck_assert_int_eq(set("segment.bytes", "1g"), 0);
    ck_assert_int_eq(value(KL_BASE_CONFIG_SEGMENT_BYTES), 1 << 30);
    ck_assert_int_eq(set("retention.bytes", "-1"), 0);
    ck_assert_int_eq(value(KL_BASE_CONFIG_RETENTION_BYTES), -1);
}
END_TEST

START_TEST(set_refuses)
{
    static const char *const bad[] = {"",
                                      "k",
                                      " 65536",
                                      "65536 ",
                                      "64kb",
                                      "64 k",
                                      "0x10000",
                                      "1.5k",
                                      "+64k",
                                      "--1",
                                      "64t",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "99999999999999999999999",
                                      "9007199254740992k"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(set("batch.size", bad[i]) == KL_ECONFIG, "'%s'", bad[i]);
        ck_assert_int_eq(value(KL_BASE_CONFIG_BATCH_SIZE), 65536);
        ck_assert_int_eq(kl_base_config_is_set(&c, KL_BASE_CONFIG_BATCH_SIZE),
                         0);
    }
    ck_assert_int_eq(set("linger.ms", "5k"), KL_ECONFIG);
    ck_assert_int_eq(set("batch", "64k"), KL_ECONFIG);
    ck_assert_str_eq(e.text, "unknown key 'batch'");
    ck_assert_int_eq(set("batch.size", "9"), KL_ECONFIG);
    ck_assert_str_eq(e.text, "batch.size: '9' is not in 1024..67108864");
}
END_TEST

START_TEST(set_words)
{
    char text[KL_BASE_CONFIG_TEXT];

    ck_assert_int_eq(set("compression.type", "zstd"), 0);
    ck_assert_int_eq(value(KL_BASE_CONFIG_COMPRESSION_TYPE),
                     KL_BASE_CODEC_ZSTD);
    kl_base_config_format(&c, KL_BASE_CONFIG_COMPRESSION_TYPE, text);
    ck_assert_str_eq(text, "zstd");
    ck_assert_int_eq(set("compression.type", "lz"), KL_ECONFIG);
    ck_assert_int_eq(set("compression.type", ""), KL_ECONFIG);
    ck_assert_int_eq(set("compression.type", "none|lz4"), KL_ECONFIG);
    ck_assert_str_eq(e.text,
                     "compression.type: 'none|lz4' is not in none|lz4|zstd");
    ck_assert_int_eq(kl_base_config_set_int(&c, "compression.type", 1, &e),
                     KL_ECONFIG);
    ck_assert_int_eq(value(KL_BASE_CONFIG_COMPRESSION_TYPE),
                     KL_BASE_CODEC_ZSTD);
}
END_TEST

START_TEST(set_null_is_the_default)
{
    ck_assert_int_eq(set("linger.ms", "5"), 0);
    ck_assert_int_eq(kl_base_config_is_set(&c, KL_BASE_CONFIG_LINGER_MS), 1);
    ck_assert_int_eq(set("linger.ms", NULL), 0);
    ck_assert_int_eq(kl_base_config_is_set(&c, KL_BASE_CONFIG_LINGER_MS), 0);
    ck_assert_int_eq(value(KL_BASE_CONFIG_LINGER_MS), 0);
}
END_TEST

Suite *suite_base_config(void);

Suite *suite_base_config(void)
{
    Suite *s = suite_create("base_config");
    TCase *t = tcase_create("config");

    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, table_is_consistent);
    tcase_add_test(t, text_is_kept_as_it_is);
    tcase_add_test(t, table_ranges_are_enforced);
    tcase_add_test(t, set_sizes_with_units);
    tcase_add_test(t, set_refuses);
    tcase_add_test(t, set_words);
    tcase_add_test(t, set_null_is_the_default);
    suite_add_tcase(s, t);
    return s;
}
