/*
 * A node in a temporary folder, through the public headers alone.
 */
#ifndef TEST_API_FIXTURE_H
#define TEST_API_FIXTURE_H

#include "tmpdir.h"

#include <kraftlog/kraftlog.h>

struct api_fixture
{
    char dir[TEST_TMPDIR_SIZE];
    kl_config *config;
    kl_node *node;
    kl_client *client;
};

/* A small store, open, that the test polls. */
void api_fixture_init(struct api_fixture *f);
void api_fixture_deinit(struct api_fixture *f);
/* Ends the node and opens another one over the same folder. */
void api_fixture_reopen(struct api_fixture *f);
/* Creates a topic and waits for it. */
void api_fixture_topic(struct api_fixture *f, const char *name,
                       int32_t partitions);
/* Waits, frees, and gives the operation's code. */
int api_fixture_finish(kl_op *op);

#endif
