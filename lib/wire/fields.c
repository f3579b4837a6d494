/*
 * Encoding, decoding, checking and printing by field table.
 */
#include "wire/fields.h"

#include "base/assert.h"
#include "base/utf8.h"

#include <string.h>

/* One field seen without its C type. */
struct kl_wire_value
{
    int64_t number; /* integers; else the size or count */
    const void *data;
    size_t size; /* bytes of data, of kinds of no fixed size */
};

static struct kl_wire_value fields_load(const struct kl_wire_field *f,
                                        const void *record)
{
    const uint8_t *p = (const uint8_t *)record + f->offset;
    struct kl_wire_value v = {0, NULL, 0};
    union
    {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        struct kl_wire_text text;
        struct kl_wire_i32s i32s;
        struct kl_wire_texts texts;
    } u;

    switch (f->kind) {
    case KL_WIRE_I8:
        memcpy(&u.i8, p, sizeof u.i8);
        v.number = u.i8;
        break;
    case KL_WIRE_I16:
        memcpy(&u.i16, p, sizeof u.i16);
        v.number = u.i16;
        break;
    case KL_WIRE_I32:
        memcpy(&u.i32, p, sizeof u.i32);
        v.number = u.i32;
        break;
    case KL_WIRE_I64:
        memcpy(&v.number, p, sizeof v.number);
        break;
    case KL_WIRE_UUID:
        /* Its range says whether all zero is allowed. */
        v.data = p;
        v.number = !kl_base_uuid_is_zero((const struct kl_base_uuid *)p);
        break;
    case KL_WIRE_TEXT:
        memcpy(&u.text, p, sizeof u.text);
        v.number = u.text.size;
        v.data = u.text.data;
        v.size = u.text.size;
        break;
    case KL_WIRE_I32S:
        memcpy(&u.i32s, p, sizeof u.i32s);
        v.number = u.i32s.count;
        v.data = u.i32s.data;
        v.size = 4 * (size_t)u.i32s.count;
        break;
    case KL_WIRE_TEXTS:
        memcpy(&u.texts, p, sizeof u.texts);
        v.number = u.texts.count;
        v.data = u.texts.data;
        v.size = u.texts.size;
        break;
    default:
        KL_UNREACHABLE();
    }
    return v;
}

/* Texts become terminated ones, so a NUL would hide what follows it. */
static int fields_text_valid(const uint8_t *text, size_t size)
{
    size_t n;

    for (size_t i = 0; i < size; i += n) {
        n = kl_base_utf8_sequence(text + i, size - i);
        if (n == 0 || text[i] == 0)
            return 0;
    }
    return 1;
}

/* As many texts as are counted, whole, legal and not empty. */
static int fields_texts_valid(const struct kl_wire_value *v)
{
    struct kl_base_cursor in;
    int64_t left = v->number;

    kl_base_cursor_init(&in, v->data, v->size);
    for (; left > 0; left--) {
        uint16_t size = kl_base_cursor_get_le16(&in);
        const uint8_t *text = kl_base_cursor_bytes(&in, size);

        if (!text || size == 0 || size > KL_WIRE_TEXTS_ITEM_MAX ||
            !fields_text_valid(text, size))
            return 0;
    }
    return in.pos == in.size;
}

int kl_wire_fields_check(const struct kl_wire_table *t, const void *record,
                         int code, struct kl_base_error *e)
{
    for (uint16_t i = 0; i < t->count; i++) {
        const struct kl_wire_field *f = &t->fields[i];
        struct kl_wire_value v = fields_load(f, record);

        if (v.number < f->min || v.number > f->max)
            return kl_base_error_set(e, code,
                                     "%s: %s is %lld, allowed are %lld to %lld",
                                     t->name, f->name, (long long)v.number,
                                     (long long)f->min, (long long)f->max);
        if (f->kind == KL_WIRE_TEXT && !fields_text_valid(v.data, v.size))
            return kl_base_error_set(e, code, "%s: %s is not UTF-8 without NUL",
                                     t->name, f->name);
        if (f->kind == KL_WIRE_TEXTS && !fields_texts_valid(&v))
            return kl_base_error_set(e, code, "%s: %s is not a list of texts",
                                     t->name, f->name);
    }
    return 0;
}

size_t kl_wire_fields_size(const struct kl_wire_table *t, const void *record)
{
    static const uint8_t fixed[] = {1, 2, 4, 8, 16, 2, 2, 2};
    size_t size = 0;

    for (uint16_t i = 0; i < t->count; i++) {
        const struct kl_wire_field *f = &t->fields[i];

        size += fixed[f->kind] + fields_load(f, record).size;
    }
    return size;
}

static uint8_t *fields_bytes(uint8_t *out, const void *data, size_t size)
{
    if (size)
        memcpy(out, data, size);
    return out + size;
}

static uint8_t *fields_store(const struct kl_wire_field *f, const void *record,
                             uint8_t *out)
{
    struct kl_wire_value v = fields_load(f, record);

    switch (f->kind) {
    case KL_WIRE_I8:
        *out = (uint8_t)v.number;
        return out + 1;
    case KL_WIRE_I16:
        kl_base_put_le16(out, (uint16_t)v.number);
        return out + 2;
    case KL_WIRE_I32:
        kl_base_put_le32(out, (uint32_t)v.number);
        return out + 4;
    case KL_WIRE_I64:
        kl_base_put_le64(out, (uint64_t)v.number);
        return out + 8;
    case KL_WIRE_UUID:
        return fields_bytes(out, v.data, 16);
    case KL_WIRE_TEXT:
    case KL_WIRE_I32S:
    case KL_WIRE_TEXTS:
        kl_base_put_le16(out, (uint16_t)v.number);
        return fields_bytes(out + 2, v.data, v.size);
    default:
        KL_UNREACHABLE();
    }
}

void kl_wire_fields_encode(const struct kl_wire_table *t, const void *record,
                           uint8_t *out)
{
    for (uint16_t i = 0; i < t->count; i++)
        out = fields_store(&t->fields[i], record, out);
}

static void fields_read_bytes(struct kl_base_cursor *in, uint8_t *p)
{
    const uint8_t *bytes = kl_base_cursor_bytes(in, 16);

    if (bytes)
        memcpy(p, bytes, 16);
}

static void fields_read_text(struct kl_base_cursor *in, uint8_t *p)
{
    struct kl_wire_text text;

    text.size = kl_base_cursor_get_le16(in);
    text.data = (const char *)kl_base_cursor_bytes(in, text.size);
    memcpy(p, &text, sizeof text);
}

static void fields_read_i32s(struct kl_base_cursor *in, uint8_t *p)
{
    struct kl_wire_i32s i32s;

    i32s.count = kl_base_cursor_get_le16(in);
    i32s.data = kl_base_cursor_bytes(in, 4 * (size_t)i32s.count);
    memcpy(p, &i32s, sizeof i32s);
}

/* Steps over the texts; what they are is checked with their field. */
static void fields_read_texts(struct kl_base_cursor *in, uint8_t *p)
{
    struct kl_wire_texts texts;
    size_t start;

    texts.count = kl_base_cursor_get_le16(in);
    start = in->pos;
    texts.data = kl_base_cursor_bytes(in, 0);
    for (uint32_t i = 0; i < texts.count && !in->failed; i++)
        (void)kl_base_cursor_bytes(in, kl_base_cursor_get_le16(in));
    texts.size = (uint32_t)(in->pos - start);
    memcpy(p, &texts, sizeof texts);
}

static void fields_read(const struct kl_wire_field *f,
                        struct kl_base_cursor *in, void *record)
{
    uint8_t *p = (uint8_t *)record + f->offset;
    uint16_t i16;
    uint32_t i32;
    uint64_t i64;

    switch (f->kind) {
    case KL_WIRE_I8:
        *p = kl_base_cursor_get8(in);
        break;
    case KL_WIRE_I16:
        i16 = kl_base_cursor_get_le16(in);
        memcpy(p, &i16, sizeof i16);
        break;
    case KL_WIRE_I32:
        i32 = kl_base_cursor_get_le32(in);
        memcpy(p, &i32, sizeof i32);
        break;
    case KL_WIRE_I64:
        i64 = kl_base_cursor_get_le64(in);
        memcpy(p, &i64, sizeof i64);
        break;
    case KL_WIRE_UUID:
        fields_read_bytes(in, p);
        break;
    case KL_WIRE_TEXT:
        fields_read_text(in, p);
        break;
    case KL_WIRE_I32S:
        fields_read_i32s(in, p);
        break;
    case KL_WIRE_TEXTS:
        fields_read_texts(in, p);
        break;
    default:
        KL_UNREACHABLE();
    }
}

int kl_wire_fields_decode(const struct kl_wire_table *t,
                          struct kl_base_cursor *in, void *record,
                          struct kl_base_error *e)
{
    for (uint16_t i = 0; i < t->count; i++) {
        fields_read(&t->fields[i], in, record);
        if (in->failed)
            return kl_base_error_set(e, KL_ECORRUPT, "%s: ends within %s",
                                     t->name, t->fields[i].name);
    }
    return kl_wire_fields_check(t, record, KL_ECORRUPT, e);
}

static void fields_print_i32s(const struct kl_wire_value *v,
                              struct kl_base_buf *out)
{
    struct kl_wire_i32s a = {v->data, (uint32_t)v->number};

    kl_base_buf_put8(out, '[');
    for (uint32_t i = 0; i < a.count; i++)
        kl_base_buf_printf(out, i ? ",%d" : "%d", (int)kl_wire_i32s_get(&a, i));
    kl_base_buf_put8(out, ']');
}

static void fields_print_texts(const struct kl_wire_value *v,
                               struct kl_base_buf *out)
{
    struct kl_wire_texts a = {v->data, (uint32_t)v->size, (uint32_t)v->number};
    struct kl_wire_text text;
    uint32_t pos = 0;

    kl_base_buf_put8(out, '[');
    while (kl_wire_texts_next(&a, &pos, &text)) {
        if (text.data != (const char *)a.data + 2)
            kl_base_buf_put8(out, ',');
        kl_base_buf_json(out, text.data, text.size);
    }
    kl_base_buf_put8(out, ']');
}

void kl_wire_fields_print(const struct kl_wire_table *t, const void *record,
                          struct kl_base_buf *out)
{
    char id[KL_BASE_UUID_TEXT + 1];

    for (uint16_t i = 0; i < t->count; i++) {
        const struct kl_wire_field *f = &t->fields[i];
        struct kl_wire_value v = fields_load(f, record);

        kl_base_buf_printf(out, " %s=", f->name);
        if (f->kind == KL_WIRE_UUID) {
            kl_base_uuid_format(v.data, id);
            kl_base_buf_append(out, id, KL_BASE_UUID_TEXT);
        } else if (f->kind == KL_WIRE_TEXT) {
            kl_base_buf_json(out, v.data, (size_t)v.number);
        } else if (f->kind == KL_WIRE_I32S) {
            fields_print_i32s(&v, out);
        } else if (f->kind == KL_WIRE_TEXTS) {
            fields_print_texts(&v, out);
        } else {
            kl_base_buf_printf(out, "%lld", (long long)v.number);
        }
    }
}
