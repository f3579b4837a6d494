/*
 * Snapshots through crashes: what is listed is whole, and what was committed is
 * listed.
 */
#include "cut.h"

#include "need.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { SNAPSHOTS = 3, SIZE = KL_STORE_SNAPSHOT_DATA + 1000 };

static struct store_fixture fx;
static int committed; /* snapshots 1 to this one */
static int deleted;   /* may be gone up to this one */
static uint8_t content[SIZE];

static void fill(int end)
{
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (uint8_t)(i * 7 + i / 255 + (size_t)end);
}

/* Reads it through. */
static int is_whole(struct kl_store *s, const struct kl_store_snapshot *info)
{
    struct kl_store_snapshot_read r = {
        .end = info->end, .epoch = info->epoch, .bytes_max = UINT32_MAX};
    struct kl_store_event e;
    int is_equal;

    if (info->size != SIZE || kl_store_snapshot_read(s, &r) != KL_EAGAIN)
        return 0;
    do
        kl_store_turn(s, fx.now_ns, fx.wall_ms);
    while (!kl_store_next_event(s, &e) ||
           e.type != KL_STORE_EVENT_SNAPSHOT_READ);
    fill((int)info->end);
    is_equal =
        r.code == 0 && r.size == SIZE && memcmp(r.data, content, SIZE) == 0;
    kl_store_snapshot_read_release(&r);
    return is_equal;
}

static int check(struct cut *c, struct kl_store *s, void *seen)
{
    uint8_t *shown = seen; /* which ones */
    uint8_t listed = 0;
    struct kl_store_snapshot info;

    (void)c;
    for (size_t i = 0; kl_store_snapshot_at(s, i, &info) == 0; i++) {
        if (info.end < 1 || info.end > SNAPSHOTS || !is_whole(s, &info))
            return 0;
        listed |= (uint8_t)(1 << info.end);
    }
    for (int end = 1; end <= SNAPSHOTS; end++) {
        int must = end > deleted && (end <= committed || (*shown >> end & 1));

        if (must && !(listed >> end & 1))
            return 0;
    }
    *shown = listed;
    return kl_base_stat_get(&kl_store_stats(s)->damages) == 0;
}

static void await(void)
{
    struct kl_store_event e;

    do {
        fx.now_ns += 1000000;
        kl_store_turn(fx.store, fx.now_ns, fx.wall_ms);
    } while (!kl_store_next_event(fx.store, &e) ||
             e.type != KL_STORE_EVENT_SNAPSHOT);
    need_ok(e.code);
}

static void write_one(int end)
{
    static uint8_t bytes[SIZE];
    struct kl_store_snapshot_writer *w;

    fill(end);
    memcpy(bytes, content, sizeof bytes); /* content is of the checks */
    need_ok(kl_store_snapshot_begin(fx.store, end, 1, &w));
    for (size_t at = 0; at < SIZE; at += SIZE / 2) {
        need_ok(kl_store_snapshot_append(
            w, bytes + at, SIZE - at < SIZE / 2 ? SIZE - at : SIZE / 2));
        await();
    }
    need_ok(kl_store_snapshot_commit(w));
    await();
    committed = end;
    kl_store_snapshot_close(w);
    store_fixture_settle(&fx);
}

static void run(struct cut *c, enum sim_call call, const char *lie)
{
    *c = (struct cut){
        .f = &fx, .part = "snapshots", .check = check, .seen_size = 1};
    store_fixture_init(&fx);
    store_fixture_simulate(&fx, 1);
    committed = deleted = 0;
    need_ok(store_fixture_open(&fx));
    fx.disk->lie_call = call;
    fx.disk->lie_part = lie;
    cut_begin(c, 7);
    for (int end = 1; end <= SNAPSHOTS; end++)
        write_one(end);
    deleted = SNAPSHOTS - 1;
    kl_store_snapshot_delete_before(fx.store, SNAPSHOTS);
    store_fixture_settle(&fx);
    cut_end(c);
    store_fixture_deinit(&fx);
    printf("cut: snapshots%s%s: %llu points, %llu images, %llu of them after a "
           "second crash, %llu bad\n",
           lie ? ", not synced: " : "", lie ? lie : "",
           (unsigned long long)c->points, (unsigned long long)c->images,
           (unsigned long long)c->deep, (unsigned long long)c->failures);
    fflush(stdout);
}

START_TEST(snapshots_survive_every_cut)
{
    struct cut c;

    run(&c, SIM_CALLS, NULL);
    ck_assert_msg(c.failures == 0, "%llu images failed, the first: %s",
                  (unsigned long long)c.failures, c.first);
    ck_assert_uint_gt(c.points, 20);
}
END_TEST

/* Each missing sync is noticed. */
START_TEST(missing_syncs_are_found)
{
    struct cut c;

    if (_i == 0)
        run(&c, SIM_SYNC, ".snap");
    else
        run(&c, SIM_SYNC_DIR, "data/snapshots");
    ck_assert_uint_gt(c.failures, 0);
}
END_TEST

Suite *suite_fault_snapshot(void);

Suite *suite_fault_snapshot(void)
{
    Suite *s = suite_create("fault_snapshot");
    TCase *t = tcase_create("snapshot");

    tcase_add_test(t, snapshots_survive_every_cut);
    tcase_add_loop_test(t, missing_syncs_are_found, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
