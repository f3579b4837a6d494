/*
 * Stores whose write-ahead log was edited. As long as nobody made checksums
 * right, what opens without a word of damage is what the groups amount to up to
 * some point: only groups at the very end that were damaged may be missing, for
 * nothing can tell them from a torn end, and no record is served that was not
 * appended.
 */
#include "opened.h"

/* How many groups may be dropped: those at the end that were edited. A seal
 * proves the last of them. */
static size_t wal_groups_in_doubt(const struct edit *e)
{
    size_t count = 0;

    for (size_t i = e->image->group_count; i > 0; i--) {
        const struct image_group *g = &e->image->groups[i - 1];

        if (!edit_has_changed(e, g->file, g->offset, g->size))
            break;
        count++;
    }
    return count;
}

static int wal_is_state(struct store_fixture *f, const struct image_state *s)
{
    for (int i = 0; i < IMAGE_LOGS; i++) {
        struct kl_store_id id = image_log_id(i);
        struct kl_store_log *log = kl_store_find(f->store, &id);
        struct kl_store_view view;

        if (!log != !s->logs[i].exists)
            return 0;
        if (!log)
            continue;
        kl_store_log_view(log, &view);
        if (view.flush == KL_STORE_FLUSH_COMMIT &&
            (view.start != s->logs[i].start || view.leo != s->logs[i].leo))
            return 0;
    }
    return 1;
}

static void wal_check_state(struct store_fixture *f, const struct edit *e)
{
    const struct image *image = e->image;
    uint64_t last = image->sequence + image->group_count - image->has_seal;
    uint64_t least =
        image->sequence + image->group_count - wal_groups_in_doubt(e);

    if (least > last)
        least = last;
    for (size_t i = 0; i < image->state_count; i++)
        if (image->states[i].sequence >= least &&
            image->states[i].sequence <= last &&
            wal_is_state(f, &image->states[i]))
            return;
    fuzz_fail(__FILE__, __LINE__, "changes are missing without a word");
}

static void wal_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned what = fuzz_take8(&in);
    const struct image *image = image_get(what % IMAGE_KINDS);
    int with_sums = (what & 0x80) != 0;
    struct store_fixture f;
    struct edit e;

    edit_take(&e, image, "/wal/", with_sums, &in);
    fuzz_alloc_begin((size_t)256 << 20);
    image_fixture_init(&f);
    if (opened_open(&f, &e) == 0) {
        if (!with_sums && kl_store_verdict(f.store) != KL_STORE_VERDICT_DAMAGED)
            wal_check_state(&f, &e);
        opened_read(&f, image, !with_sums);
        opened_go_on(&f, &e, !with_sums, what & 0x40);
    }
    image_fixture_deinit(&f);
    fuzz_alloc_end();
    edit_free(&e);
}

static void wal_seeds(struct fuzz_seeds *seeds)
{
    static const uint8_t edits[][8] = {{0, 1, 9, 0},
                                       {0x79, 1, 20, 0, 1, 2, 3, 4},
                                       {0x79, 0, 200, 0, 9, 9, 9, 9},
                                       {2, 2, 0, 0},
                                       {5, 1, 0, 0, 1, 64, 0},
                                       {0x19, 1, 72, 0, 4, 0, 0, 0}};
    uint8_t input[9];

    for (int image = 0; image < IMAGE_KINDS; image++) {
        input[0] = (uint8_t)image;
        seeds->emit(seeds, input, 1);
        for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
            memcpy(input + 1, edits[i], 8);
            input[0] = (uint8_t)(image | (i % 2 ? 0x80 : 0x40));
            seeds->emit(seeds, input, sizeof input);
        }
    }
}

const struct fuzz_target fuzz_wal = {"wal", wal_run, wal_seeds, 100};
