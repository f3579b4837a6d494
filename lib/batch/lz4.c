/*
 * lz4, in the frame format that Kafka's clients write and read.
 *
 *   frame: magic u32, flags u8, block size u8, [content size u64], header
 *          checksum u8, blocks, zero u32, [content checksum u32]
 *   block: size u32 (highest bit: stored), bytes, [checksum u32]
 *
 * The frame is taken apart here and only its blocks are given to the library,
 * whose own frame decoder allocates up to 8 MiB out of our sight where a
 * hostile header asks for it. The xxHash32 checksums inside are not verified:
 * the bytes were covered by the checksum of the frame around them, or by the
 * CRC of the batch, and the block decoder stands any input.
 */
#include "base/cursor.h"
#include "batch/codec.h"

#ifdef KL_HAVE_LZ4

#include <lz4.h>
#include <lz4frame.h>
#include <string.h>

enum {
    LZ4_FRAME_VERSION = 0xc0, /* 01 */
    LZ4_FRAME_INDEPENDENT = 0x20,
    LZ4_FRAME_BLOCK_SUM = 0x10,
    LZ4_FRAME_CONTENT_SIZE = 0x08,
    LZ4_FRAME_CONTENT_SUM = 0x04,
    LZ4_FRAME_REFUSED = 0x03, /* reserved, dictionary */
    LZ4_FRAME_RATIO_MAX = 255
};
static const uint32_t lz4_magic = 0x184d2204;
static const uint32_t lz4_stored = 0x80000000;

struct lz4_frame
{
    struct kl_base_cursor in;
    uint8_t flags;
    size_t block_max;
    int has_size;
    uint64_t content_size; /* where has_size */
    struct kl_base_buf *out;
    size_t start;   /* of the output in out */
    size_t limit;   /* of the output */
    int limit_code; /* what it means to pass it */
};

int kl_batch_lz4_compress(const void *data, size_t size,
                          struct kl_base_buf *out)
{
    LZ4F_preferences_t prefs;
    size_t bound;
    size_t packed;
    int rc;

    memset(&prefs, 0, sizeof prefs);
    prefs.frameInfo.blockSizeID = LZ4F_max64KB;
    prefs.frameInfo.blockMode = LZ4F_blockIndependent;
    prefs.frameInfo.contentSize = size;

    bound = LZ4F_compressFrameBound(size, &prefs);
    rc = kl_batch_codec_reserve(out, bound);
    if (rc != 0)
        return rc;
    packed =
        LZ4F_compressFrame(out->data + out->size, bound, data, size, &prefs);
    if (LZ4F_isError(packed))
        return KL_ENOMEM;
    out->size += packed;
    return 0;
}

static int lz4_open(struct lz4_frame *f, const void *data, size_t size)
{
    uint8_t block;

    kl_base_cursor_init(&f->in, data, size);
    if (kl_base_cursor_get_le32(&f->in) != lz4_magic)
        return KL_ECORRUPT;
    f->flags = kl_base_cursor_get8(&f->in);
    if ((f->flags & LZ4_FRAME_VERSION) != 0x40 ||
        (f->flags & LZ4_FRAME_REFUSED) != 0 ||
        (f->flags & LZ4_FRAME_INDEPENDENT) == 0)
        return KL_ECORRUPT;
    block = kl_base_cursor_get8(&f->in);
    if ((block & 0x8f) != 0 || block < 0x40)
        return KL_ECORRUPT;
    f->block_max = (size_t)1 << (8 + 2 * (block >> 4)); /* 64 KiB to 4 MiB */
    f->has_size = (f->flags & LZ4_FRAME_CONTENT_SIZE) != 0;
    f->content_size = f->has_size ? kl_base_cursor_get_le64(&f->in) : 0;
    kl_base_cursor_get8(&f->in);
    return f->in.failed ? KL_ECORRUPT : 0;
}

static size_t lz4_done(const struct lz4_frame *f)
{
    return f->out->size - f->start;
}

/* Room for want bytes, which are within the limit. The content size saves
 * growing, and a lie about it costs no more than the input could give at
 * best; without one the room doubles. */
static int lz4_reserve(struct lz4_frame *f, size_t want)
{
    size_t done = lz4_done(f);
    size_t room = done;

    if (f->out->data && want <= f->out->capacity - f->out->size)
        return 0;
    if (f->has_size && f->in.size < SIZE_MAX / LZ4_FRAME_RATIO_MAX)
        room = f->in.size * LZ4_FRAME_RATIO_MAX;
    if (room > f->limit - done)
        room = f->limit - done;
    if (room < want)
        room = want;
    return kl_batch_codec_reserve(f->out, room);
}

static int lz4_unpack(struct lz4_frame *f, const uint8_t *bytes, uint32_t size)
{
    size_t left = f->limit - lz4_done(f);
    size_t want = (size_t)size * LZ4_FRAME_RATIO_MAX;
    const char *src = (const char *)bytes;
    char *dst;
    int n;
    int rc;

    if (want > f->block_max)
        want = f->block_max;
    if (want > left)
        want = left;
    rc = lz4_reserve(f, want);
    if (rc != 0)
        return rc;
    dst = (char *)f->out->data + f->out->size;
    n = LZ4_decompress_safe(src, dst, (int)size, (int)want);
    if (n >= 0) {
        f->out->size += (size_t)n;
        return 0;
    }

    /* A block that is too large for the limit fills what it is given, a bad
     * one does not. */
    if (want < left)
        return KL_ECORRUPT;
    n = LZ4_decompress_safe_partial(src, dst, (int)size, (int)want, (int)want);
    return n >= 0 && (size_t)n == want ? f->limit_code : KL_ECORRUPT;
}

static int lz4_copy(struct lz4_frame *f, const uint8_t *bytes, uint32_t size)
{
    int rc;

    if (size > f->limit - lz4_done(f))
        return f->limit_code;
    rc = lz4_reserve(f, size);
    if (rc != 0)
        return rc;
    memcpy(f->out->data + f->out->size, bytes, size);
    f->out->size += size;
    return 0;
}

static int lz4_blocks(struct lz4_frame *f)
{
    for (;;) {
        uint32_t word = kl_base_cursor_get_le32(&f->in);
        uint32_t size = word & ~lz4_stored;
        const uint8_t *bytes;
        int rc;

        if (f->in.failed || size > f->block_max)
            return KL_ECORRUPT;
        if (word == 0)
            return 0;
        bytes = kl_base_cursor_bytes(&f->in, size);
        if (!bytes)
            return KL_ECORRUPT;
        if (word & lz4_stored)
            rc = lz4_copy(f, bytes, size);
        else
            rc = lz4_unpack(f, bytes, size);
        if (rc != 0)
            return rc;
        if (f->flags & LZ4_FRAME_BLOCK_SUM)
            kl_base_cursor_get_le32(&f->in);
    }
}

int kl_batch_lz4_decompress(const void *data, size_t size, size_t limit,
                            struct kl_base_buf *out)
{
    struct lz4_frame f;
    int rc = lz4_open(&f, data, size);

    if (rc != 0)
        return rc;
    if (f.has_size && f.content_size > limit)
        return KL_EBATCH;
    f.out = out;
    f.start = out->size;
    f.limit = f.has_size ? (size_t)f.content_size : limit;
    f.limit_code = f.has_size ? KL_ECORRUPT : KL_EBATCH;

    rc = lz4_blocks(&f);
    if (rc == 0 && (f.flags & LZ4_FRAME_CONTENT_SUM))
        kl_base_cursor_get_le32(&f.in);
    if (rc == 0 && (f.in.failed || f.in.pos != f.in.size ||
                    (f.has_size && f.content_size != lz4_done(&f))))
        rc = KL_ECORRUPT;
    if (rc != 0)
        out->size = f.start;
    return rc;
}

#endif
