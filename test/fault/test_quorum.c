/*
 * The quorum state through crashes: what is read is what was acknowledged last,
 * or a newer put.
 */
#include "cut.h"

#include "need.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { PUTS = 4 };

static struct store_fixture fx;
static int32_t acknowledged; /* epoch */
static int32_t wanted;

/* Each epoch has its leader and vote. */
static struct kl_store_quorum state_of(int32_t epoch)
{
    struct kl_store_quorum q = {epoch, epoch + 1, epoch + 2, {{0}}};

    memset(&q.voted_directory_id, epoch + 3, 16);
    return q;
}

static int check(struct cut *c, struct kl_store *s, void *seen)
{
    struct kl_store_quorum q, want;
    enum kl_store_quorum_verdict verdict = kl_store_quorum_get(s, &q, NULL);
    int32_t *shown = seen;

    (void)c;
    want = state_of(q.epoch);
    if (verdict == KL_STORE_QUORUM_LOST || q.epoch < acknowledged ||
        q.epoch > wanted || q.epoch < *shown)
        return 0;
    *shown = q.epoch;
    if (q.epoch == 0)
        return verdict == KL_STORE_QUORUM_NONE;
    return verdict != KL_STORE_QUORUM_NONE && memcmp(&q, &want, sizeof q) == 0;
}

static void put_durable(int32_t epoch)
{
    struct kl_store_quorum q = state_of(epoch), got;
    uint64_t generation, durable;

    wanted = epoch;
    need_ok(kl_store_quorum_put(fx.store, &q, &generation));
    do {
        store_fixture_turn(&fx);
        kl_store_quorum_get(fx.store, &got, &durable);
    } while (durable < generation);
    acknowledged = epoch;
}

/* Power is lost, and one of the copies rots: the other one has it. */
static void rot(struct cut *c)
{
    static const char *const copies[] = {"data/quorum.a", "data/quorum.b"};
    struct sim_choice lost = {.fate = SIM_FATE_LOST};
    struct kl_os_iovec rotten = {"rotten", 6};

    for (int i = 0; i < 2; i++) {
        struct sim_disk *disk = sim_disk_crash(fx.disk, lost);
        struct kl_os_file *file;

        need_ok(
            disk->base.ops->open(&disk->base, copies[i], KL_OS_WRITE, &file));
        need_ok(disk->base.ops->write(file, &rotten, 1, 50, NULL));
        need_ok(disk->base.ops->close(file));
        sim_disk_settle(disk);
        cut_disk(c, disk);
    }
}

static void run(struct cut *c, const char *lie)
{
    *c = (struct cut){.f = &fx,
                      .part = "quorum",
                      .check = check,
                      .seen_size = sizeof(int32_t)};
    store_fixture_init(&fx);
    store_fixture_simulate(&fx, 1);
    acknowledged = wanted = 0;
    need_ok(store_fixture_open(&fx));
    if (lie) {
        fx.disk->lie_call = SIM_SYNC;
        fx.disk->lie_part = lie;
    }
    cut_begin(c, 7);
    for (int32_t epoch = 1; epoch <= PUTS; epoch++) {
        put_durable(epoch);
        rot(c);
    }
    /* What is acknowledged stays, whatever comes then. */
    store_fixture_settle(&fx);
    cut_end(c);
    store_fixture_deinit(&fx);
    printf("cut: quorum state%s%s: %llu points, %llu images, %llu of them "
           "after a second crash, %llu bad\n",
           lie ? ", not synced: " : "", lie ? lie : "",
           (unsigned long long)c->points, (unsigned long long)c->images,
           (unsigned long long)c->deep, (unsigned long long)c->failures);
    fflush(stdout);
}

START_TEST(state_survives_every_cut)
{
    struct cut c;

    run(&c, NULL);
    ck_assert_msg(c.failures == 0, "%llu images failed, the first: %s",
                  (unsigned long long)c.failures, c.first);
    ck_assert_uint_gt(c.points, 10 * PUTS / 2);
    ck_assert_uint_gt(c.deep, 500);
}
END_TEST

/* Each missing sync is noticed. */
START_TEST(missing_syncs_are_found)
{
    static const char *const lies[] = {"quorum.a", "quorum.b", "quorum"};
    struct cut c;

    run(&c, lies[_i]);
    ck_assert_uint_gt(c.failures, 0);
}
END_TEST

Suite *suite_fault_quorum(void);

Suite *suite_fault_quorum(void)
{
    Suite *s = suite_create("fault_quorum");
    TCase *t = tcase_create("quorum");

    tcase_add_test(t, state_survives_every_cut);
    tcase_add_loop_test(t, missing_syncs_are_found, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
