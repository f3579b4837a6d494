/*
 * Messages that a node must not act upon: a real one with one thing changed,
 * under a checksum that is right.
 */
#ifndef SIM_NET_EDIT_H
#define SIM_NET_EDIT_H

#include <stddef.h>
#include <stdint.h>

enum net_edit {
    NET_EDIT_FOREIGN,     /* of another cluster */
    NET_EDIT_MISDIRECTED, /* for another node, or for another directory */
    NET_EDIT_UNKNOWN,     /* of a kind or version that nobody has yet */
    NET_EDIT_OVERSIZED,   /* says that it is larger than any may be */
    NET_EDIT_TRUNCATED,   /* and says so: its last bytes are missing */
    NET_EDITS
};

/* Changes a whole message. Those that somebody could take for his own speak of
 * an epoch that nobody has begun. number: which of several ways. 1, or 0 where
 * the message is one that cannot be changed so. */
int net_edit(uint8_t *data, size_t *size, enum net_edit edit, uint64_t number);

#endif
