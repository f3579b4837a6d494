#!/usr/bin/env python3
"""Manual pages and README against the sources that they describe.

usage: man.py [--write]

  - every public function is named by exactly one page of section 3, which
    shows its prototype as the header has it and has a section THREADS
  - the list of keys in kl_config.3 is that of lib/base/config_table.h
    (--write makes it anew)
  - kraftlog-errors.3 has every code with its number, classes and text
  - the program in README.md is examples/one-node.c
  - lib and every room have a README of at most 100 and 60 lines

Prints one line per finding and exits 1 where there is any.
"""
import glob
import os
import re
import sys
import textwrap

KEYS = "man/kl_config.3"
KEYS_BEGIN = '.\\" keys: begin'
KEYS_END = '.\\" keys: end'
SCOPES = [("NODE", "Keys of a node"), ("TOPIC", "Keys of a topic"),
          ("PRODUCER", "Keys of a producer"),
          ("CONSUMER", "Keys of a consumer")]
KINDS = {"INT": "A number", "SIZE": "Bytes", "MS": "Milliseconds"}

findings = []


def report(path, text):
    findings.append("%s: %s" % (path, text))


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def squeeze(text):
    """One blank where there may be any, none around stars."""
    text = re.sub(r"\s+", " ", text.strip())
    return re.sub(r" ?\* ?", "*", text)


# ---- prototypes ------------------------------------------------------------

def header_prototypes():
    """Name -> (type, arguments) of functions, and of callback types."""
    found = {}
    for path in sorted(glob.glob("include/kraftlog/*.h")):
        text = re.sub(r"/\*.*?\*/", " ", read(path), flags=re.S)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        for match in re.finditer(
                r"(?:\bKL_API|\b(typedef))\s([^;{}]*?)"
                r"(\(\*kl_\w+_fn\)|\bkl_\w+)\s*\(([^;]*)\)\s*;", text):
            kind = "typedef " if match.group(1) else ""
            found[match.group(3)] = (
                squeeze(kind + match.group(2)),
                [squeeze(a) for a in match.group(4).split(",")])
    return found


def page_prototypes(text):
    found = {}
    for match in re.finditer(
            r'^\.Ft (.*)\n\.Fo "?([^"\n]*)"?\n((?:\.Fa .*\n)*)\.Fc$', text,
            re.M):
        arguments = re.findall(r'^\.Fa "?([^"\n]*)"?$', match.group(3), re.M)
        found[match.group(2)] = (squeeze(match.group(1).strip('"')),
                                 [squeeze(a) for a in arguments])
    return found


def page_names(text):
    name = text.split("\n.Sh NAME\n")[-1].split("\n.Sh ")[0]
    return re.findall(r"^\.Nm ([\w-]+)", name, re.M)


def check_functions(pages):
    wanted = header_prototypes()
    home = {}
    for path in pages:
        text = read(path)
        names = [n for n in page_names(text) if n.startswith("kl_")]
        shown = page_prototypes(text)
        for name in names:
            if name in home:
                report(path, "%s is in %s too" % (name, home[name]))
            home[name] = path
            if name not in wanted:
                report(path, "no header has %s" % name)
        for name, prototype in shown.items():
            if name not in wanted:
                report(path, "no header has %s" % name)
            elif prototype != wanted[name]:
                report(path, "%s is %s (%s) in its header"
                       % (name, wanted[name][0], ", ".join(wanted[name][1])))
            if name.startswith("kl_") and name not in names:
                report(path, "%s is not in NAME" % name)
        for name in names:
            if name not in shown:
                report(path, "%s has no synopsis" % name)
        if names and "\n.Sh THREADS\n" not in text:
            report(path, "no section THREADS")
    for name in wanted:
        if name.startswith("kl_") and name not in home:
            report("man", "no page has %s" % name)


# ---- configuration keys ----------------------------------------------------

def config_rows():
    """Rows of the table: scope, name, type, default, range, sentences."""
    text = read("lib/base/config_table.h").replace("\\\n", " ")
    rows = []
    string = r'"(?:[^"\\]|\\.)*"'
    pattern = (r'X\(\w+,\s*(%s),\s*(\w+),\s*(\w+),\s*(%s),\s*(-?\d+),'
               r'\s*(-?\d+),\s*(%s),\s*((?:%s\s*)+)\)' % ((string,) * 4))
    for m in re.finditer(pattern, text):
        parts = re.findall(r'"((?:[^"\\]|\\.)*)"', m.group(8))
        rows.append({
            "name": m.group(1)[1:-1], "scope": m.group(2),
            "type": m.group(3), "default": m.group(4)[1:-1],
            "min": m.group(5), "max": m.group(6),
            "words": m.group(7)[1:-1].split("|"), "doc": "".join(parts)})
    if len(rows) != len(re.findall(r"\bX\(\w+,\s*\"", text)):
        report("lib/base/config_table.h", "a row is not understood")
    return rows


def key_number(row, value):
    """65536 -> "65536 (64k)", escaped for mdoc."""
    number = int(value)
    text = value
    if row["type"] == "SIZE":
        for shift, letter in ((30, "g"), (20, "m"), (10, "k")):
            short = number >> shift
            if 0 < short < 10000 and short << shift == number:
                text += " (%d%s)" % (short, letter)
                break
    return text.replace("-", "\\-")


def key_values(row):
    if row["type"] == "ENUM":
        words = ["\n.Cm %s" % w for w in row["words"]]
        return "One of%s .\nDefault:\n.Cm %s ." % (
            " ,".join(words), row["default"])
    if row["type"] == "TEXT":
        return "Text of the form\n.Ar %s .\nDefault: none." % row["words"][0]
    return "%s from %s to %s.\nDefault: %s." % (
        KINDS[row["type"]], key_number(row, row["min"]),
        key_number(row, row["max"]), key_number(row, row["default"]))


def key_sentences(row):
    lines = []
    doc = re.sub(r"(?<![\w.])-(?=\d)", r"\\-", row["doc"])
    for sentence in re.split(r"(?<=[.]) +(?=[A-Z\\])", doc):
        lines += textwrap.wrap(sentence, 78, break_on_hyphens=False)
    return "\n".join("\\&" + l if l[0] in ".'" else l for l in lines)


def key_list():
    out = []
    rows = config_rows()
    for scope, title in SCOPES:
        out.append(".Ss %s\n.Bl -tag -width Ds" % title)
        for row in rows:
            if row["scope"] == scope:
                out.append(".It Cm %s\n%s\n%s" % (
                    row["name"], key_values(row), key_sentences(row)))
        out.append(".El")
    return "\n".join(out)


def check_keys(write):
    text = read(KEYS)
    before, begin, rest = text.partition(KEYS_BEGIN + "\n")
    listed, end, after = rest.partition(KEYS_END)
    wanted = key_list() + "\n"
    if not begin or not end:
        report(KEYS, "no marks around the list of keys")
        return
    if listed == wanted:
        return
    if not write:
        report(KEYS, "keys differ from lib/base/config_table.h: "
               "test/lint/man.py --write makes them anew")
        return
    with open(KEYS, "w", encoding="utf-8") as f:
        f.write(before + KEYS_BEGIN + "\n" + wanted + KEYS_END + after)


# ---- errors ----------------------------------------------------------------

def check_errors():
    path = "man/kraftlog-errors.3"
    numbers = {name: int(n) for name, n in re.findall(
        r"\b(KL_\w+) = (-?\d+)", read("include/kraftlog/error.h"))}
    wanted = []
    for name, kind, text in re.findall(
            r'X\((KL_\w+), (\w+), "([^"]*)"\)', read("lib/base/error.c")):
        if name == "KL_OK":
            continue
        wanted.append((name, str(numbers[name]).replace("-", "\\-") + {
            "NONE": "", "RETRIABLE": ", retriable", "FATAL": ", fatal"}[kind],
            text[0].upper() + text[1:] + "."))
    shown = re.findall(r'^\.It Dv (KL_\w+) Pq "([^"]*)"\n(.*)$', read(path),
                       re.M)
    for row in wanted:
        if row not in shown:
            report(path, "missing or wrong: %s (%s) %s" % row)
    for row in shown:
        if row not in wanted:
            report(path, "not in lib/base/error.c: %s (%s) %s" % row)
    if len(numbers) != len(wanted) + 1:
        report("include/kraftlog/error.h", "codes and texts do not match")


# ---- README ----------------------------------------------------------------

def check_readme():
    program = "examples/one-node.c"
    blocks = re.findall(r"^```c\n(.*?)^```$", read("README.md"), re.M | re.S)
    if os.path.exists(program) and read(program) not in blocks:
        report("README.md", "its program is not %s" % program)
    if os.path.exists("README") and not os.path.islink("README"):
        report("README", "is not a link to README.md")


def check_rooms():
    for folder, lines in [("lib", 100)] + [
            (os.path.dirname(f), 60) for f in sorted(glob.glob("lib/*/"))]:
        path = folder + "/README"
        if not os.path.exists(path):
            report(folder, "no README")
        elif read(path).count("\n") > lines:
            report(path, "longer than %d lines" % lines)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    check_functions(sorted(glob.glob("man/*.3")))
    check_keys("--write" in sys.argv[1:])
    check_errors()
    check_readme()
    check_rooms()
    for line in findings:
        print("man: " + line)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
