/*
 * The stand-alone driver: seeds and corpus of every target, and of each input
 * so many mutations, drawn from a seed. It needs no special compiler.
 *
 *   fuzz CORPUS PERCENT [TARGET]    replays; so much of the usual mutations
 *   fuzz -s TARGET FOLDER           writes the seeds of a target
 *   fuzz -r TARGET FILE...          runs these inputs alone
 *
 * An input that ends the process is left in <program>.failed.
 */
#include "fuzz.h"
#include "mutate.h"

#include "base/hash.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DRIVER_INPUTS = 20000, DRIVER_PATH = 1024 };

struct driver_input
{
    uint8_t *data;
    size_t size;
};

static struct
{
    struct driver_input inputs[DRIVER_INPUTS];
    size_t count;
    const char *folder; /* to write seeds to */
} driver;

/* The input that is being run, for the handler below. */
static struct
{
    const uint8_t *data;
    size_t size;
    char path[DRIVER_PATH];
} current;

/* ---- a run that ends the process ------------------------------------------
 */

static void driver_save(void)
{
    int fd = open(current.path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    if (fd < 0)
        return;
    if (write(fd, current.data, current.size) == (ssize_t)current.size)
        close(fd);
}

static void driver_died(int number)
{
    driver_save();
    signal(number, SIG_DFL);
    raise(number);
}

/* Where a sanitizer ends the process it tells us, if it is there. */
void __attribute__((weak)) __sanitizer_set_death_callback(void (*fn)(void));

static void driver_watch(const char *program)
{
    static const int numbers[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

    snprintf(current.path, sizeof current.path, "%s.failed", program);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(driver_save);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], driver_died);
}

static void driver_run(const struct fuzz_target *t, const uint8_t *data,
                       size_t size)
{
    /* Exactly its size, so that reading past it is seen. */
    uint8_t *copy = malloc(size ? size : 1);

    FUZZ_CHECK(copy);
    memcpy(copy, data, size);
    current.data = copy;
    current.size = size;
    t->run(copy, size);
    free(copy);
}

/* ---- inputs -------------------------------------------------------------- */

static void driver_emit(struct fuzz_seeds *seeds, const void *data, size_t size)
{
    struct driver_input *in = &driver.inputs[driver.count++];

    (void)seeds;
    FUZZ_CHECK(driver.count < DRIVER_INPUTS);
    in->data = malloc(size ? size : 1);
    in->size = size;
    FUZZ_CHECK(in->data);
    memcpy(in->data, data, size);
}

static void driver_emit_file(struct fuzz_seeds *seeds, const void *data,
                             size_t size)
{
    char path[DRIVER_PATH];
    FILE *file;

    (void)seeds;
    snprintf(path, sizeof path, "%s/seed-%016llx", driver.folder,
             (unsigned long long)kl_base_hash(data, size, 0));
    file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(data, 1, size, file) == size);
    fclose(file);
}

static void driver_load(const char *path)
{
    struct fuzz_seeds seeds = {driver_emit};
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0, got;

    FUZZ_CHECK(file);
    do {
        data = realloc(data, size + 65536);
        FUZZ_CHECK(data);
        got = fread(data + size, 1, 65536, file);
        size += got;
    } while (got > 0);
    fclose(file);
    driver_emit(&seeds, data, size);
    free(data);
}

/* In the order of their names. A target may have no folder. */
static void driver_load_folder(const char *corpus, const char *name)
{
    char path[DRIVER_PATH];
    struct dirent **names;
    int count;

    snprintf(path, sizeof path, "%s/%s", corpus, name);
    count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", corpus, name, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            driver_load(path);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

static void driver_clear(void)
{
    for (size_t i = 0; i < driver.count; i++)
        free(driver.inputs[i].data);
    driver.count = 0;
}

/* ---- commands ------------------------------------------------------------ */

static void driver_mutate(const struct fuzz_target *t, size_t index, int count)
{
    const struct driver_input *in = &driver.inputs[index];
    struct mutate m;

    mutate_init(&m, kl_base_hash(in->data, in->size, index));
    for (int i = 0; i < count; i++) {
        const struct driver_input *other =
            &driver.inputs[kl_base_rng_below(&m.rng, driver.count)];

        mutate_input(&m, in->data, in->size, other->data, other->size);
        driver_run(t, m.data, m.size);
    }
}

static void driver_replay(const struct fuzz_target *t, const char *corpus,
                          int percent)
{
    struct fuzz_seeds seeds = {driver_emit};
    int count = (int)((int64_t)t->mutations * percent / 100);
    struct timespec from, to;
    size_t made;
    double seconds;

    clock_gettime(CLOCK_MONOTONIC, &from);
    t->seeds(&seeds);
    made = driver.count;
    driver_load_folder(corpus, t->name);
    for (size_t i = 0; i < driver.count; i++)
        driver_run(t, driver.inputs[i].data, driver.inputs[i].size);
    for (size_t i = 0; i < driver.count; i++)
        driver_mutate(t, i, count);
    clock_gettime(CLOCK_MONOTONIC, &to);
    seconds = (double)(to.tv_sec - from.tv_sec) +
              (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    printf("fuzz: %-10s %4zu seeds, %5zu of the corpus, %8zu runs, %5.1f s\n",
           t->name, made, driver.count - made,
           driver.count * (size_t)(1 + count), seconds);
    fflush(stdout);
    driver_clear();
}

static const struct fuzz_target *driver_find(const char *name)
{
    for (size_t i = 0; fuzz_targets[i]; i++)
        if (strcmp(fuzz_targets[i]->name, name) == 0)
            return fuzz_targets[i];
    fprintf(stderr, "fuzz: no target %s\n", name);
    exit(2);
}

static void driver_files(const struct fuzz_target *t, char **files)
{
    for (; *files; files++)
        driver_load(*files);
    for (size_t i = 0; i < driver.count; i++)
        driver_run(t, driver.inputs[i].data, driver.inputs[i].size);
    printf("fuzz: %s: %zu inputs\n", t->name, driver.count);
    driver_clear();
}

int main(int argc, char **argv)
{
    struct fuzz_seeds files = {driver_emit_file};

    driver_watch(argv[0]);
    if (argc == 4 && strcmp(argv[1], "-s") == 0) {
        driver.folder = argv[3];
        driver_find(argv[2])->seeds(&files);
        return 0;
    }
    if (argc >= 4 && strcmp(argv[1], "-r") == 0) {
        driver_files(driver_find(argv[2]), argv + 3);
        return 0;
    }
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: fuzz CORPUS PERCENT [TARGET]\n");
        return 2;
    }
    for (size_t i = 0; fuzz_targets[i]; i++)
        if (argc == 3 || fuzz_targets[i] == driver_find(argv[3]))
            driver_replay(fuzz_targets[i], argv[1],
                          (int)strtol(argv[2], NULL, 10));
    return 0;
}
