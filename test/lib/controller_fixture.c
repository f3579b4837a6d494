/*
 * Helpers of the controller's tests.
 */
#include "controller_fixture.h"

#include <check.h>
#include <string.h>

int controller_fixture_check(const char *key, const char *value, void *user,
                             struct kl_base_error *e)
{
    (void)user;
    if (strcmp(key, "note") == 0 || strcmp(key, "other") == 0)
        return 0;
    if (strcmp(key, "flush") == 0) {
        if (!value || strcmp(value, "commit") == 0 ||
            strcmp(value, "interval") == 0)
            return 0;
    } else if (strcmp(key, "retention.ms") == 0 ||
               strcmp(key, "min.insync.replicas") == 0) {
        if (!value || strspn(value, "0123456789") == strlen(value))
            return 0;
    } else {
        return kl_base_error_set(e, KL_ECONFIG, "unknown key");
    }
    return kl_base_error_set(e, KL_ECONFIG, "%s: bad value", key);
}

void controller_fixture_init(struct controller_fixture *f,
                             const struct kl_controller_options *options)
{
    struct kl_controller_options o = {.broker_id = 1};

    if (options)
        o = *options;
    o.check = controller_fixture_check;
    fail_alloc_init(&f->memory);
    kl_base_error_clear(&f->error);
    kl_controller_records_init(&f->records, &f->memory.alloc);
    ck_assert_int_eq(kl_controller_new(&f->c, &f->memory.alloc, &o), 0);
    ck_assert_int_eq(kl_controller_bootstrap(f->c, &f->records, &f->error), 0);
    controller_fixture_commit(f);
}

void controller_fixture_deinit(struct controller_fixture *f)
{
    kl_controller_records_deinit(&f->records);
    kl_controller_free(f->c);
    fail_alloc_deinit(&f->memory);
}

int controller_fixture_create(struct controller_fixture *f, const char *name,
                              int32_t partitions)
{
    struct kl_controller_create command = {name, partitions, -1, NULL, 0, NULL};

    return kl_controller_create_topic(f->c, &command, &f->records, NULL,
                                      &f->error);
}

int controller_fixture_alter(struct controller_fixture *f, const char *name,
                             const char *key, const char *value)
{
    struct kl_controller_config change = {key, value};

    return kl_controller_alter_config(f->c, name, &change, 1, &f->records,
                                      &f->error);
}

void controller_fixture_replay(struct kl_controller *c,
                               const struct kl_controller_records *records)
{
    struct kl_base_error e = {0};
    const uint8_t *data;
    size_t pos = 0, size;

    while (kl_controller_records_next(records, &pos, &data, &size))
        ck_assert_msg(kl_controller_apply(c, data, size, &e) == 0, "%s",
                      e.text);
    ck_assert_ptr_null(kl_controller_invariant(c));
    ck_assert_ptr_null(kl_controller_rule_broken(c));
}

void controller_fixture_commit(struct controller_fixture *f)
{
    controller_fixture_replay(f->c, &f->records);
}

int controller_fixture_apply(struct controller_fixture *f,
                             const struct kl_wire_record *r)
{
    struct kl_base_buf buf;
    int rc;

    kl_base_buf_init(&buf, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_wire_record_encode(r, &buf, &f->error), 0);
    rc = kl_controller_apply(f->c, buf.data, buf.size, &f->error);
    kl_base_buf_deinit(&buf);
    ck_assert_ptr_null(kl_controller_invariant(f->c));
    return rc;
}

struct kl_wire_record controller_fixture_record(struct controller_fixture *f,
                                                size_t index)
{
    struct kl_wire_record r;
    const uint8_t *data = NULL;
    size_t pos = 0, size = 0;

    for (size_t i = 0; i <= index; i++)
        ck_assert_int_eq(
            kl_controller_records_next(&f->records, &pos, &data, &size), 1);
    ck_assert_int_eq(kl_wire_record_decode(&r, data, size, &f->error), 0);
    return r;
}

void controller_fixture_unchanged(struct controller_fixture *f,
                                  const struct kl_controller_records *before)
{
    struct kl_controller_records now;

    kl_controller_records_init(&now, &kl_base_alloc_libc);
    ck_assert_int_eq(kl_controller_encode(f->c, &now), 0);
    ck_assert_uint_eq(now.count, before->count);
    ck_assert_uint_eq(now.buf.size, before->buf.size);
    ck_assert_mem_eq(now.buf.data, before->buf.data, now.buf.size);
    kl_controller_records_deinit(&now);
    ck_assert_ptr_null(kl_controller_invariant(f->c));
}
