#!/usr/bin/env python3
"""Planted bugs that a test must find.

usage: run.py FOLDER [ID...]

Each test/mutants/*.patch begins with lines that name the mutant, what it
breaks and the goal that has to fail:

    Mutant: M01
    Breaks: a group is acknowledged before it is synced
    Kill: unit store_wal

A goal is a level and a suite or target (unit store_wal, fault fault_sweep,
property, fuzz wal, script 41-pre-vote), or klsim and one of its checkers (klsim
commit): seeds are run until that checker has fired. Each Kill: of a patch has
to fail. Says: names a text that the failure has to contain, where a certain
check of many is meant.
A copy of the tree is kept in FOLDER; goals must be green there, then each patch
is applied, built, and its goals must fail. A patch that does not apply or
build, or that nobody notices, makes this program fail, and so does a checker of
the simulator that is no patch's goal.
"""
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

PARTS = ["Makefile", "README.md", "LICENSE", "lib", "include", "examples",
         "test", "man", "pkgconfig"]
SECONDS_MAX = 300
SEEDS_MAX = 20000
SEEDS_STEP = 100
SEEDS_GREEN = 20
HOSTS = 3
KLSIM = "build/release/klsim"
HEAD = re.compile(r"^(Mutant|Breaks|Kill|Says): (.*)$", re.M)


class Broken(Exception):
    """A mutant that says nothing about the tests."""


# ---- patches ---------------------------------------------------------------


def read_hunks(text):
    """Yields path, first line, lines before and lines after."""
    path = None
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("+++ "):
            path = line[4:].split("\t")[0].split("/", 1)[1]
        match = re.match(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@", line)
        if not match:
            continue
        counts = [1 if c is None else int(c) for c in match.groups()[1:]]
        before, after = [], []
        while len(before) < counts[0] or len(after) < counts[1]:
            mark, rest = lines[at][:1] or " ", lines[at][1:]
            if mark != "+":
                before.append((mark, rest))
            if mark != "-":
                after.append((mark, rest))
            at += 1
        yield path, int(match.group(1)), before, after


def find(lines, wanted, first):
    """Where the lines are, nearest to where the patch has seen them."""
    places = [i for i in range(len(lines) - len(wanted) + 1)
              if lines[i:i + len(wanted)] == wanted]
    return min(places, key=lambda i: abs(i - first), default=None)


def apply_hunk(lines, first, before, after):
    """Context that has changed meanwhile is left out from its ends."""
    while before:
        at = find(lines, [text for _, text in before], first - 1)
        if at is not None:
            lines[at:at + len(before)] = [text for _, text in after]
            return
        if before[0][0] == " ":
            before, after, first = before[1:], after[1:], first + 1
        elif before[-1][0] == " ":
            before, after = before[:-1], after[:-1]
        else:
            break
    raise Broken("does not apply")


def apply(patch, tree):
    """Changes files of the tree; returns what they were."""
    saved = {}
    for path, first, before, after in read_hunks(patch):
        full = os.path.join(tree, path)
        if not os.path.exists(full):
            raise Broken("no file " + path)
        with open(full, encoding="utf-8") as f:
            text = f.read()
        saved.setdefault(full, text)
        lines = text.split("\n")
        apply_hunk(lines, first, before, after)
        write(full, "\n".join(lines))
    return saved


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def restore(saved):
    for path, text in saved.items():
        write(path, text)


# ---- the tree ---------------------------------------------------------------


def copy_tree(tree):
    """Only what differs is written, so that little is compiled again."""
    wanted = set()
    for part in PARTS:
        files = [part] if os.path.isfile(part) else [
            os.path.join(folder, name)
            for folder, _, names in os.walk(part) for name in names]
        wanted.update(f for f in files if "__pycache__" not in f)
    for path in wanted:
        to = os.path.join(tree, path)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(path, "rb") as f:
            data = f.read()
        if not os.path.exists(to) or open(to, "rb").read() != data:
            shutil.copy(path, to)
    for part in PARTS:
        for folder, _, names in os.walk(os.path.join(tree, part)):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, tree) not in wanted:
                    os.remove(path)


def run(command, environment=None):
    """Output and exit status; None for one that never ends, of which nothing
    goes on running."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, env=environment,
                               stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        text, _ = process.communicate(timeout=SECONDS_MAX)
        return text.decode(errors="replace"), process.returncode
    except subprocess.TimeoutExpired:
        pass
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    text, _ = process.communicate()
    return text.decode(errors="replace"), None


def make(tree, *goals):
    """What a mutant does not use any more is no reason not to build it."""
    command = ["make", "-C", tree, "-j%d" % (os.cpu_count() or 1), "WERROR=",
               *goals]
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith(("MAKE", "MFLAGS", "BUILD"))}
    return run(command, environment)


def goals_of(kill):
    """What is built and what is run for a goal."""
    level, _, name = kill.partition(" ")
    if level == "klsim":
        return [KLSIM], []
    if level == "script":
        return [KLSIM], ["check-script", "SCRIPT=" + name]
    if level == "property":
        return ["all", "test-programs"], ["check-property"]
    choice = ("TARGET=" if level == "fuzz" else "SUITE=") + name
    return (["build/release/test/" + level, "build/release/kraftlog"],
            ["check-" + level, choice])


# ---- seeds ------------------------------------------------------------------


def failures(tree, first, count):
    """Seeds of the simulator that fail, and the checker of each."""
    command = [os.path.join(tree, KLSIM), "--hosts", str(HOSTS), "--first",
               str(first), "--seeds", str(count), "--jobs",
               str(os.cpu_count() or 1)]
    text, status = run(command)
    if status is None:
        raise Broken("seeds from %d on never end" % first)
    return [(int(seed), checker) for seed, checker in re.findall(
        r"seed (\d+) FAILED ([a-z-]+)", text)]


def seeds_to_kill(tree, checker):
    """The first seed that the checker finds wrong; others may find more."""
    others = {}
    first, count = 1, SEEDS_GREEN
    while first <= SEEDS_MAX:
        count = min(count, SEEDS_MAX + 1 - first)
        for seed, fired in failures(tree, first, count):
            if fired == checker:
                return seed
            others[fired] = others.get(fired, 0) + 1
        first, count = first + count, min(2 * count, SEEDS_STEP)
    raise Broken("survives\n%d seeds, not %s; others: %s"
                 % (SEEDS_MAX, checker, others or "none"))


# ---- mutants ----------------------------------------------------------------


class Mutant:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.patch = f.read()
        head = HEAD.findall(self.patch)
        self.kills = [value for key, value in head if key == "Kill"]
        head = dict(head)
        self.says = head.pop("Says", "")
        if set(head) != {"Mutant", "Breaks", "Kill"}:
            raise SystemExit("%s: needs Mutant, Breaks and Kill" % path)
        self.name, self.breaks = head["Mutant"], head["Breaks"]
        self.seeds = None

    def kill(self, tree, kill):
        """Says how a goal has failed; raises Broken where it has not."""
        programs, check = goals_of(kill)
        text, status = make(tree, *programs)
        if status != 0:
            raise Broken("does not build:\n" + text[-2000:])
        level, _, checker = kill.partition(" ")
        if level == "klsim":
            self.seeds = seeds_to_kill(tree, checker)
            return "%s: %d seeds" % (kill, self.seeds)
        text, status = make(tree, *check)
        if status == 0:
            raise Broken("survives")
        if self.says not in text:
            raise Broken("dies of something else:\n" + text[-1000:])
        return "%s%s" % (kill, "" if status else ": never ends")

    def run(self, tree):
        """Says how it died; raises Broken where it did not."""
        saved = apply(self.patch, tree)
        try:
            return ", ".join(self.kill(tree, kill) for kill in self.kills)
        finally:
            restore(saved)


def read_mutants(names):
    folder = os.path.dirname(os.path.abspath(__file__))
    paths = sorted(os.path.join(folder, n) for n in os.listdir(folder)
                   if n.endswith(".patch"))
    mutants = [Mutant(p) for p in paths]
    known = [m.name for m in mutants]
    for name in known:
        if known.count(name) > 1:
            raise SystemExit("mutants: two are called %s" % name)
    for name in names:
        if name not in known:
            raise SystemExit("mutants: no %s" % name)
    return [m for m in mutants if not names or m.name in names]


def check_checkers(mutants):
    """A checker that nothing has ever made fire may be one that cannot."""
    kills = {kill for m in mutants for kill in m.kills}
    for name in sorted(os.listdir("test/sim")):
        match = re.fullmatch(r"check_(\w+)\.c", name)
        if match and "klsim " + match.group(1).replace("_", "-") not in kills:
            raise SystemExit("mutants: none is for test/sim/" + name)


def check_green(tree, mutants):
    text, status = make(tree, "all", "test-programs")
    if status != 0:
        raise SystemExit("mutants: the tree does not build\n" + text[-4000:])
    kills = {kill for m in mutants for kill in m.kills}
    swarms = {kill for kill in kills if kill.startswith("klsim ")}
    if swarms:
        text, status = make(tree, KLSIM)
        bad = status or failures(tree, 1, SEEDS_GREEN)
        if bad:
            raise SystemExit("mutants: klsim is not green: %s" % bad)
    for kill in sorted(kills - swarms):
        text, status = make(tree, *goals_of(kill)[1])
        if status != 0 or re.search(r"\b100%: Checks: 0,", text):
            raise SystemExit("mutants: %s is not green\n%s"
                             % (kill, text[-4000:]))


def main():
    tree = os.path.abspath(os.path.join(sys.argv[1], "tree"))
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    mutants = read_mutants(sys.argv[2:])
    if not sys.argv[2:]:
        check_checkers(mutants)
    copy_tree(tree)
    check_green(tree, mutants)
    failed = []
    for m in mutants:
        start = time.monotonic()
        try:
            how = m.run(tree)
        except Broken as broken:
            what, _, more = str(broken).partition("\n")
            how = what.upper()
            print(more)
            failed.append(m.name)
        print("%-5s %-28s %5.1f s  %s" % (m.name, how,
                                          time.monotonic() - start, m.breaks))
        sys.stdout.flush()
    seeds = [m.seeds for m in mutants if m.seeds]
    if seeds:
        print("mutants: %d killed by klsim, seeds to kill: median %g, most %d"
              % (len(seeds), statistics.median(seeds), max(seeds)))
    print("mutants: %d of %d killed"
          % (len(mutants) - len(failed), len(mutants)))
    if failed:
        sys.exit("mutants: not killed: " + " ".join(failed))


if __name__ == "__main__":
    main()
