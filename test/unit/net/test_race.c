/*
 * Transports in threads of their own beside a node that reads, gives links up
 * and goes away: each link brings its messages in order, and everybody ends.
 */
#include "base/rng.h"
#include "need.h"
#include "net_help.h"
#include "os/thread.h"

#include <stdatomic.h>
#include <string.h>

enum { THREADS = 3, LINKS = 60, MESSAGES = 40, SIZE = 120, KNOWN = 4096 };

static struct
{
    struct kl_net *net;
    struct kl_os_gate gate; /* where the node sleeps */
    struct kl_os_mutex mutex;
    struct kl_os_cond cond; /* where transports wait for room */
    uint64_t rounds;        /* of resume and disconnect; under mutex */
    atomic_int running;
    uint8_t bytes[MESSAGES * SIZE]; /* what each link brings */
    uint32_t next[KNOWN]; /* the node's: the next message of each link */
} race;

static void race_wake(void *user)
{
    (void)user;
    kl_os_gate_post(&race.gate);
}

static int race_connect(void *user, uint64_t link, int32_t node_id,
                        const char *endpoint)
{
    (void)user, (void)node_id, (void)endpoint;
    kl_net_up(race.net, link);
    return 0;
}

static int race_send(void *user, uint64_t link, const void *data, size_t size)
{
    (void)user, (void)data, (void)size;
    if (link % 5 == 0) {
        kl_net_writable(race.net, link);
        return KL_EAGAIN;
    }
    return link % 7 == 0 ? KL_EIO : 0;
}

static void race_go_on(void *user, uint64_t link)
{
    (void)user, (void)link;
    kl_os_mutex_lock(&race.mutex);
    race.rounds++;
    kl_os_cond_broadcast(&race.cond);
    kl_os_mutex_unlock(&race.mutex);
}

static uint64_t race_round(void)
{
    uint64_t round;

    kl_os_mutex_lock(&race.mutex);
    round = race.rounds;
    kl_os_mutex_unlock(&race.mutex);
    return round;
}

static void race_wait(uint64_t round)
{
    kl_os_mutex_lock(&race.mutex);
    while (race.rounds == round)
        (void)kl_os_cond_wait(&race.cond, &race.mutex, -1);
    kl_os_mutex_unlock(&race.mutex);
}

/* 0 where the link has ended. */
static int race_deliver(uint64_t link, const uint8_t *data, size_t size)
{
    for (;;) {
        uint64_t round = race_round();
        int rc = kl_net_deliver(race.net, link, data, size);

        if (rc == 0)
            return 1;
        if (rc == KL_ECLOSED)
            return 0;
        need(rc == KL_EAGAIN);
        race_wait(round);
    }
}

/* 0 where the node takes none at the moment. */
static int race_link(struct kl_base_rng *rng)
{
    size_t pos, size, end = sizeof race.bytes;
    uint64_t link;

    if (kl_net_accept(race.net, &link))
        return 0;
    for (pos = 0; pos < end; pos += size) {
        size = 1 + kl_base_rng_below(rng, 3 * SIZE);
        size = size < end - pos ? size : end - pos;
        if (!race_deliver(link, race.bytes + pos, size))
            break;
    }
    kl_net_writable(race.net, link);
    if (kl_base_rng_below(rng, 2) &&
        kl_net_deliver(race.net, link, "no message", 10) == KL_EFORMAT)
        return 1;
    kl_net_down(race.net, link);
    return 1;
}

static void race_transport(void *user)
{
    struct kl_base_rng rng;

    kl_base_rng_seed(&rng, (uint64_t)(uintptr_t)user);
    for (int i = 0; i < LINKS;)
        i += race_link(&rng);
    atomic_fetch_sub(&race.running, 1);
    kl_os_gate_post(&race.gate);
}

/* What the node does with one event; messages are numbered. */
static void race_event(struct kl_base_rng *rng, const struct kl_net_event *e,
                       unsigned *counts)
{
    need(e->link < KNOWN);
    counts[e->type]++;
    switch (e->type) {
    case KL_NET_UP:
        need(race.next[e->link] == 0);
        race.next[e->link] = 1;
        break;
    case KL_NET_MESSAGE:
        need(e->size == SIZE);
        need(kl_base_get_le32(e->data + 8) == race.next[e->link] - 1);
        race.next[e->link]++;
        (void)kl_net_send(race.net, e->link, "answer", 6);
        break;
    default:
        need(race.next[e->link] > 0);
    }
    if (e->type != KL_NET_DOWN && kl_base_rng_below(rng, 200) == 0)
        kl_net_disconnect(race.net, e->link);
}

static void race_node(struct kl_base_rng *rng, unsigned *counts)
{
    struct kl_net_event event;
    uint64_t link;

    for (;;) {
        int running = atomic_load(&race.running);

        while (kl_net_next(race.net, &event))
            race_event(rng, &event, counts);
        if (!running)
            return;
        if (kl_base_rng_below(rng, 50) == 0)
            need_ok(kl_net_connect(race.net, 3, "there", &link));
        if (kl_base_rng_below(rng, 500) == 0) {
            kl_net_attach(race.net, NULL, NULL);
            need_ok(kl_net_attach(race.net, race_wake, NULL));
        }
        (void)kl_os_gate_wait(&race.gate, -1);
    }
}

START_TEST(transports_and_a_node)
{
    static const struct kl_net_options options = {SIZE, 10 * SIZE, 1000};
    static const struct kl_net_ops ops = {race_connect, race_send, race_go_on,
                                          race_go_on};
    struct kl_os_thread threads[THREADS];
    struct fail_alloc memory;
    struct kl_base_rng rng;
    unsigned counts[4] = {0};

    memset(&race, 0, sizeof race);
    fail_alloc_init(&memory);
    kl_base_rng_seed(&rng, (uint64_t)_i);
    need_ok(kl_os_gate_init(&race.gate));
    need_ok(kl_os_mutex_init(&race.mutex));
    need_ok(kl_os_cond_init(&race.cond));
    need_ok(kl_net_new(&race.net, &memory.alloc, &options));
    kl_net_set_ops(race.net, &ops, NULL);
    need_ok(kl_net_attach(race.net, race_wake, NULL));
    for (unsigned i = 0; i < MESSAGES; i++) {
        net_message_put(race.bytes + i * SIZE, SIZE, i);
        kl_base_put_le32(race.bytes + i * SIZE + 8, i);
    }
    atomic_store(&race.running, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        need_ok(kl_os_thread_start(&threads[i], race_transport,
                                   (void *)(i + 10 * (uintptr_t)_i), "race"));
    race_node(&rng, counts);
    for (int i = 0; i < THREADS; i++)
        kl_os_thread_join(&threads[i]);
    ck_assert_uint_ge(counts[KL_NET_MESSAGE], THREADS * LINKS);
    ck_assert_uint_ge(counts[KL_NET_DOWN], 10);
    kl_net_attach(race.net, NULL, NULL);
    kl_net_free(race.net);
    kl_os_cond_deinit(&race.cond);
    kl_os_mutex_deinit(&race.mutex);
    kl_os_gate_deinit(&race.gate);
    fail_alloc_deinit(&memory);
}
END_TEST

Suite *suite_net_race(void);

Suite *suite_net_race(void)
{
    Suite *s = suite_create("net_race");
    TCase *tc = tcase_create("race");

    tcase_add_loop_test(tc, transports_and_a_node, 0, 5);
    suite_add_tcase(s, tc);
    return s;
}
