/*
 * zstd, one frame a batch. Decompressing in one shot needs no window, so that
 * memory is bounded by the output limit and the library's context.
 */
#include "batch/codec.h"

#ifdef KL_HAVE_ZSTD

/* For the allocator and the bound, which every shared libzstd exports. */
#define ZSTD_STATIC_LINKING_ONLY
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

/* zstd does not tell sizes when it frees: each block begins with its own. */
enum { ZSTD_BLOCK_HEAD = 16 };

static void *zstd_alloc(void *user, size_t size)
{
    uint8_t *block;

    if (size > SIZE_MAX - ZSTD_BLOCK_HEAD)
        return NULL;
    size += ZSTD_BLOCK_HEAD;
    block = kl_base_malloc(user, size);
    if (!block)
        return NULL;
    memcpy(block, &size, sizeof size);
    return block + ZSTD_BLOCK_HEAD;
}

static void zstd_free(void *user, void *ptr)
{
    uint8_t *block;
    size_t size;

    if (!ptr)
        return;
    block = (uint8_t *)ptr - ZSTD_BLOCK_HEAD;
    memcpy(&size, block, sizeof size);
    kl_base_free(user, block, size);
}

static ZSTD_customMem zstd_memory(const struct kl_base_alloc *alloc)
{
    ZSTD_customMem memory = {zstd_alloc, zstd_free, (void *)alloc};

    return memory;
}

int kl_batch_zstd_compress(const void *data, size_t size,
                           struct kl_base_buf *out)
{
    size_t bound = ZSTD_compressBound(size);
    ZSTD_CCtx *context;
    size_t packed;
    int rc;

    rc = kl_batch_codec_reserve(out, bound);
    if (rc != 0)
        return rc;
    context = ZSTD_createCCtx_advanced(zstd_memory(out->alloc));
    if (!context)
        return KL_ENOMEM;
    packed = ZSTD_compressCCtx(context, out->data + out->size, bound, data,
                               size, ZSTD_CLEVEL_DEFAULT);
    ZSTD_freeCCtx(context);
    if (ZSTD_isError(packed))
        return KL_ENOMEM;
    out->size += packed;
    return 0;
}

int kl_batch_zstd_decompress(const void *data, size_t size, size_t limit,
                             struct kl_base_buf *out)
{
    unsigned long long content = ZSTD_getFrameContentSize(data, size);
    unsigned long long bound;
    ZSTD_DCtx *context;
    size_t room;
    size_t plain;
    int rc;

    /* One frame and nothing else: no skipped, appended or legacy ones. */
    if (content == ZSTD_CONTENTSIZE_ERROR || size < 4 ||
        memcmp(data, "\x28\xb5\x2f\xfd", 4) != 0 ||
        ZSTD_findFrameCompressedSize(data, size) != size)
        return KL_ECORRUPT;
    if (content != ZSTD_CONTENTSIZE_UNKNOWN && content > limit)
        return KL_EBATCH;
    bound = ZSTD_decompressBound(data, size);
    if (bound == ZSTD_CONTENTSIZE_ERROR)
        return KL_ECORRUPT;
    room = bound < limit ? (size_t)bound : limit;
    rc = kl_batch_codec_reserve(out, room);
    if (rc != 0)
        return rc;

    context = ZSTD_createDCtx_advanced(zstd_memory(out->alloc));
    if (!context)
        return KL_ENOMEM;
    plain =
        ZSTD_decompressDCtx(context, out->data + out->size, room, data, size);
    ZSTD_freeDCtx(context);
    if (!ZSTD_isError(plain)) {
        out->size += plain;
        return 0;
    }
    switch (ZSTD_getErrorCode(plain)) {
    case ZSTD_error_memory_allocation:
        return KL_ENOMEM;
    case ZSTD_error_dstSize_tooSmall:
        return room < bound ? KL_EBATCH : KL_ECORRUPT;
    default:
        return KL_ECORRUPT;
    }
}

#endif
