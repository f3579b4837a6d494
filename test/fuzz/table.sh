#!/bin/sh
# Writes the table of fuzz targets: table.sh frame batch ...
echo '#include "fuzz.h"'
echo
for target; do
    echo "extern const struct fuzz_target fuzz_$target;"
done
echo
echo 'const struct fuzz_target *const fuzz_targets[] = {'
for target; do
    echo "    &fuzz_$target,"
done
echo '    0};'
