#include "damage.h"

#include "cli.h"

#include <check.h>
#include <dirent.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 1024, BLOCK = 4096 };

/* The folder of the topic's log: not the metadata log's. */
static void find_topic(char name[PATH_SIZE])
{
    char logs[PATH_SIZE];
    struct dirent *entry;
    DIR *dir;

    name[0] = '\0';
    snprintf(logs, sizeof logs, "%s/logs", cli_dir());
    dir = opendir(logs);
    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.' &&
            strncmp(entry->d_name, "0000000000000000", 16) != 0)
            snprintf(name, PATH_SIZE, "logs/%.200s", entry->d_name);
    closedir(dir);
    ck_assert_int_ne(name[0], '\0');
}

static void find(const char *pattern, glob_t *found)
{
    char path[PATH_SIZE], topic[PATH_SIZE] = "";

    if (strncmp(pattern, "topic/", 6) == 0) {
        find_topic(topic);
        pattern += 5;
    }
    snprintf(path, sizeof path, "%s/%.200s%.200s", cli_dir(), topic, pattern);
    ck_assert_msg(glob(path, 0, NULL, found) == 0, "no %s", path);
}

const char *damage_path(const char *pattern)
{
    static char path[PATH_SIZE];
    glob_t found;

    find(pattern, &found);
    ck_assert_uint_eq(found.gl_pathc, 1);
    snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    return path;
}

const char *damage_new_dir(void)
{
    static char path[PATH_SIZE];

    snprintf(path, sizeof path, "%s.new", cli_dir());
    return path;
}

/* ---- bytes ------------------------------------------------------------- */

static void spoil(const char *path, long at, const void *data, size_t size)
{
    FILE *file = fopen(path, "r+b");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(data, size, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
}

void damage_spoil(const char *pattern, long at)
{
    spoil(damage_path(pattern), at, "spoilt", 6);
}

static uint8_t *load(const char *path, size_t *size_out)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data;

    ck_assert_ptr_nonnull(file);
    fseek(file, 0, SEEK_END);
    *size_out = (size_t)ftell(file);
    rewind(file);
    data = malloc(*size_out + 1);
    ck_assert_ptr_nonnull(data);
    ck_assert_uint_eq(fread(data, 1, *size_out, file), *size_out);
    fclose(file);
    return data;
}

/* Flips a bit in the first place of a file where the text is. */
static int find_in(const char *path, const char *text, size_t *at_out)
{
    size_t size, at = 0, length = strlen(text);
    uint8_t *data = load(path, &size);
    int is_found;

    while (at + length <= size && memcmp(data + at, text, length) != 0)
        at++;
    is_found = at + length <= size;
    if (is_found) {
        data[at] ^= 1;
        spoil(path, (long)at, data + at, 1);
        *at_out = at;
    }
    free(data);
    return is_found;
}

/* The one file of a pattern that has the text. */
static size_t find_one(const char *pattern, const char *text,
                       char path[PATH_SIZE])
{
    size_t at = 0;
    glob_t found;
    int count = 0;

    find(pattern, &found);
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (find_in(found.gl_pathv[i], text, &at)) {
            snprintf(path, PATH_SIZE, "%s", found.gl_pathv[i]);
            count++;
        }
    globfree(&found);
    ck_assert_int_eq(count, 1);
    return at;
}

size_t damage_find(const char *pattern, const char *text)
{
    char path[PATH_SIZE];

    return find_one(pattern, text, path);
}

void damage_block(const char *pattern, const char *text)
{
    char path[PATH_SIZE];
    size_t at = find_one(pattern, text, path);

    spoil(path, (long)(at / BLOCK * BLOCK), "spoilt", 6);
}

/* ---- files ------------------------------------------------------------- */

void damage_cut(const char *pattern, long size)
{
    ck_assert_int_eq(truncate(damage_path(pattern), size), 0);
}

void damage_zero(const char *pattern)
{
    struct stat info;
    glob_t found;

    find(pattern, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        ck_assert_int_eq(stat(found.gl_pathv[i], &info), 0);
        ck_assert_int_eq(truncate(found.gl_pathv[i], 0), 0);
        ck_assert_int_eq(truncate(found.gl_pathv[i], info.st_size), 0);
    }
    globfree(&found);
}

void damage_remove(const char *pattern)
{
    glob_t found;

    find(pattern, &found);
    for (size_t i = 0; i < found.gl_pathc; i++)
        ck_assert_int_eq(unlink(found.gl_pathv[i]), 0);
    globfree(&found);
}

void damage_make(const char *path)
{
    char text[PATH_SIZE];
    FILE *file;

    snprintf(text, sizeof text, "%s/%s", cli_dir(), path);
    for (char *slash = strchr(text + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(text, 0777); /* it may be there */
        *slash = '/';
    }
    file = fopen(text, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fclose(file), 0);
}
