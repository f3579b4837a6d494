/*
 * Well-formed UTF-8 (Unicode table 3-7): no surrogates, nothing overlong,
 * nothing above U+10FFFF.
 */
#ifndef KL_BASE_UTF8_H
#define KL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the sequence at s, of which size > 0 bytes are there; 0 where it is
 * not well-formed. NUL is a sequence of one byte. */
size_t kl_base_utf8_sequence(const uint8_t *s, size_t size);

#endif
