#!/usr/bin/env python3
"""House rules of the sources that a machine can check.

usage: lint.py [--objects DIR] [PREFIX...]

Prints one line per finding, file:line: text, and exits 1 where there is any.
With --objects the compiled files below DIR are checked too (objects.py). With
prefixes only findings in files whose path begins with one of them count.
"""
import argparse
import os
import re
import subprocess
import sys

import objects
import tree

FUNCTION_LINES = 70
FILE_LINES = 800
LINE_COLUMNS = 80

# Headers of the system by who may include them. Rooms above base and os have
# no way to reach the operating system, and the codecs belong to batch.
PLAIN_HEADERS = {
    "limits.h", "stdarg.h", "stdatomic.h", "stdbool.h", "stddef.h",
    "stdint.h", "inttypes.h", "string.h",
}
BASE_HEADERS = PLAIN_HEADERS | {
    "arm_acle.h", "nmmintrin.h", "stdio.h", "stdlib.h", "sys/auxv.h",
}
CODEC_HEADERS = {"lz4.h", "lz4frame.h", "lz4hc.h", "zstd.h", "zstd_errors.h"}

# Calls nobody makes: unbounded, locale or process-wide state, or lossy.
NEVER = """
    alloca asctime atof atoi atol atoll ctime exit getenv gets gmtime localtime
    perror popen printf putchar puts rand random setenv setlocale signal sleep
    sprintf srand strcat strcpy strerror strncat strncpy strtok system tmpnam
    usleep vprintf vsprintf vfork fprintf fputs fputc
""".split()
# Calls that belong to one place: pattern -> prefixes of the files that may.
PLACES = [
    (r"malloc|calloc|realloc|free|strdup|strndup|posix_memalign",
     ["lib/base/alloc.c"]),
    (r"abort", ["lib/base/assert.c"]),
    (r"snprintf|vsnprintf", ["lib/base/"]),
    (r"pthread_\w+", ["lib/os/"]),
    (r"time|clock|clock_gettime|gettimeofday|nanosleep", ["lib/os/"]),
    (r"fopen|open|openat|close|read|write|pread|pwrite|preadv|pwritev|fsync|"
     r"fdatasync|ftruncate|fallocate|posix_fallocate|unlink|unlinkat|rename|"
     r"renameat|mkdir|rmdir|opendir|readdir|stat|fstat|statvfs|mmap|munmap|"
     r"poll|select|ioctl|fcntl|fork|getpid", ["lib/os/"]),
    (r"XXH\w+", ["lib/base/hash.c"]),
    (r"LZ4\w+|ZSTD\w+", ["lib/batch/"]),
]
# Programs and tests may print and open files, but not by these.
NEVER_OUTSIDE_LIB = """
    alloca gets sprintf strcpy strcat strtok tmpnam vsprintf atoi atol
""".split()
# A test waits for a condition, never for time to pass.
NEVER_IN_TESTS = NEVER_OUTSIDE_LIB + ["sleep", "usleep", "nanosleep"]

# Written apart, so that this file passes its own rule.
UNFINISHED = re.compile(r"\b(TO" + "DO|FIX" + "ME|XX" + "X|HA" + r"CK)\b")
CALL = r"(?<![\w.>])(?:%s)\s*\("


def check_text(path, text, report):
    """Rules for every text file."""
    lines = text.split("\n")
    if len(lines) - 1 > FILE_LINES:
        report(path, len(lines) - 1, "file longer than %d lines" % FILE_LINES)
    if text and not text.endswith("\n"):
        report(path, len(lines), "no newline at the end of the file")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            report(path, number, "trailing blanks")
        if "\t" in line:
            report(path, number, "tab")
        if len(line) > LINE_COLUMNS and tree.is_code(path):
            report(path, number, "line longer than %d columns" % LINE_COLUMNS)
        if UNFINISHED.search(line):
            report(path, number, "unfinished: " + line.strip())


def check_calls(path, code, report):
    """Banned calls; code is the text without comments and strings."""
    def ban(names, text):
        for match in re.finditer(CALL % names, code):
            number = code.count("\n", 0, match.start()) + 1
            report(path, number, text % match.group(0).rstrip("( \n"))

    if path.startswith("lib/"):
        ban("|".join(NEVER), "%s() is not used in the library")
        for names, places in PLACES:
            if not any(path.startswith(place) for place in places):
                ban(names, "%%s() only in %s" % ", ".join(places))
    elif path.startswith("test/"):
        ban("|".join(NEVER_IN_TESTS), "%s() is not used in tests")
    else:
        ban("|".join(NEVER_OUTSIDE_LIB), "%s() is not used")


def system_header_is_allowed(room, header):
    if room == "os":
        return True
    if room == "base":
        return header in BASE_HEADERS or header == "xxhash.h"
    if room == "batch" and header in CODEC_HEADERS:
        return True
    return header in PLAIN_HEADERS


def room_header_is_allowed(room, header, layers):
    """An include "x/y.h" from a file of room."""
    other = header.split("/")[0]
    if other == room or header in layers[room]:
        return True
    if other not in layers[room]:
        return False
    # base and os are shelves of small parts; the others have one door.
    return other in ("base", "os") or header == "%s/%s.h" % (other, other)


def check_includes(path, text, layers, report):
    room = path.split("/")[1]
    if room not in layers:
        report(path, 1, "room is not in lib/LAYERS")
        return
    pattern = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
    for match in pattern.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        quote, header = match.groups()
        if header.startswith("kraftlog/"):
            ok = quote == "<"
        elif quote == "<":
            ok = system_header_is_allowed(room, header)
        else:
            ok = room_header_is_allowed(room, header, layers)
        if not ok:
            report(path, number, "%s may not include %s" % (room, header))


def check_shape(path, text, report):
    """Opening comment of library files and the guard of headers."""
    if path.endswith(".c") and not text.startswith("/*"):
        report(path, 1, "file does not begin with a comment")
    if not path.endswith(".h"):
        return
    room, name = path.split("/")[-2:]
    guard = "KL_%s_%s_H" % (room, name[:-2])
    if path.startswith("include/"):
        guard = "KRAFTLOG_%s_H" % name[:-2]
    guard = re.sub(r"\W", "_", guard).upper()
    # The umbrella header is called as the folder.
    if "#ifndef %s\n#define %s\n" % (guard, guard) not in text \
            and name != "kraftlog.h":
        report(path, 1, "include guard is not " + guard)


def functions_of(paths):
    """Yields path, name, first and last line, static for every function."""
    out = subprocess.run(
        ["ctags", "--fields=+neKS", "--kinds-C=f", "--languages=C",
         "--langmap=C:.c.h", "-f", "-", *paths],
        stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in out.splitlines():
        fields = line.split("\t")
        extra = dict(f.split(":", 1) for f in fields[3:] if ":" in f)
        if "end" in extra:
            yield (fields[1], fields[0], int(extra["line"]),
                   int(extra["end"]), "file" in extra)


def check_functions(paths, report):
    """Length everywhere; names in the library."""
    home = {}
    for path, name, first, last, static in functions_of(paths):
        if last - first + 1 > FUNCTION_LINES:
            report(path, first, "%s() has %d lines, more than %d"
                   % (name, last - first + 1, FUNCTION_LINES))
        if not path.startswith("lib/") or name.isupper():
            continue
        # One name, one function: the library can be compiled as one file.
        # Several in one file are alternatives of the preprocessor.
        if home.setdefault(name, path) != path and not path.endswith(".h"):
            report(path, first, "%s() is in %s too" % (name, home[name]))
        room = path.split("/")[1]
        prefix = "kl_" if room == "api" else "kl_%s_" % room
        if not static and not name.startswith(prefix):
            report(path, first, "%s() does not begin with %s" % (name, prefix))


def check_format(paths, report):
    result = subprocess.run(
        ["clang-format", "--dry-run", *paths], stderr=subprocess.PIPE,
        text=True, check=False)
    for match in re.finditer(r"^(\S+?):(\d+):\d+: \w+: code should be",
                             result.stderr, re.M):
        report(match.group(1), int(match.group(2)),
               "not as clang-format writes it")


def check_all(files, objects_folder, report):
    layers = tree.read_layers()
    c_files = [f for f in files if f.endswith((".c", ".h"))]
    for path in files:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if path != "Makefile":
            check_text(path, text, report)
        if path not in c_files:
            continue
        check_calls(path, tree.strip_comments(text), report)
        if path.startswith("lib/"):
            check_includes(path, text, layers, report)
        if path.startswith(("lib/", "include/")):
            check_shape(path, text, report)
    check_functions(c_files, report)
    check_format(c_files, report)
    if objects_folder:
        objects.check(objects_folder, layers, report)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects")
    parser.add_argument("prefixes", nargs="*")
    options = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    findings = set()

    def report(path, number, text):
        if path.startswith(tuple(options.prefixes or [""])):
            findings.add((path, number, text))

    files = tree.files()
    check_all(files, options.objects, report)
    for path, number, text in sorted(findings):
        print("%s:%d: %s" % (path, number, text))
    print("lint: %d files, %d findings" % (len(files), len(findings)))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
