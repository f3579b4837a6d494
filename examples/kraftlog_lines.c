/*
 * Lines of standard input: large reads, no copy, lines of any length.
 */
#include "kraftlog_tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES_CAPACITY = 1024 * 1024 };

int lines_init(struct lines *l, int fd, size_t line_max)
{
    memset(l, 0, sizeof *l);
    l->fd = fd;
    l->line_max = line_max;
    l->capacity = LINES_CAPACITY;
    l->buf = malloc(l->capacity);
    return l->buf ? 0 : -1;
}

void lines_deinit(struct lines *l)
{
    free(l->buf);
    l->buf = NULL;
}

int lines_next(struct lines *l, const char **data_out, size_t *size_out)
{
    const char *start = l->buf + l->begin;
    const char *feed = memchr(l->buf + l->seen, '\n', l->end - l->seen);
    size_t size = l->end - l->begin;

    if (!feed) {
        l->seen = l->end;
        /* The last line may lack its line feed. */
        if (!l->at_end || size == 0)
            return 0;
        l->begin = l->end;
    } else {
        size = (size_t)(feed - start);
        l->begin += size + 1;
        l->seen = l->begin;
    }
    l->number++;
    *data_out = start;
    *size_out = size;
    return 1;
}

/* Moves what is left to the front and makes room behind it. */
static int lines_make_room(struct lines *l)
{
    size_t left = l->end - l->begin;
    char *larger;

    if (l->begin > 0) {
        memmove(l->buf, l->buf + l->begin, left);
        l->seen -= l->begin;
        l->begin = 0;
        l->end = left;
    }
    if (left < l->capacity / 2)
        return 0;
    if (left > l->line_max) {
        errno = EMSGSIZE;
        return -1;
    }
    larger = realloc(l->buf, 2 * l->capacity);
    if (!larger)
        return -1;
    l->buf = larger;
    l->capacity *= 2;
    return 0;
}

int lines_fill(struct lines *l)
{
    ssize_t n;

    if (l->at_end)
        return 0;
    if (lines_make_room(l) != 0)
        return -1;
    do
        n = read(l->fd, l->buf + l->end, l->capacity - l->end);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -1;
    l->end += (size_t)n;
    l->at_end = n == 0;
    return n > 0 || l->end > l->begin;
}
