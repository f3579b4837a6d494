/*
 * What the commands of kraftlog(1) share. The program uses the public headers
 * of the library alone.
 */
#ifndef KRAFTLOG_TOOL_H
#define KRAFTLOG_TOOL_H

#include <kraftlog/kraftlog.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes. A wrong command line is told before anything is opened. */
enum { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 };

enum { TOOL_TEXT = 512 }; /* bytes of a line of error text */

struct tool
{
    const char *dir;
    int create;     /* -C */
    uint32_t flags; /* more for kl_node_open */
    kl_node *node;
    kl_client *client;
};

/* ---- errors: one line on standard error (kraftlog.c) ---- */

/* These return TOOL_FAILED and TOOL_USAGE, so that a caller can return them. */
int tool_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int tool_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "what: text (code)". The library's text names the object; where it is NULL or
 * empty, the object and the general text for the code stand there. */
int tool_fail_code(const char *what, const char *object, int code,
                   const char *text);
/* Flushes stdio's standard output. Nothing is told where its reader is gone. */
int tool_finish_output(void);
int tool_fail_output(int error);

/* ---- the command line (kraftlog.c) ---- */

enum { TOOL_OPERANDS = 64 };

/* Arguments from the front: options of one letter, with a value where the
 * letter is in with_value, and operands between them; behind "--" there are
 * operands only. */
struct tool_args
{
    char **argv; /* the next argument; NULL at the end */
    const char *command;
    const char *letters;    /* options without a value */
    const char *with_value; /* options with one */
    char *cluster;          /* more letters behind one dash */
    char *value;            /* of the option */
    int only_operands;
    char *operands[TOOL_OPERANDS];
    int operand_count;
};

/* The next option, -1 behind the last, '?' after a message about a wrong one.
 */
int tool_option(struct tool_args *args);
/* 0 where the number of operands is right; else tells what is wanted. */
int tool_operands(const struct tool_args *args, int min, int max,
                  const char *wanted);
/* Takes the first operand as the folder where -D has not named one. */
int tool_dir_operand(struct tool *t, struct tool_args *args);
/* A whole decimal number; 0 where text is one within the bounds. */
int tool_number(const char *text, int64_t min, int64_t max, int64_t *out);

/* ---- the node (kraftlog.c) ---- */

/* Opens the folder and makes the client; create = the command may make it. */
int tool_open(struct tool *t, int create);
/* Stops the node and frees everything; status is what the command came to. The
 * larger of the two codes is the program's. */
int tool_close(struct tool *t, int status);
/* Waits for an operation and frees it; begun is what beginning it returned. */
int tool_finish(int begun, kl_op *op, const char *what, const char *object);

/* The same for one with a JSON result, which is copied: *text_out is to be
 * freed, and NULL on failure (kraftlog_topic.c). */
int tool_json(int begun, kl_op *op, const char *what, const char *object,
              char **text_out);

/* ---- commands ---- */

/* The value of a number among the keys of a topic (kraftlog_topic.c). */
int tool_topic_number(struct tool *t, const char *what, const char *topic,
                      const char *key, int64_t *out);

int tool_topic(struct tool *t, struct tool_args *args);
int tool_produce(struct tool *t, struct tool_args *args);
int tool_consume(struct tool *t, struct tool_args *args);
int tool_cluster(struct tool *t, struct tool_args *args);
int tool_quorum(struct tool *t, struct tool_args *args);
int tool_stat(struct tool *t, struct tool_args *args);
int tool_accept_loss(struct tool *t, struct tool_args *args);
/* Without a node (kraftlog_offline.c). */
int tool_verify(struct tool *t, struct tool_args *args);
int tool_dump(struct tool *t, struct tool_args *args);
int tool_salvage(struct tool *t, struct tool_args *args);
int tool_doctor(struct tool *t, struct tool_args *args); /* kraftlog_doctor.c */

/* ---- JSON that the library wrote (kraftlog_json.c) ---- */

struct json_item
{
    const char *key; /* without quotes; NULL in an array */
    size_t key_size;
    const char *value; /* a string with its quotes */
    size_t value_size;
};

/* The first item of the object or array at text, then the next ones; at is NULL
 * before the first. NULL behind the last. */
const char *json_next(const char *text, const char *at, struct json_item *item);
/* The value of a key of the object at text, or NULL. */
const char *json_get(const char *text, const char *key);
/* Writes a text to standard output, a line per item. */
void json_print(const char *text);

/* ---- escapes (kraftlog_format.c) ---- */

/* Copies text to out with \n \r \t \\ and \xNN replaced. out has room for
 * strlen(text) bytes. 0, or -1 for an escape that is unknown. */
int format_unescape(const char *text, char *out, size_t *size_out);

/* ---- lines of standard input (kraftlog_lines.c) ---- */

struct lines
{
    int fd;
    char *buf;
    size_t capacity;
    size_t begin; /* of the next line */
    size_t seen;  /* up to here there is no line feed */
    size_t end;
    size_t line_max; /* bytes of the longest line that is taken */
    uint64_t number; /* of the last line given out, from 1 */
    int at_end;
};

int lines_init(struct lines *l, int fd, size_t line_max);
void lines_deinit(struct lines *l);
/* 1 and the next line without its line feed, where a whole one has been read;
 * its bytes live until lines_fill. */
int lines_next(struct lines *l, const char **data_out, size_t *size_out);
/* Reads more: 1, or 0 at the end of the input. -1: errno says why, EMSGSIZE
 * that the next line is longer than line_max. */
int lines_fill(struct lines *l);

/* ---- output in large writes (kraftlog_format.c) ---- */

enum { OUTPUT_SIZE = 256 * 1024 };

struct output
{
    int fd;
    int error; /* errno of the first write that failed; nothing is written then
                */
    size_t size;
    char buf[OUTPUT_SIZE];
};

void output_bytes(struct output *o, const void *data, size_t size);
void output_number(struct output *o, int64_t value);
/* 0, or -1 where a write has failed. */
int output_flush(struct output *o);

/* ---- format of a record (kraftlog_format.c) ---- */

enum { FORMAT_PARTS = 128 };

struct format_part
{
    char letter; /* 0 = text */
    const char *text;
    size_t size;
};

struct format
{
    struct format_part parts[FORMAT_PARTS];
    size_t count;
    char *text; /* what the parts point into */
};

/* 0, or a message has been printed. */
int format_init(struct format *f, const char *text);
void format_deinit(struct format *f);
void format_record(const struct format *f, struct output *o, const char *topic,
                   int32_t partition, const kl_record *record);

/* ---- acknowledgements in order (kraftlog_acks.c) ---- */

struct acks;

/* Starts a thread that prints the acknowledgements of bulk sends in the order
 * in which they were pushed. NULL on failure. */
struct acks *acks_start(void);
/* Takes the operation; waits while too many are pending. */
void acks_push(struct acks *a, kl_op *op);
/* 1 where printing or a send has failed, so that there is no use in going on.
 */
int acks_have_failed(struct acks *a);
/* Prints the rest, ends the thread, frees a. 0 where all was acknowledged and
 * printed; a message has been printed otherwise. NULL is ignored. */
int acks_finish(struct acks *a, const char *topic);

#endif
