#!/bin/sh
# Runs libFuzzer: fuzz.sh BUILD run|merge OPTION TARGET...
#
# Each target grows build/corpus/<target>, which begins with its seeds and what
# is in the tree. merge takes from there into the tree what reaches more, in as
# few and small inputs as it can; inputs named found-* stay as they are.
build=$1 what=$2 option=$3
shift 3

run() {
    "$build/test/fuzz-$target" "$@" -verbosity=0 >"$build/$target.log" 2>&1 &&
        return
    cat "$build/$target.log"
    exit 1
}

stat() {
    sed -n "s/^stat::$1: *//p" "$build/$target.log"
}

for target; do
    grown=build/corpus/$target tree=test/fuzz/corpus/$target
    mkdir -p "$grown" "$tree"
    "$build/test/fuzz" -s "$target" "$grown" || exit 1
    if [ "$what" = run ]; then
        run "$option" -print_final_stats=1 -timeout=60 \
            -artifact_prefix="$build/failed-$target-" "$grown" "$tree"
        echo "fuzz: $target: $(stat number_of_executed_units) runs," \
            "$(stat average_exec_per_sec) a second," \
            "$(ls "$grown" | wc -l) inputs"
        continue
    fi
    least=$build/least/$target
    rm -rf "$least" && mkdir -p "$least" || exit 1
    run -merge=1 "$least" "$tree" "$grown"
    find "$tree" -type f ! -name 'found-*' -delete
    cp "$least"/* "$tree"
    echo "fuzz: $target: $(ls "$tree" | wc -l) inputs in $tree"
done
