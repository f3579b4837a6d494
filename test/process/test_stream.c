/*
 * kraftlog(1): produce and consume.
 */
#include "cli.h"

#include <check.h>
#include <kraftlog/kraftlog.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_process_stream(void);

enum { FAILED = 1, USAGE = 2, MIB = 1024 * 1024 };

static void stream_setup(void)
{
    cli_setup();
    CLI("topic", "create", "a");
    cli_succeeded();
    CLI("topic", "create", "three", "-p", "3");
    cli_succeeded();
}

/* ---- produce ----------------------------------------------------------- */

START_TEST(produce_prints_acknowledgements)
{
    CLI_TEXT("x\ny\nz\n", "produce", "a", "-v");
    cli_printed("0 0\n0 1\n0 2\n");
    CLI_TEXT("x\n", "produce", "a");
    cli_printed("");
    CLI_TEXT("x\n", "produce", "three", "-v", "-p", "2");
    cli_printed("2 0\n");
    CLI("consume", "a", "-e");
    cli_printed("x\ny\nz\nx\n");
}
END_TEST

START_TEST(produce_acknowledges_while_it_waits)
{
    struct process p;
    char text[16];

    process_start(
        &p, NULL,
        (const char *[]){"-D", cli_dir(), "produce", "a", "-v", NULL});
    for (int i = 0; i < 3; i++) {
        char expected[16];
        int size = snprintf(expected, sizeof expected, "0 %d\n", i);

        ck_assert_int_eq(write(p.in, "x\n", 2), 2);
        ck_assert_int_eq(read(p.out, text, sizeof text), size);
        ck_assert_int_eq(memcmp(text, expected, (size_t)size), 0);
    }
    process_close_input(&p);
    ck_assert_int_eq(read(p.out, text, sizeof text), 0);
    ck_assert_int_eq(WEXITSTATUS(process_finish(&p)), 0);
}
END_TEST

START_TEST(produce_empty_input_and_empty_lines)
{
    CLI_TEXT("", "produce", "a", "-v");
    cli_printed("");
    CLI_TEXT("\n\nx\n\n", "produce", "a", "-v");
    cli_printed("0 0\n0 1\n0 2\n0 3\n");
    /* Empty is not null. */
    CLI("consume", "a", "-e", "-f", "[%s]%S\\n");
    cli_printed("[]0\n[]0\n[x]1\n[]0\n");
}
END_TEST

START_TEST(produce_last_line_without_line_feed)
{
    CLI_TEXT("x\ny", "produce", "a", "-v");
    cli_printed("0 0\n0 1\n");
    CLI_TEXT("z", "produce", "a", "-v");
    cli_printed("0 2\n");
    CLI("consume", "a", "-e");
    cli_printed("x\ny\nz\n");
}
END_TEST

START_TEST(produce_every_byte)
{
    char bytes[257];

    for (int i = 0; i < 256; i++)
        bytes[i] = (char)(i == '\n' ? 0 : i);
    bytes[256] = '\n';
    CLI_BYTES(bytes, sizeof bytes, "produce", "a");
    cli_printed("");
    CLI("consume", "a", "-e");
    cli_printed_bytes(bytes, sizeof bytes);
    CLI_BYTES("\0\n\0\0\n", 5, "produce", "a", "-v");
    cli_printed("0 1\n0 2\n");
    CLI("consume", "a", "-e", "-o", "1");
    cli_printed_bytes("\0\n\0\0\n", 5);
}
END_TEST

START_TEST(produce_keys)
{
    CLI_TEXT("k:v\n:v\nk:\nnone\nk:v:w\n", "produce", "a", "-K", ":");
    cli_printed("");
    CLI("consume", "a", "-e", "-f", "%K[%k]%S[%s]\\n");
    cli_printed("1[k]1[v]\n0[]1[v]\n1[k]0[]\n-1[]4[none]\n1[k]3[v:w]\n");
    CLI_TEXT("k\tv\n", "produce", "a", "-K", "\\t");
    CLI_TEXT("k->v\n", "produce", "a", "-K", "->");
    CLI("consume", "a", "-e", "-o", "5", "-f", "%k=%s\\n");
    cli_printed("k=v\nk=v\n");
}
END_TEST

START_TEST(produce_keys_choose_partitions)
{
    const char *out;

    CLI_TEXT("k0:1\nk1:2\nk0:3\nk1:4\n", "produce", "three", "-K", ":", "-v");
    cli_succeeded();
    out = cli_result()->out;
    ck_assert_uint_eq(cli_result()->out_size, 16);
    ck_assert_int_eq(out[0], out[8]);
    ck_assert_int_eq(out[4], out[12]);
}
END_TEST

START_TEST(produce_codecs)
{
    static const char *const codecs[] = {"none", "lz4", "zstd"};
    static char text[30000];
    size_t size = 0;

    for (int i = 0; i < 1000; i++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "a line like others %d\n", i);
    for (int i = 0; i < 3; i++) {
        CLI_BYTES(text, size, "produce", "three", "-p", "0", "-z", codecs[i]);
        /* A codec may be left out of a build. */
        if (cli_result()->code != 0) {
            cli_failed(FAILED, "KL_EUNSUPPORTED");
            continue;
        }
        cli_printed("");
        CLI("consume", "three", "-p", "0", "-e");
        ck_assert_uint_ge(cli_result()->out_size, size);
        ck_assert(memcmp(cli_result()->out + cli_result()->out_size - size,
                         text, size) == 0);
    }
}
END_TEST

START_TEST(produce_refused)
{
    CLI_TEXT("x\n", "produce", "b");
    cli_failed(FAILED, "KL_ENOTOPIC");
    CLI_TEXT("", "produce", "b");
    cli_failed(FAILED, "KL_ENOTOPIC");
    CLI_TEXT("x\n", "produce", "three", "-p", "3");
    cli_failed(FAILED, "KL_ENOTOPIC");
    CLI_TEXT("", "produce", "three", "-p", "3");
    cli_failed(FAILED, "KL_ENOTOPIC");
}
END_TEST

START_TEST(produce_line_that_is_too_long)
{
    size_t size = 10000;
    char *text = calloc(1, size);

    ck_assert_ptr_nonnull(text);
    memset(text, 'x', size);
    memcpy(text, "1\n2\n", 4);
    CLI("topic", "create", "short", "-c", "max.message.bytes=4096");
    CLI_BYTES(text, size, "produce", "short", "-v");
    cli_failed(FAILED, "line 3");
    /* What was before it is written and acknowledged. */
    ck_assert_str_eq(cli_result()->out, "0 0\n0 1\n");
    CLI("consume", "short", "-e");
    cli_printed("1\n2\n");
    free(text);
}
END_TEST

/* Longer than any buffer of the tool: it must not be read to its end. */
START_TEST(produce_line_without_end)
{
    size_t size = 8 * MIB;
    char *text = malloc(size);

    ck_assert_ptr_nonnull(text);
    memset(text, 'x', size);
    memcpy(text, "1\n", 2);
    CLI_BYTES(text, size, "produce", "a");
    cli_failed(FAILED, "line 2");
    ck_assert_ptr_nonnull(strstr(cli_result()->err, "max.message.bytes"));
    CLI("consume", "a", "-e");
    cli_printed("1\n");
    free(text);
}
END_TEST

/* The write-ahead log must be large enough, whatever the disk has. */
static void stream_large_folder(const char *wal)
{
    kl_config *config;
    kl_node *node;

    ck_assert_int_eq(kl_config_new(&config, NULL, NULL), KL_OK);
    ck_assert_int_eq(kl_config_set(config, "wal.bytes", wal), KL_OK);
    ck_assert_int_eq(kl_node_new(&node, config), KL_OK);
    ck_assert_int_eq(kl_node_open(node, cli_dir(), KL_OPEN_CREATE), KL_OK);
    ck_assert_int_eq(kl_node_stop(node, -1), KL_OK);
    kl_node_free(node);
    kl_config_free(config);
}

START_TEST(produce_lines_of_a_mebibyte)
{
    size_t size = 4 * (MIB + 1);
    char *text = malloc(size);

    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + i % 23);
    for (size_t i = 1; i <= 4; i++)
        text[i * (MIB + 1) - 1] = '\n';
    stream_large_folder("16m");
    CLI("topic", "create", "large", "-c", "max.message.bytes=2m");
    cli_succeeded();
    CLI_BYTES(text, size, "produce", "large", "-v");
    cli_printed("0 0\n0 1\n0 2\n0 3\n");
    CLI("consume", "large", "-e");
    cli_printed_bytes(text, size);
    free(text);
}
END_TEST

START_TEST(produce_many_short_lines)
{
    size_t capacity = 3 * MIB;
    char *text = malloc(capacity);
    size_t size = 0;
    int lines;

    ck_assert_ptr_nonnull(text);
    for (lines = 0; size + 16 < capacity; lines++)
        size += (size_t)snprintf(text + size, 16, "%d\n", lines);
    CLI_BYTES(text, size, "produce", "a");
    cli_printed("");
    CLI("consume", "a", "-e");
    cli_printed_bytes(text, size);
    free(text);
}
END_TEST

/* ---- consume ----------------------------------------------------------- */

START_TEST(consume_from_an_offset)
{
    CLI_TEXT("0\n1\n2\n3\n", "produce", "a");
    CLI("consume", "a", "-e");
    cli_printed("0\n1\n2\n3\n");
    CLI("consume", "a", "-e", "-o", "begin");
    cli_printed("0\n1\n2\n3\n");
    CLI("consume", "a", "-e", "-o", "2");
    cli_printed("2\n3\n");
    CLI("consume", "a", "-e", "-o", "4");
    cli_printed("");
    CLI("consume", "a", "-e", "-o", "end");
    cli_printed("");
    CLI("consume", "a", "-e", "-o", "5");
    cli_failed(FAILED, "KL_EOFFSETRANGE");
    ck_assert_ptr_nonnull(strstr(cli_result()->err, "a-0"));
    CLI("consume", "a", "-e", "-o", "9223372036854775807");
    cli_failed(FAILED, "KL_EOFFSETRANGE");
}
END_TEST

START_TEST(consume_from_a_time)
{
    char at[32];

    CLI_TEXT("0\n1\n2\n", "produce", "a");
    CLI("consume", "a", "-c", "1", "-f", "%T");
    cli_succeeded();
    snprintf(at, sizeof at, "@%s", cli_result()->out);
    CLI("consume", "a", "-e", "-o", at);
    cli_printed("0\n1\n2\n");
    CLI("consume", "a", "-e", "-o", "@0");
    cli_printed("0\n1\n2\n");
    CLI("consume", "a", "-e", "-o", "@99999999999999");
    cli_printed("");
}
END_TEST

START_TEST(consume_count)
{
    CLI_TEXT("0\n1\n2\n3\n", "produce", "a");
    CLI("consume", "a", "-c", "2");
    cli_printed("0\n1\n");
    CLI("consume", "a", "-c", "2", "-o", "1");
    cli_printed("1\n2\n");
    CLI("consume", "a", "-c", "100", "-e");
    cli_printed("0\n1\n2\n3\n");
}
END_TEST

START_TEST(consume_partitions)
{
    CLI_TEXT("0\n", "produce", "three", "-p", "0");
    CLI_TEXT("1\n", "produce", "three", "-p", "1");
    CLI_TEXT("2\n", "produce", "three", "-p", "2");
    CLI("consume", "three", "-p", "1", "-e");
    cli_printed("1\n");
    CLI("consume", "three", "-e");
    cli_succeeded();
    ck_assert_uint_eq(cli_result()->out_size, 6);
    ck_assert_ptr_nonnull(strstr(cli_result()->out, "0\n"));
    ck_assert_ptr_nonnull(strstr(cli_result()->out, "1\n"));
    ck_assert_ptr_nonnull(strstr(cli_result()->out, "2\n"));
}
END_TEST

START_TEST(consume_refused)
{
    CLI("consume", "b", "-e");
    cli_failed(FAILED, "KL_ENOTOPIC");
    CLI("consume", "three", "-p", "3", "-e");
    cli_failed(FAILED, "KL_ENOTOPIC");
    CLI("consume", "a", "-o", "here");
    cli_failed(USAGE, "here");
    CLI("consume", "a", "-o", "-2");
    cli_failed(USAGE, "-2");
    CLI("consume", "a", "-o", "@");
    cli_failed(USAGE, "@");
    CLI("consume", "a", "-o", "@-1");
    cli_failed(USAGE, "@-1");
    CLI("consume", "a", "-p", "x");
    cli_failed(USAGE, "'x'");
    CLI("consume", "a", "-f", "%x");
    cli_failed(USAGE, "%x");
    CLI("consume", "a", "-f", "%");
    cli_failed(USAGE, "%");
    CLI("consume", "a", "-f", "\\q");
    cli_failed(USAGE, "\\q");
    CLI("consume", "a", "-f", "\\x4");
    cli_failed(USAGE, "\\x");
}
END_TEST

/* A record with everything that the tool cannot produce itself. */
static void format_record(void)
{
    kl_node *node;
    kl_client *client;
    kl_producer *producer;
    kl_record *record;

    ck_assert_int_eq(kl_node_new(&node, NULL), KL_OK);
    ck_assert_int_eq(kl_node_open(node, cli_dir(), 0), KL_OK);
    ck_assert_int_eq(kl_node_client(node, &client), KL_OK);
    ck_assert_int_eq(kl_producer_new(&producer, client, NULL), KL_OK);
    ck_assert_int_eq(kl_record_new(&record, NULL), KL_OK);
    ck_assert_int_eq(kl_record_set_timestamp(record, 1234567890123), KL_OK);
    ck_assert_int_eq(kl_record_add_header(record, "n", "v", 1), KL_OK);
    ck_assert_int_eq(kl_record_add_header(record, "null", NULL, 0), KL_OK);
    ck_assert_int_eq(kl_record_add_header(record, "e", "", 0), KL_OK);
    ck_assert_int_eq(kl_producer_send_record(producer, "a", 0, record, 0, NULL),
                     KL_OK);
    ck_assert_int_eq(kl_producer_flush(producer, -1), KL_OK);
    ck_assert_int_eq(kl_node_stop(node, -1), KL_OK);
    kl_record_free(record);
    kl_producer_free(producer);
    kl_client_free(client);
    kl_node_free(node);
}

START_TEST(consume_format)
{
    CLI_TEXT("k:value\n", "produce", "a", "-K", ":");
    format_record();
    CLI("consume", "a", "-e", "-o", "0", "-c", "1", "-f",
        "%t-%p@%o %k(%K)=%s(%S) %% \\x41\\x7a\\t\\r\\n\\\\");
    cli_printed("a-0@0 k(1)=value(5) % Az\t\r\n\\");
    CLI("consume", "a", "-e", "-o", "1", "-f", "%T [%s]%S [%k]%K {%h}\\n");
    cli_printed("1234567890123 []-1 []-1 {n=v,null=NULL,e=}\n");
    CLI("consume", "a", "-e", "-f", "%R%s\\n");
    cli_printed_bytes("\0\0\0\5value\n\377\377\377\377\n", 15);
    CLI("consume", "a", "-e", "-f", "");
    cli_printed("");
    CLI("consume", "a", "-e", "-f", "no letter\\0");
    cli_printed_bytes("no letter\0no letter", 20);
}
END_TEST

/* The reader has gone: an end without a message, and with a code. */
START_TEST(consume_output_closed)
{
    size_t size = 2 * MIB;
    char *text = malloc(size);
    struct process p;
    int status;

    ck_assert_ptr_nonnull(text);
    memset(text, 'x', size);
    for (size_t i = 99; i < size; i += 100)
        text[i] = '\n';
    CLI_BYTES(text, size, "produce", "a");
    cli_succeeded();
    process_start(&p, NULL,
                  (const char *[]){"-D", cli_dir(), "consume", "a", NULL});
    ck_assert_int_eq(read(p.out, text, 1), 1);
    close(p.out);
    /* Its standard error ends with it. */
    ck_assert_int_eq(read(p.err, text, 1), 0);
    p.out = -1;
    status = process_finish(&p);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), FAILED);
    free(text);
}
END_TEST

Suite *suite_process_stream(void)
{
    Suite *s = suite_create("process_stream");
    TCase *produce = tcase_create("produce");
    TCase *large = tcase_create("large");
    TCase *consume = tcase_create("consume");

    tcase_add_checked_fixture(produce, stream_setup, cli_teardown);
    tcase_add_test(produce, produce_prints_acknowledgements);
    tcase_add_test(produce, produce_acknowledges_while_it_waits);
    tcase_add_test(produce, produce_empty_input_and_empty_lines);
    tcase_add_test(produce, produce_last_line_without_line_feed);
    tcase_add_test(produce, produce_every_byte);
    tcase_add_test(produce, produce_keys);
    tcase_add_test(produce, produce_keys_choose_partitions);
    tcase_add_test(produce, produce_codecs);
    tcase_add_test(produce, produce_refused);
    tcase_add_test(produce, produce_line_that_is_too_long);
    tcase_add_test(produce, produce_line_without_end);
    tcase_add_test(produce, produce_many_short_lines);
    suite_add_tcase(s, produce);
    tcase_add_checked_fixture(large, cli_setup, cli_teardown);
    tcase_add_test(large, produce_lines_of_a_mebibyte);
    suite_add_tcase(s, large);
    tcase_add_checked_fixture(consume, stream_setup, cli_teardown);
    tcase_add_test(consume, consume_from_an_offset);
    tcase_add_test(consume, consume_from_a_time);
    tcase_add_test(consume, consume_count);
    tcase_add_test(consume, consume_partitions);
    tcase_add_test(consume, consume_refused);
    tcase_add_test(consume, consume_format);
    tcase_add_test(consume, consume_output_closed);
    suite_add_tcase(s, consume);
    return s;
}
