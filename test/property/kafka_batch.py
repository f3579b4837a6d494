"""Kafka's record batch, message format v2, in plain Python.

Written from the public description of the format, without a look at the C
code: batch.py compares the two. Contains the CRC-32C, lz4's frame format
(reading and writing) and as much of zstd as is needed to write a frame. Run
alone it checks itself against known answers.
"""

import struct

CODEC_NONE, CODEC_LZ4, CODEC_ZSTD = 0, 3, 4
CODEC_MASK = 7
LOG_APPEND_TIME = 8

FRAME = struct.Struct("<IIQQII")  # kraftlog's wrapper
FRAME_MAGIC = 0x01464C4B
HEADER = struct.Struct(">qiibIhiqqqhii")  # Kafka's batch header
HEADER_SIZE = 61
CRC_START = 21  # the CRC covers everything from the attributes on


class Malformed(Exception):
    pass


# ---- checksums ------------------------------------------------------------


def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_CRC = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def xxh32(data, seed=0):
    p1, p2, p3, p4, p5 = (2654435761, 2246822519, 3266489917, 668265263,
                          374761393)
    mask = 0xFFFFFFFF

    def rotl(x, r):
        return ((x << r) | (x >> (32 - r))) & mask

    at, size = 0, len(data)
    if size >= 16:
        v = [(seed + p1 + p2) & mask, (seed + p2) & mask, seed,
             (seed - p1) & mask]
        while at + 16 <= size:
            for i, word in enumerate(struct.unpack_from("<4I", data, at)):
                v[i] = rotl((v[i] + word * p2) & mask, 13) * p1 & mask
            at += 16
        h = (rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12)
             + rotl(v[3], 18)) & mask
    else:
        h = (seed + p5) & mask
    h = (h + size) & mask
    while at + 4 <= size:
        word = struct.unpack_from("<I", data, at)[0]
        h = rotl((h + word * p3) & mask, 17) * p4 & mask
        at += 4
    for byte in data[at:]:
        h = rotl((h + byte * p5) & mask, 11) * p1 & mask
    h = (h ^ (h >> 15)) * p2 & mask
    h = (h ^ (h >> 13)) * p3 & mask
    return h ^ (h >> 16)


# ---- codecs ---------------------------------------------------------------


def lz4_block(src, limit):
    """Decodes one lz4 block."""
    out, at, size = bytearray(), 0, len(src)

    def length(n, at):
        if n == 15:
            while True:
                if at >= size:
                    raise Malformed("lz4 length")
                n += src[at]
                at += 1
                if src[at - 1] != 255:
                    break
        return n, at

    while True:
        if at >= size:
            raise Malformed("lz4 token")
        token = src[at]
        literals, at = length(token >> 4, at + 1)
        if at + literals > size:
            raise Malformed("lz4 literals")
        out += src[at:at + literals]
        at += literals
        if at == size:
            break
        if at + 2 > size:
            raise Malformed("lz4 offset")
        offset = src[at] | src[at + 1] << 8
        match, at = length(token & 15, at + 2)
        match += 4
        if offset == 0 or offset > len(out):
            raise Malformed("lz4 offset")
        if offset >= match:
            start = len(out) - offset
            out += out[start:start + match]
        else:
            pattern = bytes(out[-offset:])
            out += (pattern * (match // offset + 1))[:match]
        if len(out) > limit:
            raise Malformed("lz4 block size")
    return bytes(out)


def lz4_decompress(data):
    if data[:4] != b"\x04\x22\x4d\x18":
        raise Malformed("lz4 magic")
    flags, block = data[4], data[5]
    if flags >> 6 != 1 or not flags & 0x20 or flags & 3 or block & 0x8F:
        raise Malformed("lz4 flags")
    at = 6
    content = None
    if flags & 8:
        content = struct.unpack_from("<Q", data, at)[0]
        at += 8
    if data[at] != xxh32(data[4:at]) >> 8 & 0xFF:
        raise Malformed("lz4 header checksum")
    at += 1
    out = bytearray()
    while True:
        word = struct.unpack_from("<I", data, at)[0]
        at += 4
        if word == 0:
            break
        size = word & 0x7FFFFFFF
        bytes_ = data[at:at + size]
        at += size
        if word >> 31:
            out += bytes_
        else:
            out += lz4_block(bytes_, 1 << (8 + 2 * (block >> 4)))
        if flags & 0x10:
            at += 4
    if flags & 4:
        if struct.unpack_from("<I", data, at)[0] != xxh32(out):
            raise Malformed("lz4 content checksum")
        at += 4
    if at != len(data) or content not in (None, len(out)):
        raise Malformed("lz4 size")
    return bytes(out)


def _lz4_literals(data):
    """A block without matches."""
    n = len(data)
    if n < 15:
        return bytes([n << 4]) + data
    n -= 15
    return b"\xf0" + b"\xff" * (n // 255) + bytes([n % 255]) + data


def lz4_compress(data, rng):
    """Not smaller, but a frame with every option at random."""
    block_sum, content_size, content_sum = (rng.randrange(2) for _ in "123")
    flags = 0x60 | block_sum << 4 | content_size << 3 | content_sum << 2
    head = bytes([flags, rng.choice((0x40, 0x50, 0x60, 0x70))])
    if content_size:
        head += struct.pack("<Q", len(data))
    out = b"\x04\x22\x4d\x18" + head + bytes([xxh32(head) >> 8 & 0xFF])
    step = rng.choice((100, 5000, 65000))
    for i in range(0, len(data), step):
        part = data[i:i + step]
        block = part if rng.randrange(2) else _lz4_literals(part)
        out += struct.pack("<I", len(block) | (block is part) << 31) + block
        if block_sum:
            out += struct.pack("<I", xxh32(block))
    out += bytes(4)
    if content_sum:
        out += struct.pack("<I", xxh32(data))
    return out


def zstd_compress(data, rng):
    """A frame of stored blocks, with or without its content size."""
    if rng.randrange(2):
        out = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data))
    else:
        out = b"\x28\xb5\x2f\xfd\x00\x58"  # window of 2 MiB
    step = rng.choice((100, 5000, 65000))
    parts = [data[i:i + step] for i in range(0, len(data), step)] or [b""]
    for i, part in enumerate(parts):
        head = len(part) << 3 | (i == len(parts) - 1)
        out += struct.pack("<I", head)[:3] + part
    return out


# ---- records --------------------------------------------------------------


def varint(n):
    n = (n << 1) ^ (n >> 63)
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def wrap64(n):
    return (n + (1 << 63)) % (1 << 64) - (1 << 63)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size < 0 or size > len(self.data) - self.at:
            raise Malformed("length %d" % size)
        self.at += size
        return self.data[self.at - size:self.at]

    def varint(self):
        n = shift = 0
        while True:
            if shift == 70:
                raise Malformed("varint too long")
            byte = self.take(1)[0]
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        n &= (1 << 64) - 1
        return (n >> 1) ^ -(n & 1)

    def bytes(self):
        size = self.varint()
        return None if size == -1 else self.take(size)

    def end(self):
        if self.at != len(self.data):
            raise Malformed("trailing bytes")


class Record:
    """offset and timestamp are absolute; headers are pairs."""

    def __init__(self, timestamp, key, value, headers=(), offset=None):
        self.timestamp, self.key, self.value = timestamp, key, value
        self.headers, self.offset = list(headers), offset

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __repr__(self):
        return "Record(%r)" % vars(self)


def encode_bytes(data):
    return varint(-1) if data is None else varint(len(data)) + data


def encode_record(record, offset_delta, timestamp_delta):
    body = b"\0" + varint(wrap64(timestamp_delta)) + varint(offset_delta)
    body += encode_bytes(record.key) + encode_bytes(record.value)
    body += varint(len(record.headers))
    for name, value in record.headers:
        body += varint(len(name)) + name + encode_bytes(value)
    return varint(len(body)) + body


def decode_record(reader, base_offset, base_timestamp):
    body = Reader(reader.take(reader.varint()))
    body.take(1)
    timestamp = wrap64(base_timestamp + body.varint())
    delta = body.varint()
    record = Record(timestamp, body.bytes(), body.bytes(),
                    offset=base_offset + delta)
    count = body.varint()
    if count < 0:
        raise Malformed("header count")
    for _ in range(count):
        name = body.bytes()
        if name is None:
            raise Malformed("header name")
        record.headers.append((name, body.bytes()))
    body.end()
    return record


# ---- batches --------------------------------------------------------------


class Batch:
    FIELDS = ("base_offset", "length", "leader_epoch", "version", "crc",
              "attributes", "last_delta", "base_timestamp", "max_timestamp",
              "producer_id", "producer_epoch", "base_sequence", "count")


def decode(frame, check_crc=False):
    """Decodes a frame: its headers and all of its records."""
    batch = Batch()
    (magic, size, batch.header_sum, batch.body_sum, batch.flags,
     reserved) = FRAME.unpack_from(frame)
    if magic != FRAME_MAGIC or size != len(frame) or reserved:
        raise Malformed("frame header")
    data = frame[FRAME.size:]
    for name, value in zip(Batch.FIELDS, HEADER.unpack_from(data)):
        setattr(batch, name, value)
    if batch.version != 2 or batch.length != len(data) - 12:
        raise Malformed("batch header")
    if batch.last_delta < 0 or not 0 <= batch.count <= batch.last_delta + 1:
        raise Malformed("counts")
    if check_crc and batch.crc != crc32c(data[CRC_START:]):
        raise Malformed("crc")
    body = data[HEADER_SIZE:]
    codec = batch.attributes & CODEC_MASK
    if codec == CODEC_LZ4:
        body = lz4_decompress(body)
    elif codec != CODEC_NONE:
        raise Malformed("codec %d" % codec)
    reader = Reader(body)
    batch.records = []
    last = batch.base_offset - 1
    for _ in range(batch.count):
        record = decode_record(reader, batch.base_offset,
                               batch.base_timestamp)
        if record.offset <= last:
            raise Malformed("offsets do not ascend")
        last = record.offset
        if batch.attributes & LOG_APPEND_TIME:
            record.timestamp = batch.max_timestamp
        batch.records.append(record)
    reader.end()
    if last > batch.base_offset + batch.last_delta:
        raise Malformed("offset above the last")
    return batch


def frame_of(body, count, last_delta, base_offset, base_timestamp,
             max_timestamp, attributes=0, leader_epoch=0,
             producer=(-1, -1, -1)):
    """A frame around a records section; with its CRC, without checksums."""
    tail = struct.pack(">hiqqqhii", attributes, last_delta, base_timestamp,
                       max_timestamp, producer[0], producer[1], producer[2],
                       count) + body
    data = struct.pack(">qiibI", base_offset, 9 + len(tail), leader_epoch, 2,
                       crc32c(tail)) + tail
    return FRAME.pack(FRAME_MAGIC, FRAME.size + len(data), 0, 0, 1,
                      0) + data


def encode(records, base_offset, last_delta, attributes=0, rng=None, **other):
    """Encodes records that have their offsets already."""
    base_timestamp = records[0].timestamp if records else -1
    body = b"".join(encode_record(r, r.offset - base_offset,
                                  r.timestamp - base_timestamp)
                    for r in records)
    codec = attributes & CODEC_MASK
    if codec == CODEC_LZ4:
        body = lz4_compress(body, rng)
    elif codec == CODEC_ZSTD:
        body = zstd_compress(body, rng)
    max_timestamp = max([r.timestamp for r in records] or [-1])
    return frame_of(body, len(records), last_delta, base_offset,
                    base_timestamp, max_timestamp, attributes, **other)


# ---- known answers --------------------------------------------------------


def self_test():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4
    assert xxh32(b"") == 0x02CC5D05
    assert xxh32(b"abc") == 0x32D153FF
    assert xxh32(b"Nobody inspects the spammish repetition") == 0xE2293B2F
    for n in (0, -1, 1, -64, 64, 300, 2**31 - 1, -2**31, 2**63 - 1, -2**63):
        assert Reader(varint(n)).varint() == n
    assert varint(-1) == b"\x01" and varint(150) == b"\xac\x02"
    # "abc" and 20 bytes that repeat it
    assert lz4_block(b"\x3fabc\x03\x00\x00\x10d", 99) == \
        b"abc" + (b"abc" * 7)[:19] + b"d"
    print("kafka_batch: known answers: ok")


if __name__ == "__main__":
    self_test()
