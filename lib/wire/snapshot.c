/*
 * A snapshot of the metadata log as bytes: the state of everything below an
 * offset, so that the log before it may go.
 *
 *    0  u32  magic
 *    4  u16  version
 *    6  u16  reserved
 *    8  i64  offset of the voters record in force; -1 = of the first start
 *   16  u32  size of the voters, a control record
 *   20  u32  how many records follow them
 *   24       voters
 *            records, each behind its u32 size
 *
 * End offset and epoch are in its name, its checksum is the store's business.
 */
#include "wire/wire.h"

#include "base/cursor.h"

#include <string.h>

enum { SNAPSHOT_MAGIC = 0x4e534c4b, SNAPSHOT_VERSION = 1 };

int kl_wire_snapshot_encode(const struct kl_wire_snapshot *s,
                            struct kl_base_buf *out)
{
    kl_base_buf_put_le32(out, SNAPSHOT_MAGIC);
    kl_base_buf_put_le16(out, SNAPSHOT_VERSION);
    kl_base_buf_put_le16(out, 0);
    kl_base_buf_put_le64(out, (uint64_t)s->voters_offset);
    kl_base_buf_put_le32(out, s->voters.size);
    kl_base_buf_put_le32(out, s->record_count);
    kl_base_buf_append(out, s->voters.data, s->voters.size);
    kl_base_buf_append(out, s->records, s->records_size);
    return out->error;
}

int kl_wire_snapshot_decode(struct kl_wire_snapshot *out, const void *data,
                            size_t size, struct kl_base_error *e)
{
    struct kl_base_cursor c;
    uint16_t version, reserved;
    uint32_t magic;
    size_t pos = 0;
    uint32_t count = 0;
    struct kl_wire_bytes record;

    memset(out, 0, sizeof *out);
    kl_base_cursor_init(&c, data, size);
    magic = kl_base_cursor_get_le32(&c);
    version = kl_base_cursor_get_le16(&c);
    reserved = kl_base_cursor_get_le16(&c);
    out->voters_offset = (int64_t)kl_base_cursor_get_le64(&c);
    out->voters.size = kl_base_cursor_get_le32(&c);
    out->record_count = kl_base_cursor_get_le32(&c);
    if (c.failed || magic != SNAPSHOT_MAGIC)
        return kl_base_error_set(e, KL_ECORRUPT, "snapshot: not a snapshot");
    if (version != SNAPSHOT_VERSION)
        return kl_base_error_set(e, KL_EFORMAT, "snapshot: version %u",
                                 (unsigned)version);
    out->voters.data = kl_base_cursor_bytes(&c, out->voters.size);
    if (c.failed || reserved || out->voters_offset < -1)
        return kl_base_error_set(e, KL_ECORRUPT, "snapshot: bad header");
    out->records = c.data + c.pos;
    out->records_size = c.size - c.pos;
    while (kl_wire_snapshot_next(out, &pos, &record))
        count++;
    if (pos != out->records_size || count != out->record_count)
        return kl_base_error_set(e, KL_ECORRUPT,
                                 "snapshot: it is cut, or goes on too long");
    return 0;
}

int kl_wire_snapshot_next(const struct kl_wire_snapshot *s, size_t *pos,
                          struct kl_wire_bytes *out)
{
    size_t left = s->records_size - *pos;

    if (left < 4)
        return 0;
    out->size = kl_base_get_le32(s->records + *pos);
    if (out->size > left - 4)
        return 0;
    out->data = s->records + *pos + 4;
    *pos += 4 + (size_t)out->size;
    return 1;
}
