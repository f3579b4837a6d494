/*
 * The version of the library at run time, from the constants of the header.
 */
#include <kraftlog/version.h>

#define VERSION_TEXT(x) #x
#define VERSION_STRING(major, minor, patch)                                    \
    VERSION_TEXT(major) "." VERSION_TEXT(minor) "." VERSION_TEXT(patch)

uint32_t kl_version_number(void)
{
    return KL_VERSION_MAJOR * 1000000u + KL_VERSION_MINOR * 1000u +
           KL_VERSION_PATCH;
}

const char *kl_version_string(void)
{
    return VERSION_STRING(KL_VERSION_MAJOR, KL_VERSION_MINOR, KL_VERSION_PATCH);
}
