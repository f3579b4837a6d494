/*
 * What this machine can do at most: loops with nothing of a log in them.
 */
#include "bench.h"

#include "base/hash.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RAW_BLOCK = 64 * 1024,
    RAW_READ = 1024 * 1024,
    RAW_VALUES = 64 * 1024, /* bytes of payload that differ */
    RAW_FILES = 64
};

/* Keeps the compiler from leaving a checksum out. */
static volatile uint64_t raw_sink;

static void *raw_buffer(size_t size)
{
    void *p = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);

    if (!p)
        bench_die("no memory");
    memset(p, 0, size);
    return p;
}

static void raw_write(int fd, const void *data, size_t size, uint64_t at)
{
    if (pwrite(fd, data, size, (off_t)at) != (ssize_t)size)
        bench_die("pwrite: %m");
}

static void raw_sync(int fd)
{
    if (fdatasync(fd))
        bench_die("fdatasync: %m");
}

static int raw_create(const char *name)
{
    char path[BENCH_PATH];
    int fd;

    bench_path(path, name);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        bench_die("%s: %m", path);
    return fd;
}

void bench_values_make(struct bench_values *v, size_t size)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

    v->size = size;
    v->count = RAW_VALUES / size;
    v->data = raw_buffer(RAW_VALUES);
    for (size_t i = 0; i < RAW_VALUES; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        v->data[i] = (unsigned char)(state >> 32);
    }
}

void bench_values_free(struct bench_values *v)
{
    free(v->data);
    v->data = NULL;
}

/* ---- groups ------------------------------------------------------------- */

int bench_raw_ring(const char *name, size_t size)
{
    int fd = raw_create(name);
    void *zeros = raw_buffer(RAW_READ);

    for (size_t at = 0; at < size; at += RAW_READ)
        raw_write(fd, zeros, size - at < RAW_READ ? size - at : RAW_READ, at);
    if (fsync(fd))
        bench_die("fsync: %m");
    free(zeros);
    return fd;
}

double bench_raw_groups(int ring, size_t ring_size,
                        const struct bench_values *v, uint64_t total,
                        size_t group, int twice)
{
    unsigned char *b = raw_buffer(group);
    int segment = twice ? raw_create("raw-segment") : -1;
    uint64_t i = 0;
    uint64_t done = 0;
    uint64_t synced = 0;
    size_t at = 0;
    double begin = bench_now();

    while (done < total) {
        for (size_t n = 0; n + v->size <= group; n += v->size)
            memcpy(b + n, bench_value(v, i++), v->size);
        if (at + group > ring_size)
            at = 0;
        raw_write(ring, b, group, at);
        raw_sync(ring);
        at += group;
        if (twice) {
            raw_write(segment, b, group, done);
            if (done + group - synced >= ring_size / 8) {
                raw_sync(segment);
                synced = done + group;
            }
        }
        done += group;
    }
    begin = (bench_now() - begin) * (double)total / (double)done;
    if (twice)
        close(segment);
    bench_remove("raw-segment");
    free(b);
    return begin;
}

/* ---- blocks ------------------------------------------------------------- */

/* fd -1: not written. */
static struct bench_time raw_blocks(const struct bench_values *v,
                                    uint64_t count, int fd)
{
    unsigned char *b = raw_buffer(RAW_BLOCK);
    uint64_t per_block = (RAW_BLOCK - sizeof(uint64_t)) / v->size;
    uint64_t at = 0;
    uint64_t i = 0;
    uint64_t hash = 0;
    struct bench_time time = bench_start();

    while (i < count) {
        unsigned char *p = b + sizeof hash;

        for (uint64_t n = 0; n < per_block && i < count; n++, i++) {
            memcpy(p, bench_value(v, i), v->size);
            p += v->size;
        }
        hash = kl_base_hash(b + sizeof hash, (size_t)(p - b) - sizeof hash, at);
        memcpy(b, &hash, sizeof hash);
        if (fd >= 0)
            raw_write(fd, b, RAW_BLOCK, at);
        at += RAW_BLOCK;
    }
    time = bench_since(&time);
    raw_sink = hash;
    free(b);
    return time;
}

struct bench_time bench_raw_blocks(const struct bench_values *v, uint64_t count)
{
    int fd = raw_create("raw-blocks");
    struct bench_time time = raw_blocks(v, count, fd);

    close(fd);
    bench_remove("raw-blocks");
    return time;
}

struct bench_time bench_raw_blocks_memory(const struct bench_values *v,
                                          uint64_t count)
{
    return raw_blocks(v, count, -1);
}

/* ---- reading ------------------------------------------------------------ */

/* nftw passes nothing on. */
static char raw_files[RAW_FILES][BENCH_PATH];
static size_t raw_file_count;

static int raw_find_one(const char *path, const struct stat *st, int type,
                        struct FTW *ftw)
{
    const char *end = strrchr(path, '.');

    (void)st;
    (void)ftw;
    if (type != FTW_F || !end || strcmp(end, ".seg") != 0)
        return 0;
    if (raw_file_count == RAW_FILES)
        bench_die("too many segment files");
    snprintf(raw_files[raw_file_count++], BENCH_PATH, "%s", path);
    return 0;
}

double bench_raw_read(const char *name, uint64_t *bytes_out)
{
    unsigned char *b = raw_buffer(RAW_READ);
    char path[BENCH_PATH];
    uint64_t bytes = 0;
    uint64_t hash = 0;
    double begin;

    bench_path(path, name);
    raw_file_count = 0;
    (void)nftw(path, raw_find_one, 16, FTW_PHYS);
    begin = bench_now();
    for (size_t i = 0; i < raw_file_count; i++) {
        int fd = open(raw_files[i], O_RDONLY | O_CLOEXEC);
        off_t at = 0;
        ssize_t n;

        if (fd < 0)
            bench_die("%s: %m", raw_files[i]);
        while ((n = pread(fd, b, RAW_READ, at)) > 0) {
            hash ^= kl_base_hash(b, (size_t)n, (uint64_t)at);
            at += n;
        }
        bytes += (uint64_t)at;
        close(fd);
    }
    begin = bench_now() - begin;
    raw_sink = hash;
    *bytes_out = bytes;
    free(b);
    return begin;
}
