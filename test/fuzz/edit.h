/*
 * Edits of an image: what a disk, a crash or somebody may have done to it.
 */
#ifndef TEST_EDIT_H
#define TEST_EDIT_H

#include "image.h"

struct edit
{
    const struct image *image;
    uint8_t *data[IMAGE_FILES]; /* NULL = as it was */
    size_t size[IMAGE_FILES];
    uint8_t is_gone[IMAGE_FILES];
    int count; /* of edits */
};

enum { EDIT_MAX = 8, EDIT_GROW = 8192 };

/* Takes edits from the input until it ends. Only files whose path contains
 * only are touched. with_sums: all checksums are made right afterwards. */
void edit_take(struct edit *e, const struct image *image, const char *only,
               int with_sums, struct fuzz_input *in);
void edit_free(struct edit *e);
/* The bytes of a file now; NULL where it is gone. */
const uint8_t *edit_bytes(const struct edit *e, size_t file, size_t *size_out);
/* Whether any of these bytes are not what they were. */
int edit_has_changed(const struct edit *e, size_t file, uint64_t offset,
                     uint64_t size);
/* How many files with this in their path were edited. */
int edit_count(const struct edit *e, const char *part);
/* Puts all files into a fixture. */
void edit_install(const struct edit *e, struct store_fixture *f);

#endif
