/*
 * verify, dump and salvage: looking at a folder without opening it. The library
 * does the looking and words what it finds; here it is printed, a line each.
 */
#include "kraftlog_tool.h"

#include <stdio.h>
#include <string.h>

/* Exit codes of these commands. */
enum { OFFLINE_OK = 0, OFFLINE_FOUND = 1, OFFLINE_UNREADABLE = 2 };

struct offline
{
    struct tool_args *args;
    kl_inspect *inspect;
    uint32_t flags;
    int is_json;
    int found; /* of damage, in the last item */
};

/* Reads the options; 0, or TOOL_USAGE after a message. */
static int offline_options(struct offline *o)
{
    int option;

    while ((option = tool_option(o->args)) != -1) {
        switch (option) {
        case 'f':
            o->flags |= KL_INSPECT_FORCE;
            break;
        case 'j':
            o->is_json = 1;
            break;
        case 'r':
            o->flags |= KL_INSPECT_RECORDS;
            break;
        default:
            return TOOL_USAGE;
        }
    }
    return TOOL_OK;
}

static void offline_print(const kl_item *item, int is_json)
{
    const char *text;
    size_t size;

    if (is_json ? kl_item_json(item, &text, &size)
                : kl_item_text(item, &text, &size))
        return;
    fwrite(text, 1, size, stdout);
    putchar('\n');
}

/* A number of an item; 0 where it has none. */
static int64_t offline_int(const kl_item *item, const char *field)
{
    int64_t value;

    return kl_item_int(item, field, &value) == KL_OK ? value : 0;
}

/* Prints all items of the task that was begun, or tells why it was not. */
static int offline_finish(struct offline *o, int rc, const char *object)
{
    char text[TOOL_TEXT] = "";
    const kl_item *item;
    int status;

    while (rc == KL_OK && !ferror(stdout) &&
           (rc = kl_inspect_next(o->inspect, &item)) == KL_OK) {
        offline_print(item, o->is_json);
        o->found = offline_int(item, "damage") ||
                   offline_int(item, "covered") ||
                   offline_int(item, "lost_ranges");
    }
    status = o->found ? OFFLINE_FOUND : OFFLINE_OK;
    if (tool_finish_output() != TOOL_OK)
        status = OFFLINE_UNREADABLE;
    if (rc != KL_OK && rc != KL_EEND) {
        kl_inspect_errmsg(o->inspect, text, sizeof text);
        tool_fail_code(o->args->command, object, rc, text);
        status = OFFLINE_UNREADABLE;
    }
    kl_inspect_free(o->inspect);
    o->inspect = NULL;
    return status;
}

int tool_verify(struct tool *t, struct tool_args *args)
{
    struct offline o = {.args = args};
    int rc;

    if (offline_options(&o) != TOOL_OK ||
        tool_dir_operand(t, args) != TOOL_OK ||
        tool_operands(args, 0, 0, "none") != TOOL_OK)
        return TOOL_USAGE;
    rc = kl_inspect_new(&o.inspect, NULL);
    if (rc == KL_OK)
        rc = kl_inspect_verify(o.inspect, t->dir, o.flags);
    return offline_finish(&o, rc, t->dir);
}

int tool_salvage(struct tool *t, struct tool_args *args)
{
    struct offline o = {.args = args};
    int rc;

    if (offline_options(&o) != TOOL_OK ||
        tool_dir_operand(t, args) != TOOL_OK ||
        tool_operands(args, 1, 1, "NEWDIR") != TOOL_OK)
        return TOOL_USAGE;
    rc = kl_inspect_new(&o.inspect, NULL);
    if (rc == KL_OK)
        rc = kl_inspect_salvage(o.inspect, t->dir, args->operands[0], 0);
    return offline_finish(&o, rc, t->dir);
}

/* ---- dump ---------------------------------------------------------------- */

static int dump_folder(struct offline *o, const char *dir)
{
    if (tool_operands(o->args, 0, 0, "none, wal, log or file"))
        return TOOL_USAGE;
    return offline_finish(o, kl_inspect_dump(o->inspect, dir, o->flags), dir);
}

static int dump_wal(struct offline *o, const char *dir)
{
    if (tool_operands(o->args, 1, 1, "wal"))
        return TOOL_USAGE;
    return offline_finish(o, kl_inspect_dump_wal(o->inspect, dir, o->flags),
                          dir);
}

static int dump_log(struct offline *o, const char *dir)
{
    const char *topic = o->args->operands[1];
    int64_t partition;

    if (tool_operands(o->args, 3, 3, "log TOPIC PARTITION"))
        return TOOL_USAGE;
    if (tool_number(o->args->operands[2], 0, INT32_MAX, &partition))
        return tool_misuse("dump: no partition '%s'", o->args->operands[2]);
    return offline_finish(o,
                          kl_inspect_dump_log(o->inspect, dir, topic,
                                              (int32_t)partition, o->flags),
                          dir);
}

static int dump_file(struct offline *o, const char *dir)
{
    const char *path = o->args->operands[1];

    (void)dir;
    if (tool_operands(o->args, 2, 2, "file PATH"))
        return TOOL_USAGE;
    return offline_finish(
        o,
        kl_inspect_dump_file(o->inspect, path,
                             o->flags & ~(uint32_t)KL_INSPECT_FORCE),
        path);
}

int tool_dump(struct tool *t, struct tool_args *args)
{
    static const struct
    {
        const char *name;
        int (*run)(struct offline *o, const char *dir);
        uint32_t flags; /* that it knows */
    } kinds[] = {
        {"", dump_folder, KL_INSPECT_FORCE},
        {"wal", dump_wal, KL_INSPECT_FORCE},
        {"log", dump_log, KL_INSPECT_FORCE | KL_INSPECT_RECORDS},
        {"file", dump_file, KL_INSPECT_RECORDS},
    };
    struct offline o = {.args = args};
    const char *name;
    int rc;

    if (offline_options(&o) != TOOL_OK)
        return TOOL_USAGE;
    name = args->operand_count ? args->operands[0] : "";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, name) != 0)
            continue;
        if (o.flags & ~kinds[i].flags)
            return tool_misuse("dump %s: no option -%c", name,
                               o.flags & KL_INSPECT_FORCE ? 'f' : 'r');
        if (!t->dir && kinds[i].run != dump_file)
            return tool_misuse("-D DIR is missing before dump");
        rc = kl_inspect_new(&o.inspect, NULL);
        rc = rc == KL_OK ? kinds[i].run(&o, t->dir)
                         : tool_fail_code("dump", t->dir, rc, NULL);
        kl_inspect_free(o.inspect); /* of a usage that is wrong */
        return rc;
    }
    return tool_misuse("dump: no '%s', wanted: wal, log or file", name);
}
