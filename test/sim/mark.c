#include "mark.h"

uint64_t marks[MARKS];

static const struct
{
    int is_of_one;
    const char *text;
} mark_table[MARKS] = {
#define X(id, alone, text) [MARK_##id] = {alone, text},
    MARK_TABLE(X)
#undef X
};

const char *mark_text(enum mark m)
{
    return mark_table[m].text;
}

int mark_is_due(enum mark m, int hosts)
{
    return hosts > 1 || mark_table[m].is_of_one;
}
