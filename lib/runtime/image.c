/*
 * The image of the controller as the bytes of a snapshot, and back.
 */
#include "runtime/state.h"

int kl_runtime_image_encode(struct kl_runtime_node *n,
                            const struct kl_raft_voters *voters,
                            struct kl_base_buf *out)
{
    struct kl_wire_control control = {.type = KL_WIRE_VOTERS_CONTROL};
    struct kl_wire_snapshot s = {.voters_offset = voters->offset};
    struct kl_controller_records records;
    struct kl_base_buf bytes;
    int r;

    control.voters.voters = voters->voters;
    kl_controller_records_init(&records, &n->alloc);
    kl_base_buf_init(&bytes, &n->alloc);
    r = kl_controller_encode(n->metadata.controller, &records);
    if (!r)
        r = kl_wire_control_encode(&control, &bytes, NULL);
    if (!r) {
        s.voters.data = bytes.data;
        s.voters.size = (uint32_t)bytes.size;
        s.record_count = (uint32_t)records.count;
        s.records = records.buf.data;
        s.records_size = records.buf.size;
        r = kl_wire_snapshot_encode(&s, out);
    }
    kl_base_buf_deinit(&bytes);
    kl_controller_records_deinit(&records);
    return r;
}

static int image_apply(struct kl_controller *c,
                       const struct kl_wire_snapshot *s,
                       struct kl_base_error *error)
{
    struct kl_wire_bytes record;
    size_t pos = 0;
    int r = 0;

    while (!r && kl_wire_snapshot_next(s, &pos, &record))
        r = kl_controller_apply(c, record.data, record.size, error);
    kl_controller_delta_clear(c);
    return r;
}

int kl_runtime_image_decode(struct kl_runtime_node *n, const void *data,
                            size_t size, struct kl_runtime_image *out,
                            struct kl_base_error *error)
{
    struct kl_wire_control control;
    struct kl_wire_snapshot s;
    int r = kl_wire_snapshot_decode(&s, data, size, error);

    kl_base_buf_init(&out->lists, &n->alloc);
    kl_base_buf_init(&out->bytes, &n->alloc);
    out->controller = NULL;
    if (r)
        return r;
    /* The voters' endpoints are borrowed from these bytes. */
    kl_base_buf_append(&out->bytes, s.voters.data, s.voters.size);
    if (out->bytes.error)
        return KL_ENOMEM;
    r = kl_wire_control_decode(&control, out->bytes.data, out->bytes.size,
                               &out->lists, error);
    if (!r && control.type != KL_WIRE_VOTERS_CONTROL)
        r = kl_base_error_set(error, KL_ECORRUPT, "snapshot: no voters");
    if (!r)
        r = kl_runtime_controller_new(n, &out->controller);
    if (!r)
        r = image_apply(out->controller, &s, error);
    if (r)
        return r;
    out->voters.offset = s.voters_offset;
    out->voters.voters = control.voters.voters;
    return 0;
}

void kl_runtime_image_deinit(struct kl_runtime_image *image)
{
    if (!image->lists.alloc)
        return;
    kl_controller_free(image->controller);
    image->controller = NULL;
    kl_base_buf_deinit(&image->lists);
    kl_base_buf_deinit(&image->bytes);
}
