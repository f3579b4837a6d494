#!/bin/sh
# A real text goes into a log, line by line. In the middle the process is killed
# with -9. Every line that it had acknowledged by then must be in the log, in
# order; then the rest is appended, and all is read by offset and by time.
#
# KL_PROGRAM is the command line tool. Ends with code 0 only if all was proved.
set -eu

program=${KL_PROGRAM:-kraftlog}
input_lines_max=2000000
dir=$(mktemp -d "${TMPDIR:-/tmp}/kraftlog-demo-XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
log() { "$program" -D "$dir/data" "$@"; }
say() { printf '%s\n' "$*"; }
die() { say "demo: FAILED: $*" >&2; exit 1; }
lines() { wc -l <"$1" | tr -d ' '; }
bytes() { wc -c <"$1" | tr -d ' '; }
now() { date +%s; }

# Bytes without NUL in many lines, none of them too long for a record.
is_text() {
    [ "$(lines "$1")" -ge 50000 ] && tr -d '\000' <"$1" | cmp -s - "$1" \
        && LC_ALL=C awk 'length > 500000 { exit 1 }' "$1"
}

# The largest text of the machine, else the sources of this project.
choose_input() {
    find /usr/share -type f -size +2048 ! -name '*.gz' ! -name '*.so*' \
        -exec ls -ln {} + 2>/dev/null | sort -rnk5 | head -n 40 \
        | sed 's/^\([^ ]* *\)\{8\}//' >"$dir/candidates" || :
    while read -r file; do
        if is_text "$file" 2>/dev/null; then
            say "input: $file"
            head -n "$input_lines_max" "$file" >"$dir/input"
            break
        fi
    done <"$dir/candidates"
    if [ ! -s "$dir/input" ]; then
        say "input: the sources of this project, many times"
        here=$(dirname "$0")/..
        cat "$here"/lib/*/*.c "$here"/include/kraftlog/*.h >"$dir/sources"
        while [ ! -s "$dir/input" ] || [ "$(lines "$dir/input")" -lt 200000 ]
        do
            cat "$dir/sources" >>"$dir/input"
        done
    fi
    # A last line without line feed could not be told from one with it.
    [ -z "$(tail -c 1 "$dir/input")" ] || echo >>"$dir/input"
}

# Notes acknowledgements and kills the process when half of them have been seen.
# What it had printed before it died still comes through; the last line may have
# been cut, and does not count then.
kill_at() {
    tee "$dir/acks.raw" | awk -v half="$1" -v pid="$2" '
        NR == half { system("kill -9 " pid) }'
    head -n "$(lines "$dir/acks.raw")" "$dir/acks.raw"
}

say "== kraftlog demo: $(log -V)"
choose_input
total=$(lines "$dir/input")
half=$((total / 2))
say "       $total lines, $(bytes "$dir/input") bytes"

say "== 1. append line by line, kill -9 after $half acknowledgements"
log topic create text
mkfifo "$dir/acks.fifo"
"$program" -D "$dir/data" produce text -v <"$dir/input" >"$dir/acks.fifo" &
victim=$!
kill_at "$half" "$victim" <"$dir/acks.fifo" >"$dir/acks"
code=0
wait "$victim" 2>/dev/null || code=$?
[ "$code" -eq 137 ] || die "the process ended with $code, not by kill -9"
acknowledged=$(lines "$dir/acks")
say "       killed; it had acknowledged $acknowledged lines"
awk '$1 != 0 || $2 != NR - 1 { exit 1 }' "$dir/acks" \
    || die "acknowledged offsets are not 0, 1, 2, ..."

say "== 2. open again, compare"
log consume text -e >"$dir/found"
found=$(lines "$dir/found")
[ "$found" -ge "$acknowledged" ] \
    || die "$acknowledged lines were acknowledged, $found are there"
head -n "$found" "$dir/input" | cmp - "$dir/found" \
    || die "what is in the log is not what went in"
[ "$found" -lt "$total" ] || die "the process was not killed in the middle"
say "       all $acknowledged acknowledged lines are there, in order," \
    "and $((found - acknowledged)) that were still under way"

say "== 3. append the rest"
start=$(now)
tail -n "+$((found + 1))" "$dir/input" | log produce text
say "       $((total - found)) lines, $(($(now) - start)) s"
log consume text -e | cmp - "$dir/input" || die "the whole is not the input"
say "       the log is the input: $total lines, byte for byte"

say "== 4. read by offset"
log consume text -o "$half" -c 5 >"$dir/found"
tail -n "+$((half + 1))" "$dir/input" | head -n 5 | cmp - "$dir/found" \
    || die "wrong lines at offset $half"
say "       offset $half: $(head -n 1 "$dir/found" | cut -c 1-50)"

say "== 5. read by time"
ms=$(log consume text -o "$found" -c 1 -f '%T')
log consume text -e -f '%T %o\n' >"$dir/times"
expected=$(awk -v ms="$ms" '$1 >= ms { print $2; exit }' "$dir/times")
offset=$(log consume text -o "@$ms" -c 1 -f '%o')
[ "$offset" = "$expected" ] \
    || die "time $ms gave offset $offset, not $expected"
say "       the first line at or after $ms ms has offset $offset"
say "== proved"
