#include "salvage_help.h"

#include "need.h"

#include <check.h>
#include <string.h>

#define fx wal.fx

struct salvage_help salv;

void salvage_setup_ring(uint64_t ring_bytes)
{
    wal_setup_ring(ring_bytes);
    salv.durable = wal.id;
    salv.a = wal.subject;
    kl_store_delete(salv.a);
    salv.durable = store_fixture_id(3, 0);
    salv.loose = store_fixture_id(4, 7);
    salv.a = store_fixture_create(&fx, &salv.durable, KL_STORE_FLUSH_COMMIT,
                                  16 * 1024);
    salv.b = store_fixture_create(&fx, &salv.loose, KL_STORE_FLUSH_INTERVAL,
                                  16 * 1024);
    store_fixture_settle(&fx);
}

void salvage_setup(void)
{
    salvage_setup_ring(64 * 1024);
}

void salvage_teardown(void)
{
    store_fixture_deinit(&fx);
}

/* So many records in each log, more than the ring holds where they are many. */
void salvage_fill(int count)
{
    for (int i = 0; i < count; i += 10) {
        store_fixture_fill(&fx, salv.a, 10, SALVAGE_SIZE, 1);
        store_fixture_fill(&fx, salv.b, 10, SALVAGE_SIZE, 2);
        store_fixture_settle(&fx);
    }
}

/* ---- running it -----------------------------------------------------------
 */

static int note_lost(int64_t from, int64_t end, enum kl_store_finding_kind why,
                     void *user)
{
    (void)user;
    ck_assert_uint_lt(salv.count, SALVAGE_LOSSES);
    ck_assert_int_lt(from, end);
    salv.lost[salv.count].id = salv.id;
    salv.lost[salv.count].from = from;
    salv.lost[salv.count].end = end;
    salv.lost[salv.count++].why = why;
    return salv.pause ? KL_EAGAIN : 0;
}

static int save_logs(struct kl_store_salvage *s)
{
    const struct kl_store_id *id = NULL;
    int rc = 0;

    while (rc == 0 && (id = kl_store_salvage_next(s, id))) {
        salv.id = *id;
        rc = kl_store_salvage_begin(s, id, KL_STORE_FLUSH_COMMIT, 16 * 1024,
                                    note_lost, NULL);
        if (rc == 0)
            do
                rc = kl_store_salvage_run(s, &salv.logs[salv.log_count]);
            while (rc == KL_EAGAIN);
        salv.log_count += rc == 0;
    }
    return rc;
}

int salvage_try(const char *path)
{
    struct kl_store_salvage_config config = {
        .path = path, .seed = 3, .wall_ms = fx.wall_ms};
    struct kl_store_inspect *in = NULL;
    struct kl_store_salvage *s = NULL;
    int rc;

    salv.count = salv.log_count = 0;
    kl_base_error_clear(&salv.error);
    config.lanes = fx.lanes;
    config.identity.node_id = 77;
    memset(&config.identity.cluster_id, 1, 16);
    memset(&config.identity.directory_id, 2, 16);
    rc = kl_store_inspect_new(&in, &fx.alloc.alloc, &fx.trace.base, "data");
    if (rc == 0)
        rc = kl_store_inspect_open(in, 0, &salv.error);
    if (rc == 0)
        rc = kl_store_salvage_new(&s, in, &config, &salv.error);
    if (rc == 0)
        rc = save_logs(s);
    if (rc == 0)
        rc = kl_store_salvage_finish(s, &salv.error);
    kl_store_salvage_free(s);
    kl_store_inspect_free(in);
    return rc;
}

/* Saves "data" to "saved", which is open then and holds a and b. */
void salvage_run(void)
{
    uint64_t before = store_fixture_hash(&fx);
    int rc = salvage_try("saved");

    ck_assert_msg(rc == 0, "salvage: %d, %s", rc, salv.error.text);
    ck_assert_uint_eq(store_fixture_hash(&fx), before);
    fx.config.path = "saved";
    salv.a = store_fixture_reopen(&fx, &salv.durable);
    salv.b = kl_store_find(fx.store, &salv.loose);
    ck_assert_ptr_nonnull(salv.b);
}

/* Nothing is lost of either log. */
void salvage_all_of(int64_t end)
{
    ck_assert_uint_eq(salv.count, 0);
    ck_assert_int_eq(store_fixture_view(salv.a).leo, end);
    ck_assert_int_eq(store_fixture_view(salv.b).leo, end);
    store_fixture_expect(&fx, salv.a, 0, end, SALVAGE_SIZE, 1);
    store_fixture_expect(&fx, salv.b, 0, end, SALVAGE_SIZE, 2);
}

/* Exactly this is lost of a log, and the rest is there. */
void salvage_all_but(struct kl_store_log *log, uint64_t salt, int64_t from,
                     int64_t to, int64_t end)
{
    ck_assert_uint_eq(salv.count, 1);
    ck_assert_int_eq(salv.lost[0].from, from);
    ck_assert_int_eq(salv.lost[0].end, to);
    ck_assert_int_eq(
        memcmp(&salv.lost[0].id, kl_store_log_id(log), sizeof salv.lost[0].id),
        0);
    ck_assert_int_eq(store_fixture_view(log).leo, end);
    store_fixture_expect(&fx, log, 0, from, SALVAGE_SIZE, salt);
    ck_assert_int_eq(
        store_fixture_endure(&fx, log, from, to, SALVAGE_SIZE, salt),
        to - from);
    store_fixture_expect(&fx, log, to, end, SALVAGE_SIZE, salt);
}

/* The new folder is one to go on with: it grows, survives a crash, and what was
 * lost is still told from what is there. */
void salvage_goes_on(int64_t end, int lost)
{
    for (int i = 0; i < 2; i++) {
        store_fixture_fill(&fx, salv.a, 30, SALVAGE_SIZE, 1);
        store_fixture_fill(&fx, salv.b, 30, SALVAGE_SIZE, 2);
        store_fixture_settle(&fx);
        end += 30;
        store_fixture_crash(&fx);
        salv.a = store_fixture_reopen(&fx, &salv.durable);
        salv.b = kl_store_find(fx.store, &salv.loose);
        ck_assert_int_eq(store_fixture_view(salv.a).leo, end);
        ck_assert_int_eq(
            store_fixture_endure(&fx, salv.a, 0, end, SALVAGE_SIZE, 1) +
                store_fixture_endure(&fx, salv.b, 0, end, SALVAGE_SIZE, 2),
            lost);
    }
}

void salvage_damage(const struct kl_store_id *id, int64_t offset, uint32_t at)
{
    const char *path = inspect_path(&fx, id, "00000000000000000000.seg");
    struct kl_batch_info info;

    inspect_flip(&fx, path, inspect_frame(&fx, path, id, offset, &info) + at);
}

void salvage_lose_slots(void)
{
    inspect_flip(&fx, "data/checkpoint.a", 40);
    store_fixture_unlink(&fx, "data/checkpoint.b");
}
