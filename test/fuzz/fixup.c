/*
 * The checksums of all files, each in the words of its table.
 */
#include "fixup.h"

#include "base/endian.h"
#include "base/hash.h"

enum {
    FRAME_HEADERS = 93,
    ENVELOPE = 24,
    BLOCK = 4096,
    GROUP_HEADER = 72,
    ENTRY_HEADER = 64
};

void fixup_frame(uint8_t *data, size_t size, uint64_t seed, unsigned how)
{
    uint8_t summed[FRAME_HEADERS - 8];
    uint32_t stated;

    if (size < FRAME_HEADERS)
        return;
    if (how & FIXUP_SIZES) {
        memcpy(data, "KLF\1", 4);
        kl_base_put_le32(data + 4, (uint32_t)size);
        kl_base_put_le32(data + 28, 0);
        kl_base_put_be32(data + 40, (uint32_t)size - 44);
        data[48] = 2;
    }
    if (!(how & FIXUP_SUMS))
        return;
    stated = kl_base_get_le32(data + 4);
    if (stated >= FRAME_HEADERS && stated <= size)
        kl_base_put_le64(data + 16, kl_base_hash(data + FRAME_HEADERS,
                                                 stated - FRAME_HEADERS, seed));
    memcpy(summed, data, 8);
    memcpy(summed + 8, data + 16, FRAME_HEADERS - 16);
    kl_base_put_le64(data + 8, kl_base_hash(summed, sizeof summed, seed));
}

void fixup_frames(uint8_t *data, size_t size, uint64_t seed, unsigned how)
{
    while (size >= FRAME_HEADERS) {
        uint32_t stated = kl_base_get_le32(data + 4);

        if (stated < FRAME_HEADERS || stated > size)
            stated = (uint32_t)size;
        fixup_frame(data, stated, seed, how);
        data += stated;
        size -= stated;
    }
}

void fixup_envelope(uint8_t *data, size_t size, uint32_t magic, unsigned how)
{
    uint64_t stated;

    if (size < ENVELOPE)
        return;
    if (how & FIXUP_SIZES) {
        kl_base_put_le32(data, magic);
        kl_base_put_le16(data + 6, 0);
        kl_base_put_le32(data + 8, (uint32_t)size);
        kl_base_put_le32(data + 12, 0);
    }
    stated = kl_base_get_le32(data + 8);
    if ((how & FIXUP_SUMS) && stated >= ENVELOPE && stated <= size)
        kl_base_put_le64(
            data + 16, kl_base_hash(data + ENVELOPE, (size_t)stated - ENVELOPE,
                                    kl_base_get_le64(data) ^ stated));
}

void fixup_segment_header(uint8_t *block)
{
    kl_base_put_le64(block + 8, kl_base_hash(block + 16, BLOCK - 16,
                                             kl_base_get_le64(block)));
}

void fixup_index_block(uint8_t *block)
{
    kl_base_put_le64(block + 16, kl_base_hash(block + 24, BLOCK - 24,
                                              kl_base_get_le64(block) ^
                                                  kl_base_get_le64(block + 8)));
}

void fixup_group(uint8_t *data, size_t size)
{
    uint64_t end;

    if (size < GROUP_HEADER)
        return;
    end = GROUP_HEADER + (uint64_t)kl_base_get_le32(data + 56) * ENTRY_HEADER;
    if (end <= size)
        kl_base_put_le64(data + 8, kl_base_hash(data + 16, (size_t)end - 16,
                                                kl_base_get_le64(data)));
}
