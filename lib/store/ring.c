/*
 * Reading the ring. A group counts while sequence, lap, salt and chain hold and
 * all of it verifies. A bad group followed by its seal or by a valid later
 * group had been durable: that is rot. Otherwise it is the torn end
 * (storage.md 7.3).
 */
#include "store/ring.h"

enum { RING_WINDOW = 16 * KL_STORE_BLOCK };

/* ---- one group --------------------------------------------------------- */

static uint8_t *ring_room(struct kl_store_ring *r, size_t size)
{
    kl_base_buf_clear(&r->group);
    return kl_base_buf_extend(&r->group, size);
}

static int ring_read(struct kl_store_ring *r, uint32_t file, uint64_t offset,
                     size_t size)
{
    struct kl_os_file *f = r->files[file];
    uint8_t *data = ring_room(r, size);
    size_t got;
    int rc;

    if (!data)
        return KL_ENOMEM;
    rc = f->vfs->ops->read(f, data, size, offset, &got);
    if (rc)
        return rc;
    return got == size ? 0 : KL_EIO;
}

int kl_store_ring_load(struct kl_store_ring *r, uint32_t file, uint64_t offset,
                       struct kl_store_group_header *h)
{
    int rc;

    if (offset + KL_STORE_BLOCK > r->file_size)
        return KL_EEND;
    rc = ring_read(r, file, offset, KL_STORE_BLOCK);
    if (rc)
        return rc;
    if (kl_store_group_decode(r->group.data, h) ||
        h->directory != r->directory || h->size > r->file_size - offset)
        return KL_EEND;
    rc = ring_read(r, file, offset, h->size);
    if (rc)
        return rc;
    return kl_store_group_verify(r->group.data, h) ? KL_EEND : 0;
}

int kl_store_ring_frame(const uint8_t *frame,
                        const struct kl_store_entry_header *e,
                        struct kl_batch_info *info)
{
    if (kl_batch_frame_verify(frame, e->size,
                              kl_batch_seed(&e->id.topic_id, e->id.partition),
                              info) ||
        info->frame_size != e->size || info->base_offset != e->offset ||
        info->last_offset + 1 != e->end)
        return KL_ECORRUPT;
    return 0;
}

int kl_store_ring_entries(const struct kl_store_ring *r,
                          const struct kl_store_group_header *h,
                          kl_store_ring_fn fn, void *user)
{
    const uint8_t *entry = r->group.data + KL_STORE_GROUP_HEADER;
    uint32_t at =
        KL_STORE_GROUP_HEADER + h->entry_count * KL_STORE_ENTRY_HEADER;
    struct kl_store_entry_header e;
    int rc = 0;

    for (uint32_t i = 0; i < h->entry_count && rc == 0;
         i++, entry += KL_STORE_ENTRY_HEADER) {
        rc = kl_store_entry_decode(entry, &e);
        if (rc == 0 && e.size > h->size - at)
            rc = KL_ECORRUPT;
        if (rc == 0)
            rc = fn(&e, at, r->group.data + at, user);
        at += e.size;
    }
    return rc;
}

static int ring_check(const struct kl_store_entry_header *e, uint32_t at,
                      const uint8_t *frame, void *user)
{
    struct kl_batch_info info;

    (void)at, (void)user;
    return e->size > 0 ? kl_store_ring_frame(frame, e, &info) : 0;
}

int kl_store_ring_verify(const struct kl_store_ring *r,
                         const struct kl_store_group_header *h)
{
    return kl_store_ring_entries(r, h, ring_check, NULL);
}

/* ---- the walk ---------------------------------------------------------- */

/* KL_EEXIST where there is a group or seal of a later sequence at any block of
 * a file from at on; 0 where not; or why it cannot be told: that must not turn
 * rot into a torn end. window has room for some blocks. */
static int ring_has_later(struct kl_store_ring *r,
                          const struct kl_store_position *p, uint32_t file,
                          uint64_t at, uint8_t *window,
                          struct kl_store_position *found)
{
    uint64_t blocks = r->file_count * (r->file_size / KL_STORE_BLOCK);
    const struct kl_os_vfs_ops *ops = r->files[file]->vfs->ops;
    struct kl_store_group_header h;
    size_t in = RING_WINDOW, got;
    int rc;

    for (; at < r->file_size; at += KL_STORE_BLOCK, in += KL_STORE_BLOCK) {
        if (in == RING_WINDOW) {
            rc = ops->read(r->files[file], window, RING_WINDOW, at, &got);
            if (rc || got % KL_STORE_BLOCK != 0)
                return rc ? rc : KL_EIO;
            in = 0;
        }
        if (kl_store_group_decode(window + in, &h) ||
            h.sequence <= p->sequence || h.sequence - p->sequence > blocks)
            continue;
        rc = kl_store_ring_load(r, file, at, &h);
        if (rc == KL_EEND)
            continue;
        *found = (struct kl_store_position){h.sequence, h.lap, h.salt,
                                            h.previous, file,  (uint32_t)at};
        return rc ? rc : KL_EEXIST;
    }
    return 0;
}

int kl_store_ring_prove(struct kl_store_ring *r,
                        const struct kl_store_position *p,
                        struct kl_store_position *found)
{
    uint8_t *window = kl_base_malloc(r->alloc, RING_WINDOW);
    uint32_t count = r->file_count;
    int rc = window ? 0 : KL_ENOMEM;

    /* It lies behind the place or in one of the next files. */
    for (uint32_t i = 0; i < count && rc == 0; i++)
        rc = ring_has_later(r, p, (p->file + i) % count, i == 0 ? p->offset : 0,
                            window, found);
    kl_base_free(r->alloc, window, RING_WINDOW);
    return rc;
}

int kl_store_ring_find(struct kl_store_ring *r, struct kl_store_position *p,
                       struct kl_store_group_header *h)
{
    uint32_t next = (p->file + 1) % r->file_count;
    int rc = kl_store_ring_load(r, p->file, p->offset, h);

    if (rc == 0 && h->kind == KL_STORE_GROUP_DATA &&
        h->sequence == p->sequence && h->lap == p->lap && h->salt == p->salt &&
        h->previous == p->previous)
        return kl_store_ring_verify(r, h);
    if (rc && rc != KL_EEND)
        return rc;
    /* Also behind a seal: the group may not have fitted into this file. */
    rc = kl_store_ring_load(r, next, 0, h);
    if (rc)
        return rc;
    if (h->kind != KL_STORE_GROUP_DATA || h->sequence != p->sequence ||
        h->previous != p->previous || h->lap != p->lap + (next == 0) ||
        (next != 0 && h->salt != p->salt))
        return KL_EEND;
    p->file = next;
    p->offset = 0;
    p->lap = h->lap;
    p->salt = h->salt;
    return kl_store_ring_verify(r, h);
}
