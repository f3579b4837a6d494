#!/usr/bin/env python3
"""Nodes that talk to each other, from Python, with nothing but ctypes.

usage: test_transport.py BUILD
"""
import ctypes
import sys
import unittest

sys.dont_write_bytecode = True
import test_ctypes
from test_ctypes import (KL_ENOTOPIC, KL_OK, KL_OPEN_CREATE, KL_OPEN_JOIN,
                         bytes_at, call, new, ok)


def kl():
    return test_ctypes.lib


class Wires:
    """The network of two nodes, in lists: their transports are filled with
    functions of Python, and what is sent is carried over between polls."""

    def __init__(self):
        self.transports = {n: new(kl().kl_transport_new, None)
                           for n in (b"a", b"b")}
        self.peers = {}  # (endpoint, link) -> (endpoint, link)
        self.sent = []
        self.calls = []
        for name, transport in self.transports.items():
            self.set(transport, "connect", call(
                "LwS", lambda link, node, endpoint, name=name:
                self.connect(name, link, endpoint)))
            self.set(transport, "send", call(
                "Lpz", lambda link, data, size, name=name:
                self.sent.append((name, link, bytes_at(data, size)))))
            self.set(transport, "disconnect", call(
                "L", lambda link, name=name: self.disconnect(name, link)))

    def set(self, transport, name, function):
        self.calls.append(function)
        ok(getattr(kl(), "kl_transport_set_" + name)(
            transport, ctypes.cast(function, ctypes.c_void_p), None))

    def connect(self, name, link, endpoint):
        other = ctypes.c_uint64()
        code = kl().kl_transport_accept(self.transports[endpoint],
                                       ctypes.byref(other))
        if code != KL_OK:
            return code
        self.peers[name, link] = (endpoint, other.value)
        self.peers[endpoint, other.value] = (name, link)
        return kl().kl_transport_up(self.transports[name], link)

    def disconnect(self, name, link):
        other, number = self.peers.pop((name, link), (None, 0))
        if other:
            del self.peers[other, number]
            ok(kl().kl_transport_down(self.transports[other], number))

    def carry(self):
        sent, self.sent = self.sent, []
        for name, link, data in sent:
            other, number = self.peers.get((name, link), (None, 0))
            if other:
                ok(kl().kl_transport_deliver(self.transports[other], number,
                                            data, len(data)))

    def free(self):
        for transport in self.transports.values():
            kl().kl_transport_free(transport)


class Transport(unittest.TestCase):
    """Two nodes in memory: the second one joins the first."""

    def open(self, storage, number, endpoint, transport):
        config = new(kl().kl_config_new, None, None)
        ok(kl().kl_config_set_int(config, b"node.id", number))
        ok(kl().kl_config_set(config, b"advertised.listeners", endpoint))
        ok(kl().kl_config_set(config, b"controller.quorum.bootstrap.servers",
                             b"1@a"))
        node = new(kl().kl_node_new, config)
        kl().kl_config_free(config)
        ok(kl().kl_node_set_storage(node, storage))
        ok(kl().kl_node_set_transport(node, transport))
        ok(kl().kl_node_open(node, endpoint, KL_OPEN_CREATE | (
            KL_OPEN_JOIN if number > 1 else 0)))
        return node

    def run_nodes(self, transports, carry):
        storage = new(kl().kl_storage_new_memory, None, 0)
        nodes = [self.open(storage, i + 1, endpoint, transports[endpoint])
                 for i, endpoint in enumerate((b"a", b"b"))]
        clients = [new(lambda out, n=n: kl().kl_node_client(n, out))
                   for n in nodes]
        op = ctypes.c_void_p()
        ok(kl().kl_admin_create_topic(clients[0], b"t", 3, 1, None, 0,
                                     ctypes.byref(op)))
        count = ctypes.c_int32()
        while kl().kl_client_partition_count(
                clients[1], b"t", ctypes.byref(count)) == KL_ENOTOPIC:
            for node in nodes:
                ok(kl().kl_node_poll(node, 1))
            carry()
        self.assertEqual(count.value, 3)
        self.assertEqual(kl().kl_op_code(op), KL_OK)
        kl().kl_op_free(op)
        for handle in clients:
            kl().kl_client_free(handle)
        for node in nodes:
            kl().kl_node_free(node)
        kl().kl_storage_free(storage)

    def test_functions_of_python(self):
        wires = Wires()
        self.run_nodes(wires.transports, wires.carry)
        self.assertEqual(wires.peers, {})
        wires.free()

    def test_hub(self):
        hub = new(kl().kl_hub_new, None)
        transports = {n: new(kl().kl_transport_new_loopback, None, hub, n)
                      for n in (b"a", b"b")}
        kl().kl_hub_free(hub)
        self.run_nodes(transports, lambda: None)
        for transport in transports.values():
            kl().kl_transport_free(transport)


if __name__ == "__main__":
    test_ctypes.main()
