/*
 * The table of all error codes, and error texts of bounded size.
 */
#include "base/error.h"

#include "base/fmt.h"

#include <stdarg.h>
#include <string.h>

/* Classes of a code: what a caller can do about it. */
enum {
    NONE = 0,
    RETRIABLE = KL_BASE_ERROR_RETRIABLE,
    FATAL = KL_BASE_ERROR_FATAL
};

/* One line per code of <kraftlog/error.h>: name, class, text. */
#define ERROR_TABLE(X)                                                         \
    X(KL_OK, NONE, "success")                                                  \
    X(KL_ENOMEM, RETRIABLE, "out of memory")                                   \
    X(KL_EINVAL, NONE, "invalid argument")                                     \
    X(KL_EAGAIN, RETRIABLE, "queue is full, try again")                        \
    X(KL_ETIMEDOUT, RETRIABLE, "timed out")                                    \
    X(KL_ECLOSED, FATAL, "handle is closed")                                   \
    X(KL_EREENTRY, NONE, "not allowed inside a callback")                      \
    X(KL_ECONFIG, NONE, "unknown configuration key or bad value")              \
    X(KL_ESTATE, NONE, "not allowed in this state")                            \
    X(KL_EUNSUPPORTED, NONE, "not supported by this build")                    \
    X(KL_EFORK, FATAL, "handle was made before a fork")                        \
    X(KL_EUNKNOWN, NONE, "outcome unknown")                                    \
    X(KL_ECANCELED, NONE, "canceled before it began")                          \
    X(KL_EEND, NONE, "nothing left to iterate over")                           \
    X(KL_EOWNER, NONE, "another thread owns the node")                         \
    X(KL_EIO, NONE, "input/output error")                                      \
    X(KL_ECORRUPT, NONE, "stored data is corrupt")                             \
    X(KL_EDISKFULL, RETRIABLE, "no space left for the store")                  \
    X(KL_EBUSY, RETRIABLE, "in use by another handle")                         \
    X(KL_ENOSTORE, NONE, "folder holds no store")                              \
    X(KL_EFORMAT, NONE, "unknown format version")                              \
    X(KL_EFOREIGN, NONE, "folder belongs to another cluster or node")          \
    X(KL_ENOFILES, RETRIABLE, "too many open files")                           \
    X(KL_EACCESS, NONE, "permission denied")                                   \
    X(KL_EFAILED, FATAL, "store has failed")                                   \
    X(KL_ENOENT, NONE, "no such file or folder")                               \
    X(KL_EEXIST, NONE, "file or folder exists")                                \
    X(KL_ENOTOPIC, NONE, "unknown topic or partition")                         \
    X(KL_ETOPICEXISTS, NONE, "topic exists")                                   \
    X(KL_ETOPICNAME, NONE, "illegal topic name")                               \
    X(KL_EPARTITIONS, NONE, "partition count not allowed")                     \
    X(KL_EREPLICATION, NONE, "not enough brokers for the replication")         \
    X(KL_ENOTLEADER, RETRIABLE, "node does not lead the partition")            \
    X(KL_ENOTCONTROLLER, RETRIABLE, "node is not the active controller")       \
    X(KL_EFENCED, NONE, "epoch is over")                                       \
    X(KL_EPARTITIONEPOCH, NONE, "partition has changed meanwhile")             \
    X(KL_EINELIGIBLE, RETRIABLE, "replica may not join the in-sync ones")      \
    X(KL_ENEWLEADER, NONE, "done, and another node leads now")                 \
    X(KL_EDUPLICATENODE, RETRIABLE, "another node of this id is alive")        \
    X(KL_ENOBROKER, NONE, "no broker of this id is registered")                \
    X(KL_ENOREASSIGNMENT, NONE, "partition is not being reassigned")           \
    X(KL_ENOCANDIDATE, RETRIABLE, "no replica may become the leader")          \
    X(KL_EREGRESSED, FATAL, "folder is older than other nodes know it")        \
    X(KL_EQUORUMSTATE, NONE, "quorum state is lost, no vote")                  \
    X(KL_EVOTEREXISTS, NONE, "voter of this node id exists")                   \
    X(KL_ENOVOTER, NONE, "no such voter")                                      \
    X(KL_ELAGGING, RETRIABLE, "replica has not caught up")                     \
    X(KL_EREDUNDANCY, NONE, "voters would tolerate too little")                \
    X(KL_ERECORDSIZE, NONE, "record is too large")                             \
    X(KL_EOFFSETRANGE, NONE, "offset out of range")                            \
    X(KL_EBATCH, NONE, "malformed batch")

static const struct kl_base_error_info error_table[] = {
#define ERROR_ROW(code, class, text) {code, class, #code, text},
    ERROR_TABLE(ERROR_ROW)
#undef ERROR_ROW
};

/* What a code of a newer library, or a number that never was one, gives. */
static const struct kl_base_error_info error_unknown = {0, NONE, "KL_E?",
                                                        "unknown error"};

const struct kl_base_error_info *kl_base_error_lookup(int code)
{
    size_t i;

    for (i = 0; i < sizeof error_table / sizeof error_table[0]; i++) {
        if (error_table[i].code == code)
            return &error_table[i];
    }
    return &error_unknown;
}

const struct kl_base_error_info *kl_base_error_next(size_t *pos)
{
    if (*pos >= sizeof error_table / sizeof error_table[0])
        return NULL;
    return &error_table[(*pos)++];
}

int kl_base_error_set(struct kl_base_error *e, int code, const char *format,
                      ...)
{
    va_list args;

    if (!e)
        return code;
    e->code = code;
    va_start(args, format);
    kl_base_fmt_v(e->text, sizeof e->text, format, args);
    va_end(args);
    return code;
}

void kl_base_error_clear(struct kl_base_error *e)
{
    e->code = KL_OK;
    e->text[0] = '\0';
}

int kl_base_error_copy(const struct kl_base_error *e, char *buf, size_t size)
{
    size_t length = strlen(e->text);

    if (!buf || size == 0)
        return e->code;
    if (length >= size)
        length = size - 1;
    memcpy(buf, e->text, length);
    buf[length] = '\0';
    return e->code;
}
