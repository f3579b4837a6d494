"""Property test of the batch codec: batch.py BUILD [SEED]

Random batches go through the C encoder and the decoder of kafka_batch.py, and
the other way round; every field is compared. Damaged batches must be taken or
refused by both. BUILD/test/batch_driver is the C side.
"""

import os
import random
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
import kafka_batch as kafka

NULL = 0xFFFFFFFF
EEND, ECORRUPT = -1012, -1101


class Difference(Exception):
    pass


def same(what, got, want):
    if got != want:
        raise Difference("%s: C says %.200r, Python %.200r" % (what, got, want))


# ---- the driver -----------------------------------------------------------


class Driver:
    def __init__(self, build):
        self.path = os.path.join(build, "test", "batch_driver")

    def run(self, mode, data=b""):
        result = subprocess.run([self.path, mode], input=data,
                                stdout=subprocess.PIPE, timeout=300)
        if result.returncode != 0:
            raise Difference("batch_driver %s: exit %d"
                             % (mode, result.returncode))
        return result.stdout


class Output:
    def __init__(self, data):
        self.data, self.at = data, 0

    def get(self, form):
        value = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += struct.calcsize("<" + form)
        return value

    def bytes(self):
        size = self.get("I")
        if size == NULL:
            return None
        self.at += size
        return self.data[self.at - size:self.at]

    def record(self):
        offset, timestamp = self.get("q"), self.get("q")
        record = kafka.Record(timestamp, self.bytes(), self.bytes(),
                              offset=offset)
        for _ in range(self.get("I")):
            record.headers.append((self.bytes(), self.bytes()))
        return record


def pack_bytes(data):
    if data is None:
        return struct.pack("<I", NULL)
    return struct.pack("<I", len(data)) + data


def pack_record(record):
    out = struct.pack("<q", record.timestamp)
    out += pack_bytes(record.key) + pack_bytes(record.value)
    out += struct.pack("<I", len(record.headers))
    for name, value in record.headers:
        out += pack_bytes(name) + pack_bytes(value)
    return out


# ---- random batches -------------------------------------------------------


def random_size(rng):
    kind = rng.random()
    if kind < 0.6:
        return rng.randrange(40)
    if kind < 0.97:
        return rng.choice((63, 64, 65, 127, 128)) + rng.randrange(200)
    if kind < 0.995:
        return 8190 + rng.randrange(4)
    return 65530 + rng.randrange(12)


def random_bytes(rng, null=0.15):
    if rng.random() < null:
        return None
    size = random_size(rng)
    if rng.randrange(2):
        return rng.randbytes(size)
    return (rng.randbytes(rng.randrange(1, 9)) * size)[:size]


def random_timestamp(rng, last):
    kind = rng.randrange(20)
    if kind == 0:
        return rng.randrange(-2**63, 2**63)
    if kind == 1:
        return rng.choice((-2**63, 2**63 - 1, -1, 0))
    if kind < 5:
        return kafka.wrap64(last - rng.randrange(1000))
    return kafka.wrap64(last + rng.choice((0, 1, 31, 32, 63, 64, 8191, 10**6)))


def random_record(rng, last):
    headers = []
    if rng.randrange(5) == 0:
        headers = [(random_bytes(rng, 0), random_bytes(rng))
                   for _ in range(rng.randrange(1, 5))]
    return kafka.Record(random_timestamp(rng, last), random_bytes(rng),
                        random_bytes(rng), headers)


def random_records(rng):
    records = []
    last = 1700000000000
    for _ in range(rng.choice((1, 1, 2, 3, 10, 40))):
        records.append(random_record(rng, last))
        last = records[-1].timestamp
    return records


# ---- C encodes, Python decodes --------------------------------------------


def check_frame(what, batch, crc, frame, case):
    records, attributes, base_offset, epoch = case
    same(what + " crc", crc, kafka.crc32c(frame[53:]))
    same(what + " flags", batch.flags, 0)
    same(what + " crc field", batch.crc, 0)
    same(what + " base offset", batch.base_offset, base_offset)
    same(what + " epoch", batch.leader_epoch, epoch)
    same(what + " last delta", batch.last_delta, len(records) - 1)
    same(what + " count", batch.count, len(records))
    same(what + " attributes", batch.attributes & ~kafka.CODEC_MASK,
         attributes & ~kafka.CODEC_MASK)
    same(what + " base time", batch.base_timestamp, records[0].timestamp)
    same(what + " max time", batch.max_timestamp,
         max(r.timestamp for r in records))
    same(what + " producer", (batch.producer_id, batch.producer_epoch,
                              batch.base_sequence), (-1, -1, -1))
    for i, (got, want) in enumerate(zip(batch.records, records)):
        time = want.timestamp
        if attributes & kafka.LOG_APPEND_TIME:
            time = batch.max_timestamp
        same("%s record %d" % (what, i), got,
             kafka.Record(time, want.key, want.value, want.headers,
                          base_offset + i))


def c_to_python(driver, rng, codecs, count):
    """Returns the uncompressed frames, and how many came compressed."""
    cases, packed = [], b""
    for _ in range(count):
        case = (random_records(rng),
                rng.choice(codecs) | rng.choice((0, 0, 8, 16, 32)),
                rng.choice((0, rng.randrange(2**31), 2**63 - 100)),
                rng.randrange(2**31))
        cases.append(case)
        packed += struct.pack("<Iqi", *case[1:]) + struct.pack("<I",
                                                               len(case[0]))
        packed += b"".join(pack_record(r) for r in case[0])
    out = Output(driver.run("encode", packed))
    plain, other, compressed = [], [], 0
    for i, case in enumerate(cases):
        frame, crc = out.bytes(), out.get("I")
        twin, twin_crc = out.bytes(), out.get("I")
        batch = kafka.decode(twin)
        check_frame("batch %d" % i, batch, twin_crc, twin, case)
        codec = struct.unpack_from(">h", frame, 53)[0] & kafka.CODEC_MASK
        if codec == kafka.CODEC_NONE:
            same("batch %d uncompressed" % i, frame, twin)
        else:
            same("batch %d codec" % i, codec, case[1] & kafka.CODEC_MASK)
            if len(frame) >= len(twin):
                raise Difference("batch %d: compressed and larger" % i)
            compressed += 1
        if codec == kafka.CODEC_LZ4:
            check_frame("batch %d lz4" % i, kafka.decode(frame), crc, frame,
                        case)
        elif codec == kafka.CODEC_ZSTD:
            other.append((frame, batch))
        plain.append(twin)
    same("bytes of output", out.at, len(out.data))
    # Python does not undo zstd: the driver must read it as the twin.
    python_to_c(driver, other)
    return plain, compressed


# ---- Python encodes, C decodes --------------------------------------------


def python_to_c(driver, cases):
    """cases: frames and what they hold; None where it is malformed."""
    data = b"".join(pack_bytes(frame) for frame, _ in cases)
    out = Output(driver.run("decode", data))
    for i, (frame, batch) in enumerate(cases):
        rc, crc = out.get("i"), out.get("I")
        records = [out.record() for _ in range(out.get("I"))]
        what = "frame %d (%s)" % (i, frame[:160].hex())
        same(what, rc, EEND if batch else ECORRUPT)
        if batch:
            same(what + " crc", crc, kafka.crc32c(frame[53:]))
            same(what + " count", len(records), len(batch.records))
            for got, want in zip(records, batch.records):
                same(what, got, want)
    same("bytes of output", out.at, len(out.data))


def random_case(rng, codecs):
    """A frame as other writers and compaction leave it."""
    records = random_records(rng)
    base_offset = rng.randrange(2**40)
    offset = base_offset
    gaps = rng.randrange(3) == 0
    for record in records:
        if gaps:
            offset += rng.choice((0, 0, 1, 70, 10000))
        record.offset = offset
        offset += 1
    last_delta = offset - 1 - base_offset + gaps * rng.randrange(100)
    if gaps and rng.randrange(10) == 0:
        records = []
    attributes = rng.choice(codecs) if records else 0
    attributes |= rng.choice((0, 0, 8, 16, 32, 48))
    frame = kafka.encode(records, base_offset, last_delta, attributes, rng,
                         leader_epoch=rng.randrange(100),
                         producer=(rng.randrange(-1, 2**63), 3, 77))
    if attributes & kafka.CODEC_MASK != kafka.CODEC_ZSTD:
        return frame, kafka.decode(frame, check_crc=True)
    batch = kafka.Batch()
    batch.records = records
    if attributes & kafka.LOG_APPEND_TIME:
        most = max(r.timestamp for r in records)
        for record in records:
            record.timestamp = most
    return frame, batch


def damaged_case(rng, frame):
    """A frame whose records are damaged; often small enough to be legal."""
    data = bytearray(frame)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(93, min(len(data), 93 + rng.choice((12, 60, 400))))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice((0, 1, 2, 3, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            data[at] = (data[at] + rng.choice((-2, 2))) % 256
        else:
            data[at:at] = rng.randbytes(1)
            del data[-1]
    if rng.randrange(4) == 0:  # the count, and room for gaps
        count = struct.unpack_from(">i", data, 89)[0] + rng.choice((-1, 0, 1))
        struct.pack_into(">i", data, 89, count)
        struct.pack_into(">i", data, 55, max(count, 1) + rng.randrange(9))
    data = bytes(data)
    try:
        return data, kafka.decode(data)
    except kafka.Malformed:
        return data, None


def main():
    driver = Driver(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = random.Random(seed)
    codecs = [int(n) for n in driver.run("codecs").split()]

    plain, compressed = c_to_python(driver, rng, codecs, 400)
    cases = [random_case(rng, codecs) for _ in range(400)]
    python_to_c(driver, cases)
    small = [f for f in plain if 93 < len(f) < 2000]
    damaged = [damaged_case(rng, rng.choice(small)) for _ in range(4000)]
    python_to_c(driver, damaged)
    refused = sum(batch is None for _, batch in damaged)
    if not 1000 < refused < 3900:
        raise Difference("%d of 4000 damaged batches refused" % refused)
    print("batch: seed %d: %d batches encoded (%d compressed), %d decoded, "
          "%d damaged (%d refused): ok"
          % (seed, len(plain), compressed, len(cases), len(damaged), refused))


if __name__ == "__main__":
    try:
        main()
    except (Difference, kafka.Malformed, OSError) as error:
        sys.exit("batch: %s" % error)
