#!/bin/sh
# Manual pages are well formed, and every public function is the subject of
# one. usage: man.sh FUNCTIONS page...
# FUNCTIONS holds a name per line. A page of section 3 names its functions with
# .Nm, .Fo or .Fn.
functions=$1
shift
failed=0

mandoc -Tlint -W warning "$@" || failed=1
pages=
for page; do
    case $page in
    *.3) pages="$pages $page" ;;
    esac
done
while read -r name; do
    # shellcheck disable=SC2086
    if ! grep -Eqs "^\.(Nm|Fo|Fn) $name( |\$)" $pages /dev/null; then
        echo "man: no page of section 3 has $name()"
        failed=1
    fi
done <"$functions"
exit $failed
