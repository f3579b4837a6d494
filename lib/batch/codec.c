/*
 * Codecs by name and number. Memory for decompressing is bounded by the output
 * limit, whatever the compressed bytes claim.
 */
#include "batch/codec.h"

#include <string.h>

int kl_batch_codec_by_name(const char *name, enum kl_batch_codec *out)
{
    if (strcmp(name, "none") == 0) {
        *out = KL_BATCH_CODEC_NONE;
        return 0;
    }
    if (strcmp(name, "lz4") == 0) {
#ifdef KL_HAVE_LZ4
        *out = KL_BATCH_CODEC_LZ4;
        return 0;
#else
        return KL_EUNSUPPORTED;
#endif
    }
    if (strcmp(name, "zstd") == 0) {
#ifdef KL_HAVE_ZSTD
        *out = KL_BATCH_CODEC_ZSTD;
        return 0;
#else
        return KL_EUNSUPPORTED;
#endif
    }
    return KL_ECONFIG;
}

int kl_batch_codec_reserve(struct kl_base_buf *out, size_t size)
{
    uint8_t *data;

    if (size == 0 && !out->data)
        size = 1;
    if (size <= out->capacity - out->size)
        return 0;
    if (size > SIZE_MAX - out->size)
        return KL_ENOMEM;
    data =
        kl_base_realloc(out->alloc, out->data, out->capacity, out->size + size);
    if (!data)
        return KL_ENOMEM;
    out->data = data;
    out->capacity = out->size + size;
    return 0;
}

int kl_batch_codec_compress(enum kl_batch_codec codec, const void *data,
                            size_t size, struct kl_base_buf *out)
{
    switch ((int)codec) {
    case KL_BATCH_CODEC_NONE:
        kl_base_buf_append(out, data, size);
        return out->error;
#ifdef KL_HAVE_LZ4
    case KL_BATCH_CODEC_LZ4:
        return kl_batch_lz4_compress(data, size, out);
#endif
#ifdef KL_HAVE_ZSTD
    case KL_BATCH_CODEC_ZSTD:
        return kl_batch_zstd_compress(data, size, out);
#endif
    default:
        return KL_EUNSUPPORTED;
    }
}

int kl_batch_codec_decompress(enum kl_batch_codec codec, const void *data,
                              size_t size, size_t limit,
                              struct kl_base_buf *out)
{
    switch ((int)codec) {
    case KL_BATCH_CODEC_NONE:
        if (size > limit)
            return KL_EBATCH;
        kl_base_buf_append(out, data, size);
        return out->error;
#ifdef KL_HAVE_LZ4
    case KL_BATCH_CODEC_LZ4:
        return kl_batch_lz4_decompress(data, size, limit, out);
#endif
#ifdef KL_HAVE_ZSTD
    case KL_BATCH_CODEC_ZSTD:
        return kl_batch_zstd_decompress(data, size, limit, out);
#endif
    default:
        return KL_EUNSUPPORTED;
    }
}
