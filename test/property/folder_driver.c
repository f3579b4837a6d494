/*
 * The C side of folder.py: what the command line tool cannot make.
 *
 *   folder_driver DIR quorum EPOCH LEADER VOTED   puts a quorum state; the
 *                 voted directory id is 16 times the byte VOTED
 *   folder_driver DIR snapshot END EPOCH          from standard input
 */
#include "base/alloc.h"
#include "base/buf.h"
#include "os/clock.h"
#include "os/vfs.h"
#include "store/store.h"

#include <kraftlog/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int code, const char *what)
{
    if (code == 0)
        return;
    fprintf(stderr, "folder_driver: %s: %s\n", what, kl_strerror(code));
    exit(1);
}

static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

/* Turns until an event of this type comes. */
static void await(struct kl_store *s, enum kl_store_event_type type)
{
    struct kl_store_event e = {0};

    while (e.type != type) {
        check(kl_store_failure(s, NULL), "store");
        kl_store_turn(s, kl_os_clock_posix.monotonic_ns(NULL),
                      kl_os_clock_posix.wall_ms(NULL));
        while (kl_store_next_event(s, &e) && e.type != type)
            continue;
    }
    check(e.code, "event");
}

static void quorum(struct kl_store *s, char **numbers)
{
    struct kl_store_quorum q = {.epoch = number(numbers[0]),
                                .leader_id = number(numbers[1]),
                                .voted_id = number(numbers[2])};

    if (q.voted_id >= 0)
        memset(&q.voted_directory_id, q.voted_id, 16);
    check(kl_store_quorum_put(s, &q, NULL), "put");
    await(s, KL_STORE_EVENT_QUORUM);
}

static void snapshot(struct kl_store *s, char **numbers)
{
    struct kl_store_snapshot_writer *w;
    uint8_t part[30011];
    size_t n;

    check(
        kl_store_snapshot_begin(s, number(numbers[0]), number(numbers[1]), &w),
        "begin");
    while ((n = fread(part, 1, sizeof part, stdin)) > 0) {
        check(kl_store_snapshot_append(w, part, n), "append");
        await(s, KL_STORE_EVENT_SNAPSHOT);
    }
    check(kl_store_snapshot_commit(w), "commit");
    await(s, KL_STORE_EVENT_SNAPSHOT);
    kl_store_snapshot_close(w);
}

int main(int argc, char **argv)
{
    struct kl_store_config config = {.pending_bytes_max = 1 << 20,
                                     .file_max = 16,
                                     .retention_check_ms = 60000,
                                     .seed = 1};
    struct kl_base_error error = {0};
    struct kl_os_lanes *lanes;
    struct kl_os_vfs *vfs;
    struct kl_store *s;

    if (argc < 5)
        return 2;
    config.path = argv[1];
    check(kl_os_vfs_posix_new(&vfs, &kl_base_alloc_libc), "files");
    check(kl_os_lanes_inline_new(&lanes, &kl_base_alloc_libc), "lanes");
    check(kl_store_new(&s, &kl_base_alloc_libc, vfs, lanes, &config), "store");
    check(kl_store_open(s, 0, kl_os_clock_posix.monotonic_ns(NULL),
                        kl_os_clock_posix.wall_ms(NULL), &error),
          error.text);
    if (strcmp(argv[2], "quorum") == 0 && argc == 6)
        quorum(s, argv + 3);
    else
        snapshot(s, argv + 3);
    kl_store_stop(s);
    while (!kl_store_is_stopped(s))
        kl_store_turn(s, kl_os_clock_posix.monotonic_ns(NULL),
                      kl_os_clock_posix.wall_ms(NULL));
    kl_store_free(s);
    lanes->ops->free(lanes);
    vfs->ops->free(vfs);
    return 0;
}
