/*
 * A program as a process of its own: run to its end, or driven. The program is
 * the command line tool, KL_PROGRAM in the environment, or another one beside
 * it.
 */
#ifndef TEST_RUN_H
#define TEST_RUN_H

#include <stddef.h>
#include <sys/types.h>

/* ---- run to the end ---- */

struct run
{
    int code;   /* of exit, -1 where a signal has ended it */
    int signal; /* 0 = none */
    char *out;  /* terminated */
    size_t out_size;
    char *err;
    size_t err_size;
};

/* Runs a program with arguments, the last of which is NULL, and with size bytes
 * as standard input; name NULL = the tool. Free the result with run_free. */
void run_program(struct run *r, const char *name, const void *input,
                 size_t size, const char *const *args);
void run_free(struct run *r);

/* ---- driven ---- */

struct process
{
    pid_t pid;
    int in; /* not blocking; -1 = closed */
    int out;
    int err;
};

void process_start(struct process *p, const char *name,
                   const char *const *args);
void process_close_input(struct process *p);
/* Closes the pipes and waits for its end; the status of waitpid. */
int process_finish(struct process *p);

#endif
