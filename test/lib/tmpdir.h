/*
 * A temporary folder below $TMPDIR or /tmp.
 */
#ifndef KL_TEST_TMPDIR_H
#define KL_TEST_TMPDIR_H

#define TEST_TMPDIR_SIZE 256

/* Makes a new folder and writes its path. */
void test_tmpdir_make(char path[TEST_TMPDIR_SIZE]);
/* Removes it with everything in it. */
void test_tmpdir_remove(const char *path);

#endif
