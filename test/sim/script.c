/*
 * Runs scripts, and compares or rewrites what they expect.
 */
#include "script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void script_say(struct script *s, const char *format, ...)
{
    va_list args;
    int size;

    va_start(args, format);
    size = vsnprintf(s->out + s->size, sizeof s->out - s->size, format, args);
    va_end(args);
    s->size += (size_t)size;
    if (s->size + 1 < sizeof s->out)
        s->out[s->size++] = '\n';
    else
        s->size = sizeof s->out - 1;
    s->out[s->size] = 0;
}

void script_wrong(struct script *s, const struct script_command *c,
                  const char *format, ...)
{
    va_list args;

    if (s->error_line)
        return;
    s->error_line = c->line;
    va_start(args, format);
    vsnprintf(s->error, sizeof s->error, format, args);
    va_end(args);
}

/* ---- a file ---------------------------------------------------------------
 */

static char *file_read(const char *path, size_t *size_out)
{
    FILE *f = fopen(path, "rb");
    char *text = f ? malloc(SCRIPT_BYTES) : NULL;

    if (text)
        *size_out = fread(text, 1, SCRIPT_BYTES, f);
    if (f)
        fclose(f);
    return text;
}

static int file_write(const char *path, const char *text, size_t size)
{
    FILE *f = fopen(path, "wb");
    int bad = !f || fwrite(text, 1, size, f) != size;

    if ((f && fclose(f)) || bad) {
        printf("%s: cannot be written\n", path);
        return -1;
    }
    return 0;
}

/* The blocks of the file with what came of them, in a file. */
static void rewrite_block(struct script *s, FILE *f, size_t *at,
                          const struct script_block *b)
{
    fwrite(s->text.text + *at, 1, b->expected - *at, f);
    fwrite(s->out, 1, s->size, f);
    *at = b->end;
}

static void tell_block(const struct script *s, const char *path,
                       const struct script_block *b)
{
    printf("%s:%d: expected:\n%.*sbut it is:\n%s", path,
           s->text.commands[b->command].line, (int)(b->end - b->expected),
           s->text.text + b->expected, s->out);
}

/* ---- a run ----------------------------------------------------------------
 */

/* The script is over: what it has held and cut goes on, so that all can stop.
 */
static void run_end(struct script *s)
{
    struct world *w = s->w;

    for (int i = 0; i < WORLD_HOSTS; i++)
        if (s->saved[i])
            sim_disk_free(s->saved[i]);
    if (!w)
        return;
    w->answered = NULL;
    net_rule_clear(w, 0);
    net_mend(w);
    for (int i = 0; i < w->o.hosts; i++) {
        struct host *h = &w->hosts[i];

        script_disk_free(h);
        h->paused_ns = 0;
        if (script_field_is(h, "state", "failed"))
            host_close(h);
    }
    world_close(w);
    choice_deinit(&s->choice);
}

/* Block by block; 1 where one is not as expected, or -1 where it cannot go on.
 */
static int run_blocks(struct script *s, const char *path, FILE *rewrite)
{
    size_t at = 0;
    int bad = 0;

    for (int i = 0; i < s->text.block_count; i++) {
        const struct script_block *b = &s->text.blocks[i];

        s->size = 0;
        s->out[0] = 0;
        s->answer.end = 0;
        for (int k = 0; k < b->count && !s->error_line; k++)
            script_command(s, &s->text.commands[b->command + k]);
        if (s->error_line || s->w->failed)
            return -1;
        script_changes(s);
        if (rewrite) {
            rewrite_block(s, rewrite, &at, b);
        } else if (s->size != b->end - b->expected ||
                   memcmp(s->out, s->text.text + b->expected, s->size) != 0) {
            tell_block(s, path, b);
            bad = 1;
        }
    }
    if (rewrite)
        fwrite(s->text.text + at, 1, s->text.size - at, rewrite);
    return bad;
}

static int run_text(struct script *s, const char *path, FILE *rewrite)
{
    int bad = run_blocks(s, path, rewrite);

    run_end(s);
    if (s->error_line)
        printf("%s:%d: %s\n", path, s->error_line, s->error);
    else if (s->w->failed)
        printf("%s: FAILED %s: %s\n", path, s->w->failed, s->w->failure);
    if (s->w && s->w->failed)
        bad = -1;
    pool_give(s->w, sizeof *s->w);
    return bad;
}

static int run_file(struct script *s, const char *path, int is_rewrite)
{
    FILE *rewrite = NULL;
    char *text, *new_text = NULL;
    size_t size, new_size = 0;
    int bad;

    text = file_read(path, &size);
    if (!text || size == SCRIPT_BYTES) {
        printf("%s: %s\n", path, text ? "too long" : "cannot be read");
        free(text);
        return -1;
    }
    if (script_text_parse(&s->text, text, size)) {
        printf("%s:%d: %s\n", path, s->text.error_line, s->text.error);
        bad = -1;
    } else {
        if (is_rewrite)
            rewrite = open_memstream(&new_text, &new_size);
        bad = run_text(s, path, rewrite);
    }
    if (rewrite && fclose(rewrite) == 0 && bad == 0)
        bad = file_write(path, new_text, new_size);
    free(new_text);
    free(text);
    script_text_free(&s->text);
    return bad;
}

int script_main(int count, char **files, int is_rewrite)
{
    struct script *s = pool_take(sizeof *s);
    int trace = 0, bad = 0, run = 0;
    uint64_t seed = 0;

    for (int i = 0; i < count; i++) {
        if (strcmp(files[i], "--trace") == 0) {
            trace++;
            continue;
        }
        if (strcmp(files[i], "--seed") == 0 && i + 1 < count) {
            seed = strtoull(files[++i], NULL, 10);
            continue;
        }
        memset(s, 0, sizeof *s);
        s->trace = trace;
        s->seed = seed;
        bad += run_file(s, files[i], is_rewrite) != 0;
        run++;
        fflush(stdout);
    }
    pool_give(s, sizeof *s);
    printf("klsim: %d scripts, %d bad\n", run, bad);
    return bad != 0;
}
