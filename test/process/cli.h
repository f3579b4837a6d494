/*
 * A folder for the command line tool, and short forms of what its tests do all
 * the time. One at a time: the fixture sets it up and removes it.
 */
#ifndef TEST_CLI_H
#define TEST_CLI_H

#include "run.h"

void cli_setup(void);
void cli_teardown(void);
/* The data folder, which does not exist at first. */
const char *cli_dir(void);

/* Runs the tool on the folder: CLI("topic", "list"). The result is looked at by
 * the functions below and is there until the next run. */
#define CLI(...) cli_run(NULL, 0, (const char *[]){__VA_ARGS__, NULL})
/* With a text, or bytes, as standard input. */
#define CLI_TEXT(text, ...)                                                    \
    cli_run(text, strlen(text), (const char *[]){__VA_ARGS__, NULL})
#define CLI_BYTES(data, size, ...)                                             \
    cli_run(data, size, (const char *[]){__VA_ARGS__, NULL})
void cli_run(const void *input, size_t size, const char *const *args);
const struct run *cli_result(void);

/* It succeeded, printed exactly this and nothing on standard error. */
void cli_printed(const char *text);
void cli_printed_bytes(const void *data, size_t size);
/* It succeeded; what it printed does not matter here. */
void cli_succeeded(void);
/* It ended with this code and one line on standard error, with this word in
 * it. */
void cli_failed(int code, const char *word);

#endif
