/*
 * Looking at folders from outside: handles, tasks, items.
 */
#include "api_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct api_fixture f;
static kl_inspect *in;

/* A folder with a topic and some records, closed. */
static void setup(void)
{
    kl_producer *p;

    api_fixture_init(&f);
    api_fixture_topic(&f, "orders", 2);
    ck_assert_int_eq(kl_producer_new(&p, f.client, NULL), 0);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(kl_producer_send(p, "orders", i % 2, NULL, 0, "value",
                                          5, KL_TIMESTAMP_NOW, 0, NULL),
                         0);
    ck_assert_int_eq(kl_producer_flush(p, -1), 0);
    kl_producer_free(p);
    ck_assert_int_eq(kl_node_stop(f.node, -1), 0);
    ck_assert_int_eq(kl_inspect_new(&in, NULL), 0);
}

static void teardown(void)
{
    kl_inspect_free(in);
    api_fixture_deinit(&f);
}

static int64_t number(const kl_item *item, const char *field)
{
    int64_t value = -1;

    ck_assert_msg(kl_item_int(item, field, &value) == 0, "no %s", field);
    return value;
}

static const char *text(const kl_item *item, const char *field)
{
    const void *data;
    size_t size;

    ck_assert_msg(kl_item_bytes(item, field, &data, &size) == 0, "no %s",
                  field);
    ck_assert_uint_eq(strlen(data), size);
    return data;
}

/* Flips a bit of a file of the folder whose name ends so; at < 0 = from its
 * end. */
static void flip(const char *name, long at)
{
    char command[1024];
    FILE *pipe, *file;
    int c;

    snprintf(command, sizeof command, "find %s -path '*%s' | sort | head -1",
             f.dir, name);
    pipe = popen(command, "r");
    ck_assert_ptr_nonnull(fgets(command, sizeof command, pipe));
    ck_assert_int_eq(pclose(pipe), 0);
    command[strcspn(command, "\n")] = 0;
    file = fopen(command, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    c = fgetc(file);
    ck_assert_int_eq(fseek(file, -1, SEEK_CUR), 0);
    ck_assert_int_ne(fputc(c ^ 1, file), EOF);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(misuse_of_null)
{
    const kl_item *item = NULL;
    const void *data;
    const char *words;
    char buf[8];
    int64_t value;

    ck_assert_int_eq(kl_inspect_new(NULL, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_verify(NULL, f.dir, 0), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_verify(in, NULL, 0), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_verify(in, f.dir, 1u << 31), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_verify(in, "", 0), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_next(NULL, &item), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_next(in, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_errmsg(NULL, buf, 8), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_errmsg(in, NULL, 8), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_errmsg(in, buf, 0), KL_EINVAL);
    kl_inspect_free(NULL);
    ck_assert_ptr_null(kl_item_type(NULL));
    ck_assert_ptr_null(kl_item_field_at(NULL, 0));
    ck_assert_int_eq(kl_item_int(NULL, "a", &value), KL_EINVAL);
    ck_assert_int_eq(kl_item_bytes(NULL, "a", &data, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_item_text(NULL, &words, NULL), KL_EINVAL);
    ck_assert_int_eq(kl_item_json(NULL, &words, NULL), KL_EINVAL);
}
END_TEST

START_TEST(no_task_no_items)
{
    const kl_item *item;
    char buf[64];

    ck_assert_int_eq(kl_inspect_next(in, &item), KL_ESTATE);
    ck_assert_int_eq(kl_inspect_errmsg(in, buf, sizeof buf), 0);
    ck_assert_str_eq(buf, "");
    ck_assert_int_eq(kl_inspect_verify(in, "/nonexistent/folder", 0),
                     KL_ENOSTORE);
    ck_assert_int_eq(kl_inspect_errmsg(in, buf, sizeof buf), 0);
    ck_assert_ptr_nonnull(strstr(buf, "/nonexistent/folder"));
    ck_assert_int_eq(kl_inspect_next(in, &item), KL_ESTATE);
}
END_TEST

START_TEST(clean_folder)
{
    const kl_item *item;
    const char *line;
    const char *json;
    size_t size;

    ck_assert_int_eq(kl_inspect_verify(in, f.dir, 0), 0);
    ck_assert_int_eq(kl_inspect_next(in, &item), 0);
    ck_assert_str_eq(kl_item_type(item), "summary");
    ck_assert_int_eq(number(item, "logs"), 3);
    ck_assert_int_ge(number(item, "records"), 100);
    ck_assert_int_eq(number(item, "damage"), 0);
    ck_assert_int_eq(number(item, "covered"), 0);
    ck_assert_int_eq(kl_item_text(item, &line, &size), 0);
    ck_assert_uint_eq(strlen(line), size);
    ck_assert_str_eq(line, text(item, "text"));
    ck_assert_ptr_nonnull(strstr(line, "nothing is damaged"));
    ck_assert_int_eq(kl_item_json(item, &json, &size), 0);
    ck_assert_uint_eq(strlen(json), size);
    ck_assert_int_eq(strncmp(json, "{\"type\":\"summary\",\"logs\":3,", 26), 0);
    ck_assert_int_eq(kl_inspect_next(in, &item), KL_EEND);
    ck_assert_int_eq(kl_inspect_next(in, &item), KL_EEND);
}
END_TEST

START_TEST(fields_of_a_finding)
{
    static const char *const fields[] = {
        "kind", "severity", "file",     "topic", "topic_id", "partition",
        "from", "end",      "position", "size",  "text"};
    const kl_item *item;
    const void *data;
    int64_t value;

    flip("-1.*/00000000000000000000.seg", 4096 + 100);
    ck_assert_int_eq(kl_inspect_verify(in, f.dir, 0), 0);
    ck_assert_int_eq(kl_inspect_next(in, &item), 0);
    ck_assert_str_eq(kl_item_type(item), "finding");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        ck_assert_str_eq(kl_item_field_at(item, i), fields[i]);
    ck_assert_ptr_null(kl_item_field_at(item, sizeof fields / sizeof *fields));
    ck_assert_str_eq(text(item, "kind"), "body");
    ck_assert_str_eq(text(item, "severity"), "damage");
    ck_assert_str_eq(text(item, "topic"), "orders");
    ck_assert_uint_eq(strlen(text(item, "topic_id")), 32);
    ck_assert_int_eq(number(item, "partition"), 1);
    ck_assert_int_eq(number(item, "from"), 0);
    ck_assert_int_gt(number(item, "end"), 0);
    ck_assert_int_eq(number(item, "position"), 4096);
    ck_assert_ptr_nonnull(strstr(text(item, "text"), "topic orders, partition "
                                                     "1, offset"));
    ck_assert_int_eq(kl_item_int(item, "kind", &value), KL_ESTATE);
    ck_assert_int_eq(kl_item_int(item, "colour", &value), KL_ESTATE);
    ck_assert_int_eq(kl_item_bytes(item, "from", &data, NULL), KL_ESTATE);
    ck_assert_int_eq(kl_inspect_next(in, &item), 0);
    ck_assert_str_eq(kl_item_type(item), "summary");
    ck_assert_int_eq(number(item, "damage"), 1);
}
END_TEST

START_TEST(folder_of_a_node)
{
    const kl_item *item;
    kl_node *node;
    char buf[256];

    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_open(node, f.dir, 0), 0);
    ck_assert_int_eq(kl_inspect_verify(in, f.dir, 0), KL_EBUSY);
    ck_assert_int_eq(kl_inspect_errmsg(in, buf, sizeof buf), 0);
    ck_assert_ptr_nonnull(strstr(buf, f.dir));
    ck_assert_int_eq(kl_inspect_verify(in, f.dir, KL_INSPECT_FORCE), 0);
    ck_assert_int_eq(kl_inspect_next(in, &item), 0);
    ck_assert_str_eq(kl_item_type(item), "note");
    ck_assert_int_eq(kl_inspect_next(in, &item), 0);
    ck_assert_str_eq(kl_item_type(item), "summary");
    kl_node_free(node);

    /* The other way round: no node opens what is looked at. */
    ck_assert_int_eq(kl_inspect_verify(in, f.dir, 0), 0);
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_open(node, f.dir, 0), KL_EBUSY);
    ck_assert_int_eq(kl_inspect_verify(in, "/nonexistent", 0), KL_ENOSTORE);
    ck_assert_int_eq(kl_node_open(node, f.dir, 0), 0);
    kl_node_free(node);
}
END_TEST

/* A damaged metadata log: topics have no names, all else goes on. */
START_TEST(names_that_are_lost)
{
    const kl_item *item;
    const void *data;
    int has_name = 0, findings = 0;

    flip("00000000000000000000000000000001-0.*/00000000000000000000.seg", -1);
    flip("-1.*/00000000000000000000.seg", 4096 + 100);
    ck_assert_int_eq(kl_inspect_verify(in, f.dir, 0), 0);
    while (kl_inspect_next(in, &item) == 0) {
        if (strcmp(kl_item_type(item), "finding") != 0)
            continue;
        findings++;
        has_name |= kl_item_bytes(item, "topic", &data, NULL) == 0;
    }
    ck_assert_int_eq(findings, 2);
    ck_assert_int_eq(has_name, 0);
}
END_TEST

/* ---- dumps --------------------------------------------------------------- */

/* How many items of a type come; the last of them is checked by fn. */
static int count_items(const char *type, void (*fn)(const kl_item *item))
{
    const kl_item *item;
    const char *words;
    int n = 0;
    int rc;

    while ((rc = kl_inspect_next(in, &item)) == 0) {
        ck_assert_int_eq(kl_item_text(item, &words, NULL), 0);
        ck_assert_int_eq(kl_item_json(item, &words, NULL), 0);
        if (strcmp(kl_item_type(item), type) != 0)
            continue;
        n++;
        if (fn)
            fn(item);
    }
    ck_assert_int_eq(rc, KL_EEND);
    return n;
}

static int64_t expected;

static void check_record(const kl_item *item)
{
    ck_assert_int_eq(number(item, "offset"), expected++);
    ck_assert_str_eq(text(item, "value"), "value");
}

START_TEST(dump_of_a_folder)
{
    ck_assert_int_eq(kl_inspect_dump(in, f.dir, 0), 0);
    ck_assert_int_eq(count_items("log", NULL), 3);
    ck_assert_int_eq(kl_inspect_dump(in, f.dir, 0), 0);
    ck_assert_int_eq(count_items("checkpoint", NULL), 2);
    ck_assert_int_eq(kl_inspect_dump_wal(in, f.dir, 0), 0);
    ck_assert_int_gt(count_items("entry", NULL), 3);
    ck_assert_int_eq(kl_inspect_dump(in, f.dir, KL_INSPECT_RECORDS), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_dump_wal(in, "/nonexistent", 0), KL_ENOSTORE);
}
END_TEST

START_TEST(dump_of_a_log)
{
    kl_producer *p;
    kl_config *config;

    /* One batch of more records than there are items at a time. */
    api_fixture_reopen(&f);
    ck_assert_int_eq(kl_config_new(&config, NULL, NULL), 0);
    ck_assert_int_eq(kl_config_set(config, "linger.ms", "1000"), 0);
    ck_assert_int_eq(kl_producer_new(&p, f.client, config), 0);
    for (int i = 0; i < 500; i++)
        ck_assert_int_eq(kl_producer_send(p, "orders", 1, NULL, 0, "value", 5,
                                          KL_TIMESTAMP_NOW, 0, NULL),
                         0);
    ck_assert_int_eq(kl_producer_flush(p, -1), 0);
    kl_producer_free(p);
    kl_config_free(config);
    ck_assert_int_eq(kl_node_stop(f.node, -1), 0);

    ck_assert_int_eq(kl_inspect_dump_log(in, f.dir, "orders", 1, 0), 0);
    ck_assert_int_eq(count_items("record", NULL), 0);
    expected = 0;
    ck_assert_int_eq(
        kl_inspect_dump_log(in, f.dir, "orders", 1, KL_INSPECT_RECORDS), 0);
    ck_assert_int_eq(count_items("record", check_record), 550);
    ck_assert_int_eq(kl_inspect_dump_log(in, f.dir,
                                         "00000000000000000000000000000001", 0,
                                         KL_INSPECT_RECORDS),
                     0);
    ck_assert_int_gt(count_items("record", NULL), 2);
}
END_TEST

START_TEST(dump_of_a_log_that_is_not_there)
{
    char buf[256];

    ck_assert_int_eq(kl_inspect_dump_log(in, f.dir, "orders", 2, 0),
                     KL_ENOTOPIC);
    ck_assert_int_eq(kl_inspect_dump_log(in, f.dir, "order", 0, 0),
                     KL_ENOTOPIC);
    ck_assert_int_eq(kl_inspect_errmsg(in, buf, sizeof buf), 0);
    ck_assert_ptr_nonnull(strstr(buf, "order"));
    ck_assert_int_eq(kl_inspect_dump_log(in, f.dir, NULL, 0, 0), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_dump_log(in, f.dir, "orders", -1, 0),
                     KL_EINVAL);
}
END_TEST

START_TEST(dump_of_a_file)
{
    char path[TEST_TMPDIR_SIZE + 32];

    snprintf(path, sizeof path, "%s/identity", f.dir);
    ck_assert_int_eq(kl_inspect_dump_file(in, path, 0), 0);
    ck_assert_int_eq(count_items("store", NULL), 1);
    snprintf(path, sizeof path, "%s/lock", f.dir);
    ck_assert_int_eq(kl_inspect_dump_file(in, path, 0), KL_ECORRUPT);
    ck_assert_int_eq(kl_inspect_dump_file(in, "/nonexistent", 0), KL_ENOENT);
    ck_assert_int_eq(kl_inspect_dump_file(in, path, KL_INSPECT_FORCE),
                     KL_EINVAL);
}
END_TEST

START_TEST(storage_of_the_host)
{
    kl_storage *storage, *empty;
    kl_node *node;
    const kl_item *item;
    char buf[256];

    ck_assert_int_eq(kl_storage_new_memory(&storage, NULL, 0), 0);
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_set_storage(node, storage), 0);
    ck_assert_int_eq(kl_node_open(node, "m", KL_OPEN_CREATE), 0);
    ck_assert_int_eq(kl_node_stop(node, -1), 0);
    kl_node_free(node);
    ck_assert_int_eq(kl_inspect_set_storage(NULL, storage), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_set_storage(in, storage), 0);
    kl_storage_free(storage);
    ck_assert_int_eq(kl_inspect_verify(in, f.dir, 0), KL_ENOSTORE);
    ck_assert_int_eq(kl_inspect_verify(in, "m", 0), 0);
    ck_assert_int_eq(kl_inspect_next(in, &item), 0);
    ck_assert_int_eq(number(item, "logs"), 1);
    ck_assert_int_eq(kl_storage_new(&empty, NULL), 0);
    ck_assert_int_eq(kl_inspect_set_storage(in, empty), 0);
    kl_storage_free(empty);
    ck_assert_int_eq(kl_inspect_next(in, &item), KL_ESTATE);
    ck_assert_int_eq(kl_inspect_verify(in, "m", 0), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_errmsg(in, buf, sizeof buf), 0);
    ck_assert_ptr_nonnull(strstr(buf, "storage"));
    ck_assert_int_eq(kl_inspect_set_storage(in, NULL), 0);
    ck_assert_int_eq(kl_inspect_verify(in, f.dir, 0), 0);
}
END_TEST

static size_t live; /* bytes */

static void *count(void *ptr, size_t old_size, size_t new_size, void *user)
{
    void *result = NULL;

    (void)user;
    if (new_size)
        result = realloc(ptr, new_size);
    else
        free(ptr);
    if (result || !new_size)
        live += new_size - (ptr ? old_size : 0);
    return result;
}

START_TEST(memory_of_the_allocator)
{
    kl_config *config;
    kl_inspect *own;
    const kl_item *item;

    ck_assert_int_eq(kl_config_new(&config, count, NULL), 0);
    ck_assert_int_eq(kl_inspect_new(&own, config), 0);
    kl_config_free(config);
    ck_assert_int_eq(kl_inspect_verify(own, f.dir, 0), 0);
    ck_assert_uint_gt(live, 1000);
    while (kl_inspect_next(own, &item) == 0)
        continue;
    kl_inspect_free(own);
    ck_assert_uint_eq(live, 0);
}
END_TEST

Suite *suite_api_inspect(void);

Suite *suite_api_inspect(void)
{
    Suite *s = suite_create("api_inspect");
    TCase *t = tcase_create("inspect");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, misuse_of_null);
    tcase_add_test(t, no_task_no_items);
    tcase_add_test(t, clean_folder);
    tcase_add_test(t, fields_of_a_finding);
    tcase_add_test(t, folder_of_a_node);
    tcase_add_test(t, names_that_are_lost);
    tcase_add_test(t, dump_of_a_folder);
    tcase_add_test(t, dump_of_a_log);
    tcase_add_test(t, dump_of_a_log_that_is_not_there);
    tcase_add_test(t, dump_of_a_file);
    tcase_add_test(t, storage_of_the_host);
    tcase_add_test(t, memory_of_the_allocator);
    suite_add_tcase(s, t);
    return s;
}
