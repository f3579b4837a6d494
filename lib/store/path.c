/*
 * Names of files, and the two ways of dealing with small ones as a whole.
 * Names are made from identifiers of ours, never from a topic's name.
 */
#include "store/snapshot.h"

#include <string.h>

static char *path_text(char *p, char *end, const char *text)
{
    while (*text && p < end - 1)
        *p++ = *text++;
    *p = 0;
    return p;
}

static char *path_number(char *p, char *end, uint64_t value, int width)
{
    char digits[20];
    int count = 0;

    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0 || count < width);
    while (count > 0 && p < end - 1)
        *p++ = digits[--count];
    *p = 0;
    return p;
}

void kl_store_path_text(char path[KL_STORE_PATH_MAX], const char *text)
{
    path_text(path + strlen(path), path + KL_STORE_PATH_MAX, text);
}

void kl_store_path_number(char path[KL_STORE_PATH_MAX], uint64_t value)
{
    path_number(path + strlen(path), path + KL_STORE_PATH_MAX, value, 1);
}

void kl_store_path(const struct kl_store *s, const char *name,
                   char out[KL_STORE_PATH_MAX])
{
    char *end = out + KL_STORE_PATH_MAX;
    char *p = path_text(out, end, s->path);

    if (name) {
        p = path_text(p, end, "/");
        path_text(p, end, name);
    }
}

void kl_store_path_wal(const struct kl_store *s, uint32_t file,
                       char out[KL_STORE_PATH_MAX])
{
    kl_store_path(s, "wal/", out);
    path_number(out + strlen(out), out + KL_STORE_PATH_MAX, file, 1);
}

static char *path_log(const struct kl_store_log *log, char *out, char *end)
{
    char id[KL_BASE_UUID_TEXT + 1];
    char *p;

    kl_store_path(log->store, "logs/", out);
    kl_base_uuid_format(&log->id.topic_id, id);
    p = path_text(out + strlen(out), end, id);
    p = path_text(p, end, "-");
    p = path_number(p, end, (uint64_t)log->id.partition, 1);
    p = path_text(p, end, ".");
    return path_number(p, end, log->instance, 1);
}

void kl_store_path_log(const struct kl_store_log *log,
                       char out[KL_STORE_PATH_MAX])
{
    path_log(log, out, out + KL_STORE_PATH_MAX);
}

void kl_store_path_in_log(const struct kl_store_log *log, const char *name,
                          char out[KL_STORE_PATH_MAX])
{
    char *end = out + KL_STORE_PATH_MAX;
    char *p = path_log(log, out, end);

    p = path_text(p, end, "/");
    path_text(p, end, name);
}

void kl_store_path_segment(const struct kl_store_log *log, int64_t base,
                           const char *suffix, char out[KL_STORE_PATH_MAX])
{
    char *end = out + KL_STORE_PATH_MAX;
    char *p = path_log(log, out, end);

    p = path_text(p, end, "/");
    p = path_number(p, end, (uint64_t)base, 20);
    p = path_text(p, end, ".");
    path_text(p, end, suffix);
}

static int path_parse_number(const char **p, uint64_t *out)
{
    const char *start = *p;

    *out = 0;
    while (**p >= '0' && **p <= '9' && *p - start < 20)
        *out = *out * 10 + (uint64_t)(*(*p)++ - '0');
    return *p > start;
}

int kl_store_path_parse(const char *name, struct kl_store_id *id_out,
                        uint64_t *instance_out)
{
    const char *p = name + KL_BASE_UUID_TEXT;
    uint64_t partition;

    memset(id_out, 0, sizeof *id_out);
    if (strlen(name) < KL_BASE_UUID_TEXT + 4 ||
        kl_base_uuid_parse(name, &id_out->topic_id) || *p++ != '-' ||
        !path_parse_number(&p, &partition) || partition > INT32_MAX ||
        *p++ != '.' || !path_parse_number(&p, instance_out) || *p)
        return 0;
    id_out->partition = (int32_t)partition;
    return 1;
}

/* A number of exactly so many digits. */
static int path_parse_digits(const char *digits, int width, int64_t max,
                             int64_t *out)
{
    int64_t value = 0;

    for (int i = 0; i < width; i++) {
        int64_t digit = digits[i] - '0';

        if (digits[i] < '0' || digits[i] > '9' || value > (max - digit) / 10)
            return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return 1;
}

int kl_store_path_base(const char *name, int64_t *base_out)
{
    return strlen(name) == 24 && strcmp(name + 20, ".seg") == 0 &&
           path_parse_digits(name, 20, INT64_MAX, base_out);
}

void kl_store_path_snapshot(const struct kl_store *s, const char *folder,
                            int64_t end, int32_t epoch,
                            char out[KL_STORE_PATH_MAX])
{
    char *last = out + KL_STORE_PATH_MAX;
    char *p;

    kl_store_path(s, folder, out);
    p = path_text(out + strlen(out), last, "/");
    p = path_number(p, last, (uint64_t)end, 20);
    p = path_text(p, last, "-");
    p = path_number(p, last, (uint64_t)epoch, 10);
    path_text(p, last, ".snap");
}

int kl_store_path_is_snapshot(const char *name, int64_t *end_out,
                              int32_t *epoch_out)
{
    int64_t epoch;

    if (strlen(name) != 36 || name[20] != '-' ||
        strcmp(name + 31, ".snap") != 0 ||
        !path_parse_digits(name, 20, INT64_MAX, end_out) ||
        !path_parse_digits(name + 21, 10, INT32_MAX, &epoch))
        return 0;
    *epoch_out = (int32_t)epoch;
    return 1;
}

int kl_store_file_read(struct kl_os_vfs *vfs, const char *path, size_t limit,
                       struct kl_base_buf *buf)
{
    struct kl_os_file *file;
    uint64_t size;
    size_t got;
    uint8_t *data;
    int rc = vfs->ops->open(vfs, path, KL_OS_READ, &file);

    kl_base_buf_clear(buf);
    if (rc)
        return rc;
    rc = vfs->ops->size(file, &size);
    if (rc == 0 && size > limit)
        rc = KL_ECORRUPT;
    if (rc == 0 && size > 0) {
        data = kl_base_buf_extend(buf, (size_t)size);
        rc = data ? vfs->ops->read(file, data, (size_t)size, 0, &got)
                  : KL_ENOMEM;
        if (rc == 0)
            buf->size = got;
    }
    vfs->ops->close(file);
    return rc;
}

static void path_aside(const char *path, char out[KL_STORE_PATH_MAX])
{
    char *end = out + KL_STORE_PATH_MAX;

    path_text(path_text(out, end, path), end, ".new");
}

int kl_store_file_aside(struct kl_os_vfs *vfs, const char *path,
                        const struct kl_base_buf *buf, int is_synced)
{
    char aside[KL_STORE_PATH_MAX];
    struct kl_os_iovec part = {buf->data, buf->size};
    struct kl_os_file *file;
    int rc, closed;

    if (buf->error)
        return buf->error;
    path_aside(path, aside);
    /* A crash in a rename may leave both names to one file: emptying the one
     * that is aside would empty the other. */
    rc = vfs->ops->unlink(vfs, aside);
    if (rc && rc != KL_ENOENT)
        return rc;
    rc = vfs->ops->open(vfs, aside, KL_OS_WRITE | KL_OS_CREATE | KL_OS_TRUNCATE,
                        &file);
    if (rc)
        return rc;
    rc = vfs->ops->write(file, &part, 1, 0, NULL);
    if (rc == 0 && is_synced)
        rc = kl_store_sync(file);
    closed = vfs->ops->close(file);
    return rc ? rc : closed;
}

int kl_store_file_put(struct kl_os_vfs *vfs, const char *path)
{
    char aside[KL_STORE_PATH_MAX];

    path_aside(path, aside);
    return vfs->ops->rename(vfs, aside, path);
}

int kl_store_file_replace(struct kl_os_vfs *vfs, const char *path,
                          const struct kl_base_buf *buf)
{
    /* Sync before rename: a crash in between must show the old file, never an
     * empty new one. */
    int rc = kl_store_file_aside(vfs, path, buf, 1);

    return rc ? rc : kl_store_file_put(vfs, path);
}
