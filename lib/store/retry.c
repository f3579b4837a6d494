/*
 * What failed, and whether it may be tried again. A full disk, too many open
 * files and want of memory pass: what met them waits and is carried out once
 * more. Everything else ends all writing, and so does every failed sync: what
 * it could not write may be gone from memory (storage.md 6, F20).
 */
#include "store/checkpoint.h"
#include "store/write.h"

#define RETRY_FIRST_NS INT64_C(100000000)
#define RETRY_LAST_NS INT64_C(1000000000)

void kl_store_retry_init(struct kl_store_retry *r)
{
    r->at_ns = INT64_MAX;
    r->delay_ns = 0;
}

void kl_store_retry_later(struct kl_store *s, struct kl_store_retry *r)
{
    r->delay_ns = r->delay_ns ? r->delay_ns * 2 : RETRY_FIRST_NS;
    if (r->delay_ns > RETRY_LAST_NS)
        r->delay_ns = RETRY_LAST_NS;
    r->at_ns = s->now_ns + r->delay_ns;
}

int kl_store_retry_is_waiting(const struct kl_store_retry *r)
{
    return r->at_ns != INT64_MAX;
}

void kl_store_retry_now(const struct kl_store *s, struct kl_store_retry *r)
{
    r->delay_ns = 0;
    if (kl_store_retry_is_waiting(r))
        r->at_ns = s->now_ns;
}

int kl_store_retry_take(const struct kl_store *s, struct kl_store_retry *r)
{
    if (!kl_store_retry_is_waiting(r) || s->now_ns < r->at_ns)
        return 0;
    r->at_ns = INT64_MAX;
    return 1;
}

/* ---- codes -----------------------------------------------------------------
 */

int kl_store_is_passing(int code)
{
    return code == KL_EDISKFULL || code == KL_ENOFILES || code == KL_ENOMEM;
}

int kl_store_wait_out(struct kl_store *s, struct kl_store_retry *r, int code,
                      const char *what, const char *path)
{
    /* Open has nobody to wait for. */
    if (s->failure.code || !s->opened || !kl_store_is_passing(code)) {
        kl_store_fail(s, code, what, path);
        return 0;
    }
    if (code == KL_EDISKFULL)
        kl_store_space_exhausted(s);
    if (code == KL_ENOFILES) {
        kl_store_segment_close_idle(s);
        kl_store_flush_for_room(s);
    }
    kl_store_retry_later(s, r);
    kl_base_stat_add(&s->stats.retries, 1);
    return 1;
}

int kl_store_is_stuck(const struct kl_store *s)
{
    return s->space.full || kl_store_retry_is_waiting(&s->write->retry) ||
           kl_store_retry_is_waiting(&s->checkpoint->retry);
}

/* ---- syncs -----------------------------------------------------------------
 */

int kl_store_sync(struct kl_os_file *file)
{
    int rc = file->vfs->ops->sync(file);

    return kl_store_is_passing(rc) ? KL_EIO : rc;
}

int kl_store_sync_all(struct kl_os_file *file)
{
    int rc = file->vfs->ops->sync_all(file);

    return kl_store_is_passing(rc) ? KL_EIO : rc;
}

int kl_store_sync_folder(struct kl_os_vfs *vfs, const char *path)
{
    int rc = vfs->ops->sync_dir(vfs, path);

    /* It is opened first, for which there may be no descriptor. */
    return rc == KL_EDISKFULL || rc == KL_ENOMEM ? KL_EIO : rc;
}
