/*
 * Scripts: a cluster that does what a text says, and says after each block of
 * commands what has changed. All checkers look on, as in any run.
 */
#ifndef SIM_SCRIPT_H
#define SIM_SCRIPT_H

#include "script_text.h"
#include "world.h"

enum { SCRIPT_BYTES = 1 << 20, SCRIPT_OUT = 1 << 16, SCRIPT_LINE = 256 };

/* The last line of answers. */
struct script_answer
{
    const char *what;
    int first; /* topic */
    int last;
    int host;
    int code;
    size_t begin; /* in the output */
    size_t end;   /* 0 = there is none */
};

struct script
{
    struct script_text text;
    struct world *w; /* NULL before the cluster */
    struct choice choice;
    char out[SCRIPT_OUT]; /* of the block under way */
    size_t size;
    char shown[WORLD_HOSTS][SCRIPT_LINE]; /* of each host, last */
    struct sim_disk *saved[WORLD_HOSTS];
    /* Of an until that is under way. */
    const struct script_command *waits;
    struct script_answer answer;
    int trace;
    uint64_t seed;  /* of a cluster that names none */
    int error_line; /* 0 = none */
    char error[SCRIPT_ERROR];
};

/* Runs files one by one; is_rewrite puts what came of them into the files. A
 * --trace among them shows what happens in those behind it, a --seed N makes
 * other times of it. The exit status. */
int script_main(int count, char **files, int is_rewrite);

/* ---- for its parts --------------------------------------------------------
 */

/* A line of the output. */
void script_say(struct script *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The script asks for something that cannot be; it ends. */
void script_wrong(struct script *s, const struct script_command *c,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- script_show.c --------------------------------------------------------
 */

/* A line of each host, with its log. */
void script_show(struct script *s);
/* The same without the log, of each host of which it is another one than it was
 * last: where a log ends is often not what a story is about. */
void script_changes(struct script *s);
/* Of each host that is up, the counters that are named. */
void script_counters(struct script *s, const struct script_command *c);
/* What a host's field must be to end an until: 1, 0, or -1 = no such field. */
int script_field_is(const struct host *h, const char *field, const char *value);

/* ---- script_verbs.c -------------------------------------------------------
 */

/* Carries one command out. */
void script_command(struct script *s, const struct script_command *c);
/* What a disk was told to hold goes on, and nothing fails any more. */
void script_disk_free(struct host *h);

#endif
