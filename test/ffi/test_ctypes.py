#!/usr/bin/env python3
"""The shared library from Python, with nothing but ctypes.

usage: test_ctypes.py BUILD

Every function of the public headers must have a signature in SIGNATURES, and
the one that its header declares. Then a node is opened, a topic made, records
written and read, and handles are freed in an order nobody would choose.
"""
import ctypes
import glob
import json
import os
import re
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = os.path.join(HERE, "../../include/kraftlog")

# Result, then parameters: v void, i int, w int32, W uint32, l int64, L uint64,
# z size_t, s const char *, f function, p every other pointer.
SIGNATURES = {
    "kl_admin_add_voter": "i pw Wp",
    "kl_admin_create_topic": "i psww pWp",
    "kl_admin_delete_before": "i pswl Wp",
    "kl_admin_delete_topic": "i ps Wp",
    "kl_admin_describe_cluster": "i p Wp",
    "kl_admin_describe_quorum": "i p Wp",
    "kl_admin_describe_topic": "i ps Wp",
    "kl_admin_elect_leader": "i psww Wp",
    "kl_admin_grow_topic": "i psw Wp",
    "kl_admin_list_offset": "i pswll Wp",
    "kl_admin_list_topics": "i p Wp",
    "kl_admin_reassign": "i pswpWWp",
    "kl_admin_remove_voter": "i pw Wp",
    "kl_admin_set_config": "i psss Wp",
    "kl_admin_unregister_broker": "i pw Wp",
    "kl_client_free": "v p",
    "kl_client_partition_count": "i psp",
    "kl_config_errmsg": "i ppz",
    "kl_config_free": "v p",
    "kl_config_get": "i pspzp",
    "kl_config_key_at": "s z",
    "kl_config_key_count": "z",
    "kl_config_key_default": "s z",
    "kl_config_key_doc": "s z",
    "kl_config_key_range": "s z",
    "kl_config_key_scope": "i z",
    "kl_config_key_type": "i z",
    "kl_config_new": "i pfp",
    "kl_config_set": "i pss",
    "kl_config_set_int": "i psl",
    "kl_config_set_panic": "i pfp",
    "kl_config_set_trace": "i pifp",
    "kl_consumer_assign": "i pswlW",
    "kl_consumer_errmsg": "i ppz",
    "kl_consumer_free": "v p",
    "kl_consumer_lag": "i pswp",
    "kl_consumer_new": "i ppp",
    "kl_consumer_pause": "i psw",
    "kl_consumer_poll": "i pwp",
    "kl_consumer_position": "i pswp",
    "kl_consumer_resume": "i psw",
    "kl_consumer_seek": "i pswl",
    "kl_consumer_seek_timestamp": "i pswl",
    "kl_consumer_unassign": "i psw",
    "kl_error_is_fatal": "i i",
    "kl_error_is_retriable": "i i",
    "kl_error_name": "s i",
    "kl_event_bytes": "i pzpp",
    "kl_event_code": "i p",
    "kl_event_columns": "i pppppppp",
    "kl_event_errmsg": "i ppz",
    "kl_event_free": "v p",
    "kl_event_high_watermark": "l p",
    "kl_event_next": "i pp",
    "kl_event_offset": "l p",
    "kl_event_next_offset": "l p",
    "kl_event_partition": "w p",
    "kl_event_record_count": "z p",
    "kl_event_topic": "s p",
    "kl_event_type": "i p",
    "kl_hub_free": "v p",
    "kl_hub_new": "i pp",
    "kl_inspect_doctor": "i psW",
    "kl_inspect_dump": "i psW",
    "kl_inspect_dump_file": "i psW",
    "kl_inspect_dump_log": "i psswW",
    "kl_inspect_dump_wal": "i psW",
    "kl_inspect_errmsg": "i ppz",
    "kl_inspect_free": "v p",
    "kl_inspect_new": "i pp",
    "kl_inspect_next": "i pp",
    "kl_inspect_salvage": "i pssW",
    "kl_inspect_set_storage": "i pp",
    "kl_inspect_verify": "i psW",
    "kl_item_bytes": "i pspp",
    "kl_item_field_at": "s pz",
    "kl_item_int": "i psp",
    "kl_item_json": "i ppp",
    "kl_item_text": "i ppp",
    "kl_item_type": "s p",
    "kl_node_client": "i pp",
    "kl_node_deadline": "i pp",
    "kl_node_errmsg": "i ppz",
    "kl_node_fd": "i pp",
    "kl_node_free": "v p",
    "kl_node_id": "i pp",
    "kl_node_new": "i pp",
    "kl_node_open": "i psW",
    "kl_node_poll": "i pw",
    "kl_node_set_storage": "i pp",
    "kl_node_set_transport": "i pp",
    "kl_node_start": "i p",
    "kl_node_state": "i pp",
    "kl_node_verdict": "i pp",
    "kl_node_stats_json": "i ppzp",
    "kl_node_stats_prometheus": "i ppzp",
    "kl_node_stop": "i pw",
    "kl_op_code": "i p",
    "kl_op_done": "i p",
    "kl_op_epoch": "i pp",
    "kl_op_errmsg": "i ppz",
    "kl_op_free": "v p",
    "kl_op_high_watermark": "i pp",
    "kl_op_json": "i ppp",
    "kl_op_level": "i pp",
    "kl_op_log_start": "i pp",
    "kl_op_offset": "i pp",
    "kl_op_offsets": "i ppp",
    "kl_op_partition": "i pp",
    "kl_op_partitions": "i ppp",
    "kl_op_replica_count": "i pp",
    "kl_op_set_callback": "i pfp",
    "kl_op_wait": "i pw",
    "kl_producer_buffered": "L p",
    "kl_producer_errmsg": "i ppz",
    "kl_producer_flush": "i pw",
    "kl_producer_free": "v p",
    "kl_producer_new": "i ppp",
    "kl_producer_send": "i pswpzpzlWp",
    "kl_producer_send_bulk": "i pswpppppzWpp",
    "kl_producer_send_record": "i pswpWp",
    "kl_producer_wait": "i pw",
    "kl_record_add_header": "i pspz",
    "kl_record_clear": "i p",
    "kl_record_epoch": "w p",
    "kl_record_free": "v p",
    "kl_record_header_at": "i pzpppp",
    "kl_record_header_count": "z p",
    "kl_record_key": "p pp",
    "kl_record_new": "i pp",
    "kl_record_offset": "l p",
    "kl_record_set_key": "i ppz",
    "kl_record_set_timestamp": "i pl",
    "kl_record_set_value": "i ppz",
    "kl_record_timestamp": "l p",
    "kl_record_value": "p pp",
    "kl_storage_free": "v p",
    "kl_storage_names_add": "i ps",
    "kl_storage_new": "i pp",
    "kl_storage_new_memory": "i ppL",
    "kl_storage_set_allocate": "i pfp",
    "kl_storage_set_close": "i pfp",
    "kl_storage_set_list": "i pfp",
    "kl_storage_set_lock": "i pfp",
    "kl_storage_set_mkdir": "i pfp",
    "kl_storage_set_open": "i pfp",
    "kl_storage_set_read": "i pfp",
    "kl_storage_set_rename": "i pfp",
    "kl_storage_set_rmdir": "i pfp",
    "kl_storage_set_size": "i pfp",
    "kl_storage_set_space": "i pfp",
    "kl_storage_set_sync": "i pfp",
    "kl_storage_set_sync_all": "i pfp",
    "kl_storage_set_sync_dir": "i pfp",
    "kl_storage_set_truncate": "i pfp",
    "kl_storage_set_unlink": "i pfp",
    "kl_storage_set_write": "i pfp",
    "kl_storage_set_writeback": "i pfp",
    "kl_strerror": "s i",
    "kl_transport_accept": "i pp",
    "kl_transport_deliver": "i pLpz",
    "kl_transport_down": "i pL",
    "kl_transport_free": "v p",
    "kl_transport_new": "i pp",
    "kl_transport_new_loopback": "i ppps",
    "kl_transport_set_connect": "i pfp",
    "kl_transport_set_disconnect": "i pfp",
    "kl_transport_set_resume": "i pfp",
    "kl_transport_set_send": "i pfp",
    "kl_transport_up": "i pL",
    "kl_transport_writable": "i pL",
    "kl_version_number": "W",
    "kl_version_string": "s",
}
KINDS = {
    "v": None, "i": ctypes.c_int, "w": ctypes.c_int32, "W": ctypes.c_uint32,
    "l": ctypes.c_int64, "L": ctypes.c_uint64, "z": ctypes.c_size_t,
    "s": ctypes.c_char_p, "f": ctypes.c_void_p, "p": ctypes.c_void_p,
}
PLAIN = {
    "void": "v", "int": "i", "int32_t": "w", "uint32_t": "W", "int64_t": "l",
    "uint64_t": "L", "size_t": "z",
}

KL_OK = 0
KL_EAGAIN, KL_ECLOSED, KL_ECONFIG, KL_ESTATE = -1002, -1004, -1006, -1007
KL_EEND = -1012
KL_EIO, KL_EBUSY, KL_ENOSTORE = -1100, -1103, -1104
KL_ENOENT, KL_EEXIST, KL_ENOTOPIC, KL_ETOPICNAME = -1110, -1111, -1300, -1302
KL_OPEN_CREATE, KL_OPEN_JOIN = 1, 4
KL_EVENT_RECORDS, KL_EVENT_END, KL_EVENT_ERROR = 1, 2, 3
KL_OFFSET_BEGIN, KL_TIMESTAMP_NOW, KL_PARTITION_ANY = -2, -1, -1
KL_STORAGE_CREATE, KL_STORAGE_TRUNCATE = 4, 8
OP_FN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

lib = None


def kind_of(declaration):
    """The letter of a C type, with or without the name of a parameter."""
    text = declaration.replace("const", " ").strip()
    if "*" in text:
        stars = text.count("*")
        return "s" if stars == 1 and text.split()[0] == "char" \
            and "const" in declaration else "p"
    word = text.split()[0]
    return "f" if word.endswith("_fn") else PLAIN[word]


def declared():
    """Yields name and signature of every function of the headers."""
    for path in sorted(glob.glob(os.path.join(HEADERS, "*.h"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for match in re.finditer(
                r"^KL_API\s+([\w\s*]+?)(\w+)\(([^;]*)\);", text, re.M):
            result, name, parameters = match.groups()
            parameters = parameters.strip()
            letters = "" if parameters == "void" else "".join(
                kind_of(p) for p in parameters.split(","))
            yield name, (kind_of(result) + " " + letters).strip()


def declare():
    for name, signature in SIGNATURES.items():
        function = getattr(lib, name)
        function.restype = KINDS[signature[0]]
        function.argtypes = [
            KINDS[c] for c in signature[1:].replace(" ", "")]


def ok(code):
    if code != KL_OK:
        raise AssertionError(lib.kl_error_name(code).decode())


def new(function, *args):
    """Calls a function whose first argument is the handle that it makes."""
    handle = ctypes.c_void_p()
    ok(function(ctypes.byref(handle), *args))
    return handle


def errmsg(function, handle):
    buf = ctypes.create_string_buffer(512)
    ok(function(handle, buf, len(buf)))
    return buf.value.decode()


def finish(op):
    """Waits for an operation; its code."""
    ok(lib.kl_op_wait(op, -1))
    return lib.kl_op_code(op)


def array(kind, values):
    return (kind * len(values))(*values)


def pointers(values):
    """An array of pointers to bytes, which the caller keeps; None = null."""
    return array(ctypes.c_char_p, values)


def bytes_at(pointer, size):
    return None if pointer is None else ctypes.string_at(pointer, size)


class Headers(unittest.TestCase):
    def test_every_function_has_its_signature(self):
        found = dict(declared())
        self.assertGreater(len(found), 80)
        self.assertEqual(
            {n: s.replace(" ", "") for n, s in found.items()},
            {n: s.replace(" ", "") for n, s in SIGNATURES.items()})


class Plain(unittest.TestCase):
    def test_version(self):
        number = lib.kl_version_number()
        self.assertEqual(lib.kl_version_string().decode(), "%d.%d.%d" % (
            number // 1000000, number // 1000 % 1000, number % 1000))

    def test_errors(self):
        self.assertEqual(lib.kl_error_name(KL_ENOTOPIC), b"KL_ENOTOPIC")
        self.assertEqual(lib.kl_strerror(KL_ENOTOPIC),
                         b"unknown topic or partition")
        self.assertEqual(lib.kl_error_is_retriable(KL_EAGAIN), 1)
        self.assertEqual(lib.kl_error_is_fatal(KL_ECLOSED), 1)
        self.assertEqual(lib.kl_error_name(-1), b"KL_E?")

    def test_table_of_keys(self):
        keys = [lib.kl_config_key_at(i).decode()
                for i in range(lib.kl_config_key_count())]
        self.assertIn("segment.bytes", keys)
        self.assertIsNone(lib.kl_config_key_at(len(keys)))

    def test_configuration(self):
        config = new(lib.kl_config_new, None, None)
        ok(lib.kl_config_set(config, b"batch.size", b"128k"))
        buf = ctypes.create_string_buffer(32)
        size = ctypes.c_size_t()
        ok(lib.kl_config_get(config, b"batch.size", buf, len(buf),
                             ctypes.byref(size)))
        self.assertEqual(buf.value, b"131072")
        self.assertEqual(size.value, 6)
        self.assertEqual(lib.kl_config_set(config, b"bach.size", b"1"),
                         KL_ECONFIG)
        self.assertIn("bach.size", errmsg(lib.kl_config_errmsg, config))
        lib.kl_config_free(config)

    def test_null_handles(self):
        for name in SIGNATURES:
            if name.endswith("_free"):
                getattr(lib, name)(None)


class Node(unittest.TestCase):
    """A node with a client and a topic, polled by this thread."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kraftlog-test-")
        self.dir = os.path.join(self.folder, "data").encode()
        self.node = self.new_node()
        ok(lib.kl_node_open(self.node, self.dir, KL_OPEN_CREATE))
        self.client = ctypes.c_void_p()
        ok(lib.kl_node_client(self.node, ctypes.byref(self.client)))
        self.assertEqual(self.create_topic(b"t", 2), KL_OK)

    def tearDown(self):
        lib.kl_client_free(self.client)
        lib.kl_node_free(self.node)
        shutil.rmtree(self.folder)

    def new_node(self):
        return new(lib.kl_node_new, None)

    def create_topic(self, name, partitions):
        op = ctypes.c_void_p()
        ok(lib.kl_admin_create_topic(self.client, name, partitions, 1, None, 0,
                                     ctypes.byref(op)))
        code = finish(op)
        if code != KL_OK:
            self.assertNotEqual(errmsg(lib.kl_op_errmsg, op), "")
        lib.kl_op_free(op)
        return code

    def send(self, producer, key, value, partition=0):
        op = ctypes.c_void_p()
        ok(lib.kl_producer_send(
            producer, b"t", partition, key, len(key or b""), value,
            len(value or b""), KL_TIMESTAMP_NOW, 0, ctypes.byref(op)))
        return op

    def read(self, partition, offset=KL_OFFSET_BEGIN):
        """Offsets, keys and values up to the end, by columns."""
        consumer = new(lib.kl_consumer_new, self.client, None)
        ok(lib.kl_consumer_assign(consumer, b"t", partition, offset, 0))
        rows = []
        kind = None
        while kind != KL_EVENT_END:
            event = ctypes.c_void_p()
            ok(lib.kl_consumer_poll(consumer, -1, ctypes.byref(event)))
            kind = lib.kl_event_type(event)
            self.assertNotEqual(kind, KL_EVENT_ERROR)
            self.assertEqual(lib.kl_event_topic(event), b"t")
            self.assertEqual(lib.kl_event_partition(event), partition)
            rows += self.columns(event)
            lib.kl_event_free(event)
        lib.kl_consumer_free(consumer)
        return rows

    def columns(self, event):
        count = ctypes.c_size_t()
        offsets = ctypes.POINTER(ctypes.c_int64)()
        timestamps = ctypes.POINTER(ctypes.c_int64)()
        keys = ctypes.POINTER(ctypes.c_void_p)()
        key_sizes = ctypes.POINTER(ctypes.c_uint64)()
        values = ctypes.POINTER(ctypes.c_void_p)()
        value_sizes = ctypes.POINTER(ctypes.c_uint64)()
        ok(lib.kl_event_columns(event, *map(ctypes.byref, (
            count, offsets, timestamps, keys, key_sizes, values,
            value_sizes))))
        self.assertEqual(count.value, lib.kl_event_record_count(event))
        return [(offsets[i], bytes_at(keys[i], key_sizes[i]),
                 bytes_at(values[i], value_sizes[i]))
                for i in range(count.value)]

    def test_produce_and_consume(self):
        producer = new(lib.kl_producer_new, self.client, None)
        rows = [(b"k", b"v"), (None, b"v"), (b"k", None), (b"", b""),
                (b"\0\xff", bytes(range(256)) * 100)]
        for number, (key, value) in enumerate(rows):
            op = self.send(producer, key, value)
            self.assertEqual(finish(op), KL_OK)
            offset = ctypes.c_int64(-1)
            level = ctypes.c_int()
            ok(lib.kl_op_offset(op, ctypes.byref(offset)))
            ok(lib.kl_op_level(op, ctypes.byref(level)))
            self.assertEqual((offset.value, level.value), (number, 2))
            lib.kl_op_free(op)
        lib.kl_producer_free(producer)
        self.assertEqual(self.read(0), [
            (i, key, value) for i, (key, value) in enumerate(rows)])
        self.assertEqual(self.read(0, 3), self.read(0)[3:])
        self.assertEqual(self.read(1), [])

    def test_bulk(self):
        producer = new(lib.kl_producer_new, self.client, None)
        keys = [None if i % 3 else b"%d" % i for i in range(1000)]
        values = [b"value %d" % i for i in range(1000)]
        accepted = ctypes.c_size_t()
        op = ctypes.c_void_p()
        ok(lib.kl_producer_send_bulk(
            producer, b"t", 1, pointers(keys),
            array(ctypes.c_uint64, [len(k or b"") for k in keys]),
            pointers(values),
            array(ctypes.c_uint64, [len(v) for v in values]),
            None, len(values), 0, ctypes.byref(accepted), ctypes.byref(op)))
        self.assertEqual(accepted.value, 1000)
        self.assertEqual(finish(op), KL_OK)
        offsets = ctypes.POINTER(ctypes.c_int64)()
        count = ctypes.c_size_t()
        ok(lib.kl_op_offsets(op, ctypes.byref(offsets), ctypes.byref(count)))
        self.assertEqual(offsets[:count.value], list(range(1000)))
        lib.kl_op_free(op)
        lib.kl_producer_free(producer)
        self.assertEqual(self.read(1),
                         list(zip(range(1000), keys, values)))

    def test_record_with_headers(self):
        producer = new(lib.kl_producer_new, self.client, None)
        record = new(lib.kl_record_new, None)
        ok(lib.kl_record_set_value(record, b"v", 1))
        ok(lib.kl_record_set_timestamp(record, 12345))
        ok(lib.kl_record_add_header(record, b"name", b"text", 4))
        ok(lib.kl_producer_send_record(producer, b"t", 0, record, 0, None))
        lib.kl_record_free(record)
        ok(lib.kl_producer_flush(producer, -1))
        lib.kl_producer_free(producer)
        consumer = new(lib.kl_consumer_new, self.client, None)
        ok(lib.kl_consumer_assign(consumer, b"t", 0, 0, 0))
        event = ctypes.c_void_p()
        ok(lib.kl_consumer_poll(consumer, -1, ctypes.byref(event)))
        self.assertEqual(lib.kl_event_type(event), KL_EVENT_RECORDS)
        lent = ctypes.c_void_p()
        ok(lib.kl_event_next(event, ctypes.byref(lent)))
        self.assertEqual(lib.kl_record_timestamp(lent), 12345)
        self.assertEqual(lib.kl_record_offset(lent), 0)
        self.assertIsNone(lib.kl_record_key(lent, None))
        out = [ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p(),
               ctypes.c_size_t()]
        ok(lib.kl_record_header_at(lent, 0, *map(ctypes.byref, out)))
        self.assertEqual(bytes_at(out[0].value, out[1].value), b"name")
        self.assertEqual(bytes_at(out[2].value, out[3].value), b"text")
        self.assertEqual(lib.kl_event_next(event, ctypes.byref(lent)), KL_EEND)
        lib.kl_event_free(event)
        lib.kl_consumer_free(consumer)

    def test_callback(self):
        seen = []
        producer = new(lib.kl_producer_new, self.client, None)

        def acknowledged(op, user):
            offset = ctypes.c_int64(-1)
            ok(lib.kl_op_offset(op, ctypes.byref(offset)))
            seen.append((user, offset.value))

        callback = OP_FN(acknowledged)
        for i in range(10):
            op = self.send(producer, None, b"v")
            ok(lib.kl_op_set_callback(
                op, ctypes.cast(callback, ctypes.c_void_p), i + 1))
            lib.kl_op_free(op)
        while len(seen) < 10:
            ok(lib.kl_node_poll(self.node, -1))
        self.assertEqual(seen, [(i + 1, i) for i in range(10)])
        lib.kl_producer_free(producer)

    def test_json(self):
        op = ctypes.c_void_p()
        text = ctypes.c_char_p()
        ok(lib.kl_admin_describe_topic(self.client, b"t", 0,
                                       ctypes.byref(op)))
        self.assertEqual(finish(op), KL_OK)
        ok(lib.kl_op_json(op, ctypes.byref(text), None))
        topic = json.loads(text.value.decode())
        self.assertEqual(topic["name"], "t")
        self.assertEqual(len(topic["partitions"]), 2)
        lib.kl_op_free(op)
        ok(lib.kl_admin_list_topics(self.client, 0, ctypes.byref(op)))
        self.assertEqual(finish(op), KL_OK)
        ok(lib.kl_op_json(op, ctypes.byref(text), None))
        self.assertEqual(
            [t["name"] for t in json.loads(text.value.decode())["topics"]],
            ["t"])
        lib.kl_op_free(op)

    def test_statistics(self):
        size = ctypes.c_size_t()
        ok(lib.kl_node_stats_json(self.node, None, 0, ctypes.byref(size)))
        buf = ctypes.create_string_buffer(2 * size.value)
        ok(lib.kl_node_stats_json(self.node, buf, len(buf), None))
        self.assertEqual(json.loads(buf.value.decode())["node"]["topics"], 1)
        ok(lib.kl_node_stats_prometheus(self.node, None, 0,
                                        ctypes.byref(size)))
        buf = ctypes.create_string_buffer(2 * size.value)
        ok(lib.kl_node_stats_prometheus(self.node, buf, len(buf), None))
        for line in buf.value.decode().splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) \w+ .+|"
                                   r"\w+(\{\w+=\"[^\"]+\"\})? [0-9.]+)$")

    def test_texts_of_errors(self):
        self.assertEqual(self.create_topic(b"a/b", 1), KL_ETOPICNAME)
        other = self.new_node()
        self.assertEqual(lib.kl_node_open(other, self.dir, 0), KL_EBUSY)
        self.assertIn(self.dir.decode(), errmsg(lib.kl_node_errmsg, other))
        empty = os.path.join(self.folder, "nothing").encode()
        self.assertEqual(lib.kl_node_open(other, empty, 0), KL_ENOSTORE)
        self.assertNotEqual(errmsg(lib.kl_node_errmsg, other), "")
        lib.kl_node_free(other)
        consumer = new(lib.kl_consumer_new, self.client, None)
        self.assertEqual(lib.kl_consumer_assign(consumer, b"no", 0, 0, 0),
                         KL_ENOTOPIC)
        self.assertIn("no", errmsg(lib.kl_consumer_errmsg, consumer))
        lib.kl_consumer_free(consumer)
        producer = new(lib.kl_producer_new, self.client, None)
        self.assertEqual(lib.kl_producer_send(
            producer, b"no", 0, None, 0, b"v", 1, KL_TIMESTAMP_NOW, 0, None),
            KL_ENOTOPIC)
        self.assertIn("no", errmsg(lib.kl_producer_errmsg, producer))
        lib.kl_producer_free(producer)

    def test_handles_freed_in_a_wrong_order(self):
        producer = new(lib.kl_producer_new, self.client, None)
        consumer = new(lib.kl_consumer_new, self.client, None)
        ok(lib.kl_consumer_assign(consumer, b"t", 0, KL_OFFSET_BEGIN, 0))
        op = self.send(producer, b"k", b"v")
        self.assertEqual(finish(op), KL_OK)
        event = ctypes.c_void_p()
        ok(lib.kl_consumer_poll(consumer, -1, ctypes.byref(event)))
        pending = self.send(producer, b"k", b"w")

        # What everything depends on goes first.
        lib.kl_node_free(self.node)
        lib.kl_client_free(self.client)
        self.node = self.client = None
        self.assertEqual(self.columns(event), [(0, b"k", b"v")])
        self.assertEqual(lib.kl_op_code(op), KL_OK)
        self.assertNotEqual(lib.kl_op_code(pending), KL_OK)
        nothing = ctypes.c_void_p()
        self.assertEqual(
            lib.kl_consumer_poll(consumer, 0, ctypes.byref(nothing)),
            KL_ECLOSED)
        self.assertEqual(lib.kl_producer_send(
            producer, b"t", 0, None, 0, b"v", 1, KL_TIMESTAMP_NOW, 0, None),
            KL_ECLOSED)
        self.assertEqual(lib.kl_producer_flush(producer, -1), KL_ECLOSED)
        lib.kl_consumer_free(consumer)
        lib.kl_producer_free(producer)
        self.assertEqual(self.columns(event), [(0, b"k", b"v")])
        for handle in (op, pending):
            lib.kl_op_free(handle)
        lib.kl_event_free(event)

    def reopen(self):
        lib.kl_client_free(self.client)
        lib.kl_node_free(self.node)
        self.node = self.new_node()
        ok(lib.kl_node_open(self.node, self.dir, 0))
        self.client = ctypes.c_void_p()
        ok(lib.kl_node_client(self.node, ctypes.byref(self.client)))

    def test_reopen_after_a_crash_stop(self):
        producer = new(lib.kl_producer_new, self.client, None)
        op = self.send(producer, b"k", b"v", 1)
        self.assertEqual(finish(op), KL_OK)
        lib.kl_op_free(op)
        lib.kl_producer_free(producer)
        self.reopen()
        self.assertEqual(self.read(1), [(0, b"k", b"v")])
        ok(lib.kl_node_stop(self.node, -1))

    def test_thread_of_the_node(self):
        # This one has been polled by the caller, who owns it.
        self.assertEqual(lib.kl_node_start(self.node), KL_ESTATE)
        self.reopen()
        ok(lib.kl_node_start(self.node))
        producer = new(lib.kl_producer_new, self.client, None)
        for i in range(100):
            lib.kl_op_free(self.send(producer, None, b"%d" % i))
        ok(lib.kl_producer_flush(producer, -1))
        lib.kl_producer_free(producer)
        self.assertEqual(len(self.read(0)), 100)
        ok(lib.kl_node_stop(self.node, -1))


def call(kinds, method):
    """A C function for a method: 0 or a code, whatever Python raises."""
    def run(*args):
        try:
            return method(*args[:-1]) or KL_OK
        except KeyError:
            return KL_ENOENT
        except FileExistsError:
            return KL_EEXIST
        except Exception:  # ctypes would print it and say 0
            return KL_EIO
    # Letters as above, S for bytes of a path, Z for sizes.
    extra = {"S": ctypes.c_char_p, "H": ctypes.POINTER(ctypes.c_void_p),
             "Z": ctypes.POINTER(ctypes.c_size_t),
             "U": ctypes.POINTER(ctypes.c_uint64)}
    return ctypes.CFUNCTYPE(ctypes.c_int, *(
        extra.get(k) or KINDS[k] for k in kinds + "p"))(run)


class Files:
    """A file system in a dictionary: path -> bytes, None for a folder. An open
    file is a number in a list of byte arrays."""

    def __init__(self):
        self.names = {}
        self.handles = [None]  # no handle is NULL, which ctypes calls None
        self.storage = new(lib.kl_storage_new, None)
        self.calls = {name: call(kinds, getattr(self, name))
                      for name, kinds in (
            ("open", "SWH"), ("close", "p"), ("read", "ppzLZ"),
            ("write", "pHUzL"), ("sync", "p"), ("truncate", "pL"),
            ("size", "pU"), ("rename", "SS"), ("unlink", "S"),
            ("mkdir", "S"), ("rmdir", "S"), ("list", "Sp"),
            ("sync_dir", "S"))}
        for name, function in self.calls.items():
            ok(getattr(lib, "kl_storage_set_" + name)(
                self.storage, ctypes.cast(function, ctypes.c_void_p), None))

    def open(self, path, flags, out):
        if path not in self.names and flags & KL_STORAGE_CREATE:
            self.names[path] = bytearray()
        if flags & KL_STORAGE_TRUNCATE:
            self.names[path].clear()
        self.handles.append(self.names[path])
        out[0] = len(self.handles) - 1

    def close(self, file):
        self.handles[file] = None

    def read(self, file, buf, size, offset, out):
        data = bytes(self.handles[file][offset:offset + size])
        ctypes.memmove(buf, data, len(data))
        out[0] = len(data)

    def write(self, file, parts, sizes, count, offset):
        data = b"".join(ctypes.string_at(parts[i], sizes[i])
                        for i in range(count))
        if len(self.handles[file]) < offset:
            self.truncate(file, offset)
        self.handles[file][offset:offset + len(data)] = data

    def truncate(self, file, size):
        data = self.handles[file]
        data.extend(bytes(max(0, size - len(data))))
        del data[size:]

    def size(self, file, out):
        out[0] = len(self.handles[file])

    def rename(self, source, target):
        for name in [source] + [source + b"/" + n for n in self.below(source)]:
            self.names[target + name[len(source):]] = self.names.pop(name)

    def unlink(self, path):
        del self.names[path]

    def mkdir(self, path):
        if path in self.names:
            raise FileExistsError
        self.names[path] = None

    def below(self, folder):
        return [p[len(folder) + 1:] for p in list(self.names)
                if p.startswith(folder + b"/")]

    def rmdir(self, path):
        if self.below(path):
            raise FileExistsError
        del self.names[path]

    def list(self, path, names):
        if self.names[path] is not None:
            return KL_EIO
        for name in self.below(path):
            if b"/" not in name:
                ok(lib.kl_storage_names_add(names, name))
        return KL_OK

    def sync(self, file):
        pass

    def sync_dir(self, path):
        pass


class NodeOnFilesOfPython(Node):
    """The same over a file system in Python."""

    def setUp(self):
        self.files = Files()
        super().setUp()

    def tearDown(self):
        self.assertFalse(os.path.exists(self.dir))
        super().tearDown()
        self.assertFalse(any(h is not None for h in self.files.handles))
        self.assertGreater(len(self.files.names), 10)
        lib.kl_storage_free(self.files.storage)

    def new_node(self):
        node = super().new_node()
        ok(lib.kl_node_set_storage(node, self.files.storage))
        return node


class Storage(unittest.TestCase):
    def test_memory(self):
        storage = new(lib.kl_storage_new_memory, None, 0)
        node = new(lib.kl_node_new, None)
        ok(lib.kl_node_set_storage(node, storage))
        lib.kl_storage_free(storage)
        self.assertEqual(lib.kl_node_open(node, b"m", 0), KL_ENOSTORE)
        ok(lib.kl_node_open(node, b"m", KL_OPEN_CREATE))
        ok(lib.kl_node_stop(node, -1))
        lib.kl_node_free(node)
        self.assertFalse(os.path.exists("m"))


def main():
    global lib
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lib = ctypes.CDLL(os.path.join(sys.argv[1], "libkraftlog.so"))
    declare()
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
