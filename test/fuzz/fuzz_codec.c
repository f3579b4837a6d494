/*
 * The codecs alone. Input: the codec and the direction, the limit, then what
 * is to be packed or unpacked.
 */
#include "batch/batch.h"
#include "fuzz.h"

#ifdef KL_HAVE_LZ4
#include <lz4frame.h>
#endif
#include <stdlib.h>
#include <string.h>

enum { CODEC_MEMORY = 512 * 1024, CODEC_LIMIT_MAX = 128 * 1024 };

static const enum kl_batch_codec codecs[] = {
    KL_BATCH_CODEC_NONE, KL_BATCH_CODEC_LZ4, KL_BATCH_CODEC_ZSTD};

static const char head[] = "in front";

/* What lz4's own decoder makes of one whole frame must be the same. It also
 * looks at the checksums inside, and takes empty blocks behind the last byte.
 */
static void codec_compare(enum kl_batch_codec codec, const uint8_t *data,
                          size_t size, const struct kl_base_buf *ours, int rc)
{
#ifdef KL_HAVE_LZ4
    static uint8_t plain[CODEC_LIMIT_MAX];
    LZ4F_dctx *context;
    size_t room = sizeof plain, taken = size, more;

    if (codec != KL_BATCH_CODEC_LZ4 || size < 7 || !(data[4] & 0x20))
        return;
    FUZZ_CHECK(
        !LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)));
    more = LZ4F_decompress(context, plain, &room, data, &taken, NULL);
    LZ4F_freeDecompressionContext(context);
    if (more != 0 || taken != size || memcmp(data, "\x04\x22\x4d\x18", 4) != 0)
        return;
    if (rc == 0)
        FUZZ_CHECK(ours->size == sizeof head + room &&
                   memcmp(ours->data + sizeof head, plain, room) == 0);
#else
    (void)codec, (void)data, (void)size, (void)ours, (void)rc;
#endif
}

static void codec_unpack(enum kl_batch_codec codec, const uint8_t *data,
                         size_t size, size_t limit)
{
    struct kl_base_buf out;
    int rc;

    kl_base_buf_init(&out, &fuzz_alloc);
    kl_base_buf_append(&out, head, sizeof head);
    rc = kl_batch_codec_decompress(codec, data, size, limit, &out);
    FUZZ_CHECK(rc == 0 || rc == KL_EBATCH || rc == KL_ECORRUPT ||
               rc == KL_EUNSUPPORTED);
    FUZZ_CHECK(out.size <= sizeof head + limit);
    FUZZ_CHECK(rc == 0 || out.size == sizeof head);
    FUZZ_CHECK(memcmp(out.data, head, sizeof head) == 0);
    FUZZ_CHECK(fuzz_alloc_peak() <= 2 * limit + CODEC_MEMORY);
    codec_compare(codec, data, size, &out, rc);
    kl_base_buf_deinit(&out);
}

/* What was packed comes out again, with exactly its size as the limit. */
static void codec_pack(enum kl_batch_codec codec, const uint8_t *data,
                       size_t size)
{
    struct kl_base_buf packed, plain;
    int rc;

    kl_base_buf_init(&packed, &fuzz_alloc);
    kl_base_buf_init(&plain, &fuzz_alloc);
    rc = kl_batch_codec_compress(codec, data, size, &packed);
    FUZZ_CHECK(rc == 0 || rc == KL_EUNSUPPORTED);
    if (rc == 0) {
        FUZZ_CHECK(kl_batch_codec_decompress(codec, packed.data, packed.size,
                                             size, &plain) == 0);
        FUZZ_CHECK(plain.size == size &&
                   (size == 0 || memcmp(plain.data, data, size) == 0));
        FUZZ_CHECK(size == 0 ||
                   kl_batch_codec_decompress(codec, packed.data, packed.size,
                                             size - 1, &plain) == KL_EBATCH);
        FUZZ_CHECK(plain.size == size);
    }
    kl_base_buf_deinit(&packed);
    kl_base_buf_deinit(&plain);
}

static void codec_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned what = fuzz_take8(&in);
    size_t limit = (size_t)fuzz_take16(&in) * 2;
    enum kl_batch_codec codec = codecs[(what & 0x7f) % 3];
    uint8_t *copy = fuzz_take_copy(&in, &size);

    fuzz_alloc_begin(SIZE_MAX);
    if (what & 0x80)
        codec_pack(codec, copy, size);
    else
        codec_unpack(codec, copy, size, limit);
    fuzz_alloc_end();
    free(copy);
}

static void codec_seed(struct fuzz_seeds *seeds, int what, uint16_t limit,
                       const void *data, size_t size)
{
    uint8_t input[1024] = {(uint8_t)what, (uint8_t)limit,
                           (uint8_t)(limit >> 8)};

    FUZZ_CHECK(size <= sizeof input - 3);
    memcpy(input + 3, data, size);
    seeds->emit(seeds, input, 3 + size);
}

/* Equal bytes, bytes that do not compress, and text. */
static void codec_plain(int kind, uint8_t *out, size_t size)
{
    static const char text[] = "some text, ";

    for (size_t i = 0; i < size; i++) {
        out[i] = 'a';
        if (kind == 1)
            out[i] = (uint8_t)(i * i * 31 >> 3);
        if (kind == 2)
            out[i] = (uint8_t)text[i % (sizeof text - 1)];
    }
}

static void codec_seeds(struct fuzz_seeds *seeds)
{
    uint8_t plain[600];
    struct kl_base_buf packed;

    for (int i = 0; i < 9; i++) {
        int what = i % 3;

        codec_plain(i / 3, plain, sizeof plain);
        codec_seed(seeds, 0x80 + what, 0, plain, sizeof plain);
        kl_base_buf_init(&packed, &kl_base_alloc_libc);
        if (kl_batch_codec_compress(codecs[what], plain, sizeof plain,
                                    &packed) == 0) {
            codec_seed(seeds, what, 0xffff, packed.data, packed.size);
            codec_seed(seeds, what, 300, packed.data, packed.size);
            codec_seed(seeds, what, 299, packed.data, packed.size);
        }
        kl_base_buf_deinit(&packed);
    }
}

const struct fuzz_target fuzz_codec = {"codec", codec_run, codec_seeds, 2000};
