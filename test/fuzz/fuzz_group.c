/*
 * The header and the entry headers of a WAL group. Input: what is put right,
 * then the group. What verifies is encoded to the same bytes.
 */
#include "fixup.h"
#include "fuzz.h"
#include "store/format.h"

#include <stdlib.h>

static void group_check_entries(const uint8_t *data,
                                const struct kl_store_group_header *h)
{
    const uint8_t *p = data + KL_STORE_GROUP_HEADER;
    uint8_t again[KL_STORE_ENTRY_HEADER];
    struct kl_store_entry_header e;

    for (uint32_t i = 0; i < h->entry_count; i++, p += KL_STORE_ENTRY_HEADER) {
        int rc = kl_store_entry_decode(p, &e);

        FUZZ_CHECK(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
        if (rc)
            continue;
        kl_store_entry_encode(again, &e);
        FUZZ_CHECK(memcmp(again, p, sizeof again) == 0);
    }
}

static void group_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    unsigned how = fuzz_take8(&in);
    struct kl_store_group_header h, again;
    uint8_t *group = fuzz_take_copy(&in, &size);
    size_t end;

    if (how & FIXUP_SUMS)
        fixup_group(group, size);
    if (size >= KL_STORE_GROUP_HEADER &&
        kl_store_group_decode(group, &h) == 0 && h.size <= size) {
        end = KL_STORE_GROUP_HEADER +
              (size_t)h.entry_count * KL_STORE_ENTRY_HEADER;
        FUZZ_CHECK(end + h.body_size <= h.size);
        if (kl_store_group_verify(group, &h) == 0) {
            uint8_t *copy = malloc(end);

            FUZZ_CHECK(copy);
            group_check_entries(group, &h);
            memcpy(copy, group, end);
            memset(copy, 0xff, KL_STORE_GROUP_HEADER);
            again = h;
            kl_store_group_encode(copy, &again);
            FUZZ_CHECK(memcmp(copy, group, end) == 0);
            free(copy);
        }
    }
    free(group);
}

static void group_seed(struct fuzz_seeds *seeds, uint8_t how, uint32_t entries)
{
    uint8_t input[1 + KL_STORE_BLOCK] = {how};
    struct kl_store_group_header h = {
        .kind = entries ? KL_STORE_GROUP_DATA : KL_STORE_GROUP_SEAL,
        .directory = 1,
        .sequence = 2,
        .lap = 3,
        .previous = 4,
        .salt = 5,
        .entry_count = entries,
        .size = KL_STORE_BLOCK,
        .body_size = 100 * entries,
    };

    for (uint32_t i = 0; i < entries; i++) {
        struct kl_store_entry_header e = {
            .type = (enum kl_store_entry_type)(1 + i % 8),
            .truncation = 1,
            .instance = 0x20001,
            .offset = 10,
            .end = 12,
            .epoch = 3,
            .size = 100,
            .id = {{{9}}, 2},
        };

        kl_store_entry_encode(
            input + 1 + KL_STORE_GROUP_HEADER + i * KL_STORE_ENTRY_HEADER, &e);
    }
    kl_store_group_encode(input + 1, &h);
    seeds->emit(seeds, input, sizeof input);
}

static void group_seeds(struct fuzz_seeds *seeds)
{
    for (uint8_t how = 0; how < 2; how++) {
        group_seed(seeds, how, 0);
        group_seed(seeds, how, 1);
        group_seed(seeds, how, 9);
    }
}

const struct fuzz_target fuzz_group = {"group", group_run, group_seeds, 10000};
