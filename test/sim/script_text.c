#include "script_text.h"

#include "pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct
{
    const char *name;
    const char *arguments;
} script_verbs[SCRIPT_VERB_COUNT] = {
#define X(id, name, arguments) {name, arguments},
    SCRIPT_VERBS(X)
#undef X
};

const char *script_verb_name(enum script_verb verb)
{
    return script_verbs[verb].name;
}

static int script_error(struct script_text *s, int line, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));

static int script_error(struct script_text *s, int line, const char *format,
                        ...)
{
    va_list args;

    s->error_line = line;
    va_start(args, format);
    vsnprintf(s->error, sizeof s->error, format, args);
    va_end(args);
    return -1;
}

/* ---- words ----------------------------------------------------------------
 */

int64_t script_number(const char *word)
{
    char *end;
    long long value;

    if (*word < '0' || *word > '9')
        return -1;
    value = strtoll(word, &end, 10);
    return *end || value > INT32_MAX ? -1 : value;
}

int64_t script_duration(const char *word)
{
    static const struct
    {
        const char *name;
        int64_t ns;
    } units[] = {{"us", 1000},
                 {"ms", 1000000},
                 {"s", 1000000000},
                 {"min", INT64_C(60000000000)}};
    char *end;
    long long value;

    if (*word < '0' || *word > '9')
        return -1;
    value = strtoll(word, &end, 10);
    for (size_t i = 0; value < 1000000 && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0)
            return value * units[i].ns;
    return -1;
}

static int word_fits(char kind, const char *word)
{
    switch (kind) {
    case 'h':
        return script_number(word) > 0;
    case 'H':
        return strcmp(word, "*") == 0 || script_number(word) > 0;
    case 'd':
        return script_duration(word) >= 0;
    case 'n':
        return script_number(word) >= 0;
    default:
        return 1;
    }
}

static const char *word_kind(char kind)
{
    switch (kind) {
    case 'h':
        return "a host";
    case 'H':
        return "a host or *";
    case 'd':
        return "a length of time";
    case 'n':
        return "a number";
    default:
        return "a word";
    }
}

/* The arguments against what the verb takes. */
static int command_check(struct script_text *s, const struct script_command *c)
{
    const char *name = script_verbs[c->verb].name;
    const char *want = script_verbs[c->verb].arguments;
    char kind = 0;

    for (int i = 0; i < c->count; i++) {
        if (*want == '?')
            want++;
        if (!*want)
            return script_error(s, c->line, "%s: too much: %s", name,
                                c->arguments[i]);
        if (*want != '+')
            kind = *want++;
        if (!word_fits(kind, c->arguments[i]))
            return script_error(s, c->line, "%s: not %s: %s", name,
                                word_kind(kind), c->arguments[i]);
    }
    return !*want || *want == '?' || *want == '+'
               ? 0
               : script_error(s, c->line, "%s: %s is missing", name,
                              word_kind(*want));
}

/* A line is cut into its words. */
static int command_parse(struct script_text *s, int line, char *at)
{
    struct script_command *c = &s->commands[s->command_count];
    char *rest = NULL;
    const char *verb = strtok_r(at, " ", &rest);

    if (s->command_count == SCRIPT_COMMANDS)
        return script_error(s, line, "more than %d commands", SCRIPT_COMMANDS);
    c->line = line;
    c->count = 0;
    for (at = strtok_r(NULL, " ", &rest); at; at = strtok_r(NULL, " ", &rest)) {
        if (c->count == SCRIPT_ARGUMENTS)
            return script_error(s, line, "%s: too much: %s", verb, at);
        c->arguments[c->count++] = at;
    }
    for (c->verb = 0; c->verb < SCRIPT_VERB_COUNT; c->verb++)
        if (strcmp(script_verbs[c->verb].name, verb) == 0)
            break;
    if (c->verb == SCRIPT_VERB_COUNT)
        return script_error(s, line, "no such command: %s", verb);
    s->command_count++;
    return command_check(s, c);
}

/* ---- lines ----------------------------------------------------------------
 */

/* What the line before was. */
enum script_place { PLACE_BETWEEN, PLACE_COMMANDS, PLACE_EXPECTED };

static int block_begin(struct script_text *s, int line)
{
    struct script_block *b = &s->blocks[s->block_count];

    if (s->block_count == SCRIPT_BLOCKS)
        return script_error(s, line, "more than %d blocks", SCRIPT_BLOCKS);
    b->command = s->command_count;
    s->block_count++;
    return 0;
}

/* One line; next is where the one behind it begins. */
static int line_parse(struct script_text *s, enum script_place *place, int line,
                      size_t at, size_t next)
{
    char *text = s->words + at;
    struct script_block *b =
        s->block_count ? &s->blocks[s->block_count - 1] : NULL;

    switch (*place) {
    case PLACE_EXPECTED:
        if (!*text)
            *place = PLACE_BETWEEN;
        else
            b->end = next;
        return 0;
    case PLACE_COMMANDS:
        if (!*text)
            return script_error(s, line, "commands without a ----");
        if (strcmp(text, "----") == 0) {
            *place = PLACE_EXPECTED;
            b->count = s->command_count - b->command;
            b->expected = b->end = next;
            return 0;
        }
        return *text == '#' ? 0 : command_parse(s, line, text);
    default:
        if (!*text || *text == '#')
            return 0;
        if (strcmp(text, "----") == 0)
            return script_error(s, line, "---- without a command");
        *place = PLACE_COMMANDS;
        return block_begin(s, line) ? -1 : command_parse(s, line, text);
    }
}

int script_text_parse(struct script_text *s, const char *text, size_t size)
{
    enum script_place place = PLACE_BETWEEN;
    int line = 1;
    size_t at = 0;

    memset(s, 0, sizeof *s);
    s->size = size;
    s->text = pool_take(size + 1);
    s->words = pool_take(size + 1);
    memcpy(s->text, text, size);
    memcpy(s->words, text, size);
    s->text[size] = s->words[size] = 0;
    if (strlen(s->text) != size)
        return script_error(s, 1, "a byte 0");
    if (size && text[size - 1] != '\n')
        return script_error(s, 1, "the last line has no end");
    for (; at < size; line++) {
        size_t end = (size_t)(strchr(s->words + at, '\n') - s->words);

        s->words[end] = 0;
        if (line_parse(s, &place, line, at, end + 1))
            return -1;
        at = end + 1;
    }
    if (place == PLACE_COMMANDS)
        return script_error(s, line - 1, "commands without a ----");
    if (!s->block_count)
        return script_error(s, line, "no commands");
    if (s->commands[0].verb != SCRIPT_CLUSTER)
        return script_error(s, s->commands[0].line,
                            "a script begins with a cluster");
    for (int i = 1; i < s->command_count; i++)
        if (s->commands[i].verb == SCRIPT_CLUSTER)
            return script_error(s, s->commands[i].line, "a second cluster");
    return 0;
}

void script_text_free(struct script_text *s)
{
    pool_give(s->text, s->size + 1);
    pool_give(s->words, s->size + 1);
    memset(s, 0, sizeof *s);
}
