/*
 * The version of the library, written here and nowhere else.
 */
#ifndef KRAFTLOG_VERSION_H
#define KRAFTLOG_VERSION_H

#include <kraftlog/export.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KL_VERSION_MAJOR 0
#define KL_VERSION_MINOR 1
#define KL_VERSION_PATCH 0

/* Version of the library at run time: major * 1000000 + minor * 1000 + patch.
 * Any thread. Never fails. */
KL_API uint32_t kl_version_number(void);

/* The same as text, "0.1.0"; static, never freed. Any thread. */
KL_API const char *kl_version_string(void);

#ifdef __cplusplus
}
#endif

#endif
