#include "tmpdir.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

void test_tmpdir_make(char path[TEST_TMPDIR_SIZE])
{
    const char *base = getenv("TMPDIR");
    int n = snprintf(path, TEST_TMPDIR_SIZE, "%s/kraftlog-test-XXXXXX",
                     base && *base ? base : "/tmp");

    ck_assert_int_lt(n, TEST_TMPDIR_SIZE);
    ck_assert_ptr_nonnull(mkdtemp(path));
}

static int tmpdir_remove_one(const char *path, const struct stat *st, int type,
                             struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void test_tmpdir_remove(const char *path)
{
    ck_assert_int_eq(nftw(path, tmpdir_remove_one, 16, FTW_DEPTH | FTW_PHYS),
                     0);
}
