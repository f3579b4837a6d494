#!/usr/bin/env python3
"""Folders that are not open, from Python, with nothing but ctypes.

usage: test_inspect.py BUILD
"""
import ctypes
import glob
import json
import sys
import unittest

sys.dont_write_bytecode = True
import test_ctypes
from test_ctypes import KL_EBUSY, KL_EEND, bytes_at, errmsg, new, ok


class Inspect(unittest.TestCase):
    """What a node has left, looked at without one."""

    # Not by inheritance, which would bring its tests along.
    new_node, send = test_ctypes.Node.new_node, test_ctypes.Node.send
    create_topic = test_ctypes.Node.create_topic
    tearDown = test_ctypes.Node.tearDown

    def setUp(self):
        test_ctypes.Node.setUp(self)
        self.lib = test_ctypes.lib
        self.inspect = new(self.lib.kl_inspect_new, None)
        self.addCleanup(self.lib.kl_inspect_free, self.inspect)

    def items(self):
        """Types and fields of all items, from their JSON."""
        found = []
        item = ctypes.c_void_p()
        code = self.lib.kl_inspect_next(self.inspect, ctypes.byref(item))
        while code != KL_EEND:
            ok(code)
            found.append(self.fields(item))
            code = self.lib.kl_inspect_next(self.inspect, ctypes.byref(item))
        return found

    def fields(self, item):
        text = ctypes.c_char_p()
        size = ctypes.c_size_t()
        ok(self.lib.kl_item_json(item, ctypes.byref(text), ctypes.byref(size)))
        self.assertEqual(len(text.value), size.value)
        fields = json.loads(text.value)
        self.assertEqual(self.lib.kl_item_type(item).decode(), fields["type"])
        names = list(fields)[1:]
        for i, name in enumerate(names):
            self.assertEqual(self.lib.kl_item_field_at(item, i).decode(), name)
            self.assertEqual(self.value(item, name), fields[name])
        self.assertIsNone(self.lib.kl_item_field_at(item, len(names)))
        ok(self.lib.kl_item_text(item, ctypes.byref(text), None))
        if "text" in fields:
            self.assertEqual(text.value.decode(), fields["text"])
        return fields

    def value(self, item, name):
        data = ctypes.c_void_p()
        size = ctypes.c_size_t()
        number = ctypes.c_int64()
        name = name.encode()
        if self.lib.kl_item_int(item, name, ctypes.byref(number)) == 0:
            return number.value
        ok(self.lib.kl_item_bytes(item, name, ctypes.byref(data),
                                  ctypes.byref(size)))
        found = bytes_at(data.value, size.value)
        return None if found is None else found.decode()

    def stop(self):
        producer = new(self.lib.kl_producer_new, self.client, None)
        self.lib.kl_op_free(self.send(producer, b"k", b"v"))
        ok(self.lib.kl_producer_flush(producer, -1))
        self.lib.kl_producer_free(producer)
        ok(self.lib.kl_node_stop(self.node, -1))

    def damage(self):
        """Spoils the first batch of the metadata log."""
        segment = glob.glob(self.dir.decode() + "/logs/00*/*.seg")[0]
        with open(segment, "r+b") as f:
            f.seek(4096 + 95)
            f.write(b"damage")

    def test_folder_in_use(self):
        verify = self.lib.kl_inspect_verify
        self.assertEqual(verify(self.inspect, self.dir, 0), KL_EBUSY)
        self.assertIn("node", errmsg(self.lib.kl_inspect_errmsg, self.inspect))

    def test_verify(self):
        self.stop()
        ok(self.lib.kl_inspect_verify(self.inspect, self.dir, 0))
        items = self.items()
        self.assertEqual([i["type"] for i in items], ["summary"])
        self.assertEqual(items[0]["damage"], 0)
        self.damage()
        ok(self.lib.kl_inspect_verify(self.inspect, self.dir, 0))
        items = self.items()
        self.assertEqual([i["type"] for i in items], ["finding", "summary"])
        self.assertEqual((items[0]["kind"], items[0]["from"]), ("body", 0))

    def test_dump(self):
        self.stop()
        ok(self.lib.kl_inspect_dump_log(self.inspect, self.dir, b"t", 0, 2))
        items = self.items()
        self.assertEqual([i["type"] for i in items],
                         ["log", "segment", "batch", "record"])
        self.assertEqual((items[3]["key"], items[3]["value"]), ("k", "v"))

    def test_salvage(self):
        self.stop()
        new = self.dir + b".new"
        ok(self.lib.kl_inspect_salvage(self.inspect, self.dir, new, 0))
        items = self.items()
        self.assertEqual([i["type"] for i in items],
                         ["saved", "saved", "saved", "summary"])
        self.assertEqual(items[-1]["lost_ranges"], 0)
        ok(self.lib.kl_inspect_verify(self.inspect, new, 0))
        self.assertEqual(len(self.items()), 1)


if __name__ == "__main__":
    test_ctypes.main()
