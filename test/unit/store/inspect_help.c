#include "inspect_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct inspect_help found;

int inspect_verify(struct store_fixture *f, uint32_t flags)
{
    uint64_t before = store_fixture_hash(f);
    struct kl_store_inspect *in;
    int rc;

    memset(&found, 0, sizeof found);
    ck_assert_int_eq(kl_store_inspect_new(&in, &f->alloc.alloc, &f->trace.base,
                                          f->config.path),
                     0);
    rc = kl_store_inspect_open(in, flags, &found.error);
    while (rc == 0) {
        struct kl_store_finding next;

        rc = kl_store_inspect_verify(in, &next, &found.error);
        if (rc == 0) {
            ck_assert_uint_lt(found.count, INSPECT_FINDINGS);
            found.items[found.count++] = next;
        }
    }
    kl_store_inspect_stats(in, &found.stats);
    kl_store_inspect_free(in);
    ck_assert_uint_eq(store_fixture_hash(f), before);
    return rc == KL_EEND ? 0 : rc;
}

void inspect_look(struct store_fixture *f)
{
    int rc = inspect_verify(f, 0);
    uint64_t sum = 0;

    ck_assert_msg(rc == 0, "verify: %d, %s", rc, found.error.text);
    for (int i = 0; i < KL_STORE_SEVERITY_COUNT; i++)
        sum += found.stats.findings[i];
    ck_assert_uint_eq(sum, found.count);
}

static void inspect_print(void)
{
    for (size_t i = 0; i < found.count; i++) {
        const struct kl_store_finding *f = &found.items[i];

        fprintf(stderr, "%s %s %s [%lld, %lld) at %llu, %llu bytes\n",
                kl_store_severity_name(f->severity),
                kl_store_finding_name(f->kind), f->file, (long long)f->from,
                (long long)f->end, (unsigned long long)f->position,
                (unsigned long long)f->size);
    }
}

size_t inspect_is_fine(void)
{
    for (size_t i = 0; i < found.count; i++) {
        if (found.items[i].severity == KL_STORE_HARMLESS)
            continue;
        inspect_print();
        ck_abort_msg("%s in %s", kl_store_finding_name(found.items[i].kind),
                     found.items[i].file);
    }
    return found.count;
}

const struct kl_store_finding *inspect_only(enum kl_store_finding_kind kind,
                                            enum kl_store_severity severity,
                                            const char *ending)
{
    const struct kl_store_finding *only = NULL;
    size_t length, size = strlen(ending);
    int count = 0;

    for (size_t i = 0; i < found.count; i++) {
        if (found.items[i].severity != KL_STORE_HARMLESS ||
            severity == KL_STORE_HARMLESS) {
            only = &found.items[i];
            count++;
        }
    }
    if (count != 1 || only->kind != kind || only->severity != severity) {
        inspect_print();
        ck_abort_msg("%d findings, not one %s %s", count,
                     kl_store_severity_name(severity),
                     kl_store_finding_name(kind));
    }
    length = strlen(only->file);
    ck_assert_msg(length >= size &&
                      strcmp(only->file + length - size, ending) == 0,
                  "in %s, not in %s", only->file, ending);
    return only;
}

const struct kl_store_finding *inspect_find(enum kl_store_finding_kind kind)
{
    for (size_t i = 0; i < found.count; i++)
        if (found.items[i].kind == kind)
            return &found.items[i];
    return NULL;
}

void inspect_range(const struct kl_store_finding *f, int64_t from, int64_t end)
{
    ck_assert_int_eq(f->from, from);
    ck_assert_int_eq(f->end, end);
}

/* ---- files ------------------------------------------------------------- */

struct inspect_name
{
    const char *start; /* of the folder's name */
    char name[128];
};

static int inspect_match(const char *name, void *user)
{
    struct inspect_name *n = user;

    if (strncmp(name, n->start, strlen(n->start)) == 0)
        snprintf(n->name, sizeof n->name, "%s", name);
    return 0;
}

const char *inspect_path(struct store_fixture *f, const struct kl_store_id *id,
                         const char *name)
{
    static char paths[4][256];
    static int turn;
    char start[64], topic[KL_BASE_UUID_TEXT + 1];
    struct inspect_name n = {start, ""};

    kl_base_uuid_format(&id->topic_id, topic);
    snprintf(start, sizeof start, "%s-%d.", topic, (int)id->partition);
    ck_assert_int_eq(
        f->memory->ops->list(f->memory, "data/logs", inspect_match, &n), 0);
    ck_assert_msg(n.name[0], "no folder %s", start);
    turn = (turn + 1) % 4;
    snprintf(paths[turn], sizeof paths[turn], "data/logs/%s%s%s", n.name,
             name ? "/" : "", name ? name : "");
    return paths[turn];
}

void inspect_flip(struct store_fixture *f, const char *path, uint64_t at)
{
    size_t size;
    uint8_t *data = store_fixture_load(f, path, &size);
    uint8_t byte;

    ck_assert_uint_lt(at, size);
    byte = data[at] ^ 4;
    store_fixture_patch(f, path, at, &byte, 1);
    free(data);
}

void inspect_cut(struct store_fixture *f, const char *path, uint64_t size)
{
    size_t all;
    uint8_t *data = store_fixture_load(f, path, &all);

    ck_assert_uint_lt(size, all);
    store_fixture_save(f, path, data, (size_t)size);
    free(data);
}

uint64_t inspect_frame(struct store_fixture *f, const char *path,
                       const struct kl_store_id *id, int64_t base,
                       struct kl_batch_info *info)
{
    uint64_t seed = kl_batch_seed(&id->topic_id, id->partition);
    size_t size, at = KL_STORE_BLOCK;
    uint8_t *data = store_fixture_load(f, path, &size);

    for (; at < size; at += info->frame_size) {
        ck_assert_int_eq(
            kl_batch_frame_verify(data + at, size - at, seed, info), 0);
        if (info->base_offset == base)
            break;
    }
    ck_assert_uint_lt(at, size);
    free(data);
    return at;
}
