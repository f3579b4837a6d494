#!/usr/bin/env python3
"""Coverage by file and room, and whether it is enough.

usage: table.py BUILD LINES BRANCHES FILE...

BUILD has the objects and counts of a run. A branch counts where each of its
directions has been taken. Every room as a whole must reach LINES and BRANCHES
percent; with COVERAGE=text in the environment the lines of files whose names
contain it are printed that were not executed, or not in every direction.
"""
import json
import os
import subprocess
import sys


def read_lines(build, path):
    """Line number -> executions, executions of each branch."""
    text = subprocess.run(
        ["gcov", "--json-format", "--stdout", "--branch-probabilities",
         "%s/obj/%s.o" % (build, path[:-2])],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    lines = {}
    for report in text.splitlines():
        for file in json.loads(report)["files"]:
            if file["file"] != path:
                continue
            for line in file["lines"]:
                seen = lines.setdefault(line["line_number"], [0, []])
                seen[0] += line["count"]
                seen[1] += [b["count"] for b in line["branches"]]
    if not lines:
        sys.exit("coverage: nothing is known about %s" % path)
    return lines


def count(lines):
    branches = [b for _, of_line in lines.values() for b in of_line]
    return [len(lines), sum(1 for n, _ in lines.values() if n),
            len(branches), sum(1 for b in branches if b)]


def percent(done, of):
    return 100.0 * done / of if of else 100.0


def row(name, counts):
    return "%-32s %6d lines %6.2f %% %6d branches %6.2f %%" % (
        name, counts[0], percent(counts[1], counts[0]),
        counts[2], percent(counts[3], counts[2]))


def show(path, lines):
    with open(path, encoding="utf-8") as f:
        text = f.read().split("\n")
    for number, (times, branches) in sorted(lines.items()):
        if times == 0 or 0 in branches:
            print("    %-4s %4d  %s" % (
                "".join("+" if b else "-" for b in branches) if times
                else "never", number, text[number - 1]))


def main():
    build, bars, paths = sys.argv[1], sys.argv[2:4], sys.argv[4:]
    wanted = os.environ.get("COVERAGE")
    rooms = {}
    for path in paths:
        lines = read_lines(build, path)
        counts = count(lines)
        print(row(path, counts))
        if wanted and wanted in path:
            show(path, lines)
        room = rooms.setdefault(os.path.dirname(path), [0] * 4)
        room[:] = [a + b for a, b in zip(room, counts)]
    low = []
    for name, counts in rooms.items():
        print(row(name, counts))
        if (percent(counts[1], counts[0]) < float(bars[0]) or
                percent(counts[3], counts[2]) < float(bars[1])):
            low.append(name)
    if low:
        sys.exit("coverage: below %s %% of lines or %s %% of branches: %s"
                 % (bars[0], bars[1], " ".join(low)))


if __name__ == "__main__":
    main()
