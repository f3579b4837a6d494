/*
 * Checksums made right again after a mutation, so that what lies behind them is
 * reached. Written from kraftlog-format(5): they are also a second opinion.
 */
#ifndef TEST_FIXUP_H
#define TEST_FIXUP_H

#include <stddef.h>
#include <stdint.h>

/* Bits of an input's first byte. */
enum {
    FIXUP_SUMS = 1,
    FIXUP_SIZES = 2 /* magic and sizes too */
};

/* A frame at the start of size bytes. */
void fixup_frame(uint8_t *data, size_t size, uint64_t seed, unsigned how);
/* All frames that follow each other, as far as their sizes lead. */
void fixup_frames(uint8_t *data, size_t size, uint64_t seed, unsigned how);
/* Identity, slot or manifest. */
void fixup_envelope(uint8_t *data, size_t size, uint32_t magic, unsigned how);
/* Blocks of 4 KiB. */
void fixup_segment_header(uint8_t *block);
void fixup_index_block(uint8_t *block);
/* A WAL group's header and entry headers, of which size bytes are there. */
void fixup_group(uint8_t *data, size_t size);

#endif
