/*
 * State of a run that tells what is there, shared by dump.c (a folder) and
 * dump_file.c (one file).
 */
#ifndef KL_STORE_DUMP_H
#define KL_STORE_DUMP_H

#include "store/content.h"

struct kl_store_dump
{
    const struct kl_base_alloc *alloc;
    kl_store_dump_fn fn;
    void *user;
    /* Tells at most one thing; KL_EEND when all is told. */
    int (*step)(struct kl_store_dump *d);
    int stage;

    /* A folder. */
    struct kl_store_inspect *in;
    struct kl_store_log *log;
    struct kl_store_manifest manifest; /* of the log */
    uint32_t segment;                  /* of it, the next one */
    int is_loaded; /* the head of log or group was told, its parts follow */
    int is_told;   /* all that comes before the content was */
    struct kl_store_content *content;

    /* A ring. */
    struct kl_store_ring *ring;
    uint64_t needed; /* first sequence that open replays; 0 = not known */
    uint32_t file;
    uint64_t position;
    uint32_t entry; /* of the group, the next one */
    uint32_t entry_seen;

    /* One file. */
    struct kl_store_dump_file *alone;
};

int kl_store_dump_alloc(struct kl_store_dump **out,
                        const struct kl_base_alloc *alloc, kl_store_dump_fn fn,
                        void *user);
void kl_store_dump_fill_slot(struct kl_store_dump_slot *out,
                             const struct kl_store_slot *slot);
void kl_store_dump_fill_segment(struct kl_store_dump_segment *out,
                                const struct kl_store_manifest *m,
                                const struct kl_store_segment_info *info);
int kl_store_dump_ring_step(struct kl_store_dump *d);

/* ---- dump_file.c ------------------------------------------------------- */

void kl_store_dump_close_file(struct kl_store_dump *d);

#endif
