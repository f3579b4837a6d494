/*
 * Fuzz targets: each reads any bytes and aborts where something happens that
 * never must. driver.c replays the corpus and seeded mutations of it in make
 * check; entry.c gives the same functions to libFuzzer (make fuzz).
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include "base/alloc.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Inputs to begin with, made by the encoders of today. */
struct fuzz_seeds
{
    void (*emit)(struct fuzz_seeds *seeds, const void *data, size_t size);
};

struct fuzz_target
{
    const char *name;
    void (*run)(const uint8_t *data, size_t size);
    void (*seeds)(struct fuzz_seeds *seeds);
    /* Of each input in make check: what opens a store takes its time. */
    int mutations;
};

/* All targets, ended by NULL; written by the Makefile. */
extern const struct fuzz_target *const fuzz_targets[];

#define FUZZ_CHECK(x) ((x) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #x))
_Noreturn void fuzz_fail(const char *file, int line, const char *text);

/* ---- reading an input ---------------------------------------------------- */

/* Numbers are little-endian; past the end everything is zero. */
struct fuzz_input
{
    const uint8_t *data;
    size_t size;
};

uint8_t fuzz_take8(struct fuzz_input *in);
uint16_t fuzz_take16(struct fuzz_input *in);
uint32_t fuzz_take32(struct fuzz_input *in);
uint64_t fuzz_take64(struct fuzz_input *in);
/* Up to size bytes; how many there were. */
size_t fuzz_take(struct fuzz_input *in, size_t size, const uint8_t **out);
/* The rest in memory of its own, of exactly its size, from malloc: reading
 * past it is seen. */
uint8_t *fuzz_take_copy(struct fuzz_input *in, size_t *size_out);

/* ---- memory -------------------------------------------------------------- */

/* Counts what is live and refuses what would exceed a limit. Large blocks are
 * kept for the next run: the system's part of giving them is slow. One thread.
 */
extern const struct kl_base_alloc fuzz_alloc;
void fuzz_alloc_begin(size_t limit);
/* The most that was live since begin. */
size_t fuzz_alloc_peak(void);
/* Everything must have been given back, with the sizes it was taken by. */
void fuzz_alloc_end(void);

#endif
