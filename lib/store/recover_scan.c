/*
 * Scanning the WAL: what its groups say becomes a plan for each log
 * (recover_plan.c). The torn end is dropped whole. Of a rotten group the
 * entries count where its headers verify, only the bad frames are lost; else
 * the scan goes on at the next good group, and logs are what later entries
 * prove them to be (storage.md 7.3, ring.c).
 */
#include "store/recover.h"

struct scan_place
{
    struct kl_store_recovery *r;
    const struct kl_store_position *p;
};

static int scan_entry(const struct kl_store_entry_header *e, uint32_t at,
                      const uint8_t *frame, void *user)
{
    const struct scan_place *place = user;

    return kl_store_recover_entry(place->r, e, place->p->file,
                                  place->p->offset + at, frame);
}

/* Groups from p up to the one that was found cannot be read: no log is known
 * to have ended where it seems to, until an entry of its own proves it. */
static void scan_lose(struct kl_store_recovery *r, struct kl_store_position *p,
                      const struct kl_store_position *found)
{
    struct kl_base_list *l;

    if (r->lost_from == 0)
        r->lost_from = p->sequence;
    r->lost_to = found->sequence;
    r->lost_groups += found->sequence - p->sequence;
    for (l = r->store->logs.next; l != &r->store->logs; l = l->next)
        KL_BASE_CONTAINER(l, struct kl_store_log, link)->suspect = 1;
    *p = *found;
}

/* What is at p does not verify: code KL_ECORRUPT where only frames are bad,
 * KL_EEND where there is no group. 0 = the group counts all the same; KL_EAGAIN
 * = it is lost, p is behind it; KL_EEND = this is the end. */
static int scan_bad(struct kl_store_recovery *r, struct kl_store_position *p,
                    struct kl_store_group_header *h, int code)
{
    struct kl_store_position found;
    int rc;

    if (r->slot.flags & KL_STORE_SLOT_CLEAN)
        return KL_EEND;
    rc = kl_store_ring_prove(&r->ring, p, &found);
    if (rc == 0)
        return KL_EEND; /* the end, or a torn group */
    if (rc != KL_EEXIST)
        return rc;
    kl_store_quarantine_wal(r->store, p, &found);
    if (code == KL_ECORRUPT)
        return kl_store_ring_load(&r->ring, p->file, p->offset, h);
    scan_lose(r, p, &found);
    return KL_EAGAIN;
}

int kl_store_recover_scan(struct kl_store_recovery *r)
{
    struct kl_store_position *p = &r->store->wal.next;
    struct scan_place place = {r, p};
    struct kl_store_group_header h;
    char path[KL_STORE_PATH_MAX];
    int rc;

    for (;;) {
        rc = kl_store_ring_find(&r->ring, p, &h);
        if (rc == KL_EEND || rc == KL_ECORRUPT)
            rc = scan_bad(r, p, &h, rc);
        if (rc == KL_EEND)
            return 0;
        if (rc == KL_EAGAIN)
            continue;
        if (rc == 0)
            rc = kl_store_ring_entries(&r->ring, &h, scan_entry, &place);
        if (rc)
            break;
        r->groups++;
        p->offset += h.size;
        p->previous = h.checksum;
        p->sequence++;
    }
    kl_store_path_wal(r->store, p->file, path);
    return kl_base_error_set(r->error, rc, "%s, group %llu at %u: %s", path,
                             (unsigned long long)p->sequence,
                             (unsigned)p->offset, kl_store_why(rc));
}
