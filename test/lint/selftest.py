#!/usr/bin/env python3
"""Every rule of lint refuses what it is there to refuse, and nothing else."""
import os
import subprocess
import sys
import tempfile

import lint
import objects
import tree

LAYERS = {"base": set(), "os": {"base"}, "batch": {"base"},
          "store": {"base", "batch", "os/vfs.h"},
          "raft": {"base", "batch"}, "api": {"base", "batch", "store"}}


def found(check, *arguments):
    findings = []
    check(*arguments, lambda path, line, text: findings.append((line, text)))
    return findings


def refused(check, *arguments):
    assert found(check, *arguments), arguments


def accepted(check, *arguments):
    assert not found(check, *arguments), (arguments,
                                          found(check, *arguments))


def test_text():
    accepted(lint.check_text, "lib/x/a.c", "int x;\n")
    refused(lint.check_text, "lib/x/a.c", "int x; \n")
    refused(lint.check_text, "lib/x/a.c", "\tint x;\n")
    refused(lint.check_text, "lib/x/a.c", "int x;")
    refused(lint.check_text, "lib/x/a.c", "/* TO" + "DO */\n")
    refused(lint.check_text, "lib/x/a.c", "x" * 81 + "\n")
    accepted(lint.check_text, "lib/x/a.c", "\u00e9" * 80 + "\n")
    accepted(lint.check_text, "man/a.3", "x" * 81 + "\n")
    accepted(lint.check_text, "lib/x/a.c", "\n" * 800)
    refused(lint.check_text, "lib/x/a.c", "\n" * 801)


def calls(path, text):
    return found(lint.check_calls, path, tree.strip_comments(text))


def test_calls():
    assert calls("lib/batch/a.c", "x = malloc (3);")
    assert calls("lib/batch/a.c", "\n\n free(x);")[0][0] == 3
    assert not calls("lib/base/alloc.c", "x = malloc(3);")
    assert not calls("lib/batch/a.c", "kl_base_malloc(a, 3);")
    assert not calls("lib/batch/a.c", "vfs->ops->read(f); v.free(x);")
    assert not calls("lib/batch/a.c", "int (*read)(void); /* free(x) */")
    assert not calls("lib/batch/a.c", 'f("malloc(3)", \'"\'); // free(x)')
    assert calls("lib/store/a.c", "fsync(fd);")
    assert not calls("lib/os/a.c", "fsync(fd);")
    assert calls("lib/api/a.c", "pthread_mutex_lock(m);")
    assert calls("lib/os/a.c", "printf(x);")
    assert calls("lib/api/a.c", "snprintf(b, 3, x);")
    assert calls("lib/os/a.c", "strcpy(a, b);")
    assert calls("lib/store/a.c", "XXH3_64bits(p, 3);")
    assert calls("test/unit/base/a.c", "sleep(1);")
    assert not calls("test/unit/base/a.c", "printf(x); free(x);")
    assert calls("examples/a.c", "sprintf(b, x);")


def includes(path, text):
    return found(lint.check_includes, path, text, LAYERS)


def test_includes():
    assert not includes("lib/batch/a.c", '#include "base/map.h"\n')
    assert not includes("lib/batch/a.c", '#include "batch/own.h"\n')
    assert not includes("lib/batch/a.c", "#include <lz4.h>\n")
    assert includes("lib/store/a.c", "#include <lz4.h>\n")
    assert includes("lib/batch/a.c", '#include "store/store.h"\n')
    assert not includes("lib/store/a.c", '#include "batch/batch.h"\n')
    assert includes("lib/store/a.c", '#include "batch/epochs.h"\n')
    assert not includes("lib/store/a.c", '#include "os/vfs.h"\n')
    assert includes("lib/store/a.c", '#include "os/thread.h"\n')
    assert includes("lib/raft/a.c", '#include "os/vfs.h"\n')
    assert includes("lib/raft/a.c", "# include <time.h>\n")
    assert includes("lib/base/a.c", '#include "os/vfs.h"\n')
    assert not includes("lib/raft/a.c", "#include <kraftlog/error.h>\n")
    assert includes("lib/unknown/a.c", "")


def test_shape():
    accepted(lint.check_shape, "lib/base/a.c", "/*\n * Why.\n */\n")
    refused(lint.check_shape, "lib/base/a.c", "int x;\n")
    accepted(lint.check_shape, "lib/base/a.h",
             "#ifndef KL_BASE_A_H\n#define KL_BASE_A_H\n")
    refused(lint.check_shape, "lib/base/a.h",
            "#ifndef KL_A_H\n#define KL_A_H\n")


def test_functions(folder):
    """In a folder of its own: ctags reads files."""
    os.makedirs(os.path.join(folder, "lib/batch"))
    os.chdir(folder)
    with open("lib/batch/a.c", "w", encoding="utf-8") as f:
        f.write("int kl_batch_x(void)\n{\n" + "\n" * 67 + "}\n"
                "int batch_y(void)\n{\n}\n"
                "static int z(void)\n{\n}\n")
    with open("lib/batch/b.c", "w", encoding="utf-8") as f:
        f.write("int kl_batch_w(void)\n{\n" + "\n" * 68 + "}\n"
                "static int z(void)\n{\n}\n")
    texts = sorted(text for _, text in
                   found(lint.check_functions,
                         ["lib/batch/a.c", "lib/batch/b.c"]))
    assert texts == ["batch_y() does not begin with kl_batch_",
                     "kl_batch_w() has 71 lines, more than 70",
                     "z() is in lib/batch/a.c too"], texts


def test_symbols():
    def ok(room, symbol):
        return objects.is_allowed(room, symbol, LAYERS)

    assert ok("raft", "memcpy") and ok("raft", "kl_base_map_get")
    assert ok("raft", "kl_raft_step") and ok("batch", "LZ4_compress_default")
    assert not ok("raft", "LZ4_compress_default")
    assert not ok("raft", "malloc") and not ok("raft", "strdup")
    assert not ok("raft", "clock_gettime") and not ok("raft", "snprintf")
    assert not ok("store", "kl_os_vfs_posix_new")
    assert not ok("raft", "kl_store_open") and not ok("raft", "kl_strerror")
    assert ok("api", "kl_strerror") and not ok("api", "pthread_create")


def test_state(folder):
    os.makedirs(os.path.join(folder, "lib/base"))
    os.chdir(folder)
    with open("lib/base/a.c", "w", encoding="utf-8") as f:
        f.write("static const char *const names[] = {\"a\"};\n"
                "const char *const *kl_base_names(void) { return names; }\n"
                "int kl_base_count(void) { static int n; return ++n; }\n"
                "static _Thread_local int t;\n"
                "int *kl_base_t(void) { return &t; }\n")
    subprocess.run([os.environ.get("CC", "cc"), "-fPIC", "-c", "-o", "a.o",
                    "lib/base/a.c"], check=True)
    texts = [text for _, text in
             found(objects.check_state, "a.o", "lib/base/a.c")]
    assert len(texts) == 2, texts


def main():
    test_text()
    test_calls()
    test_includes()
    test_shape()
    test_symbols()
    for test in (test_functions, test_state):
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
            os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
