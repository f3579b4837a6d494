/*
 * Encoding, decoding, checking and printing by field table. Decoding walks the
 * input twice: the first time to see that it is whole and how much memory its
 * lists take, the second time to read it. Nesting is as deep as the tables are.
 */
#include "wire/fields.h"

#include "base/assert.h"
#include "base/utf8.h"

#include <string.h>

/* What texts, bytes and arrays look like, whatever they are made of. */
struct kl_wire_span
{
    const void *data;
    uint32_t count;
};

/* One field seen without its C type. */
struct kl_wire_value
{
    int64_t number; /* integers; else the size or count */
    const void *data;
    size_t size; /* bytes of data, of kinds of no fixed size but lists */
};

/* Bytes of a kind without what its size or count adds. */
static const uint8_t fields_fixed[] = {1, 2, 4, 8, 16, 2, 4, 2, 2, 2};

static struct kl_wire_value fields_load_span(const uint8_t *p, size_t item)
{
    struct kl_wire_span span;
    struct kl_wire_value v;

    memcpy(&span, p, sizeof span);
    v.number = span.count;
    v.data = span.data;
    v.size = item * span.count;
    return v;
}

static struct kl_wire_value fields_load_texts(const uint8_t *p)
{
    struct kl_wire_texts texts;
    struct kl_wire_value v;

    memcpy(&texts, p, sizeof texts);
    v.number = texts.count;
    v.data = texts.data;
    v.size = texts.size;
    return v;
}

static struct kl_wire_value fields_load(const struct kl_wire_field *f,
                                        const void *record)
{
    const uint8_t *p = (const uint8_t *)record + f->offset;
    struct kl_wire_value v = {0, NULL, 0};
    int8_t i8;
    int16_t i16;
    int32_t i32;

    switch ((enum kl_wire_kind)f->kind) {
    case KL_WIRE_I8:
        memcpy(&i8, p, sizeof i8);
        v.number = i8;
        break;
    case KL_WIRE_I16:
        memcpy(&i16, p, sizeof i16);
        v.number = i16;
        break;
    case KL_WIRE_I32:
        memcpy(&i32, p, sizeof i32);
        v.number = i32;
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
    case KL_WIRE_BYTES:
        return fields_load_span(p, 1);
    case KL_WIRE_I32S:
        return fields_load_span(p, 4);
    case KL_WIRE_TEXTS:
        return fields_load_texts(p);
    case KL_WIRE_LIST:
        return fields_load_span(p, 0);
    }
    return v;
}

/* Item index of a list. */
static const void *fields_item(const struct kl_wire_field *f,
                               const struct kl_wire_value *v, int64_t index)
{
    return (const uint8_t *)v->data + (size_t)index * f->item->size;
}

/* ---- checking ---------------------------------------------------------- */

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

static int fields_check_range(const struct kl_wire_table *t,
                              const struct kl_wire_field *f, int64_t number,
                              int code, struct kl_base_error *e)
{
    if (number >= f->min && number <= f->max)
        return 0;
    return kl_base_error_set(
        e, code, "%s: %s is %lld, allowed are %lld to %lld", t->name, f->name,
        (long long)number, (long long)f->min, (long long)f->max);
}

int kl_wire_fields_check(const struct kl_wire_table *t, const void *record,
                         int code, struct kl_base_error *e)
{
    int rc;

    for (uint16_t i = 0; i < t->count; i++) {
        const struct kl_wire_field *f = &t->fields[i];
        struct kl_wire_value v = fields_load(f, record);

        rc = fields_check_range(t, f, v.number, code, e);
        if (rc)
            return rc;
        if (f->kind == KL_WIRE_TEXT && !fields_text_valid(v.data, v.size))
            return kl_base_error_set(e, code, "%s: %s is not UTF-8 without NUL",
                                     t->name, f->name);
        if (f->kind == KL_WIRE_TEXTS && !fields_texts_valid(&v))
            return kl_base_error_set(e, code, "%s: %s is not a list of texts",
                                     t->name, f->name);
        for (int64_t n = 0; f->kind == KL_WIRE_LIST && n < v.number; n++) {
            rc = kl_wire_fields_check(f->item, fields_item(f, &v, n), code, e);
            if (rc)
                return rc;
        }
    }
    return 0;
}

/* ---- encoding ---------------------------------------------------------- */

size_t kl_wire_fields_size(const struct kl_wire_table *t, const void *record)
{
    size_t size = 0;

    for (uint16_t i = 0; i < t->count; i++) {
        const struct kl_wire_field *f = &t->fields[i];
        struct kl_wire_value v = fields_load(f, record);

        size += fields_fixed[f->kind] + v.size;
        for (int64_t n = 0; f->kind == KL_WIRE_LIST && n < v.number; n++)
            size += kl_wire_fields_size(f->item, fields_item(f, &v, n));
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

    switch ((enum kl_wire_kind)f->kind) {
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
    case KL_WIRE_BYTES:
        kl_base_put_le32(out, (uint32_t)v.number);
        return fields_bytes(out + 4, v.data, v.size);
    case KL_WIRE_LIST:
        kl_base_put_le16(out, (uint16_t)v.number);
        out += 2;
        for (int64_t n = 0; n < v.number; n++)
            out = kl_wire_fields_encode(f->item, fields_item(f, &v, n), out);
        return out;
    }
    KL_UNREACHABLE();
}

uint8_t *kl_wire_fields_encode(const struct kl_wire_table *t,
                               const void *record, uint8_t *out)
{
    for (uint16_t i = 0; i < t->count; i++)
        out = fields_store(&t->fields[i], record, out);
    return out;
}

/* ---- decoding ---------------------------------------------------------- */

/* Memory of the items of one list, so that the next is aligned too. */
static size_t fields_list_size(const struct kl_wire_field *f, uint32_t count)
{
    return ((size_t)count * f->item->size + 15) & ~(size_t)15;
}

static int fields_measure(const struct kl_wire_table *t,
                          struct kl_base_cursor *in, size_t *memory,
                          struct kl_base_error *e);

/* Steps over the texts; what they are is checked with their field. */
static void fields_pass_texts(struct kl_base_cursor *in, uint32_t count)
{
    for (uint32_t i = 0; i < count && !in->failed; i++)
        kl_base_cursor_bytes(in, kl_base_cursor_get_le16(in));
}

/* A count is checked before anything is multiplied by it. */
static int fields_measure_list(const struct kl_wire_table *t,
                               const struct kl_wire_field *f,
                               struct kl_base_cursor *in, size_t *memory,
                               struct kl_base_error *e)
{
    uint32_t count = kl_base_cursor_get_le16(in);
    int rc =
        fields_check_range(t, f, in->failed ? f->min : count, KL_ECORRUPT, e);

    *memory += fields_list_size(f, count);
    for (uint32_t i = 0; rc == 0 && !in->failed && i < count; i++)
        rc = fields_measure(f->item, in, memory, e);
    return rc;
}

/* Passes over all fields and adds what their lists take. */
static int fields_measure(const struct kl_wire_table *t,
                          struct kl_base_cursor *in, size_t *memory,
                          struct kl_base_error *e)
{
    for (uint16_t i = 0; i < t->count; i++) {
        const struct kl_wire_field *f = &t->fields[i];
        int rc = 0;

        switch ((enum kl_wire_kind)f->kind) {
        case KL_WIRE_I8:
        case KL_WIRE_I16:
        case KL_WIRE_I32:
        case KL_WIRE_I64:
        case KL_WIRE_UUID:
            kl_base_cursor_bytes(in, fields_fixed[f->kind]);
            break;
        case KL_WIRE_TEXT:
            kl_base_cursor_bytes(in, kl_base_cursor_get_le16(in));
            break;
        case KL_WIRE_BYTES:
            kl_base_cursor_bytes(in, kl_base_cursor_get_le32(in));
            break;
        case KL_WIRE_I32S:
            kl_base_cursor_bytes(in, 4 * (size_t)kl_base_cursor_get_le16(in));
            break;
        case KL_WIRE_TEXTS:
            fields_pass_texts(in, kl_base_cursor_get_le16(in));
            break;
        case KL_WIRE_LIST:
            rc = fields_measure_list(t, f, in, memory, e);
            break;
        }
        if (rc)
            return rc;
        if (in->failed)
            return kl_base_error_set(e, KL_ECORRUPT, "%s: ends within %s",
                                     t->name, f->name);
    }
    return 0;
}

static void fields_read_table(const struct kl_wire_table *t,
                              struct kl_base_cursor *in, uint8_t **memory,
                              void *record);

static struct kl_wire_span fields_read_span(struct kl_base_cursor *in,
                                            uint32_t count, size_t size)
{
    struct kl_wire_span span = {kl_base_cursor_bytes(in, count * size), count};

    return span;
}

static void fields_read_texts(struct kl_base_cursor *in, uint8_t *p)
{
    struct kl_wire_texts texts;
    size_t start;

    texts.count = kl_base_cursor_get_le16(in);
    start = in->pos;
    texts.data = in->data + start;
    fields_pass_texts(in, texts.count);
    texts.size = (uint32_t)(in->pos - start);
    memcpy(p, &texts, sizeof texts);
}

static struct kl_wire_span fields_read_list(const struct kl_wire_field *f,
                                            struct kl_base_cursor *in,
                                            uint8_t **memory)
{
    uint8_t *items = *memory;
    struct kl_wire_span span = {items, kl_base_cursor_get_le16(in)};

    *memory += fields_list_size(f, span.count);
    for (uint32_t i = 0; i < span.count; i++)
        fields_read_table(f->item, in, memory, items + i * f->item->size);
    return span;
}

static void fields_read(const struct kl_wire_field *f,
                        struct kl_base_cursor *in, uint8_t **memory,
                        void *record)
{
    uint8_t *p = (uint8_t *)record + f->offset;
    struct kl_wire_span span;
    uint16_t i16;
    uint32_t i32;
    uint64_t i64;

    switch ((enum kl_wire_kind)f->kind) {
    case KL_WIRE_I8:
        *p = kl_base_cursor_get8(in);
        return;
    case KL_WIRE_I16:
        i16 = kl_base_cursor_get_le16(in);
        memcpy(p, &i16, sizeof i16);
        return;
    case KL_WIRE_I32:
        i32 = kl_base_cursor_get_le32(in);
        memcpy(p, &i32, sizeof i32);
        return;
    case KL_WIRE_I64:
        i64 = kl_base_cursor_get_le64(in);
        memcpy(p, &i64, sizeof i64);
        return;
    case KL_WIRE_UUID:
        memcpy(p, kl_base_cursor_bytes(in, 16), 16);
        return;
    case KL_WIRE_TEXT:
        span = fields_read_span(in, kl_base_cursor_get_le16(in), 1);
        break;
    case KL_WIRE_BYTES:
        span = fields_read_span(in, kl_base_cursor_get_le32(in), 1);
        break;
    case KL_WIRE_I32S:
        span = fields_read_span(in, kl_base_cursor_get_le16(in), 4);
        break;
    case KL_WIRE_TEXTS:
        fields_read_texts(in, p);
        return;
    case KL_WIRE_LIST:
        span = fields_read_list(f, in, memory);
        break;
    default:
        KL_UNREACHABLE();
    }
    memcpy(p, &span, sizeof span);
}

static void fields_read_table(const struct kl_wire_table *t,
                              struct kl_base_cursor *in, uint8_t **memory,
                              void *record)
{
    for (uint16_t i = 0; i < t->count; i++)
        fields_read(&t->fields[i], in, memory, record);
}

int kl_wire_fields_decode(const struct kl_wire_table *t, const void *data,
                          size_t size, void *record, struct kl_base_buf *lists,
                          struct kl_base_error *e)
{
    struct kl_base_cursor in;
    uint8_t *memory = NULL;
    size_t want = 0;
    int rc;

    kl_base_cursor_init(&in, data, size);
    rc = fields_measure(t, &in, &want, e);
    if (rc)
        return rc;
    if (in.pos != in.size)
        return kl_base_error_set(e, KL_ECORRUPT,
                                 "%s: %zu bytes behind the last field", t->name,
                                 in.size - in.pos);
    if (want) {
        KL_ASSERT(lists);
        kl_base_buf_clear(lists);
        memory = kl_base_buf_extend(lists, want);
        if (!memory)
            return kl_base_error_set(e, KL_ENOMEM, "%s: out of memory",
                                     t->name);
        memset(memory, 0, want);
    }
    kl_base_cursor_init(&in, data, size);
    fields_read_table(t, &in, &memory, record);
    KL_ASSERT(!in.failed);
    return kl_wire_fields_check(t, record, KL_ECORRUPT, e);
}

/* ---- printing ---------------------------------------------------------- */

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

static void fields_print_list(const struct kl_wire_field *f,
                              const struct kl_wire_value *v,
                              struct kl_base_buf *out)
{
    kl_base_buf_put8(out, '[');
    for (int64_t i = 0; i < v->number; i++) {
        kl_base_buf_append(out, i ? " {" : "{", i ? 2 : 1);
        kl_wire_fields_print(f->item, fields_item(f, v, i), out);
        kl_base_buf_append(out, " }", 2);
    }
    kl_base_buf_put8(out, ']');
}

static void fields_print_uuid(const struct kl_base_uuid *id,
                              struct kl_base_buf *out)
{
    char text[KL_BASE_UUID_TEXT + 1];

    kl_base_uuid_format(id, text);
    kl_base_buf_append(out, text, KL_BASE_UUID_TEXT);
}

void kl_wire_fields_print(const struct kl_wire_table *t, const void *record,
                          struct kl_base_buf *out)
{
    for (uint16_t i = 0; i < t->count; i++) {
        const struct kl_wire_field *f = &t->fields[i];
        struct kl_wire_value v = fields_load(f, record);

        kl_base_buf_printf(out, " %s=", f->name);
        switch ((enum kl_wire_kind)f->kind) {
        case KL_WIRE_I8:
        case KL_WIRE_I16:
        case KL_WIRE_I32:
        case KL_WIRE_I64:
            kl_base_buf_printf(out, "%lld", (long long)v.number);
            break;
        case KL_WIRE_UUID:
            fields_print_uuid(v.data, out);
            break;
        case KL_WIRE_TEXT:
            kl_base_buf_json(out, v.data, (size_t)v.number);
            break;
        case KL_WIRE_BYTES:
            kl_base_buf_printf(out, "(%lld bytes)", (long long)v.number);
            break;
        case KL_WIRE_I32S:
            fields_print_i32s(&v, out);
            break;
        case KL_WIRE_TEXTS:
            fields_print_texts(&v, out);
            break;
        case KL_WIRE_LIST:
            fields_print_list(f, &v, out);
            break;
        }
    }
}
