/*
 * One broker in the image, and finding it.
 */
#include "controller/state.h"

#include <string.h>

KL_STATIC_ASSERT(KL_WIRE_ENDPOINTS_MAX <= UINT8_MAX, "a byte counts them");
KL_STATIC_ASSERT(KL_WIRE_BROKER_FLAGS <= UINT8_MAX, "flags are a byte");

size_t kl_controller_broker_search(const struct kl_controller *c, int32_t id,
                                   int *found)
{
    size_t low = 0, high = c->broker_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (c->brokers[mid]->id < id)
            low = mid + 1;
        else
            high = mid;
    }
    *found = low < c->broker_count && c->brokers[low]->id == id;
    return low;
}

/* Copies a text behind what is there, and terminates it. */
static char *broker_text(char *at, const struct kl_wire_text *text,
                         const char **out)
{
    *out = at;
    if (text->size)
        memcpy(at, text->data, text->size);
    at[text->size] = '\0';
    return at + text->size + 1;
}

struct kl_controller_broker *
kl_controller_broker_new(const struct kl_base_alloc *a,
                         const struct kl_wire_register_broker_record *r)
{
    /* The sizes of the texts become their ends. */
    size_t size = sizeof(struct kl_controller_broker) +
                  r->endpoints.count * sizeof(char *) + r->rack.size + 1 +
                  r->endpoints.size;
    struct kl_controller_broker *b = kl_base_malloc(a, size);
    struct kl_wire_text text;
    uint32_t pos = 0, n = 0;
    char *at;

    if (!b)
        return NULL;
    b->size = size;
    b->id = r->broker_id;
    b->epoch = r->broker_epoch;
    b->incarnation_id = r->incarnation_id;
    b->directory_id = r->directory_id;
    b->batch_bytes_max = r->batch_bytes_max;
    b->feature_min = r->feature_min;
    b->feature_max = r->feature_max;
    b->flags = (uint8_t)r->flags;
    b->endpoint_count = (uint8_t)r->endpoints.count;
    at = (char *)(b->endpoints + b->endpoint_count);
    at = broker_text(at, &r->rack, &b->rack);
    while (kl_wire_texts_next(&r->endpoints, &pos, &text))
        at = broker_text(at, &text, &b->endpoints[n++]);
    return b;
}

void kl_controller_broker_free(const struct kl_base_alloc *a,
                               struct kl_controller_broker *b)
{
    kl_base_free(a, b, b->size);
}

int kl_controller_endpoints(const char *const *endpoints, size_t count,
                            uint8_t scratch[KL_CONTROLLER_ENDPOINTS_BYTES],
                            struct kl_wire_texts *out)
{
    uint8_t *at = scratch;

    if (count > KL_WIRE_ENDPOINTS_MAX)
        return KL_EINVAL;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(endpoints[i]);

        if (size > KL_WIRE_TEXTS_ITEM_MAX)
            return KL_EINVAL;
        kl_base_put_le16(at, (uint16_t)size);
        memcpy(at + 2, endpoints[i], size);
        at += 2 + size;
    }
    out->data = scratch;
    out->size = (uint32_t)(at - scratch);
    out->count = (uint32_t)count;
    return 0;
}

void kl_controller_broker_record(const struct kl_controller_broker *b,
                                 uint8_t scratch[KL_CONTROLLER_ENDPOINTS_BYTES],
                                 struct kl_wire_register_broker_record *out)
{
    int rc;

    memset(out, 0, sizeof *out);
    out->broker_id = b->id;
    out->broker_epoch = b->epoch;
    out->incarnation_id = b->incarnation_id;
    out->directory_id = b->directory_id;
    out->batch_bytes_max = b->batch_bytes_max;
    out->feature_min = b->feature_min;
    out->feature_max = b->feature_max;
    out->rack = kl_controller_text(b->rack);
    rc = kl_controller_endpoints(b->endpoints, b->endpoint_count, scratch,
                                 &out->endpoints);
    KL_ASSERT(rc == 0);
    out->flags = (int8_t)b->flags;
}

int kl_controller_broker_check(const struct kl_controller *c, int32_t broker_id,
                               int64_t broker_epoch, size_t *index,
                               struct kl_base_error *e)
{
    int found;
    size_t i = kl_controller_broker_search(c, broker_id, &found);

    if (!found)
        return kl_base_error_set(
            e, KL_ENOBROKER, "broker %ld is not registered", (long)broker_id);
    if (c->brokers[i]->epoch != broker_epoch)
        return kl_base_error_set(e, KL_EFENCED,
                                 "broker %ld: epoch %lld, the present one is "
                                 "%lld",
                                 (long)broker_id, (long long)broker_epoch,
                                 (long long)c->brokers[i]->epoch);
    *index = i;
    return 0;
}

const struct kl_controller_broker *
kl_controller_broker_find(const struct kl_controller *c, int32_t broker_id)
{
    int found;
    size_t i = kl_controller_broker_search(c, broker_id, &found);

    return found ? c->brokers[i] : NULL;
}

const struct kl_controller_broker *
kl_controller_broker_at(const struct kl_controller *c, size_t index)
{
    return index < c->broker_count ? c->brokers[index] : NULL;
}

size_t kl_controller_broker_count(const struct kl_controller *c)
{
    return c->broker_count;
}
