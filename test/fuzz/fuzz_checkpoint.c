/*
 * A checkpoint slot with its logs and their epochs. Input: what is put right,
 * then the file. What can be read to the end is encoded to the same bytes.
 */
#include "fixup.h"
#include "fuzz.h"
#include "store/format.h"

#include <stdlib.h>

enum { CHECKPOINT_EPOCHS = 64 };

/* Copies the next log; 0 where it cannot be read. */
static int checkpoint_copy_log(struct kl_base_cursor *c, struct kl_base_buf *b)
{
    struct kl_batch_epoch items[CHECKPOINT_EPOCHS];
    struct kl_batch_epochs epochs = {.items = items};
    struct kl_store_slot_log log;

    if (kl_store_slot_next(c, &log))
        return 0;
    FUZZ_CHECK(log.id.partition >= 0 && log.start >= 0);
    FUZZ_CHECK(log.leo >= log.start);
    if (log.epoch_count > CHECKPOINT_EPOCHS)
        return 0;
    for (uint32_t i = 0; i < log.epoch_count; i++)
        if (kl_store_slot_epoch(c, &items[i]))
            return 0;
    kl_store_slot_add(b, &log, &epochs);
    return 1;
}

static void checkpoint_check(struct kl_base_cursor *c,
                             const struct kl_store_slot *slot,
                             const uint8_t *file)
{
    struct kl_base_buf again;
    uint32_t i;

    FUZZ_CHECK(slot->position.file < slot->file_count);
    FUZZ_CHECK(slot->position.offset <= slot->file_size);
    kl_base_buf_init(&again, &fuzz_alloc);
    FUZZ_CHECK(kl_store_slot_begin(&again, slot) == 0);
    for (i = 0; i < slot->log_count; i++)
        if (!checkpoint_copy_log(c, &again))
            break;
    if (i == slot->log_count && c->pos == c->size) {
        kl_store_slot_end(&again);
        FUZZ_CHECK(again.error == 0);
        FUZZ_CHECK(again.size == KL_STORE_ENVELOPE + c->size);
        FUZZ_CHECK(memcmp(again.data, file, again.size) == 0);
    }
    kl_base_buf_deinit(&again);
}

static void checkpoint_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned how = fuzz_take8(&in);
    struct kl_base_cursor c;
    struct kl_store_slot slot;
    uint8_t *file = fuzz_take_copy(&in, &size);
    int rc;

    fixup_envelope(file, size, KL_STORE_MAGIC_SLOT, how);
    fuzz_alloc_begin(SIZE_MAX);
    rc = kl_store_slot_decode(file, size, &c, &slot);
    FUZZ_CHECK(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
    if (rc == 0)
        checkpoint_check(&c, &slot, file);
    fuzz_alloc_end();
    free(file);
}

static void checkpoint_seed(struct fuzz_seeds *seeds, uint8_t how,
                            uint32_t logs)
{
    struct kl_batch_epoch items[] = {{1, 0}, {3, 5}, {4, 9}};
    struct kl_batch_epochs epochs = {items, 3, 3};
    struct kl_store_slot slot = {
        .generation = 5,
        .position = {6, 7, 8, 9, 1, 8192},
        .file_count = 4,
        .flags = KL_STORE_SLOT_CLEAN,
        .file_size = 16384,
        .broker_epoch = -1,
        .log_count = logs,
    };
    struct kl_store_slot_log log = {
        .id = {{{1}}, 0},
        .instance = 0x10001,
        .truncation = 1,
        .start = 2,
        .leo = 12,
        .high_watermark = 12,
        .bytes = 100,
        .active = {0, 12, 5000, 99, 1, 2, 1},
    };
    struct kl_base_buf b, input;

    kl_base_buf_init(&b, &kl_base_alloc_libc);
    kl_base_buf_init(&input, &kl_base_alloc_libc);
    kl_store_slot_begin(&b, &slot);
    for (uint32_t i = 0; i < logs; i++) {
        log.id.partition = (int32_t)i;
        log.flush = i % 2;
        log.epoch_count = i % 4;
        kl_store_slot_add(&b, &log, &epochs);
    }
    kl_store_slot_end(&b);
    kl_base_buf_put8(&input, how);
    kl_base_buf_append(&input, b.data, b.size);
    seeds->emit(seeds, input.data, input.size);
    kl_base_buf_deinit(&input);
    kl_base_buf_deinit(&b);
}

static void checkpoint_seeds(struct fuzz_seeds *seeds)
{
    for (uint8_t how = 0; how < 4; how++) {
        checkpoint_seed(seeds, how, 0);
        checkpoint_seed(seeds, how, 1);
        checkpoint_seed(seeds, how, 5);
    }
}

const struct fuzz_target fuzz_checkpoint = {"checkpoint", checkpoint_run,
                                            checkpoint_seeds, 8000};
