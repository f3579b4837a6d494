"""What lint looks at: the files of the tree and the map of its layers."""
import os
import re

FOLDERS = ["lib", "include", "examples", "test", "man", "pkgconfig", ".ci"]
CODE = (".c", ".h", ".py", ".sh")


def is_code(path):
    return path.endswith(CODE)


def files():
    """Text files under the rules; recorded data of tests is not."""
    found = ["Makefile"]
    for folder in FOLDERS:
        for where, folders, names in os.walk(folder):
            folders[:] = [f for f in folders if f != "__pycache__"]
            for name in names:
                path = os.path.join(where, name)
                if is_code(name) or not where.startswith("test"):
                    found.append(path)
    return sorted(found)


def read_layers():
    """Room -> what it may include, from lib/LAYERS."""
    layers = {}
    with open("lib/LAYERS", encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split()
            if words:
                layers[words[0]] = set(words[2:]) - {"-"}
    return layers


def blank(match):
    """Same number of lines, so that positions stay true."""
    return " " + "\n" * match.group(0).count("\n")


def strip_comments(text):
    """C text without comments, strings and characters."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'
                  r"'(?:\\.|[^'\\\n])+'", blank, text, flags=re.S)
