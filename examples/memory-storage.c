/*
 * memory-storage: a program that keeps the files of its node itself.
 *
 * Its disk is a list in memory, in the place of a flash without a file system
 * or the like. Records are written, the node is stopped, and another node finds
 * them on the same disk. kl_storage_new_memory makes such a storage by itself.
 */
#include <kraftlog/kraftlog.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct file
{
    struct file *next;
    char *path; /* NULL = removed while open */
    int is_folder;
    int open_count;
    unsigned char *data;
    uint64_t size;
    uint64_t capacity;
};

struct disk
{
    struct file *first;
};

/* ---- names --------------------------------------------------------------- */

static struct file **disk_find(struct disk *disk, const char *path)
{
    struct file **f = &disk->first;

    while (*f && strcmp((*f)->path, path) != 0)
        f = &(*f)->next;
    return f;
}

/* What is left of path behind the folder and its slash; NULL elsewhere. */
static const char *disk_below(const char *folder, const char *path)
{
    size_t size = strlen(folder);

    return strncmp(path, folder, size) == 0 && path[size] == '/'
               ? path + size + 1
               : NULL;
}

static int disk_add(struct disk *disk, const char *path, int is_folder,
                    struct file **out)
{
    struct file *f = calloc(1, sizeof *f);

    if (f && (f->path = strdup(path)) != NULL) {
        f->is_folder = is_folder;
        f->next = disk->first;
        disk->first = f;
        *out = f;
        return KL_OK;
    }
    free(f);
    return KL_ENOMEM;
}

/* Takes a name away; who has the file open keeps it. */
static void disk_drop(struct file **at)
{
    struct file *f = *at;

    *at = f->next;
    free(f->path);
    f->path = NULL;
    if (f->open_count > 0)
        return;
    free(f->data);
    free(f);
}

static int disk_mkdir(const char *path, void *user)
{
    struct file *made;

    return *disk_find(user, path) ? KL_EEXIST : disk_add(user, path, 1, &made);
}

static int disk_unlink(const char *path, void *user)
{
    struct file **at = disk_find(user, path);

    if (!*at)
        return KL_ENOENT;
    disk_drop(at);
    return KL_OK;
}

static int disk_rmdir(const char *path, void *user)
{
    for (struct file *f = ((struct disk *)user)->first; f; f = f->next)
        if (disk_below(path, f->path))
            return KL_EEXIST;
    return disk_unlink(path, user);
}

/* What is in a folder goes with it. */
static int disk_rename(const char *from, const char *to, void *user)
{
    if (!*disk_find(user, from))
        return KL_ENOENT;
    if (*disk_find(user, to))
        disk_drop(disk_find(user, to));
    for (struct file *f = ((struct disk *)user)->first; f; f = f->next) {
        size_t kept = strlen(from);
        char *path;

        if (strcmp(f->path, from) != 0 && !disk_below(from, f->path))
            continue;
        path = malloc(strlen(to) + strlen(f->path) - kept + 1);
        if (!path)
            return KL_ENOMEM;
        memcpy(path, to, strlen(to));
        memcpy(path + strlen(to), f->path + kept, strlen(f->path) - kept + 1);
        free(f->path);
        f->path = path;
    }
    return KL_OK;
}

static int disk_list(const char *path, kl_storage_names *names, void *user)
{
    int rc = *disk_find(user, path) ? KL_OK : KL_ENOENT;

    for (struct file *f = ((struct disk *)user)->first; f && !rc; f = f->next) {
        const char *name = disk_below(path, f->path);

        if (name && !strchr(name, '/'))
            rc = kl_storage_names_add(names, name);
    }
    return rc;
}

/* ---- files --------------------------------------------------------------- */

static int disk_truncate(void *file, uint64_t size, void *user)
{
    struct file *f = file;

    (void)user;
    if (size > f->capacity) {
        unsigned char *data = realloc(f->data, size + size / 2);

        if (!data)
            return KL_EDISKFULL;
        f->data = data;
        f->capacity = size + size / 2;
    }
    if (size > f->size)
        memset(f->data + f->size, 0, size - f->size);
    f->size = size;
    return KL_OK;
}

static int disk_open(const char *path, uint32_t flags, void **file_out,
                     void *user)
{
    struct file *f = *disk_find(user, path);
    int rc = KL_OK;

    if (f && f->is_folder)
        return KL_EIO;
    if (!f && !(flags & KL_STORAGE_CREATE))
        return KL_ENOENT;
    if (!f)
        rc = disk_add(user, path, 0, &f);
    else if (flags & KL_STORAGE_TRUNCATE)
        f->size = 0;
    if (rc == KL_OK) {
        f->open_count++;
        *file_out = f;
    }
    return rc;
}

static int disk_close(void *file, void *user)
{
    struct file *f = file;

    (void)user;
    if (--f->open_count == 0 && !f->path) {
        free(f->data);
        free(f);
    }
    return KL_OK;
}

static int disk_read(void *file, void *buf, size_t size, uint64_t offset,
                     size_t *size_out, void *user)
{
    const struct file *f = file;
    uint64_t left = offset < f->size ? f->size - offset : 0;

    (void)user;
    *size_out = size < left ? size : (size_t)left;
    if (*size_out > 0)
        memcpy(buf, f->data + offset, *size_out);
    return KL_OK;
}

static int disk_write(void *file, const void *const *parts,
                      const uint64_t *sizes, size_t count, uint64_t offset,
                      void *user)
{
    struct file *f = file;

    for (size_t i = 0; i < count; offset += sizes[i++]) {
        if (offset + sizes[i] > f->size &&
            disk_truncate(f, offset + sizes[i], user) != KL_OK)
            return KL_EDISKFULL;
        memcpy(f->data + offset, parts[i], sizes[i]);
    }
    return KL_OK;
}

static int disk_size(void *file, uint64_t *size_out, void *user)
{
    (void)user;
    *size_out = ((struct file *)file)->size;
    return KL_OK;
}

/* Memory is as durable as it gets. A disk waits here until the bytes are on the
 * medium, and says so only then. */
static int disk_sync(void *file, void *user)
{
    (void)file;
    (void)user;
    return KL_OK;
}

static int disk_sync_dir(const char *path, void *user)
{
    return *disk_find(user, path) || strcmp(path, ".") == 0 ? KL_OK : KL_ENOENT;
}

static int disk_storage(struct disk *disk, kl_storage **out)
{
    kl_storage *s;

    if (kl_storage_new(&s, NULL))
        return KL_ENOMEM;
    *out = s;
    return kl_storage_set_open(s, disk_open, disk) ||
           kl_storage_set_close(s, disk_close, disk) ||
           kl_storage_set_read(s, disk_read, disk) ||
           kl_storage_set_write(s, disk_write, disk) ||
           kl_storage_set_sync(s, disk_sync, disk) ||
           kl_storage_set_truncate(s, disk_truncate, disk) ||
           kl_storage_set_size(s, disk_size, disk) ||
           kl_storage_set_rename(s, disk_rename, disk) ||
           kl_storage_set_unlink(s, disk_unlink, disk) ||
           kl_storage_set_mkdir(s, disk_mkdir, disk) ||
           kl_storage_set_rmdir(s, disk_rmdir, disk) ||
           kl_storage_set_list(s, disk_list, disk) ||
           kl_storage_set_sync_dir(s, disk_sync_dir, disk);
}

/* ---- the program ----------------------------------------------------------
 */

/* A node on the disk, with one thread for files, so that the disk needs no
 * lock. */
static int words_open(kl_storage *storage, kl_node **node, kl_client **client)
{
    kl_config *config;
    int failed = kl_config_new(&config, NULL, NULL) ||
                 kl_config_set(config, "io.threads", "1") ||
                 kl_config_set(config, "wal.bytes", "256k") ||
                 kl_node_new(node, config) ||
                 kl_node_set_storage(*node, storage) ||
                 kl_node_open(*node, "words", KL_OPEN_CREATE) ||
                 kl_node_client(*node, client);

    kl_config_free(config);
    return failed;
}

static int words_write(kl_client *client)
{
    kl_producer *producer;
    kl_op *op;

    if (kl_admin_create_topic(client, "words", 1, 1, NULL, 0, &op) ||
        kl_op_wait(op, -1) || kl_producer_new(&producer, client, NULL))
        return 1;
    kl_op_free(op);
    for (const char *word = "abc"; *word; word++)
        if (kl_producer_send(producer, "words", 0, NULL, 0, word, 1,
                             KL_TIMESTAMP_NOW, 0, NULL))
            return 1;
    if (kl_producer_flush(producer, -1))
        return 1;
    kl_producer_free(producer);
    return 0;
}

static int words_print(kl_client *client)
{
    kl_consumer *consumer;
    kl_event *event = NULL;
    const kl_record *r;

    if (kl_consumer_new(&consumer, client, NULL) ||
        kl_consumer_assign(consumer, "words", 0, KL_OFFSET_BEGIN, 0))
        return 1;
    while (kl_event_type(event) != KL_EVENT_END) {
        kl_event_free(event);
        if (kl_consumer_poll(consumer, -1, &event))
            return 1;
        while (kl_event_next(event, &r) == KL_OK)
            printf("%lld %.1s\n", (long long)kl_record_offset(r),
                   (const char *)kl_record_value(r, NULL));
    }
    kl_event_free(event);
    kl_consumer_free(consumer);
    return 0;
}

int main(void)
{
    struct disk disk = {NULL};
    kl_storage *storage;
    kl_client *client;
    kl_node *node;

    if (disk_storage(&disk, &storage))
        return 1;
    for (int turn = 0; turn < 2; turn++) {
        if (words_open(storage, &node, &client) ||
            (turn ? words_print(client) : words_write(client)))
            return 1;
        kl_client_free(client);
        kl_node_stop(node, -1);
        kl_node_free(node);
    }
    kl_storage_free(storage);
    while (disk.first)
        disk_drop(&disk.first);
    return 0;
}
