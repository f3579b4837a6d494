#include "run.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUN_ARGS = 32, RUN_PATH = 1024, RUN_READ = 64 * 1024 };

extern char **environ;

/* ---- driven ------------------------------------------------------------ */

static void run_pipe(int ends[2])
{
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
}

/* The path of a program beside the tool. */
static void run_path(const char *name, char path[RUN_PATH])
{
    const char *tool = getenv("KL_PROGRAM");
    const char *slash;
    int n;

    /* make check sets it. */
    ck_assert_ptr_nonnull(tool);
    slash = strrchr(tool, '/');
    n = name && slash ? (int)(slash + 1 - tool) : (int)strlen(tool);
    n = snprintf(path, RUN_PATH, "%.*s%s", n, tool, name ? name : "");
    ck_assert_int_lt(n, RUN_PATH);
}

void process_start(struct process *p, const char *name, const char *const *args)
{
    char program[RUN_PATH];
    const char *argv[RUN_ARGS + 2] = {program};
    posix_spawn_file_actions_t actions;
    int pipes[3][2];
    int n = 0;

    run_path(name, program);
    for (; args[n]; n++) {
        ck_assert_int_lt(n, RUN_ARGS);
        argv[n + 1] = args[n];
    }
    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    for (int i = 0; i < 3; i++) {
        run_pipe(pipes[i]);
        ck_assert_int_eq(posix_spawn_file_actions_adddup2(
                             &actions, pipes[i][i == 0 ? 0 : 1], i),
                         0);
    }
    ck_assert_int_eq(posix_spawn(&p->pid, program, &actions, NULL,
                                 (char *const *)argv, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[0][0]);
    close(pipes[1][1]);
    close(pipes[2][1]);
    p->in = pipes[0][1];
    p->out = pipes[1][0];
    p->err = pipes[2][0];
    ck_assert_int_eq(fcntl(p->in, F_SETFL, O_NONBLOCK), 0);
    /* A process that has ended is seen as a failed write. */
    signal(SIGPIPE, SIG_IGN);
}

void process_close_input(struct process *p)
{
    if (p->in >= 0)
        close(p->in);
    p->in = -1;
}

int process_finish(struct process *p)
{
    int status = 0;

    process_close_input(p);
    close(p->out);
    close(p->err);
    while (waitpid(p->pid, &status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    return status;
}

/* ---- run to the end ---------------------------------------------------- */

/* Reads once; 0 at the end. The buffer stays terminated. */
static int run_read(int fd, char **buf, size_t *size)
{
    ssize_t n;

    *buf = realloc(*buf, *size + RUN_READ + 1);
    ck_assert_ptr_nonnull(*buf);
    n = read(fd, *buf + *size, RUN_READ);
    ck_assert_int_ge(n, 0);
    *size += (size_t)n;
    (*buf)[*size] = '\0';
    return n > 0;
}

/* Writes what the pipe takes; at the end of the data, or where nobody reads any
 * more, closes it. */
static void run_write(struct process *p, const char **data, size_t *size)
{
    ssize_t n = *size > 0 ? write(p->in, *data, *size) : 0;

    if (n < 0 && errno == EAGAIN)
        return;
    if (n < 0) {
        ck_assert_int_eq(errno, EPIPE);
        *size = 0;
    } else {
        *data += n;
        *size -= (size_t)n;
    }
    if (*size == 0)
        process_close_input(p);
}

void run_program(struct run *r, const char *name, const void *input,
                 size_t size, const char *const *args)
{
    const char *data = input ? input : "";
    struct process p;
    int open_out = 1;
    int open_err = 1;
    int status;

    memset(r, 0, sizeof *r);
    process_start(&p, name, args);
    while (open_out || open_err) {
        struct pollfd fds[3] = {{p.in, POLLOUT, 0},
                                {open_out ? p.out : -1, POLLIN, 0},
                                {open_err ? p.err : -1, POLLIN, 0}};

        if (poll(fds, 3, -1) < 0) {
            ck_assert_int_eq(errno, EINTR);
            continue;
        }
        if (fds[0].revents)
            run_write(&p, &data, &size);
        if (fds[1].revents)
            open_out = run_read(p.out, &r->out, &r->out_size);
        if (fds[2].revents)
            open_err = run_read(p.err, &r->err, &r->err_size);
    }
    status = process_finish(&p);
    r->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void run_free(struct run *r)
{
    free(r->out);
    free(r->err);
    memset(r, 0, sizeof *r);
}
