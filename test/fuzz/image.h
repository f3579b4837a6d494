/*
 * Small stores as they lie on a disk, made once per process by the store
 * itself: their files, every frame that was ever appended, and what the WAL
 * amounts to after each of its groups. A target copies one, edits it and opens
 * it.
 */
#ifndef TEST_IMAGE_H
#define TEST_IMAGE_H

#include "fuzz.h"
#include "store_fixture.h"

enum {
    IMAGE_LOGS = 4,
    IMAGE_FILES = 64,
    IMAGE_FRAMES = 400,
    IMAGE_STATES = 200,
    IMAGE_CELL = 64,
    IMAGE_PATH = 128
};

enum image_kind {
    IMAGE_WAL,    /* everything is in the WAL alone */
    IMAGE_SEALED, /* the same, and a seal proves the last group */
    IMAGE_MIXED,  /* laps, segments, cuts, epochs, deletes; killed */
    IMAGE_CLEAN,  /* stopped in order */
    IMAGE_KINDS
};

struct image_file
{
    char path[IMAGE_PATH];
    uint8_t *data;
    size_t size;
    uint32_t *cells; /* where anything but zeros is */
    size_t cell_count;
};

struct image_frame
{
    int log;
    int64_t base;
    uint32_t size;
    uint64_t hash;
};

/* After the group before sequence. */
struct image_state
{
    uint64_t sequence;
    struct
    {
        int exists;
        int64_t start;
        int64_t leo;
    } logs[IMAGE_LOGS];
};

/* A group of the newest slot's future, or the seal behind them. */
struct image_group
{
    uint64_t sequence;
    size_t file;
    uint64_t offset;
    uint64_t size; /* without what fills it up */
};

struct image
{
    struct image_file files[IMAGE_FILES];
    size_t file_count;
    struct image_frame frames[IMAGE_FRAMES];
    size_t frame_count;
    struct image_state states[IMAGE_STATES];
    size_t state_count;
    struct image_group groups[IMAGE_STATES];
    size_t group_count;
    int has_seal;      /* the last of groups */
    uint64_t sequence; /* of the newest slot */
};

/* Log 3 is an interval log. */
struct kl_store_id image_log_id(int log);
int image_log_of(const struct kl_store_id *id); /* -1 = none of them */
const struct image *image_get(enum image_kind kind);
/* Whether such a frame was ever appended. */
int image_has_frame(const struct image *image, int log, const uint8_t *frame,
                    uint32_t size, int64_t base);

/* A fixture without a store, without the cost of a checking allocator. */
void image_fixture_init(struct store_fixture *f);
void image_fixture_deinit(struct store_fixture *f);
/* Puts a file and its folders there. */
void image_fixture_put(struct store_fixture *f, const char *path,
                       const uint8_t *data, size_t size);

#endif
