/*
 * kraftlog cluster, kraftlog quorum: what the node of a folder knows of the
 * others.
 */
#include "kraftlog_tool.h"

#include <stdlib.h>

static int cluster_print(struct tool *t, const struct tool_args *args,
                         int (*describe)(kl_client *, uint32_t, kl_op **))
{
    char *text = NULL;
    kl_op *op = NULL;
    int status = tool_open(t, 0);
    int rc;

    if (status != TOOL_OK)
        return status;
    rc = describe(t->client, 0, &op);
    status = tool_json(rc, op, args->command, t->dir, &text);
    if (status == TOOL_OK) {
        json_print(text);
        status = tool_finish_output();
    }
    free(text);
    return status;
}

int tool_cluster(struct tool *t, struct tool_args *args)
{
    if (tool_option(args) != -1 || tool_operands(args, 0, 0, "none"))
        return TOOL_USAGE;
    return cluster_print(t, args, kl_admin_describe_cluster);
}

int tool_quorum(struct tool *t, struct tool_args *args)
{
    if (tool_option(args) != -1 || tool_operands(args, 0, 0, "none"))
        return TOOL_USAGE;
    return cluster_print(t, args, kl_admin_describe_quorum);
}
