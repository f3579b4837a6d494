#!/bin/sh
# Compiles each public header alone, as C11 and as C++11, with every compiler
# that is there. A declaration follows because an empty unit is not allowed.
# usage: check.sh CC header...
cc=$1
shift
failed=0

try() {
    for header in $headers; do
        printf '#include <kraftlog/%s>\nextern int kl_end_of_unit;\n' \
            "${header##*/}" | "$@" -fsyntax-only -Iinclude -Wall -Wextra \
            -pedantic -Werror - || { echo "$header: refused by $*"; failed=1; }
    done
}

headers=$*
for c in "$cc" gcc clang; do
    if command -v "$c" >/dev/null 2>&1; then
        try "$c" -x c -std=c11
    fi
done
for cxx in g++ clang++; do
    if command -v "$cxx" >/dev/null 2>&1; then
        try "$cxx" -x c++ -std=c++11
    fi
done
exit $failed
