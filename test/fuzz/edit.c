/*
 * Each edit: a byte for what, a byte for the file, two bytes for the place
 * among what is not zero, then what it needs.
 */
#include "edit.h"

#include "fixup.h"

#include "base/endian.h"

#include <stdlib.h>

/* ---- one file ------------------------------------------------------------ */

const uint8_t *edit_bytes(const struct edit *e, size_t file, size_t *size_out)
{
    *size_out = e->data[file] ? e->size[file] : e->image->files[file].size;
    if (e->is_gone[file])
        return NULL;
    return e->data[file] ? e->data[file] : e->image->files[file].data;
}

/* A copy that may be written to; there is room to grow. */
static uint8_t *edit_writable(struct edit *e, size_t file)
{
    const struct image_file *f = &e->image->files[file];

    if (!e->data[file]) {
        e->data[file] = calloc(1, f->size + EDIT_GROW);
        FUZZ_CHECK(e->data[file]);
        memcpy(e->data[file], f->data, f->size);
        e->size[file] = f->size;
    }
    return e->data[file];
}

static void edit_set(struct edit *e, size_t file, size_t at, const void *data,
                     size_t size)
{
    uint8_t *to = edit_writable(e, file);

    if (at >= e->size[file])
        return;
    if (size > e->size[file] - at)
        size = e->size[file] - at;
    memcpy(to + at, data, size);
}

static size_t edit_take_place(const struct edit *e, struct fuzz_input *in,
                              size_t file)
{
    const struct image_file *f = &e->image->files[file];
    unsigned place = fuzz_take16(in);

    if (f->cell_count == 0)
        return 0;
    return f->cells[place / IMAGE_CELL % f->cell_count] + place % IMAGE_CELL;
}

int edit_has_changed(const struct edit *e, size_t file, uint64_t offset,
                     uint64_t size)
{
    size_t now;
    const uint8_t *data = edit_bytes(e, file, &now);

    return !data || now < offset + size ||
           memcmp(data + offset, e->image->files[file].data + offset,
                  (size_t)size) != 0;
}

/* ---- what can happen ----------------------------------------------------- */

static void edit_resize(struct edit *e, size_t file, size_t size)
{
    uint8_t *data = edit_writable(e, file);
    size_t most = e->image->files[file].size + EDIT_GROW;

    if (size > most)
        size = most;
    if (size < e->size[file])
        memset(data + size, 0, e->size[file] - size);
    e->size[file] = size;
}

/* A block of another file, or from elsewhere in this one: written to the wrong
 * place, or an old one that was never written over. */
static void edit_misplace(struct edit *e, size_t file, size_t at, size_t from,
                          size_t from_at)
{
    uint8_t block[KL_STORE_BLOCK] = {0};
    size_t size;
    const uint8_t *data = edit_bytes(e, from, &size);

    at -= at % 512;
    from_at -= from_at % 512;
    if (!data || from_at >= size)
        return;
    size = size - from_at < sizeof block ? size - from_at : sizeof block;
    memcpy(block, data + from_at, size);
    edit_set(e, file, at, block, size);
}

static void edit_exchange(struct edit *e, size_t a, size_t b)
{
    size_t a_size, b_size;
    const uint8_t *data = edit_bytes(e, a, &a_size);
    uint8_t *copy = calloc(1, a_size + 1);

    FUZZ_CHECK(copy);
    if (data)
        memcpy(copy, data, a_size);
    data = edit_bytes(e, b, &b_size);
    edit_resize(e, a, b_size);
    if (data)
        edit_set(e, a, 0, data, b_size);
    edit_resize(e, b, a_size);
    edit_set(e, b, 0, copy, a_size);
    free(copy);
}

static size_t edit_take_file(const struct edit *e, const char *only,
                             struct fuzz_input *in)
{
    size_t file = fuzz_take8(in) % e->image->file_count;

    while (!strstr(e->image->files[file].path, only))
        file = (file + 1) % e->image->file_count;
    return file;
}

static void edit_take_one(struct edit *e, const char *only,
                          struct fuzz_input *in)
{
    unsigned what = fuzz_take8(in);
    size_t file = edit_take_file(e, only, in), other;
    size_t at = edit_take_place(e, in, file);
    uint8_t bytes[512] = {0};
    const uint8_t *data;
    size_t size;

    switch (what % 8) {
    case 0: /* a bit */
        data = edit_bytes(e, file, &size);
        if (!data || at >= size)
            return;
        bytes[0] = data[at] ^ (uint8_t)(1u << what / 8 % 8);
        edit_set(e, file, at, bytes, 1);
        break;
    case 1: /* bytes */
        size = fuzz_take(in, 1 + what / 8 % 16, &data);
        edit_set(e, file, at, data, size);
        break;
    case 2: /* a sector of zeros, or of ones */
        memset(bytes, what & 8 ? 0xff : 0, sizeof bytes);
        edit_set(e, file, at - at % 512, bytes, sizeof bytes);
        break;
    case 3:
        edit_resize(e, file, at);
        break;
    case 4:
        edit_resize(e, file, e->image->files[file].size + at);
        break;
    case 5:
        other = edit_take_file(e, only, in);
        edit_misplace(e, file, at, other, edit_take_place(e, in, other));
        break;
    case 6:
        edit_exchange(e, file, edit_take_file(e, only, in));
        break;
    case 7:
        e->is_gone[file] = what & 8 ? 1 : e->is_gone[file];
        break;
    }
}

/* ---- checksums ----------------------------------------------------------- */

/* The seed of the log that a path leads to: data/logs/<topic>-<partition>. */
static uint64_t edit_seed(const char *path)
{
    struct kl_store_id id = {0};

    path = strstr(path, "/logs/") + 6;
    FUZZ_CHECK(kl_base_uuid_parse(path, &id.topic_id) == 0);
    id.partition = (int32_t)strtol(path + KL_BASE_UUID_TEXT + 1, NULL, 10);
    return kl_batch_seed(&id.topic_id, id.partition);
}

/* The frames of a group, as far as its entries agree with its size. */
static void edit_sum_frames(uint8_t *group, size_t size)
{
    uint32_t count = kl_base_get_le32(group + 56);
    uint64_t at = KL_STORE_GROUP_HEADER + (uint64_t)count * 64;

    for (uint32_t i = 0; i < count && at < size; i++) {
        const uint8_t *entry = group + KL_STORE_GROUP_HEADER + i * 64u;
        uint32_t frame = kl_base_get_le32(entry + 36);
        struct kl_base_uuid topic;

        if (frame > size - at)
            return;
        memcpy(topic.bytes, entry + 40, 16);
        fixup_frame(
            group + at, frame,
            kl_batch_seed(&topic, (int32_t)kl_base_get_le32(entry + 56)),
            FIXUP_SUMS);
        at += frame;
    }
}

/* Groups are chained: each names the checksum of the one before. */
static void edit_sum_wal(struct edit *e)
{
    for (size_t i = 0; i < e->image->group_count; i++) {
        const struct image_group *g = &e->image->groups[i];
        const struct image_group *before = g - 1;
        uint8_t *data = edit_writable(e, g->file);
        size_t size = e->size[g->file];

        if (g->offset + KL_STORE_BLOCK > size)
            continue;
        if (i > 0 && e->size[before->file] >= before->offset + 16)
            memcpy(data + g->offset + 40,
                   e->data[before->file] + before->offset + 8, 8);
        edit_sum_frames(data + g->offset, size - g->offset);
        fixup_group(data + g->offset, size - g->offset);
    }
}

static void edit_sum_file(struct edit *e, size_t file)
{
    const char *path = e->image->files[file].path;
    uint8_t *data = e->data[file];
    size_t size = e->size[file];

    if (strstr(path, "/identity"))
        fixup_envelope(data, size, KL_STORE_MAGIC_IDENTITY, FIXUP_SUMS);
    else if (strstr(path, "/checkpoint."))
        fixup_envelope(data, size, KL_STORE_MAGIC_SLOT, FIXUP_SUMS);
    else if (strstr(path, "/manifest"))
        fixup_envelope(data, size, KL_STORE_MAGIC_MANIFEST, FIXUP_SUMS);
    else if (strstr(path, ".idx"))
        for (size_t at = 0; at + KL_STORE_BLOCK <= size; at += KL_STORE_BLOCK)
            fixup_index_block(data + at);
    else if (strstr(path, ".seg") && size >= KL_STORE_BLOCK) {
        fixup_segment_header(data);
        fixup_frames(data + KL_STORE_BLOCK, size - KL_STORE_BLOCK,
                     edit_seed(path), FIXUP_SUMS);
    }
}

static void edit_sums(struct edit *e)
{
    int is_wal = 0;

    for (size_t i = 0; i < e->image->file_count; i++) {
        if (!e->data[i])
            continue;
        edit_sum_file(e, i);
        is_wal |= strstr(e->image->files[i].path, "/wal/") != NULL;
    }
    if (is_wal)
        edit_sum_wal(e);
}

/* ---- all of it ----------------------------------------------------------- */

void edit_take(struct edit *e, const struct image *image, const char *only,
               int with_sums, struct fuzz_input *in)
{
    memset(e, 0, sizeof *e);
    e->image = image;
    while (in->size > 0 && e->count++ < EDIT_MAX)
        edit_take_one(e, only, in);
    if (with_sums)
        edit_sums(e);
}

void edit_free(struct edit *e)
{
    for (size_t i = 0; i < e->image->file_count; i++)
        free(e->data[i]);
}

int edit_count(const struct edit *e, const char *part)
{
    int count = 0;

    for (size_t i = 0; i < e->image->file_count; i++)
        count += (e->data[i] || e->is_gone[i]) &&
                 strstr(e->image->files[i].path, part);
    return count;
}

void edit_install(const struct edit *e, struct store_fixture *f)
{
    for (size_t i = 0; i < e->image->file_count; i++) {
        size_t size;
        const uint8_t *data = edit_bytes(e, i, &size);

        if (data)
            image_fixture_put(f, e->image->files[i].path, data, size);
    }
}
