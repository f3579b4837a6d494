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

/* 1 and the first file of the folder whose path ends so, or 0. */
static int find_file(const char *name, char out[1024])
{
    int found;
    FILE *pipe;

    snprintf(out, 1024, "find %s -path '*%s' | sort | head -1", f.dir, name);
    pipe = popen(out, "r");
    ck_assert_ptr_nonnull(pipe);
    found = fgets(out, 1024, pipe) != NULL;
    ck_assert_int_eq(pclose(pipe), 0);
    out[strcspn(out, "\n")] = 0;
    return found;
}

/* The same, opened. */
static FILE *open_file(const char *name)
{
    char text[1024];
    FILE *file;

    ck_assert(find_file(name, text));
    file = fopen(text, "r+b");
    ck_assert_ptr_nonnull(file);
    return file;
}

/* Flips a bit of a file; at < 0 = from its end. */
static void flip(const char *name, long at)
{
    FILE *file = open_file(name);
    int c;

    ck_assert_int_eq(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    c = fgetc(file);
    ck_assert_int_eq(fseek(file, -1, SEEK_CUR), 0);
    ck_assert_int_ne(fputc(c ^ 1, file), EOF);
    ck_assert_int_eq(fclose(file), 0);
}

/* Zeros over a part of a file. */
static void zero(const char *name, long at, long size)
{
    FILE *file = open_file(name);

    ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
    while (size-- > 0)
        ck_assert_int_ne(fputc(0, file), EOF);
    ck_assert_int_eq(fclose(file), 0);
}

/* No copies are left there. */
static void forget_ring(void)
{
    for (int i = 0; i < 4; i++) {
        char name[32];

        snprintf(name, sizeof name, "/wal/%d", i);
        zero(name, 0, 64 * 1024);
    }
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

/* The last action that the doctor advises, with its rank before it. */
static const char *advice(void)
{
    static char words[64];
    const kl_item *item;
    int r;

    words[0] = 0;
    while ((r = kl_inspect_next(in, &item)) == 0)
        if (strcmp(kl_item_type(item), "advice") == 0)
            snprintf(words, sizeof words, "%s %s", text(item, "rank"),
                     text(item, "action"));
        else if (strcmp(kl_item_type(item), "summary") == 0)
            ck_assert_int_eq(number(item, "opens"),
                             number(item, "problems") < 2);
    ck_assert_int_eq(r, KL_EEND);
    return words;
}

START_TEST(doctor)
{
    ck_assert_int_eq(kl_inspect_doctor(NULL, f.dir, 0), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_doctor(in, NULL, 0), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_doctor(in, "", 0), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_doctor(in, f.dir, KL_INSPECT_RECORDS),
                     KL_EINVAL);
    ck_assert_int_eq(kl_inspect_doctor(in, "/nonexistent", 0), KL_ENOSTORE);
    ck_assert_int_eq(kl_inspect_doctor(in, f.dir, 0), 0);
    ck_assert_str_eq(advice(), "next none");
    flip("/checkpoint.a", 40);
    ck_assert_int_eq(kl_inspect_doctor(in, f.dir, 0), 0);
    ck_assert_str_eq(advice(), "next open");
    flip("/checkpoint.b", 40);
    ck_assert_int_eq(kl_inspect_doctor(in, f.dir, 0), 0);
    ck_assert_str_eq(advice(), "next salvage");
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

    forget_ring();
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

/* ---- salvage ---------------------------------------------------------------
 */

static char saved[TEST_TMPDIR_SIZE + 16];

/* Saves the folder and opens the new one as f's, with this topic in it. Returns
 * the number of ranges that are lost. */
static int64_t salvage(void)
{
    const kl_item *item;
    int64_t ranges = -1;
    char buf[256];
    int rc;

    snprintf(saved, sizeof saved, "%s/saved", f.dir);
    rc = kl_inspect_salvage(in, f.dir, saved, 0);
    while (rc == 0 && (rc = kl_inspect_next(in, &item)) == 0)
        if (strcmp(kl_item_type(item), "summary") == 0)
            ranges = number(item, "lost_ranges");
    ck_assert_int_eq(kl_inspect_errmsg(in, buf, sizeof buf), 0);
    ck_assert_msg(rc == KL_EEND, "salvage: %d, %s", rc, buf);
    ck_assert_int_ge(ranges, 0);
    return ranges;
}

/* Records of a partition in the new folder. */
static int64_t count_records(kl_node *node, const char *topic, int32_t p)
{
    kl_client *client;
    kl_consumer *c;
    kl_event *event;
    int64_t count = 0;
    int type;

    ck_assert_int_eq(kl_node_client(node, &client), 0);
    ck_assert_int_eq(kl_consumer_new(&c, client, NULL), 0);
    ck_assert_int_eq(kl_consumer_assign(c, topic, p, KL_OFFSET_BEGIN, 0), 0);
    do {
        ck_assert_int_eq(kl_consumer_poll(c, -1, &event), 0);
        type = kl_event_type(event);
        ck_assert_int_ne(type, KL_EVENT_ERROR);
        count += (int64_t)kl_event_record_count(event);
        kl_event_free(event);
    } while (type != KL_EVENT_END);
    kl_consumer_free(c);
    kl_client_free(client);
    return count;
}

static void send_one(kl_node *node, const char *topic)
{
    kl_client *client;
    kl_producer *p;
    kl_op *op;

    ck_assert_int_eq(kl_node_client(node, &client), 0);
    ck_assert_int_eq(kl_producer_new(&p, client, NULL), 0);
    ck_assert_int_eq(kl_producer_send(p, topic, 0, NULL, 0, "new", 3,
                                      KL_TIMESTAMP_NOW, 0, &op),
                     0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
    kl_producer_free(p);
    kl_client_free(client);
}

START_TEST(salvage_of_a_whole_folder)
{
    kl_node *node;

    ck_assert_int_eq(salvage(), 0);
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_open(node, saved, 0), 0);
    ck_assert_int_eq(count_records(node, "orders", 0), 50);
    ck_assert_int_eq(count_records(node, "orders", 1), 50);
    send_one(node, "orders");
    ck_assert_int_eq(count_records(node, "orders", 0), 51);
    kl_node_free(node);
    ck_assert_int_eq(kl_inspect_salvage(in, f.dir, saved, 0), KL_EEXIST);
    ck_assert_int_eq(kl_inspect_salvage(in, f.dir, NULL, 0), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_salvage(in, f.dir, "", 0), KL_EINVAL);
    ck_assert_int_eq(kl_inspect_salvage(in, f.dir, saved, 1), KL_EINVAL);
}
END_TEST

/* Zeros over a part of the metadata log and over the ring, which has copies. */
static void lose_metadata(long at)
{
    forget_ring();
    zero("00000000000000000000000000000001-0.*/00000000000000000000.seg", at,
         8192);
}

/* The first batch is whole, the topic is in the second one. */
START_TEST(salvage_without_names)
{
    kl_node *node;
    kl_client *client;
    kl_op *op;
    const char *json;
    char name[33];

    lose_metadata(4096 + 130);
    ck_assert_int_eq(salvage(), 1); /* names, no record */
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_open(node, saved, 0), 0);
    ck_assert_int_eq(kl_node_client(node, &client), 0);
    ck_assert_int_eq(kl_admin_list_topics(client, 0, &op), 0);
    ck_assert_int_eq(kl_op_wait(op, -1), 0);
    ck_assert_int_eq(kl_op_json(op, &json, NULL), 0);
    ck_assert_ptr_null(strstr(json, "orders"));
    ck_assert_ptr_nonnull(strstr(json, "\"partitions\":2"));
    /* It is called as its identifier. */
    ck_assert_ptr_nonnull(strstr(json, "\"name\":\""));
    snprintf(name, sizeof name, "%s", strstr(json, "\"name\":\"") + 8);
    ck_assert_uint_eq(strspn(name, "0123456789abcdef"), 32);
    kl_op_free(op);
    kl_client_free(client);
    ck_assert_int_eq(count_records(node, name, 0), 50);
    ck_assert_int_eq(count_records(node, name, 1), 50);
    send_one(node, name);
    ck_assert_int_eq(kl_node_stop(node, -1), 0);
    kl_node_free(node);
    ck_assert_int_eq(kl_inspect_verify(in, saved, 0), 0);
    ck_assert_int_eq(count_items("finding", NULL), 0);
}
END_TEST

/* Nothing at all of the metadata is left. */
START_TEST(salvage_without_metadata)
{
    kl_node *node;

    lose_metadata(0);
    ck_assert_int_eq(salvage(), 1);
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_open(node, saved, 0), 0);
    kl_node_free(node);
}
END_TEST

/* What is only lost of the configuration: the name stays. */
START_TEST(salvage_with_a_part_of_the_metadata)
{
    kl_op *op;
    kl_node *node;

    api_fixture_reopen(&f);
    api_fixture_topic(&f, "later", 1);
    ck_assert_int_eq(kl_admin_set_config(f.client, "later", "retention.ms",
                                         "100000", 0, &op),
                     0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
    send_one(f.node, "later");
    ck_assert_int_eq(kl_node_stop(f.node, -1), 0);
    zero("00000000000000000000000000000001-0.*/00000000000000000000.seg",
         4096 + 130, 100);
    forget_ring();
    ck_assert_int_eq(salvage(), 1);
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_open(node, saved, 0), 0);
    ck_assert_int_eq(count_records(node, "later", 0), 1);
    send_one(node, "later");
    kl_node_free(node);
}
END_TEST

/* Snapshots have taken the place of the first part of the metadata log. */
static void make_snapshots(void)
{
    char name[24], path[1024];

    ck_assert_int_eq(
        kl_config_set(f.config,
                      "metadata.log.max.record.bytes.between.snapshots", "1k"),
        0);
    api_fixture_reopen(&f);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "topic-%d", i);
        api_fixture_topic(&f, name, 1);
    }
    ck_assert_int_eq(kl_node_stop(f.node, -1), 0);
    ck_assert(find_file("/snapshots/*", path));
}

/* The names that the salvaged folder has are those of the snapshot. */
START_TEST(salvage_with_a_snapshot)
{
    kl_node *node;

    make_snapshots();
    ck_assert_int_eq(kl_inspect_dump_log(in, f.dir, "orders", 1, 0), 0);
    ck_assert_int_eq(count_items("batch", NULL) > 0, 1);
    ck_assert_int_eq(kl_inspect_verify(in, f.dir, 0), 0);
    ck_assert_int_eq(count_items("finding", NULL), 0);
    ck_assert_int_eq(salvage(), 0);
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_open(node, saved, 0), 0);
    ck_assert_int_eq(count_records(node, "orders", 0), 50);
    ck_assert_int_eq(count_records(node, "topic-0", 0), 0);
    ck_assert_int_eq(count_records(node, "topic-39", 0), 0);
    send_one(node, "topic-39");
    kl_node_free(node);
}
END_TEST

/* Nothing else knows what was in it. */
START_TEST(salvage_without_a_snapshot)
{
    char path[1024];
    kl_node *node;

    make_snapshots();
    while (find_file("/snapshots/*", path))
        ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(salvage(), 1);
    ck_assert_int_eq(kl_node_new(&node, NULL), 0);
    ck_assert_int_eq(kl_node_open(node, saved, 0), 0);
    ck_assert_int_eq(count_records(node, "topic-39", 0), 0);
    kl_node_free(node);
}
END_TEST

START_TEST(salvage_tells_what_is_lost)
{
    const kl_item *item;
    int lost = 0;

    forget_ring();
    flip("-1.*/00000000000000000000.seg", 4096 + 95);
    snprintf(saved, sizeof saved, "%s/saved", f.dir);
    ck_assert_int_eq(kl_inspect_salvage(in, f.dir, saved, 0), 0);
    while (kl_inspect_next(in, &item) == 0) {
        if (strcmp(kl_item_type(item), "lost") != 0)
            continue;
        lost++;
        ck_assert_str_eq(text(item, "topic"), "orders");
        ck_assert_int_eq(number(item, "partition"), 1);
        ck_assert_int_eq(number(item, "from"), 0);
        ck_assert_str_eq(text(item, "kind"), "body");
    }
    ck_assert_int_eq(lost, 1);
}
END_TEST

/* A folder that a deleted topic has left behind is not brought back. */
START_TEST(salvage_without_what_was_deleted)
{
    char command[1200];

    api_fixture_reopen(&f);
    api_fixture_topic(&f, "gone", 1);
    send_one(f.node, "gone");
    ck_assert_int_eq(kl_node_stop(f.node, -1), 0);
    snprintf(command, sizeof command, "cp -r %s/logs %s/copy", f.dir, f.dir);
    ck_assert_int_eq(system(command), 0);
    api_fixture_reopen(&f);
    {
        kl_op *op;

        ck_assert_int_eq(kl_admin_delete_topic(f.client, "gone", 0, &op), 0);
        ck_assert_int_eq(api_fixture_finish(op), 0);
    }
    ck_assert_int_eq(kl_node_stop(f.node, -1), 0);
    snprintf(command, sizeof command, "cp -rn %s/copy/. %s/logs", f.dir, f.dir);
    ck_assert_int_eq(system(command), 0);
    zero("/checkpoint.a", 0, 4096);
    zero("/checkpoint.b", 0, 4096);
    snprintf(saved, sizeof saved, "%s/saved", f.dir);
    ck_assert_int_eq(kl_inspect_salvage(in, f.dir, saved, 0), 0);
    ck_assert_int_le(count_items("skipped", NULL), 1);
    ck_assert_int_eq(kl_inspect_dump(in, saved, 0), 0);
    ck_assert_int_eq(count_items("log", NULL), 3);
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
    tcase_add_test(t, doctor);
    tcase_add_test(t, folder_of_a_node);
    tcase_add_test(t, names_that_are_lost);
    tcase_add_test(t, dump_of_a_folder);
    tcase_add_test(t, dump_of_a_log);
    tcase_add_test(t, dump_of_a_log_that_is_not_there);
    tcase_add_test(t, dump_of_a_file);
    tcase_add_test(t, salvage_of_a_whole_folder);
    tcase_add_test(t, salvage_without_names);
    tcase_add_test(t, salvage_without_metadata);
    tcase_add_test(t, salvage_with_a_part_of_the_metadata);
    tcase_add_test(t, salvage_with_a_snapshot);
    tcase_add_test(t, salvage_without_a_snapshot);
    tcase_add_test(t, salvage_tells_what_is_lost);
    tcase_add_test(t, salvage_without_what_was_deleted);
    tcase_add_test(t, storage_of_the_host);
    tcase_add_test(t, memory_of_the_allocator);
    suite_add_tcase(s, t);
    return s;
}
