"""Rules that only the compiled files can prove.

Rooms other than base and os reach nothing of the system: every symbol that
they leave undefined must be one of ours, a function on memory that they are
given, a codec, or a helper of the compiler. And no file has state of its own.
"""
import os
import re
import subprocess

ALLOWED = re.compile(r"""^(
    mem(chr|cmp|cpy|move|set) | strn?(chr|cmp|len|rchr|cpn|spn|str|pbrk) |
    strcspn | strspn | strnlen |
    __mem(cpy|move|set)_chk | __stack_chk_fail | _GLOBAL_OFFSET_TABLE_ |
    __tls_get_addr | _?_u?(div|mod|mul)[dt]i[34] | __popcount[ds]i2
)$""", re.X)
CODEC = re.compile(r"^(LZ4|ZSTD)\w+$")
# In a shared library constant tables with pointers are writable for the loader
# alone (.data.rel.ro); these sections are not.
STATE = re.compile(r"\s(\.data(?!\.rel\.ro)\S*|\.bss\S*|\.tdata\S*|\.tbss\S*)"
                   r"\s+([0-9a-f]+)\s+(?:\.hidden )?(\S+)$")
# The panic hook of the thread, explained where it is.
STATE_ALLOWED = {"lib/base/assert.c": "panic_hook"}


def owner_of(symbol, layers):
    """The room of one of our symbols; None where it is a public function."""
    for room in layers:
        if symbol.startswith("kl_%s_" % room):
            return room
    return None


def is_allowed(room, symbol, layers):
    if ALLOWED.match(symbol) or (room == "batch" and CODEC.match(symbol)):
        return True
    if not symbol.startswith("kl_"):
        return False
    owner = owner_of(symbol, layers)
    if owner is None:
        return room == "api"
    # Ports are called through their tables: "os/vfs.h" gives no function.
    return owner == room or owner in layers[room]


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def check_undefined(path, source, layers, report):
    room = source.split("/")[1]
    if room in ("base", "os"):
        return
    for line in output_of("nm", "-u", path).splitlines():
        symbol = line.split()[-1].split("@")[0]
        if not is_allowed(room, symbol, layers):
            report(source, 1, "%s may not use %s" % (room, symbol))


def check_state(path, source, report):
    for line in output_of("objdump", "-t", path).splitlines():
        match = STATE.search(line)
        if not match or int(match.group(2), 16) == 0:
            continue
        name = match.group(3)
        if STATE_ALLOWED.get(source) != name.split(".")[0]:
            report(source, 1, "%s outlives a call" % name)


def check(folder, layers, report):
    for where, _, names in os.walk(os.path.join(folder, "lib")):
        for name in names:
            path = os.path.join(where, name)
            source = os.path.relpath(path, folder)[:-2] + ".c"
            # Objects of files that are gone do not count.
            if name.endswith(".o") and os.path.exists(source):
                check_undefined(path, source, layers, report)
                check_state(path, source, report)
