/*
 * verify: looking at a folder without opening it. The library does the looking
 * and words what it finds; here it is printed, a line each.
 */
#include "kraftlog_tool.h"

#include <stdio.h>
#include <string.h>

/* Exit codes of these commands. */
enum { OFFLINE_OK = 0, OFFLINE_FOUND = 1, OFFLINE_UNREADABLE = 2 };

static int offline_fail(const struct tool *t, const kl_inspect *in,
                        const char *what, int code)
{
    char text[TOOL_TEXT] = "";

    kl_inspect_errmsg(in, text, sizeof text);
    tool_fail_code(what, t->dir, code, text);
    return OFFLINE_UNREADABLE;
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

/* Prints all items. found: of the last one, what stands there of damage. */
static int offline_print_all(kl_inspect *in, int is_json, int *found)
{
    const kl_item *item;
    int rc;

    *found = 0;
    while ((rc = kl_inspect_next(in, &item)) == KL_OK) {
        offline_print(item, is_json);
        *found = offline_int(item, "damage") || offline_int(item, "covered");
    }
    return rc == KL_EEND ? KL_OK : rc;
}

int tool_verify(struct tool *t, struct tool_args *args)
{
    kl_inspect *in = NULL;
    uint32_t flags = 0;
    int is_json = 0;
    int found = 0;
    int status;
    int option;
    int rc;

    while ((option = tool_option(args)) != -1) {
        if (option == '?')
            return TOOL_USAGE;
        if (option == 'f')
            flags |= KL_INSPECT_FORCE;
        else
            is_json = 1;
    }
    status = tool_dir_operand(t, args);
    if (status != TOOL_OK || tool_operands(args, 0, 0, "none"))
        return TOOL_USAGE;
    rc = kl_inspect_new(&in, NULL);
    if (rc == KL_OK)
        rc = kl_inspect_verify(in, t->dir, flags);
    if (rc == KL_OK)
        rc = offline_print_all(in, is_json, &found);
    status = found ? OFFLINE_FOUND : OFFLINE_OK;
    if (rc != KL_OK)
        status = offline_fail(t, in, "verify", rc);
    kl_inspect_free(in);
    rc = tool_finish_output();
    return rc == TOOL_OK ? status : OFFLINE_UNREADABLE;
}
