"""Property test of the files of a data folder: folder.py BUILD [SEED]

A reader written from kraftlog-format(5) alone, without a look at the C code.
The command line tool makes folders (all kinds of topics, several segments,
stopped cleanly and killed), the reader takes every file apart, checks each
checksum, reserved field and padding, and compares what it finds with what the
tool reads. Then single bits are flipped, and the offline tool is asked.
"""

import ctypes
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import kafka_batch as kafka

BLOCK = 4096


class Difference(Exception):
    pass


def expect(condition, text, *arguments):
    if not condition:
        raise Difference(text % arguments)


xxhash = ctypes.CDLL("libxxhash.so.0")
xxhash.XXH3_64bits_withSeed.restype = ctypes.c_uint64
xxhash.XXH3_64bits_withSeed.argtypes = [
    ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]


def xxh3(data, seed):
    return xxhash.XXH3_64bits_withSeed(bytes(data), len(data), seed)


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def read(path):
    with open(path, "rb") as f:
        return f.read()


# ---- structures ------------------------------------------------------------


def envelope(path, magic, version=1, block=None):
    """The content; with block, what is behind it there must be zeros."""
    data = read(path)[:block]
    size = struct.unpack_from("<I", data, 8)[0]
    expect(data[:8] == magic + struct.pack("<HH", version, 0)
           and data[12:16] == bytes(4), "%s: envelope", path)
    expect(xxh3(data[24:size], u64(data, 0) ^ size) == u64(data, 16),
           "%s: checksum", path)
    expect(not block or data[size:] == bytes(block - size), "%s: padding",
           path)
    return data[24:size]


def read_identity(folder):
    identity = envelope(folder + "/identity", b"KLID", 3)
    expect(len(identity) == 40 and not any(identity[36:]), "identity: fields")
    return identity[:16], identity[16:32]


def read_quorum(folder, directory):
    """Epoch, leader, voted and its directory: the same in both copies."""
    copies = [folder + "/quorum." + c for c in "ab"]
    expect(read(copies[0]) == read(copies[1]), "quorum: copies differ")
    data = envelope(copies[0], b"KLQS", 2, block=BLOCK)
    expect(len(read(copies[0])) == BLOCK and len(data) == 80, "quorum: size")
    fields = struct.unpack("<Q16siii16sIq16s", data)
    expect(fields[1] == directory and fields[6] == 0
           and fields[7] >= -1, "quorum: fields")
    expect((fields[0] == 0) == (fields[2:5] == (0, -1, -1)
                                and not any(fields[8])),
           "quorum: generation")
    return fields[2:6]


def read_snapshot(folder, name, cluster):
    path = "%s/snapshots/%s" % (folder, name)
    header = envelope(path, b"KLSN", block=BLOCK)
    fields = struct.unpack("<16sqiIQQ", header)
    expect("%020d-%010d.snap" % fields[1:3] == name and fields[0] == cluster
           and fields[3] == 65536, "%s: fields", path)
    data, chain, content = read(path)[BLOCK:], 0, b""
    for index, at in enumerate(range(0, len(data), 65536)):
        block = data[at:at + 65536]
        seed = xxh3(struct.pack("<qiQ", fields[1], fields[2], index), 0)
        expect(len(block) > 8 and xxh3(block[8:], seed) == u64(block, 0),
               "%s: block %d", path, index)
        chain = xxh3(block[:8], chain)
        content += block[8:]
    expect(len(content) == fields[4] and chain == fields[5], "%s: content",
           path)
    return fields[1:3], content


def segment_range(data, at):
    fields = struct.unpack_from("<qqQqqqII", data, at)
    expect(fields[7] == 0, "segment range: reserved")
    return dict(zip(("base", "end", "size", "max", "first", "last",
                     "truncation"), fields))


def read_slot(path):
    data = envelope(path, b"KLSL")
    names = ("generation sequence lap salt previous file offset files flags "
             "file_size broker_epoch count reserved")
    slot = dict(zip(names.split(),
                    struct.unpack_from("<QQQQQIIIIQqII", data, 0)))
    expect(slot["reserved"] == 0 and slot["offset"] % BLOCK == 0
           and slot["file_size"] % BLOCK == 0, "%s: fields", path)
    at, slot["logs"] = 80, {}
    for _ in range(slot["count"]):
        log = dict(zip(("topic partition flush flags reserved instance "
                        "truncation epochs start leo hw bytes").split(),
                       struct.unpack_from("<16siBBHQIIqqqQ", data, at)))
        log["active"] = segment_range(data, at + 72)
        at += 128
        epochs = [struct.unpack_from("<iq", data, at + 12 * i)
                  for i in range(log["epochs"])]
        expect(epochs == sorted(epochs), "%s: epochs", path)
        at += 12 * log["epochs"]
        slot["logs"][log["topic"], log["partition"], log["instance"]] = log
    expect(at == len(data), "%s: size", path)
    return slot


def read_frame(data, at, topic, partition):
    """The batch at a position and the position behind it."""
    seed = xxh3(topic + struct.pack("<i", partition), 0)
    magic, size = struct.unpack_from("<4sI", data, at)
    expect(magic == b"KLF\1" and at + size <= len(data), "frame")
    frame = data[at:at + size]
    expect(xxh3(frame[:8] + frame[16:93], seed) == u64(frame, 8)
           and xxh3(frame[93:], seed) == u64(frame, 16), "frame: checksum")
    expect(frame[24:32] == bytes(8), "frame: flags")
    header = kafka.HEADER.unpack_from(frame, 32)
    expect(header[1] == size - 44 and header[3] == 2 and header[4] == 0
           and header[9:12] == (-1, -1, -1), "frame: batch header")
    return header, frame, at + size


# ---- a log -----------------------------------------------------------------


def read_index(path, base, positions):
    data = read(path)
    expect(len(data) % BLOCK == 0, "%s: size", path)
    for at in range(0, len(data), BLOCK):
        block = data[at:at + BLOCK]
        magic, count, of = struct.unpack_from("<4sIq", block)
        expect(magic == b"KLIX" and 1 <= count <= 254 and of == base
               and xxh3(block[24:], u64(block, 0) ^ u64(block, 8))
               == u64(block, 16), "%s: block at %d", path, at)
        for i in range(count):
            relative, position, newest = struct.unpack_from(
                "<IIq", block, 24 + 16 * i)
            expect(positions.get(position) == (base + relative, newest),
                   "%s: entry %d", path, i)
        expect(not any(block[24 + 16 * count:]), "%s: padding", path)
    return len(data) // BLOCK


def read_segment(folder, name, info):
    """The records of a segment; stops at a frame that is cut off."""
    topic, partition, instance = name
    path = "%s/%020d" % (folder, info["base"])
    data = read(path + ".seg")
    expect(data[:8] == b"KLSG\1\0\0\0"
           and xxh3(data[16:BLOCK], u64(data, 0)) == u64(data, 8)
           and not any(data[56:BLOCK]), "%s.seg: header", path)
    expect(struct.unpack_from("<Qq16siI", data, 16) == (
        instance, info["base"], topic, partition, info["truncation"]),
           "%s.seg: name", path)
    if info["size"]:
        expect(len(data) >= info["size"], "%s.seg: too short", path)
        data = data[:info["size"]]
    at, offset, newest, values, positions = BLOCK, info["base"], -1, [], {}
    while at < len(data):
        positions[at] = (offset, newest)
        header, frame, at = read_frame(data, at, topic, partition)
        expect(header[0] == offset, "%s.seg: offset %d", path, offset)
        offset += header[6] + 1
        newest = max(newest, header[8])
        values.append((header[12], header[5] & 7, frame))
    if info["end"] >= 0:
        expect(offset == info["end"] and newest == info["max"],
               "%s.seg: end", path)
    blocks = 0
    if os.path.exists(path + ".idx"):
        blocks = read_index(path + ".idx", info["base"], positions)
    return values, offset, blocks


def read_log(folder, name):
    topic, partition, instance = name
    data = envelope(folder + "/manifest", b"KLMF")
    fields = struct.unpack_from("<16siQII", data)
    expect(fields[:3] == name and len(data) == 36 + 56 * fields[4],
           "%s: manifest", folder)
    frames, blocks, end = [], 0, None
    for i in range(fields[4]):
        info = segment_range(data, 36 + 56 * i)
        expect(end is None or info["base"] == end, "%s: gap", folder)
        more, end, count = read_segment(folder, name, info)
        frames += more
        blocks += count
    return {"frames": frames, "blocks": blocks, "segments": fields[4],
            "end": end}


# ---- write-ahead log -------------------------------------------------------


def read_group(data, at, directory):
    """The group at a position, or None where there is none of this store.

    A process killed while it writes leaves a head whose body is not all there;
    such a group is returned without types."""
    names = "magic version kind checksum directory sequence lap previous salt "
    names += "count size body reserved"
    g = dict(zip(names.split(),
                 struct.unpack_from("<4sHHQQQQQQIIII", data, at)))
    if g["magic"] != b"KLWG" or g["directory"] != directory:
        return None
    first = at + 72 + 64 * g["count"]
    if xxh3(data[at + 16:first], u64(data, at)) != g["checksum"]:
        return None
    expect(g["version"] == 1 and g["reserved"] == 0, "group: fields")
    g["types"], g["torn"] = [], None
    try:
        g["types"] = read_entries(data, at, g)
    except Difference as torn:
        g["torn"] = torn
    return g


def read_entries(data, at, g):
    types, body = [], at + 72 + 64 * g["count"]
    first = body
    for i in range(g["count"]):
        (kind, flags, r0, _, instance, offset, end, epoch, size, topic,
         partition, r1) = struct.unpack_from("<BBHIQqqiI16siI", data,
                                             at + 72 + 64 * i)
        expect(r0 == 0 and r1 == 0 and 1 <= kind <= 7 and flags <= 1,
               "entry: fields")
        if kind in (2, 7):
            expect(instance == g["sequence"] * 65536 + i + 1, "instance")
        expect((size > 0) == (kind == 1), "entry: frame")
        if size:
            header, _, body = read_frame(data, body, topic, partition)
            expect((header[0], header[0] + header[6] + 1, header[2])
                   == (offset, end, epoch), "entry: offsets")
        types.append(kind)
    expect(body - first == g["body"] and not any(data[body:at + g["size"]]),
           "group: body and padding")
    expect(g["kind"] == 1 or (g["size"] == BLOCK and not types), "seal")
    return types


def read_ring(folder, directory, slot):
    groups = []
    for i in range(slot["files"]):
        data = read("%s/wal/%d" % (folder, i))
        expect(len(data) == slot["file_size"], "wal/%d: size", i)
        for at in range(0, len(data), BLOCK):
            g = read_group(data, at, directory)
            if g:
                groups.append(g)
    followed = {g["previous"] for g in groups}
    for g in groups:  # a torn group was the last, and never acknowledged
        if g["torn"] and g["checksum"] in followed:
            raise g["torn"]
    groups = [g for g in groups if not g["torn"]]
    groups.sort(key=lambda g: (g["sequence"], g["kind"]))
    for a, b in zip(groups, groups[1:]):
        if a["kind"] == 1 and b["sequence"] == a["sequence"] + 1:
            expect(b["previous"] == a["checksum"], "chain")
    return groups


# ---- a folder --------------------------------------------------------------


def read_folder(folder):
    cluster, directory = read_identity(folder)
    slots = [read_slot("%s/checkpoint.%s" % (folder, s)) for s in "ab"]
    newest = max(slots, key=lambda s: s["generation"])
    groups = read_ring(folder, xxh3(directory, 0), newest)
    newest["quorum"] = read_quorum(folder, directory)
    newest["snapshots"] = dict(
        read_snapshot(folder, name, cluster)
        for name in os.listdir(folder + "/snapshots"))
    logs = {}
    for entry in os.listdir(folder + "/logs"):
        topic, _, rest = entry.partition("-")
        partition, instance = map(int, rest.split("."))
        name = (bytes.fromhex(topic), partition, instance)
        if name in newest["logs"]:
            logs[name] = read_log("%s/logs/%s" % (folder, entry), name)
    return newest, groups, logs


def plain_values(log):
    """Values of the batches that need no codec to be read; how many others."""
    values, packed = [], 0
    for count, codec, frame in log["frames"]:
        if codec:
            packed += count
        else:
            values += [r.value for r in kafka.decode(frame).records]
    return values, packed


class Tool:
    def __init__(self, folder):
        self.start = [os.environ["KL_PROGRAM"], "-D", folder]

    def run(self, *arguments, data=b""):
        result = subprocess.run(self.start + list(arguments), input=data,
                                stdout=subprocess.PIPE, timeout=120)
        expect(result.returncode == 0, "%s: exit %d", " ".join(arguments),
               result.returncode)
        return result.stdout

    def code(self, *arguments):
        return subprocess.run(self.start + list(arguments), timeout=120,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE).returncode

    def kill(self, topic, data, after):
        """Produces until so many records are acknowledged, then kill -9."""
        with subprocess.Popen(self.start + ["produce", topic, "-v"],
                              stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            process.stdin.write(data)
            process.stdin.flush()
            for _ in range(after):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            process.wait(60)


def lines(rng, count):
    return b"".join(b"%d %s\n" % (i, b"x" * rng.randrange(60))
                    for i in range(count))


def fill(tool, rng):
    tool.run("topic", "create", "plain", "-c", "segment.bytes=260k")
    tool.run("topic", "create", "wide", "-p", "5")
    tool.run("topic", "create", "loose", "-c", "flush=interval",
             "-c", "segment.bytes=260k")
    tool.run("topic", "create", "gone")
    for topic in ("plain", "wide", "loose", "gone"):
        tool.run("produce", topic, data=lines(rng, 30000))
    tool.run("produce", "plain", "-z", "zstd", data=lines(rng, 500))
    tool.run("topic", "delete", "gone")
    tool.run("topic", "config", "wide", "retention.ms=1000000")


def check(folder, tool):
    newest, groups, logs = read_folder(folder)
    expect(newest["flags"] == 1, "the stop was not clean")
    for name, log in newest["logs"].items():
        end = logs[name]["end"] if name in logs else 0
        expect(end == log["leo"], "slot and segments: end")
    found = {}
    for topic in ("plain", "wide", "loose"):
        found[topic] = tool.run("consume", topic, "-e").splitlines()
    meta = (bytes(15) + b"\1", 0)
    every = [v for n, l in logs.items() if n[:2] != meta
             for v in plain_values(l)[0]]
    packed = sum(plain_values(l)[1] for l in logs.values())
    told = [v for values in found.values() for v in values]
    expect(len(told) == len(every) + packed, "tool: %d records, files: %d",
           len(told), len(every) + packed)
    expect(not set(every) - set(told), "values differ")
    return {"groups": len(groups), "logs": len(logs), "records": len(told),
            "segments": sum(l["segments"] for l in logs.values()),
            "blocks": sum(l["blocks"] for l in logs.values())}


def check_quorum(folder, rng):
    """What the quorum will keep, by the driver."""
    def drive(*arguments, data=b""):
        subprocess.run([sys.argv[1] + "/test/folder_driver", folder,
                        *map(str, arguments)], input=data, check=True,
                       timeout=120)

    # The node has led it, as its only voter.
    epoch, *who = read_folder(folder)[0]["quorum"]
    expect(epoch > 0 and who == [1, 1, read_identity(folder)[1]],
           "quorum: %r %r", epoch, who)
    snapshots = {}
    for number in range(epoch + 1, epoch + 8):
        leader, voted = rng.randrange(-1, 5), rng.randrange(-1, 5)
        data = rng.randbytes(rng.choice(
            [0, 1, 65527, 65528, 65529, 131056, rng.randrange(1 << 18)]))
        drive("quorum", number, leader, voted)
        drive("snapshot", number * 10, number, data=data)
        snapshots[number * 10, number] = data
        state = read_folder(folder)[0]
        expect(state["quorum"] == (number, leader, voted, bytes(16)
                                   if voted < 0 else bytes([voted]) * 16),
               "quorum: %r", state["quorum"])
        expect(state["snapshots"] == snapshots, "snapshots differ")


# ---- rot -------------------------------------------------------------------


def dump(tool, *arguments):
    return [json.loads(line)
            for line in tool.run("dump", "-j", *arguments).splitlines()]


def records(tool, log):
    """Offsets and values as the offline tool has them."""
    items = dump(tool, "-r", "log", log[0], str(log[1]))
    return {i["offset"]: i["value"] for i in items if i["type"] == "record"}


def flip(path, at, bit):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ bit]))


def counts(path, at):
    """Whether a change of this byte must be seen."""
    name = os.path.basename(path)
    if name.startswith("checkpoint."):
        return at < struct.unpack_from("<I", read(path), 8)[0]
    if name.endswith(".seg"):
        return at >= BLOCK  # all of it is frames, after a clean stop
    return (name in ("identity", "manifest", "quorum.a", "quorum.b")
            or name.endswith(".snap"))


def check_rot(folder, tool, rng, flips):
    """No bit is lost in silence, and nothing wrong is told."""
    logs = [(i["topic_id"], i["partition"]) for i in dump(tool)
            if i["type"] == "log"]
    known = {log: records(tool, log) for log in logs}
    files = sorted(os.path.join(path, name)
                   for path, _, names in os.walk(folder)
                   for name in names if name not in ("lock", "reserve"))
    files = [path for path in files if os.path.getsize(path) > 0]
    found = 0
    for _ in range(flips):
        path = rng.choice(files)
        size = os.path.getsize(path)
        at = rng.randrange(size if rng.random() < 0.5 else min(size, BLOCK))
        bit, must = 1 << rng.randrange(8), counts(path, at)
        where = "%s: bit %d of byte %d: " % (path[len(folder):], bit, at)
        flip(path, at, bit)
        code = tool.code("verify")
        expect(code == 1 or (code == 0 and not must), where + "%d", code)
        for log in rng.sample(logs, 2):
            now = records(tool, log)
            expect(now.items() <= known[log].items(), where + "wrong")
            expect(code == 1 or len(now) == len(known[log]), where + "silent")
        found += code
        flip(path, at, bit)
    expect(tool.code("verify") == 0, "a flip was not taken back")
    return found


def main():
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    folder = tempfile.mkdtemp(prefix="kraftlog-folder-")
    try:
        tool = Tool(folder + "/data")
        fill(tool, rng)
        check(folder + "/data", tool)
        tool.kill("plain", lines(rng, 3000), rng.randrange(1, 500))
        read_ring(folder + "/data",
                  xxh3(read_identity(folder + "/data")[1], 0),
                  read_slot(folder + "/data/checkpoint.a"))
        tool.run("topic", "list")  # recovers
        seen = check(folder + "/data", tool)
        check_quorum(folder + "/data", rng)
        seen["flips"] = 30
        seen["found"] = check_rot(folder + "/data", tool, rng, 30)
    finally:
        shutil.rmtree(folder)
    expect(seen["segments"] > 9 and seen["blocks"] > 3, "little: %s", seen)
    print("folder: " + ", ".join("%d %s" % (v, k) for k, v in seen.items())
          + ": ok")


if __name__ == "__main__":
    try:
        main()
    except (Difference, kafka.Malformed, OSError, KeyError,
            struct.error) as error:
        sys.exit("folder: %r" % error)
