/*
 * doctor: what is wrong with a folder, what that costs, and the command to type
 * next. The library finds out; here advice becomes a command line.
 */
#include "kraftlog_tool.h"

#include <stdio.h>
#include <string.h>

/* Exit codes of this command. */
enum { DOCTOR_WELL = 0, DOCTOR_ILL = 1, DOCTOR_UNREADABLE = 2 };

/* Prints a path so that a shell takes it for one word. */
static void doctor_path(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:,";

    if (*path && path[strspn(path, plain)] == '\0') {
        fputs(path, stdout);
        return;
    }
    putchar('\'');
    for (; *path; path++)
        if (*path == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*path);
    putchar('\'');
}

/* Prints a line in which %D stands for the folder. */
static void doctor_line(const char *line, const char *dir)
{
    for (; *line; line++) {
        if (line[0] == '%' && line[1] == 'D') {
            doctor_path(dir);
            line++;
        } else {
            putchar(*line);
        }
    }
}

/* ---- advice ------------------------------------------------------------ */

/* The command for an action of kl_inspect(3). */
static const char *doctor_command(const char *action)
{
    static const struct
    {
        const char *action;
        const char *command;
    } commands[] = {
        {"none", "nothing"},
        {"open", "kraftlog -D %D stat"},
        {"free", "make space on that file system, then kraftlog doctor %D"},
        {"accept-loss", "kraftlog -D %D accept-loss"},
        {"salvage", "kraftlog salvage %D NEWDIR"},
        {"replace", "start the node with another, empty folder"},
        {"create", "kraftlog -D %D -C topic list"},
    };

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].action, action) == 0)
            return commands[i].command;
    return action; /* of a later library */
}

static const char *doctor_text(const kl_item *item, const char *field)
{
    const void *data;

    return kl_item_bytes(item, field, &data, NULL) == KL_OK && data ? data : "";
}

static void doctor_advise(const kl_item *item, const char *dir)
{
    printf("%s: ", doctor_text(item, "rank"));
    doctor_line(doctor_command(doctor_text(item, "action")), dir);
    printf("  (%s)\n", doctor_text(item, "text"));
}

/* What to do where the folder cannot be looked at. */
static void doctor_refused(int code, const char *dir)
{
    static const struct
    {
        int code;
        const char *next;
    } refusals[] = {
        {KL_EBUSY, "stop the node that has the folder open, or look all the "
                   "same: kraftlog doctor -f %D"},
        {KL_ENOSTORE, "look whether the path is right and its disk mounted; "
                      "nothing was changed there"},
        {KL_EFORMAT, "use the release that wrote the folder, or a later one "
                     "(kraftlog -V tells which this is)"},
        {KL_EACCESS, "run this as the user whose folder it is: ls -ld %D"},
        {KL_EIO, "look what the system says of the medium (dmesg), then "
                 "kraftlog doctor %D"},
    };

    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (refusals[i].code != code)
            continue;
        fputs("next: ", stdout);
        doctor_line(refusals[i].next, dir);
        putchar('\n');
    }
}

/* ---- the command ------------------------------------------------------- */

static void doctor_print(const kl_item *item, int is_json, const char *dir)
{
    const char *text;

    if (is_json ? kl_item_json(item, &text, NULL)
                : kl_item_text(item, &text, NULL))
        return;
    if (!is_json && strcmp(kl_item_type(item), "advice") == 0)
        doctor_advise(item, dir);
    else
        puts(text);
}

static int doctor_run(kl_inspect *inspect, const char *dir, uint32_t flags,
                      int is_json)
{
    char text[TOOL_TEXT] = "";
    const kl_item *item;
    int status = DOCTOR_WELL;
    int rc = kl_inspect_doctor(inspect, dir, flags);

    while (rc == KL_OK && !ferror(stdout) &&
           (rc = kl_inspect_next(inspect, &item)) == KL_OK) {
        int64_t problems;

        doctor_print(item, is_json, dir);
        if (kl_item_int(item, "problems", &problems) == KL_OK && problems)
            status = DOCTOR_ILL;
    }
    if (rc != KL_OK && rc != KL_EEND) {
        kl_inspect_errmsg(inspect, text, sizeof text);
        tool_fail_code("doctor", dir, rc, text);
        if (!is_json)
            doctor_refused(rc, dir);
        status = DOCTOR_UNREADABLE;
    }
    return tool_finish_output() == TOOL_OK ? status : DOCTOR_UNREADABLE;
}

int tool_doctor(struct tool *t, struct tool_args *args)
{
    kl_inspect *inspect;
    uint32_t flags = 0;
    int is_json = 0;
    int option, rc;

    while ((option = tool_option(args)) != -1) {
        if (option == '?')
            return TOOL_USAGE;
        if (option == 'f')
            flags |= KL_INSPECT_FORCE;
        else
            is_json = 1;
    }
    if (tool_dir_operand(t, args) != TOOL_OK ||
        tool_operands(args, 0, 0, "none") != TOOL_OK)
        return TOOL_USAGE;
    rc = kl_inspect_new(&inspect, NULL);
    if (rc != KL_OK) {
        tool_fail_code("doctor", t->dir, rc, NULL);
        return DOCTOR_UNREADABLE;
    }
    rc = doctor_run(inspect, t->dir, flags, is_json);
    kl_inspect_free(inspect);
    return rc;
}
