/*
 * Texts of any bytes: topic names, UTF-8, JSON strings, identifiers.
 */
#include "base/buf.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "controller/controller.h"
#include "fuzz.h"

#include <kraftlog/error.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 300 };

/* A name that is accepted can be part of a path, a line or a URL. */
static void text_name(const char *text, size_t size)
{
    static const char legal[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    struct kl_base_error error = {0};
    int rc = kl_controller_topic_name_check(text, size, &error);
    int good = size > 0 && size <= 249 &&
               !(size == 1 && memcmp(text, ".", 1) == 0) &&
               !(size == 2 && memcmp(text, "..", 2) == 0);

    for (size_t i = 0; i < size; i++)
        good = good && text[i] && strchr(legal, text[i]);
    FUZZ_CHECK((rc == 0) == good);
    if (rc == 0)
        return;
    FUZZ_CHECK(rc == KL_ETOPICNAME && error.text[0]);
    for (const char *p = error.text; *p; p++)
        FUZZ_CHECK(*p >= ' ' && *p <= '~');
}

/* Decodes by arithmetic and encodes again: only the shortest form is equal. */
static size_t text_sequence(const uint8_t *s, size_t size)
{
    size_t length = s[0] < 0x80   ? 1
                    : s[0] < 0xc0 ? 0
                    : s[0] < 0xe0 ? 2
                    : s[0] < 0xf0 ? 3
                                  : 4;
    uint32_t rune = length == 1 ? s[0] : s[0] & (0x7fu >> length);

    if (length == 0 || length > size || s[0] >= 0xf8)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        rune = rune << 6 | (s[i] & 0x3f);
    }
    if ((length == 2 && rune < 0x80) || (length == 3 && rune < 0x800) ||
        (length == 4 && rune < 0x10000) || rune > 0x10ffff ||
        (rune >= 0xd800 && rune < 0xe000))
        return 0;
    return length;
}

static void text_utf8(const uint8_t *text, size_t size)
{
    for (size_t at = 0; at < size; at++)
        FUZZ_CHECK(kl_base_utf8_sequence(text + at, size - at) ==
                   text_sequence(text + at, size - at));
}

/* Quotes around UTF-8 without control characters, escapes of known kinds. */
static void text_json(const char *text, size_t size)
{
    struct kl_base_buf out;
    const uint8_t *p;
    size_t left, n;

    kl_base_buf_init(&out, &fuzz_alloc);
    kl_base_buf_json(&out, text, size);
    FUZZ_CHECK(out.size >= 2 && out.data[0] == '"' &&
               out.data[out.size - 1] == '"');
    p = out.data + 1;
    for (left = out.size - 2; left > 0; left -= n, p += n) {
        n = text_sequence(p, left);
        FUZZ_CHECK(n > 0 && *p >= 0x20 && *p != '"');
        if (*p != '\\')
            continue;
        FUZZ_CHECK(left >= 2 && strchr("\"\\/bfnrtu", p[1]) && p[1]);
        n = p[1] == 'u' ? 6 : 2;
        FUZZ_CHECK(n <= left);
        for (size_t i = 2; i < n; i++)
            FUZZ_CHECK(strchr("0123456789abcdefABCDEF", p[i]) && p[i]);
    }
    kl_base_buf_deinit(&out);
}

static void text_uuid(const char *text)
{
    char again[KL_BASE_UUID_TEXT + 1];
    struct kl_base_uuid id;

    if (kl_base_uuid_parse(text, &id))
        return;
    kl_base_uuid_format(&id, again);
    for (size_t i = 0; i < KL_BASE_UUID_TEXT; i++)
        FUZZ_CHECK(text[i] == again[i] || (text[i] >= 'A' && text[i] <= 'F' &&
                                           (text[i] | 0x20) == again[i]));
}

static void text_run(const uint8_t *data, size_t size)
{
    char *text;

    if (size > TEXT_MAX)
        size = TEXT_MAX;
    text = malloc(size + 1);
    FUZZ_CHECK(text);
    memcpy(text, data, size);
    text[size] = 0;
    fuzz_alloc_begin(SIZE_MAX);
    text_name((const char *)data, size);
    text_utf8(data, size);
    text_json((const char *)data, size);
    text_uuid(text);
    fuzz_alloc_end();
    free(text);
}

static void text_seeds(struct fuzz_seeds *seeds)
{
    static const char *const texts[] = {
        "a.topic_name-1",
        ".",
        "..",
        "00112233445566778899aabbccDDEEFF",
        "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xed\x9f\xbf",
        "\xed\xa0\x80 \xf4\x90\x80\x80 \xc0\x80 \xff\xfe",
        "\"quoted\" \\ / \b\f\n\r\t \x01\x1f\x7f"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        seeds->emit(seeds, texts[i], strlen(texts[i]));
}

const struct fuzz_target fuzz_text = {"text", text_run, text_seeds, 6000};
