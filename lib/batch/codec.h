/*
 * The codecs of the room, one file each, empty where its library is left out
 * of the build.
 */
#ifndef KL_BATCH_CODEC_H
#define KL_BATCH_CODEC_H

#include "batch/batch.h"

/* Room for exactly size bytes behind those in use; the buffer's own growth by
 * doubling could pass a limit. Afterwards data is not NULL, whatever the size.
 * 0 or KL_ENOMEM. */
int kl_batch_codec_reserve(struct kl_base_buf *out, size_t size);

#ifdef KL_HAVE_LZ4
int kl_batch_lz4_compress(const void *data, size_t size,
                          struct kl_base_buf *out);
int kl_batch_lz4_decompress(const void *data, size_t size, size_t limit,
                            struct kl_base_buf *out);
#endif
#ifdef KL_HAVE_ZSTD
int kl_batch_zstd_compress(const void *data, size_t size,
                           struct kl_base_buf *out);
int kl_batch_zstd_decompress(const void *data, size_t size, size_t limit,
                             struct kl_base_buf *out);
#endif

#endif
