/*
 * A controller with a checking allocator, already bootstrapped, and short forms
 * of what its tests do all the time.
 */
#ifndef TEST_CONTROLLER_FIXTURE_H
#define TEST_CONTROLLER_FIXTURE_H

#include "controller/controller.h"
#include "fail_alloc.h"

struct controller_fixture
{
    struct fail_alloc memory;
    struct kl_controller *c;
    struct kl_controller_records records; /* of the newest command */
    struct kl_base_error error;
};

/* options NULL = broker 1, default limits. */
void controller_fixture_init(struct controller_fixture *f,
                             const struct kl_controller_options *options);
void controller_fixture_deinit(struct controller_fixture *f);

/* The configuration check of the fixture: "flush" takes commit and interval,
 * "retention.ms" and "min.insync.replicas" take digits, "note" and "other" take
 * anything. */
int controller_fixture_check(const char *key, const char *value, void *user,
                             struct kl_base_error *e);

/* Commands without configuration; the code of the command. */
int controller_fixture_create(struct controller_fixture *f, const char *name,
                              int32_t partitions);
int controller_fixture_alter(struct controller_fixture *f, const char *name,
                             const char *key, const char *value);
/* Applies the records of the newest command; all must succeed. */
void controller_fixture_commit(struct controller_fixture *f);
void controller_fixture_replay(struct kl_controller *c,
                               const struct kl_controller_records *records);
/* Encodes and applies one record; the code of the latter. */
int controller_fixture_apply(struct controller_fixture *f,
                             const struct kl_wire_record *r);
/* Decoded record number index of the newest command. */
struct kl_wire_record controller_fixture_record(struct controller_fixture *f,
                                                size_t index);
/* The image must be what it was when before was encoded. */
void controller_fixture_unchanged(struct controller_fixture *f,
                                  const struct kl_controller_records *before);

#endif
