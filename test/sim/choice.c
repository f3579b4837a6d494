#include "choice.h"

#include "pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void choice_init(struct choice *c, uint64_t seed)
{
    memset(c, 0, sizeof *c);
    kl_base_rng_seed(&c->rng, seed);
}

void choice_replay(struct choice *c, const uint64_t *items, size_t count)
{
    memset(c, 0, sizeof *c);
    c->replay = items;
    c->replay_count = count;
}

void choice_deinit(struct choice *c)
{
    pool_give(c->items, c->capacity * sizeof *c->items);
    memset(c, 0, sizeof *c);
}

int choice_is_over(const struct choice *c)
{
    return c->replay && c->at >= c->replay_count;
}

void choice_block(struct choice *c)
{
    c->begins_block = 1;
    while (!choice_is_over(c) && c->replay && c->at > 0 &&
           !(c->replay[c->at] & CHOICE_BLOCK))
        c->at++;
}

/* A block that draws more than was recorded gets zeros for it. */
static uint64_t choice_recorded(struct choice *c)
{
    if (choice_is_over(c) ||
        (!c->begins_block && (c->replay[c->at] & CHOICE_BLOCK)))
        return 0;
    return c->replay[c->at++] & ~CHOICE_BLOCK;
}

uint64_t choice_below(struct choice *c, uint64_t bound)
{
    uint64_t value = c->replay ? choice_recorded(c) % bound
                               : kl_base_rng_below(&c->rng, bound);

    if (c->is_recording) {
        pool_reserve((void **)&c->items, &c->capacity, c->count + 1,
                     sizeof *c->items);
        c->items[c->count++] = value | (c->begins_block ? CHOICE_BLOCK : 0);
    }
    c->begins_block = 0;
    return value;
}

int64_t choice_between(struct choice *c, int64_t from, int64_t to)
{
    return from + (int64_t)choice_below(c, (uint64_t)(to - from) + 1);
}

int choice_one_in(struct choice *c, uint64_t many)
{
    /* The last, so that 0 is no. */
    return many && choice_below(c, many) == many - 1 && many > 0;
}

int64_t choice_log(struct choice *c, int64_t from, int64_t to)
{
    uint64_t doubles = 0;
    int64_t low, high;

    while (from << (doubles + 1) <= to)
        doubles++;
    low = from << choice_below(c, doubles + 1);
    high = low * 2 < to ? low * 2 : to;
    return choice_between(c, low, high);
}

uint64_t choice_seed(struct choice *c)
{
    return choice_below(c, UINT64_C(1) << 62);
}

/* ---- files ----------------------------------------------------------------
 */

int choice_save(const struct choice *c, const char *path)
{
    FILE *f = fopen(path, "w");

    if (!f)
        return -1;
    for (size_t i = 0; i < c->count; i++)
        fprintf(f, "%s%" PRIu64 "\n", c->items[i] & CHOICE_BLOCK ? "* " : "",
                c->items[i] & ~CHOICE_BLOCK);
    return fclose(f) ? -1 : 0;
}

int choice_load(const char *path, uint64_t **items_out, size_t *count_out)
{
    FILE *f = fopen(path, "r");
    size_t count = 0, capacity = 0;
    uint64_t *items = NULL;
    char line[64];

    if (!f)
        return -1;
    while (fgets(line, sizeof line, f)) {
        int is_block = line[0] == '*';

        if (count == capacity) {
            capacity = capacity ? capacity * 2 : 1024;
            items = realloc(items, capacity * sizeof *items);
            if (!items)
                break;
        }
        items[count++] = strtoull(line + (is_block ? 2 : 0), NULL, 10) |
                         (is_block ? CHOICE_BLOCK : 0);
    }
    fclose(f);
    *items_out = items;
    *count_out = count;
    return items ? 0 : -1;
}
