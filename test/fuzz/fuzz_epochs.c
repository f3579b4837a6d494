/*
 * The list of epochs against a model that keeps the epoch of every offset.
 * Input: calls, each a byte for what and two small numbers.
 */
#include "batch/epochs.h"
#include "fuzz.h"

#include <kraftlog/error.h>

enum { EPOCHS_OFFSETS = 24, EPOCHS_NONE = -1 };

/* starts[i] is the epoch that begins at offset i, or none. */
struct epochs_model
{
    int32_t starts[EPOCHS_OFFSETS];
};

static int32_t model_last(const struct epochs_model *m)
{
    for (int i = EPOCHS_OFFSETS - 1; i >= 0; i--)
        if (m->starts[i] != EPOCHS_NONE)
            return m->starts[i];
    return EPOCHS_NONE;
}

static int model_last_start(const struct epochs_model *m)
{
    for (int i = EPOCHS_OFFSETS - 1; i >= 0; i--)
        if (m->starts[i] != EPOCHS_NONE)
            return i;
    return -1;
}

static int32_t model_at(const struct epochs_model *m, int offset)
{
    for (int i = offset; i >= 0; i--)
        if (m->starts[i] != EPOCHS_NONE)
            return m->starts[i];
    return EPOCHS_NONE;
}

static int model_append(struct epochs_model *m, int32_t epoch, int64_t start)
{
    if (epoch < 0 || start < 0 || epoch < model_last(m) ||
        start < model_last_start(m))
        return KL_EINVAL;
    if (epoch != model_last(m))
        m->starts[start] = epoch;
    return 0;
}

static void model_truncate(struct epochs_model *m, int end)
{
    for (int i = end < 0 ? 0 : end; i < EPOCHS_OFFSETS; i++)
        m->starts[i] = EPOCHS_NONE;
}

static void model_trim(struct epochs_model *m, int start)
{
    int32_t covering = model_at(m, start);

    for (int i = 0; covering != EPOCHS_NONE && i <= start; i++)
        m->starts[i] = i == start ? covering : EPOCHS_NONE;
}

/* Rule 1.11.1, word by word. */
static void model_end_for(const struct epochs_model *m, int32_t epoch,
                          int64_t leo, int32_t *epoch_out, int64_t *end_out)
{
    *epoch_out = *end_out = -1;
    if (epoch < 0 || epoch > model_last(m))
        return;
    *epoch_out = epoch;
    for (int i = 0; i < EPOCHS_OFFSETS; i++)
        if (m->starts[i] != EPOCHS_NONE && m->starts[i] <= epoch)
            *epoch_out = m->starts[i];
    for (int i = EPOCHS_OFFSETS - 1; i >= 0; i--)
        if (m->starts[i] > epoch)
            *end_out = i;
    if (*end_out < 0)
        *end_out = leo;
}

static void epochs_compare(const struct epochs_model *m,
                           const struct kl_batch_epochs *e)
{
    uint32_t count = 0;

    for (int i = 0; i < EPOCHS_OFFSETS; i++) {
        if (m->starts[i] != EPOCHS_NONE) {
            FUZZ_CHECK(count < e->count);
            FUZZ_CHECK(e->items[count].start == i);
            FUZZ_CHECK(e->items[count++].epoch == m->starts[i]);
        }
        FUZZ_CHECK(kl_batch_epochs_at(e, i) == model_at(m, i));
    }
    FUZZ_CHECK(count == e->count);
    FUZZ_CHECK(kl_batch_epochs_last(e) == model_last(m));
}

static void epochs_call(struct epochs_model *m, struct kl_batch_epochs *e,
                        uint8_t what, int a, int b)
{
    int32_t epoch, model_epoch;
    int64_t end, model_end;

    switch (what % 4) {
    case 0:
        FUZZ_CHECK(kl_batch_epochs_append(e, &fuzz_alloc, a, b) ==
                   model_append(m, a, b));
        break;
    case 1:
        kl_batch_epochs_truncate(e, b);
        model_truncate(m, b);
        break;
    case 2:
        kl_batch_epochs_trim(e, b);
        model_trim(m, b);
        break;
    case 3:
        kl_batch_epochs_end_for(e, a, EPOCHS_OFFSETS, &epoch, &end);
        model_end_for(m, a, EPOCHS_OFFSETS, &model_epoch, &model_end);
        FUZZ_CHECK(epoch == model_epoch && end == model_end);
        break;
    }
    epochs_compare(m, e);
}

static void epochs_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct kl_batch_epochs e;
    struct epochs_model m;

    fuzz_alloc_begin(SIZE_MAX);
    kl_batch_epochs_init(&e);
    model_truncate(&m, 0);
    for (int i = 0; in.size > 0 && i < 32; i++) {
        uint8_t what = fuzz_take8(&in);
        int a = (int8_t)fuzz_take8(&in);
        int b = fuzz_take8(&in) % (EPOCHS_OFFSETS + 1) - 1;

        epochs_call(&m, &e, what, a, b);
    }
    kl_batch_epochs_deinit(&e, &fuzz_alloc);
    fuzz_alloc_end();
}

static void epochs_seeds(struct fuzz_seeds *seeds)
{
    static const uint8_t calls[] = {0, 1, 1,  0, 2, 6, 0, 3, 6,  0, 5, 21,
                                    3, 4, 0,  2, 0, 9, 0, 7, 31, 1, 0, 26,
                                    3, 2, 40, 0, 9, 2, 3, 9, 9,  1, 0, 0};

    for (size_t count = 3; count <= sizeof calls; count += 3)
        seeds->emit(seeds, calls, count);
}

const struct fuzz_target fuzz_epochs = {"epochs", epochs_run, epochs_seeds,
                                        5000};
