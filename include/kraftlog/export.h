/*
 * KL_API marks what the shared library exports. Every line of a public header
 * that starts with it declares one function; the export map is made from them.
 */
#ifndef KRAFTLOG_EXPORT_H
#define KRAFTLOG_EXPORT_H

#if defined(__GNUC__)
#define KL_API __attribute__((visibility("default")))
#else
#define KL_API
#endif

#endif
