#include "api_fixture.h"

#include <check.h>
#include <string.h>

static void fixture_open(struct api_fixture *f)
{
    char text[256] = "";
    int r;

    ck_assert_int_eq(kl_node_new(&f->node, f->config), 0);
    r = kl_node_open(f->node, f->dir, KL_OPEN_CREATE);
    kl_node_errmsg(f->node, text, sizeof text);
    ck_assert_msg(r == 0, "%s: %s", kl_error_name(r), text);
    ck_assert_int_eq(kl_node_client(f->node, &f->client), 0);
}

void api_fixture_init(struct api_fixture *f)
{
    memset(f, 0, sizeof *f);
    test_tmpdir_make(f->dir);
    ck_assert_int_eq(kl_config_new(&f->config, NULL, NULL), 0);
    ck_assert_int_eq(kl_config_set(f->config, "wal.bytes", "256k"), 0);
    fixture_open(f);
}

void api_fixture_reopen(struct api_fixture *f)
{
    kl_client_free(f->client);
    kl_node_free(f->node);
    fixture_open(f);
}

void api_fixture_deinit(struct api_fixture *f)
{
    kl_client_free(f->client);
    kl_node_free(f->node);
    kl_config_free(f->config);
    test_tmpdir_remove(f->dir);
}

int api_fixture_finish(kl_op *op)
{
    int code;

    ck_assert_ptr_nonnull(op);
    ck_assert_int_eq(kl_op_wait(op, -1), 0);
    code = kl_op_code(op);
    kl_op_free(op);
    return code;
}

void api_fixture_topic(struct api_fixture *f, const char *name,
                       int32_t partitions)
{
    kl_op *op = NULL;

    ck_assert_int_eq(
        kl_admin_create_topic(f->client, name, partitions, 1, NULL, 0, &op), 0);
    ck_assert_int_eq(api_fixture_finish(op), 0);
}
