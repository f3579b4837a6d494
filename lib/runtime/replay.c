/*
 * Reading the whole metadata log once, before anything of it is applied: the
 * quorum must know which sets of voters it names, committed or not.
 */
#include "runtime/state.h"

#define REPLAY_READ_BYTES (1024 * 1024)

struct replay
{
    kl_runtime_metadata_fn fn;
    void *user;
};

static int replay_frame(struct kl_runtime_node *n, const struct replay *replay,
                        const uint8_t *frame, const struct kl_batch_info *info,
                        struct kl_base_error *error)
{
    struct kl_batch_record record;
    struct kl_batch_iter it;
    int r;

    if (!(info->attributes & KL_BATCH_ATTR_CONTROL))
        return 0;
    r = kl_batch_iter_init(&it, &n->alloc, frame, info->frame_size,
                           KL_BATCH_SIZE_MAX);
    if (r)
        return kl_base_error_set(error, r, "metadata log: batch at %lld: %s",
                                 (long long)info->base_offset,
                                 kl_base_error_lookup(r)->text);
    while (!(r = kl_batch_iter_next(&it, &record))) {
        r = replay->fn(n, &record, replay->user, error);
        if (r)
            break;
    }
    kl_batch_iter_deinit(&it);
    return r == KL_EEND ? 0 : r;
}

static int replay_slice(struct kl_runtime_node *n, const struct replay *replay,
                        const struct kl_store_slice *slice,
                        struct kl_base_error *error)
{
    uint64_t seed = kl_store_log_seed(n->metadata.log);
    uint32_t pos = 0;

    while (pos < slice->size) {
        struct kl_batch_info info;
        int r = kl_batch_frame_header(slice->data + pos, slice->size - pos,
                                      seed, &info);

        if (r || info.frame_size > slice->size - pos)
            return kl_base_error_set(error, KL_ECORRUPT,
                                     "metadata log: malformed batch");
        r = replay_frame(n, replay, slice->data + pos, &info, error);
        if (r)
            return r;
        pos += info.frame_size;
    }
    return 0;
}

/* One read, waited for. */
static int replay_read(struct kl_runtime_node *n, struct kl_store_read *read)
{
    if (kl_store_read(read) != KL_EAGAIN)
        return read->code;
    for (;;) {
        struct kl_store_event e;

        kl_runtime_metadata_pump(n);
        while (kl_store_next_event(n->store, &e)) {
            if (e.type == KL_STORE_EVENT_READ && e.read == read)
                return read->code;
        }
    }
}

static int replay_run(struct kl_runtime_node *n, const struct replay *replay,
                      struct kl_store_read *read, struct kl_base_error *error)
{
    int r = replay_read(n, read);

    if (r)
        return kl_base_error_set(error, r, "metadata log: offset %lld: %s",
                                 (long long)read->offset,
                                 kl_base_error_lookup(r)->text);
    if (!read->slice_count)
        r = kl_base_error_set(error, KL_ECORRUPT,
                              "metadata log: nothing at offset %lld",
                              (long long)read->offset);
    for (uint32_t i = 0; !r && i < read->slice_count; i++)
        r = replay_slice(n, replay, &read->slices[i], error);
    read->offset = read->next_offset;
    kl_store_read_release(read);
    return r;
}

int kl_runtime_metadata_scan(struct kl_runtime_node *n,
                             kl_runtime_metadata_fn fn, void *user,
                             struct kl_base_error *error)
{
    const struct replay replay = {fn, user};
    struct kl_store_read read = {0};
    struct kl_store_view view;
    int r = 0;

    kl_store_log_view(n->metadata.log, &view);
    /* Nobody may take a topic for deleted on its word. */
    if (view.is_suspect)
        return kl_base_error_set(error, KL_ECORRUPT,
                                 "metadata log: it may have lost its end; "
                                 "KL_OPEN_ACCEPT_LOSS goes on without");
    read.log = n->metadata.log;
    read.offset = view.start;
    read.end = view.durable_leo;
    read.bytes_max = REPLAY_READ_BYTES;
    kl_base_list_init(&read.link);
    while (!r && read.offset < read.end)
        r = replay_run(n, &replay, &read, error);
    return r;
}
