/*
 * Damage to the folder of the command line tool's tests. Files are named by a
 * pattern of glob(3) below the folder, where "topic/" at its beginning stands
 * for the folder of the one log of a topic; where one file is meant, exactly
 * one must be found.
 */
#ifndef TEST_DAMAGE_H
#define TEST_DAMAGE_H

#include <stddef.h>

/* The path of the one file; static. */
const char *damage_path(const char *pattern);
/* Writes over some bytes of a file. */
void damage_spoil(const char *pattern, long at);
/* Flips a bit in the first place where a text is, in the one file that has it;
 * where that is. */
size_t damage_find(const char *pattern, const char *text);
/* Writes over the head of the block of 4 KiB where the text is. */
void damage_block(const char *pattern, const char *text);
void damage_cut(const char *pattern, long size);
/* All files of the pattern: zeros over them, or gone. */
void damage_zero(const char *pattern);
void damage_remove(const char *pattern);
/* Makes a file, with the folders on the way to it. */
void damage_make(const char *path);
/* Where a salvage may go: it is not there yet. */
const char *damage_new_dir(void);

#endif
