/*
 * JSON as the library writes it: a reader that steps over values, and a printer
 * for people. The texts are well formed, so there are no errors here.
 */
#include "kraftlog_tool.h"

#include <stdio.h>
#include <string.h>

/* The byte behind the string whose opening quote is at text. */
static const char *json_string_end(const char *text)
{
    for (text++; *text && *text != '"'; text++)
        if (*text == '\\' && text[1])
            text++;
    return *text ? text + 1 : text;
}

/* The byte behind the value at text. */
static const char *json_value_end(const char *text)
{
    int depth = 0;

    for (; *text; text++) {
        if (*text == '"') {
            text = json_string_end(text);
            if (depth == 0)
                return text;
            text--;
        } else if (*text == '{' || *text == '[') {
            depth++;
        } else if (*text == '}' || *text == ']') {
            /* Of the value itself, or of what a bare number stands in. */
            if (depth <= 1)
                return text + depth;
            depth--;
        } else if (*text == ',' && depth == 0) {
            return text;
        }
    }
    return text;
}

const char *json_next(const char *text, const char *at, struct json_item *item)
{
    const char *end;

    if (at && *at != ',')
        return NULL;
    at = at ? at + 1 : text + 1;
    if (*at == '}' || *at == ']' || !*at)
        return NULL;
    item->key = NULL;
    item->key_size = 0;
    if (*text == '{') {
        end = json_string_end(at);
        item->key = at + 1;
        item->key_size = (size_t)(end - at) - 2;
        at = end + 1;
    }
    end = json_value_end(at);
    item->value = at;
    item->value_size = (size_t)(end - at);
    return end;
}

const char *json_get(const char *text, const char *key)
{
    struct json_item item;
    const char *at = NULL;

    while ((at = json_next(text, at, &item)))
        if (item.key_size == strlen(key) &&
            memcmp(item.key, key, item.key_size) == 0)
            return item.value;
    return NULL;
}

static void json_line(int depth)
{
    printf("\n%*s", 2 * depth, "");
}

/* A string or a number, as it is. */
static const char *json_print_value(const char *text)
{
    const char *end = json_value_end(text);

    fwrite(text, 1, (size_t)(end - text), stdout);
    return end;
}

/* What begins at text on lines of its own, but an array of plain values on one.
 */
static const char *json_print_open(const char *text, int *depth)
{
    if (text[0] == '[' && text[1] != '{' && text[1] != '[')
        return json_print_value(text);
    putchar(*text);
    if (text[1] == '}' || text[1] == ']') {
        putchar(text[1]);
        return text + 2;
    }
    json_line(++*depth);
    return text + 1;
}

void json_print(const char *text)
{
    int depth = 0;

    while (*text) {
        switch (*text) {
        case '{':
        case '[':
            text = json_print_open(text, &depth);
            continue;
        case '}':
        case ']':
            json_line(--depth);
            putchar(*text++);
            continue;
        case ',':
            putchar(*text++);
            json_line(depth);
            continue;
        case ':':
            fputs(": ", stdout);
            text++;
            continue;
        default:
            text = json_print_value(text);
        }
    }
    putchar('\n');
}
