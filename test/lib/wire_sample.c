/*
 * Values are drawn often at the edge of their range, sizes are often 0 or 1.
 */
#include "wire_sample.h"

#include <check.h>
#include <stddef.h>
#include <string.h>

enum { LIST_MAX = 6, TEXT_MAX = 40 };

void wire_sample_seed(struct wire_sample *s, uint64_t seed)
{
    kl_base_rng_seed(&s->rng, seed);
    s->used = 0;
}

static void *take(struct wire_sample *s, size_t size)
{
    uint8_t *p = s->memory + s->used;

    s->used += (size + 15) & ~(size_t)15;
    ck_assert_uint_le(s->used, sizeof s->memory);
    return p;
}

static int64_t number(struct wire_sample *s, int64_t min, int64_t max)
{
    uint64_t range = (uint64_t)max - (uint64_t)min;
    uint64_t at;

    switch (kl_base_rng_below(&s->rng, 4)) {
    case 0:
        return min;
    case 1:
        return max;
    case 2:
        at = kl_base_rng_below(&s->rng, 8);
        return min + (int64_t)(at <= range ? at : range);
    }
    at = kl_base_rng_next(&s->rng);
    return (int64_t)((uint64_t)min +
                     (range == UINT64_MAX ? at : at % (range + 1)));
}

static void fill_span(struct wire_sample *s, const struct kl_wire_field *f,
                      uint8_t *p)
{
    int64_t cap = f->kind == KL_WIRE_LIST ? LIST_MAX : TEXT_MAX;
    int64_t max = f->max < cap ? f->max : cap;
    uint32_t count = (uint32_t)number(s, f->min, max > f->min ? max : f->min);
    size_t item = f->kind == KL_WIRE_I32S   ? 4
                  : f->kind == KL_WIRE_LIST ? f->item->size
                                            : 1;
    struct kl_wire_bytes span = {take(s, count * item), count};
    uint8_t *data = (uint8_t *)span.data;

    memset(p, 0, sizeof span);
    memcpy(p, &span, sizeof span);
    memset(data, 0, count * item);
    for (size_t i = 0; f->kind != KL_WIRE_LIST && i < count * item; i++)
        data[i] = f->kind == KL_WIRE_TEXT
                      ? (uint8_t)(' ' + kl_base_rng_below(&s->rng, 95))
                      : (uint8_t)kl_base_rng_next(&s->rng);
    for (uint32_t i = 0; f->kind == KL_WIRE_LIST && i < count; i++)
        wire_sample_fill(s, f->item, data + i * item);
}

static void fill_texts(struct wire_sample *s, const struct kl_wire_field *f,
                       uint8_t *p)
{
    int64_t max = f->max < LIST_MAX ? f->max : LIST_MAX;
    struct kl_wire_texts texts = {NULL, 0, (uint32_t)number(s, f->min, max)};
    uint8_t *data = take(s, texts.count * (2 + TEXT_MAX));

    texts.data = data;
    for (uint32_t i = 0; i < texts.count; i++) {
        uint16_t size = (uint16_t)number(s, 1, TEXT_MAX);

        kl_base_put_le16(data + texts.size, size);
        memset(data + texts.size + 2, 'a' + (int)(i % 26), size);
        texts.size += 2u + size;
    }
    memset(p, 0, sizeof texts);
    memcpy(p, &texts, sizeof texts);
}

static void fill_number(struct wire_sample *s, const struct kl_wire_field *f,
                        uint8_t *p)
{
    int64_t v = number(s, f->min, f->max);
    int32_t i32 = (int32_t)v;
    int16_t i16 = (int16_t)v;

    if (f->kind == KL_WIRE_I8)
        *p = (uint8_t)v;
    else if (f->kind == KL_WIRE_I16)
        memcpy(p, &i16, sizeof i16);
    else if (f->kind == KL_WIRE_I32)
        memcpy(p, &i32, sizeof i32);
    else
        memcpy(p, &v, sizeof v);
}

void wire_sample_fill(struct wire_sample *s, const struct kl_wire_table *t,
                      void *out)
{
    for (uint16_t i = 0; i < t->count; i++) {
        const struct kl_wire_field *f = &t->fields[i];
        uint8_t *p = (uint8_t *)out + f->offset;

        if (f->kind <= KL_WIRE_I64) {
            fill_number(s, f, p);
        } else if (f->kind == KL_WIRE_UUID) {
            memset(p, 0, 16);
            if (f->min || kl_base_rng_below(&s->rng, 2))
                memcpy(p, kl_base_uuid_random(&s->rng).bytes, 16);
        } else if (f->kind == KL_WIRE_TEXTS) {
            fill_texts(s, f, p);
        } else {
            fill_span(s, f, p);
        }
    }
}

void wire_sample_message(struct wire_sample *s, const struct kl_wire_table *t,
                         int is_response, struct kl_wire_message *out)
{
    struct kl_wire_envelope *v = &out->envelope;

    memset(out, 0, sizeof *out);
    v->api_key = (int16_t)t->number;
    v->is_response = (int8_t)is_response;
    v->correlation_id = number(s, 0, INT64_MAX);
    v->cluster_id = kl_base_uuid_random(&s->rng);
    v->source_id = (int32_t)number(s, -1, INT32_MAX);
    v->destination_id = (int32_t)number(s, -1, INT32_MAX);
    v->source_directory = kl_base_uuid_random(&s->rng);
    v->source_session = kl_base_uuid_random(&s->rng);
    v->destination_directory = kl_base_uuid_random(&s->rng);
    wire_sample_fill(
        s, t, (uint8_t *)out + offsetof(struct kl_wire_message, fetch_request));
}
