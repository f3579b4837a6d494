/*
 * State of reading the content of a log from a folder that is not open.
 */
#ifndef KL_STORE_CONTENT_H
#define KL_STORE_CONTENT_H

#include "store/rescue.h"

struct kl_store_content
{
    struct kl_store_inspect *in;
    struct kl_store_log *log;
    int (*frame)(const struct kl_store_content_frame *f, void *user);
    int (*lost)(int64_t from, int64_t end, enum kl_store_finding_kind why,
                void *user);
    enum kl_store_finding_kind why; /* what is missing next would be missing */
    void *user;
    int64_t next;  /* offsets before it are dealt with */
    int64_t keep;  /* from here on the WAL has the log, segments do not count */
    int32_t epoch; /* of the last frame */
    int has_spares; /* the rescue knows this log's segments above keep */

    struct kl_store_manifest manifest;
    uint32_t segment; /* of it, the next or the open one */
    struct kl_store_segment_info info;
    int64_t limit; /* the segment behind it begins here */
    struct kl_os_file *file;
    struct kl_store_scan scan;
    size_t wal_frame; /* of the log's plan, the next one */
    struct kl_base_buf buf;
};

#endif
