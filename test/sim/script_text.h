/*
 * The text of a script: comments, and blocks of commands, a separator and what
 * is expected to come of them, up to an empty line.
 *
 *     # Why, and what is required.
 *     crash 1
 *     until 2 role leader
 *     ----
 *     1 down
 *     2 leader epoch 2 ...
 */
#ifndef SIM_SCRIPT_TEXT_H
#define SIM_SCRIPT_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum {
    SCRIPT_ARGUMENTS = 8,
    SCRIPT_COMMANDS = 256,
    SCRIPT_BLOCKS = 128,
    SCRIPT_ERROR = 160
};

/* X(id, name, arguments): h a host, H a host or * for each of them, d a length
 * of time, n a number, w a word; ? what follows may be missing, + the last may
 * be there again. */
#define SCRIPT_VERBS(X)                                                        \
    X(CLUSTER, "cluster", "n?w+")                                              \
    X(TICK, "tick", "d")                                                       \
    X(UNTIL, "until", "hww?d")                                                 \
    X(SETTLE, "settle", "?d")                                                  \
    X(ANSWER, "answer", "?d")                                                  \
    X(START, "start", "h")                                                     \
    X(STOP, "stop", "h")                                                       \
    X(KILL, "kill", "h")                                                       \
    X(CRASH, "crash", "h?w")                                                   \
    X(CRASH_IN_OPEN, "crash-in-open", "hn")                                    \
    X(PAUSE, "pause", "h")                                                     \
    X(RESUME, "resume", "h")                                                   \
    X(PARTITION, "partition", "w+")                                            \
    X(CUT, "cut", "hwh")                                                       \
    X(HEAL, "heal", "")                                                        \
    X(DROP, "drop", "wHH?n")                                                   \
    X(HOLD, "hold", "wHH?n")                                                   \
    X(TWICE, "twice", "wHH?n")                                                 \
    X(RELEASE, "release", "")                                                  \
    X(DISK, "disk", "hw?w?w")                                                  \
    X(CREATE, "create", "h?n")                                                 \
    X(PRODUCE, "produce", "hw?n")                                              \
    X(ADD_VOTER, "add-voter", "hh")                                            \
    X(REMOVE_VOTER, "remove-voter", "hh")                                      \
    X(QUORUM, "quorum", "h")                                                   \
    X(VERIFY, "verify", "")                                                    \
    X(SHOW, "show", "")                                                        \
    X(COUNTERS, "counters", "w+")

enum script_verb {
#define X(id, name, arguments) SCRIPT_##id,
    SCRIPT_VERBS(X)
#undef X
        SCRIPT_VERB_COUNT
};

struct script_command
{
    int line;
    enum script_verb verb;
    int count; /* of the arguments */
    const char *arguments[SCRIPT_ARGUMENTS];
};

struct script_block
{
    int command; /* the first */
    int count;
    size_t expected; /* where it begins in the text, and where it ends */
    size_t end;
};

struct script_text
{
    char *text;  /* as it was read */
    char *words; /* the same, in pieces */
    size_t size;
    struct script_command commands[SCRIPT_COMMANDS];
    int command_count;
    struct script_block blocks[SCRIPT_BLOCKS];
    int block_count;
    int error_line;
    char error[SCRIPT_ERROR];
};

/* 0, or -1 with error_line and error; s can be freed in any case. */
int script_text_parse(struct script_text *s, const char *text, size_t size);
void script_text_free(struct script_text *s);
const char *script_verb_name(enum script_verb verb);
/* A length of time: 20us, 5ms, 3s, 2min; -1 where it is none. */
int64_t script_duration(const char *word);
/* A number from 0 on; -1 where it is none. */
int64_t script_number(const char *word);

#endif
