/*
 * What libFuzzer calls: the one target that FUZZ_TARGET names.
 */
#include "fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_targets[0]->run(data, size);
    return 0;
}
