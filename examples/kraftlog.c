/*
 * kraftlog(1): the log in a folder at the command line.
 *
 * This file has the main program and what its commands share; each command is
 * in a kraftlog_*.c of its own.
 */
#include "kraftlog_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char tool_help[] =
    "usage: kraftlog -D DIR [-C] COMMAND ...\n"
    "  topic create NAME [-p PARTITIONS] [-c KEY=VALUE]...\n"
    "  topic list\n"
    "  topic describe NAME\n"
    "  topic delete NAME\n"
    "  topic grow NAME PARTITIONS\n"
    "  topic config NAME [KEY=VALUE]...\n"
    "  produce TOPIC [-p PARTITION] [-K SEPARATOR] [-z none|lz4|zstd] [-v]\n"
    "  consume TOPIC [-p PARTITION] [-o begin|end|OFFSET|@MS] [-e] [-c COUNT]\n"
    "          [-f FORMAT] [-S]\n"
    "  cluster\n"
    "  quorum\n"
    "  stat\n"
    "  accept-loss\n"
    "  verify [-f] [-j]\n"
    "  dump [-f] [-j] [wal]\n"
    "  dump [-f] [-j] [-r] log TOPIC PARTITION\n"
    "  dump [-j] [-r] file PATH\n"
    "  salvage [-j] NEWDIR\n"
    "  doctor [-f] [-j]\n"
    "options:\n"
    "  -D DIR  the data folder\n"
    "  -C      make the folder where there is none, as topic create does\n"
    "  -V      print the version\n"
    "  -h      print this\n"
    "The manual is kraftlog(1).\n";

/* ---- errors ------------------------------------------------------------ */

/* One line in one write; what is not printable in it is made so. */
static void tool_message(const char *format, va_list list)
{
    char line[2 * TOOL_TEXT] = "kraftlog: ";
    size_t size = strlen(line);
    ssize_t written;

    vsnprintf(line + size, sizeof line - size - 1, format, list);
    size = strlen(line);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 127)
            line[i] = '?';
    line[size++] = '\n';
    /* There is nobody left to tell where this fails. */
    written = write(STDERR_FILENO, line, size);
    (void)written;
}

int tool_fail(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    tool_message(format, list);
    va_end(list);
    return TOOL_FAILED;
}

int tool_misuse(const char *format, ...)
{
    char text[TOOL_TEXT];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tool_fail("%s (kraftlog -h lists the commands)", text);
    return TOOL_USAGE;
}

int tool_fail_code(const char *what, const char *object, int code,
                   const char *text)
{
    const char *name = kl_error_name(code);

    if (text && *text)
        return tool_fail("%s: %s (%s)", what, text, name);
    return tool_fail("%s: %s: %s (%s)", what, object, kl_strerror(code), name);
}

int tool_fail_output(int error)
{
    /* Its reader has seen enough: the code says it, a message would not help.
     */
    if (error == EPIPE)
        return TOOL_FAILED;
    return tool_fail("standard output: %s", strerror(error));
}

int tool_finish_output(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TOOL_OK;
    return tool_fail_output(errno ? errno : EIO);
}

/* ---- the command line -------------------------------------------------- */

/* The next argument that is not an operand; 0 at the end. */
static int tool_find_option(struct tool_args *args)
{
    for (; *args->argv; args->argv++) {
        char *text = *args->argv;

        if (!args->only_operands && strcmp(text, "--") == 0) {
            args->only_operands = 1;
        } else if (!args->only_operands && text[0] == '-' && text[1]) {
            args->cluster = text + 1;
            args->argv++;
            return 1;
        } else {
            if (args->operand_count < TOOL_OPERANDS)
                args->operands[args->operand_count] = text;
            args->operand_count++;
        }
    }
    return 0;
}

int tool_option(struct tool_args *args)
{
    char letter;

    if ((!args->cluster || !*args->cluster) && !tool_find_option(args))
        return -1;
    letter = *args->cluster++;
    if (strchr(args->letters, letter))
        return letter;
    if (!strchr(args->with_value, letter)) {
        tool_misuse("%s: no option -%c", args->command, letter);
        return '?';
    }
    /* -pVALUE or -p VALUE */
    args->value = *args->cluster ? args->cluster : *args->argv;
    if (!*args->cluster && args->value)
        args->argv++;
    args->cluster = NULL;
    if (args->value)
        return letter;
    tool_misuse("%s: -%c wants a value", args->command, letter);
    return '?';
}

int tool_operands(const struct tool_args *args, int min, int max,
                  const char *wanted)
{
    if (args->operand_count >= min && args->operand_count <= max)
        return TOOL_OK;
    return tool_misuse("%s: %s operands, wanted: %s", args->command,
                       args->operand_count < min ? "not enough" : "too many",
                       wanted);
}

int tool_dir_operand(struct tool *t, struct tool_args *args)
{
    if (t->dir)
        return TOOL_OK;
    if (args->operand_count == 0)
        return tool_misuse("-D DIR is missing before %s", args->command);
    t->dir = args->operands[0];
    args->operand_count--;
    memmove(args->operands, args->operands + 1,
            (size_t)args->operand_count * sizeof args->operands[0]);
    return TOOL_OK;
}

int tool_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    long long v;

    if (*text != '-' && (*text < '0' || *text > '9'))
        return -1;
    errno = 0;
    v = strtoll(text, &end, 10);
    if (errno || end == text || *end || v < min || v > max)
        return -1;
    *out = v;
    return 0;
}

/* ---- the node ---------------------------------------------------------- */

int tool_open(struct tool *t, int create)
{
    uint32_t flags =
        t->flags | (create || t->create ? (uint32_t)KL_OPEN_CREATE : 0);
    char text[TOOL_TEXT] = "";
    int rc = kl_node_new(&t->node, NULL);

    if (rc != KL_OK)
        return tool_fail_code("open", t->dir, rc, NULL);
    rc = kl_node_open(t->node, t->dir, flags);
    if (rc == KL_OK)
        rc = kl_node_start(t->node);
    if (rc == KL_OK)
        rc = kl_node_client(t->node, &t->client);
    if (rc == KL_OK)
        return TOOL_OK;
    kl_node_errmsg(t->node, text, sizeof text);
    if (rc == KL_ENOSTORE)
        return tool_fail(
            "open: %s: there is no log in this folder; 'topic create' "
            "or -C makes one (%s)",
            t->dir, kl_error_name(rc));
    return tool_fail_code("open", t->dir, rc, text);
}

int tool_close(struct tool *t, int status)
{
    char text[TOOL_TEXT] = "";
    int state = KL_NODE_NEW;
    int rc;

    kl_client_free(t->client);
    if (t->node && kl_node_state(t->node, &state) == KL_OK &&
        state != KL_NODE_NEW) {
        rc = kl_node_stop(t->node, -1);
        if (rc != KL_OK && status == TOOL_OK) {
            kl_node_errmsg(t->node, text, sizeof text);
            status = tool_fail_code("close", t->dir, rc, text);
        }
    }
    kl_node_free(t->node);
    return status;
}

int tool_finish(int begun, kl_op *op, const char *what, const char *object)
{
    char text[TOOL_TEXT] = "";
    int rc = begun;

    if (rc == KL_OK)
        rc = kl_op_wait(op, -1);
    if (rc == KL_OK) {
        rc = kl_op_code(op);
        kl_op_errmsg(op, text, sizeof text);
    }
    kl_op_free(op);
    return rc == KL_OK ? TOOL_OK : tool_fail_code(what, object, rc, text);
}

/* ---- stat -------------------------------------------------------------- */

/* The counters move between the two calls, so the text may have grown. */
static char *tool_stat_text(const kl_node *node, int *code)
{
    char *text = NULL;
    size_t capacity = 0;
    size_t size = 0;

    for (;;) {
        char *larger;

        *code = kl_node_stats_json(node, text, capacity, &size);
        if (*code == KL_OK && size < capacity)
            return text;
        capacity = 2 * size + 2;
        larger = *code == KL_OK ? realloc(text, capacity) : NULL;
        if (!larger) {
            free(text);
            if (*code == KL_OK)
                *code = KL_ENOMEM;
            return NULL;
        }
        text = larger;
    }
}

int tool_stat(struct tool *t, struct tool_args *args)
{
    char *text;
    int status;
    int rc;

    if (tool_option(args) != -1 || tool_operands(args, 0, 0, "none"))
        return TOOL_USAGE;
    status = tool_open(t, 0);
    if (status != TOOL_OK)
        return status;
    text = tool_stat_text(t->node, &rc);
    if (!text)
        return tool_fail_code("stat", t->dir, rc, NULL);
    json_print(text);
    free(text);
    return tool_finish_output();
}

/* ---- accept-loss ------------------------------------------------------- */

int tool_accept_loss(struct tool *t, struct tool_args *args)
{
    int verdict = KL_VERDICT_CLEAN;
    int status;

    if (tool_option(args) != -1 || tool_operands(args, 0, 0, "none"))
        return TOOL_USAGE;
    t->flags = KL_OPEN_ACCEPT_LOSS;
    status = tool_open(t, 0);
    if (status != TOOL_OK)
        return status;
    kl_node_verdict(t->node, &verdict);
    puts(verdict == KL_VERDICT_DAMAGED
             ? "accepted: all partitions take records again"
             : "nothing is lost");
    return tool_finish_output();
}

/* ---- main -------------------------------------------------------------- */

static int tool_run(struct tool *t, char **argv)
{
    static const struct
    {
        const char *name;
        int (*run)(struct tool *, struct tool_args *);
        const char *letters;
        const char *with_value;
        int is_offline; /* the folder may be an operand */
    } commands[] = {
        {"topic", tool_topic, "", "", 0},
        {"produce", tool_produce, "v", "pKz", 0},
        {"consume", tool_consume, "eS", "pocf", 0},
        {"cluster", tool_cluster, "", "", 0},
        {"quorum", tool_quorum, "", "", 0},
        {"stat", tool_stat, "", "", 0},
        {"accept-loss", tool_accept_loss, "", "", 0},
        {"verify", tool_verify, "fj", "", 1},
        {"dump", tool_dump, "fjr", "", 1},
        {"salvage", tool_salvage, "j", "", 1},
        {"doctor", tool_doctor, "fj", "", 1},
    };
    struct tool_args args = {0};

    if (!*argv)
        return tool_misuse("no command");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, *argv) != 0)
            continue;
        if (!t->dir && !commands[i].is_offline)
            return tool_misuse("-D DIR is missing before %s", *argv);
        args.command = commands[i].name;
        args.letters = commands[i].letters;
        args.with_value = commands[i].with_value;
        args.argv = argv + 1;
        return tool_close(t, commands[i].run(t, &args));
    }
    return tool_misuse("no command '%s'", *argv);
}

/* Nothing that is opened later may take the place of a standard descriptor that
 * was closed: what the tool prints would go into it. Using one fails as before.
 */
static void tool_guard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            exit(TOOL_FAILED);
}

int main(int argc, char **argv)
{
    struct tool t = {0};
    int c;

    tool_guard_descriptors();
    /* A reader that has gone is seen as a failed write. */
    signal(SIGPIPE, SIG_IGN);
    /* These end at the command, so that POSIX's getopt will do. */
    while ((c = getopt(argc, argv, "+:D:ChV")) != -1) {
        switch (c) {
        case 'D':
            t.dir = optarg;
            break;
        case 'C':
            t.create = 1;
            break;
        case 'h':
            fputs(tool_help, stdout);
            return tool_finish_output();
        case 'V':
            printf("kraftlog %s\n", kl_version_string());
            return tool_finish_output();
        case ':':
            return tool_misuse("-%c wants a value", optopt);
        default:
            return tool_misuse("no option -%c", optopt);
        }
    }
    return tool_run(&t, argv + optind);
}
