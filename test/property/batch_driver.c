/*
 * The C side of batch.py. Reads descriptions on standard input and writes
 * results on standard output; all numbers are little-endian.
 *
 *   codecs   prints the numbers of the codecs of this build
 *   encode   batch -> frame, and the same frame uncompressed
 *   decode   frame -> code, CRC, records
 *
 *   batch:   attributes u32, base offset u64, leader epoch u32, records
 *   records: count u32, then each: time u64, key, value, header count u32,
 *            names and values
 *   bytes:   size u32, 2^32 - 1 for null
 *   decode gives each record its offset u64 in front
 */
#include "base/buf.h"
#include "base/cursor.h"
#include "batch/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADERS_MAX = 64, NULL_SIZE = -1 };
static const uint64_t SEED = 42;

static void fail(const char *what, int code)
{
    fprintf(stderr, "batch_driver: %s: error %d\n", what, code);
    exit(1);
}

static void read_input(struct kl_base_buf *in)
{
    uint8_t part[65536];
    size_t n;

    while ((n = fread(part, 1, sizeof part, stdin)) > 0)
        kl_base_buf_append(in, part, n);
    if (in->error || ferror(stdin))
        fail("reading", KL_EIO);
}

static const void *get_bytes(struct kl_base_cursor *c, uint32_t *size)
{
    *size = kl_base_cursor_get_le32(c);
    if (*size == (uint32_t)NULL_SIZE) {
        *size = 0;
        return NULL;
    }
    return kl_base_cursor_bytes(c, *size);
}

static void put_bytes(struct kl_base_buf *out, const void *data, uint32_t size)
{
    kl_base_buf_put_le32(out, data ? size : (uint32_t)NULL_SIZE);
    kl_base_buf_append(out, data, size);
}

static void get_record(struct kl_base_cursor *c, struct kl_batch_input *in,
                       struct kl_batch_header headers[HEADERS_MAX])
{
    uint32_t i;

    in->timestamp = (int64_t)kl_base_cursor_get_le64(c);
    in->key = get_bytes(c, &in->key_size);
    in->value = get_bytes(c, &in->value_size);
    in->headers = headers;
    in->header_count = kl_base_cursor_get_le32(c);
    if (in->header_count > HEADERS_MAX)
        fail("headers", KL_EINVAL);
    for (i = 0; i < in->header_count; i++) {
        headers[i].name = get_bytes(c, &headers[i].name_size);
        headers[i].value = get_bytes(c, &headers[i].value_size);
    }
}

static void encode(struct kl_base_cursor c, int16_t attributes,
                   int64_t base_offset, int32_t leader_epoch,
                   struct kl_base_buf *out, size_t *used)
{
    struct kl_batch_header headers[HEADERS_MAX];
    struct kl_batch_builder builder;
    struct kl_batch_input in;
    struct kl_batch_info info;
    struct kl_base_chunk *chunk;
    uint32_t count = kl_base_cursor_get_le32(&c);
    int rc;

    kl_batch_builder_init(&builder, &kl_base_alloc_libc);
    while (count-- > 0) {
        get_record(&c, &in, headers);
        rc = kl_batch_builder_append(&builder, KL_BATCH_SIZE_MAX, 256, &in);
        if (rc != 0)
            fail("append", rc);
    }
    rc = kl_batch_builder_finish(&builder, SEED, attributes, &chunk);
    if (rc != 0)
        fail("finish", rc);
    kl_batch_frame_stamp(chunk->data, SEED, base_offset, leader_epoch);
    rc = kl_batch_frame_verify(chunk->data, chunk->size, SEED, &info);
    if (rc != 0)
        fail("verify", rc);
    put_bytes(out, chunk->data, chunk->size);
    kl_base_buf_put_le32(out, kl_batch_frame_crc(chunk->data, &info));
    kl_base_chunk_unref(chunk);
    *used = c.pos;
}

static void encode_all(struct kl_base_cursor *c, struct kl_base_buf *out)
{
    while (c->pos < c->size) {
        int16_t attributes = (int16_t)kl_base_cursor_get_le32(c);
        int64_t base_offset = (int64_t)kl_base_cursor_get_le64(c);
        int32_t leader_epoch = (int32_t)kl_base_cursor_get_le32(c);
        int16_t plain = (int16_t)(attributes & ~KL_BATCH_ATTR_CODEC);
        size_t used;

        encode(*c, attributes, base_offset, leader_epoch, out, &used);
        encode(*c, plain, base_offset, leader_epoch, out, &used);
        c->pos = used;
    }
}

static void put_record(struct kl_base_buf *out, const struct kl_batch_record *r)
{
    struct kl_batch_header header;
    uint32_t i;

    kl_base_buf_put_le64(out, (uint64_t)r->offset);
    kl_base_buf_put_le64(out, (uint64_t)r->timestamp);
    put_bytes(out, r->key, r->key_size);
    put_bytes(out, r->value, r->value_size);
    kl_base_buf_put_le32(out, r->header_count);
    for (i = 0; i < r->header_count; i++) {
        int rc = kl_batch_record_header(r, i, &header);

        if (rc != 0)
            fail("header", rc);
        put_bytes(out, header.name, header.name_size);
        put_bytes(out, header.value, header.value_size);
    }
}

/* The frame is a copy of exact size, for a sanitizer to watch. */
static void decode(const uint8_t *frame, uint32_t size, struct kl_base_buf *out)
{
    struct kl_batch_iter it;
    struct kl_batch_record r;
    struct kl_base_buf records;
    uint32_t count = 0;
    uint32_t crc = 0;
    int rc;

    kl_base_buf_init(&records, &kl_base_alloc_libc);
    rc = kl_batch_iter_init(&it, &kl_base_alloc_libc, frame, size, 1 << 24);
    if (rc == 0) {
        crc = kl_batch_frame_crc(frame, &it.info);
        while ((rc = kl_batch_iter_next(&it, &r)) == 0) {
            put_record(&records, &r);
            count++;
        }
        kl_batch_iter_deinit(&it);
    }
    kl_base_buf_put_le32(out, (uint32_t)rc);
    kl_base_buf_put_le32(out, crc);
    kl_base_buf_put_le32(out, count);
    kl_base_buf_append(out, records.data, records.size);
    kl_base_buf_deinit(&records);
}

static void decode_all(struct kl_base_cursor *c, struct kl_base_buf *out)
{
    while (c->pos < c->size) {
        uint32_t size;
        const void *frame = get_bytes(c, &size);
        uint8_t *copy = malloc(size > 0 ? size : 1);

        if (!copy || !frame)
            fail("frame", KL_EINVAL);
        memcpy(copy, frame, size);
        decode(copy, size, out);
        free(copy);
    }
}

static void print_codecs(struct kl_base_buf *out)
{
    static const char *const names[] = {"none", "lz4", "zstd"};
    enum kl_batch_codec codec;
    size_t i;

    for (i = 0; i < 3; i++) {
        if (kl_batch_codec_by_name(names[i], &codec) == 0)
            kl_base_buf_printf(out, "%d ", (int)codec);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc == 2 ? argv[1] : "";
    struct kl_base_buf in;
    struct kl_base_buf out;
    struct kl_base_cursor c;

    kl_base_buf_init(&in, &kl_base_alloc_libc);
    kl_base_buf_init(&out, &kl_base_alloc_libc);
    read_input(&in);
    kl_base_cursor_init(&c, in.data, in.size);
    if (strcmp(mode, "codecs") == 0)
        print_codecs(&out);
    else if (strcmp(mode, "encode") == 0)
        encode_all(&c, &out);
    else if (strcmp(mode, "decode") == 0)
        decode_all(&c, &out);
    else
        fail("mode", KL_EINVAL);
    if (c.failed || out.error)
        fail("input", KL_EINVAL);
    if (out.size > 0 && fwrite(out.data, 1, out.size, stdout) != out.size)
        fail("writing", KL_EIO);
    kl_base_buf_deinit(&in);
    kl_base_buf_deinit(&out);
    return fflush(stdout) == 0 ? 0 : 1;
}
