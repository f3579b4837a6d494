/*
 * Whole stores with any files edited. Input: a byte for the image and whether
 * checksums are made right, then the edits.
 */
#include "opened.h"

static void store_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned what = fuzz_take8(&in);
    const struct image *image = image_get(what % IMAGE_KINDS);
    int with_sums = (what & 0x80) != 0;
    struct store_fixture f;
    struct edit e;

    edit_take(&e, image, "", with_sums, &in);
    fuzz_alloc_begin((size_t)256 << 20);
    image_fixture_init(&f);
    if (opened_open(&f, &e) == 0) {
        opened_read(&f, image, !with_sums);
        opened_go_on(&f, &e, !with_sums, what & 0x40);
    }
    image_fixture_deinit(&f);
    fuzz_alloc_end();
    edit_free(&e);
}

static void store_seeds(struct fuzz_seeds *seeds)
{
    /* One edit of each kind, in each image, with sums and without. */
    static const uint8_t edits[][8] = {
        {0, 1, 9, 0},    {0x79, 4, 20, 0, 1, 2, 3, 4},
        {2, 2, 0, 0},    {3, 5, 90, 1},
        {4, 6, 70, 0},   {5, 7, 0, 0, 9, 40, 0},
        {6, 1, 0, 0, 2}, {15, 3, 0, 0}};
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

const struct fuzz_target fuzz_store = {"store", store_run, store_seeds, 100};
