/*
 * The controller's image under any records. Input: payloads, each behind a
 * size of two bytes. A refused record changes nothing, an accepted one leaves
 * the invariants, and what the image encodes to makes an equal image. The first
 * records may be those of a working cluster, so that contradicting them is
 * easy.
 */
#include "base/hash.h"
#include "controller/controller.h"
#include "fuzz.h"

#include <kraftlog/error.h>
#include <string.h>

static int metadata_check(const char *key, const char *value, void *user,
                          struct kl_base_error *e)
{
    (void)user;
    (void)value;
    return key[0] == 'x' ? kl_base_error_set(e, KL_ECONFIG, "no") : 0;
}

static struct kl_controller *metadata_new(void)
{
    struct kl_controller_options options = {
        .broker_id = 1, .seed = 7, .check = metadata_check};
    struct kl_controller *c;

    FUZZ_CHECK(kl_controller_new(&c, &fuzz_alloc, &options) == 0);
    return c;
}

static void metadata_encode(const struct kl_controller *c,
                            struct kl_controller_records *out)
{
    kl_controller_records_init(out, &fuzz_alloc);
    FUZZ_CHECK(kl_controller_encode(c, out) == 0);
}

static int metadata_apply(struct kl_controller *c, const void *data,
                          size_t size)
{
    struct kl_base_error error = {0};
    uint64_t version = kl_controller_version(c);
    int rc = kl_controller_apply(c, data, size, &error);

    FUZZ_CHECK(rc == 0 || rc == KL_ECORRUPT || rc == KL_EFORMAT);
    FUZZ_CHECK(rc == 0 || (error.code == rc && error.text[0]));
    FUZZ_CHECK(kl_controller_version(c) == version + (rc == 0));
    return rc;
}

/* The image is as if it had been replayed from a snapshot. */
static void metadata_check_image(const struct kl_controller *c)
{
    struct kl_controller *again = metadata_new();
    struct kl_controller_records records, same;
    const uint8_t *data;
    size_t size, at = 0;

    FUZZ_CHECK(kl_controller_invariant(c) == NULL);
    metadata_encode(c, &records);
    while (kl_controller_records_next(&records, &at, &data, &size))
        FUZZ_CHECK(metadata_apply(again, data, size) == 0);
    FUZZ_CHECK(kl_controller_invariant(again) == NULL);
    metadata_encode(again, &same);
    FUZZ_CHECK(records.buf.size == same.buf.size &&
               (records.buf.size == 0 ||
                memcmp(records.buf.data, same.buf.data, same.buf.size) == 0));
    kl_controller_records_deinit(&records);
    kl_controller_records_deinit(&same);
    kl_controller_free(again);
}

static uint64_t metadata_hash(const struct kl_controller *c)
{
    struct kl_controller_records records;
    uint64_t hash;

    metadata_encode(c, &records);
    hash = kl_base_hash(records.buf.data, records.buf.size, records.count);
    kl_controller_records_deinit(&records);
    return hash;
}

static void metadata_run(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct kl_controller *c;
    uint64_t hash, now;

    fuzz_alloc_begin(SIZE_MAX);
    c = metadata_new();
    hash = metadata_hash(c);
    for (int i = 0; in.size > 0 && i < 32; i++) {
        const uint8_t *payload;
        size_t payload_size = fuzz_take16(&in);

        payload_size = fuzz_take(&in, payload_size, &payload);
        if (metadata_apply(c, payload, payload_size) == 0) {
            hash = metadata_hash(c);
            continue;
        }
        now = metadata_hash(c);
        FUZZ_CHECK(now == hash);
    }
    metadata_check_image(c);
    kl_controller_delta_clear(c);
    kl_controller_free(c);
    fuzz_alloc_end();
}

/* Records of the newest command, applied and added to the input. */
static void metadata_commit(struct kl_controller *c,
                            struct kl_controller_records *records,
                            struct kl_base_buf *input)
{
    const uint8_t *data;
    size_t size, at = 0;

    while (kl_controller_records_next(records, &at, &data, &size)) {
        FUZZ_CHECK(metadata_apply(c, data, size) == 0);
        kl_base_buf_put_le16(input, (uint16_t)size);
        kl_base_buf_append(input, data, size);
    }
}

/* Two brokers come, one of them goes. */
static void metadata_brokers(struct kl_controller *c,
                             struct kl_controller_records *records,
                             struct kl_base_buf *input)
{
    static const char *const endpoints[] = {"a:1", "b:2"};
    struct kl_controller_registration r = {.previous_epoch = -1,
                                           .metadata_leo = 9,
                                           .rack = "r",
                                           .endpoints = endpoints,
                                           .endpoint_count = 2,
                                           .feature_max = 9};
    struct kl_controller_heartbeat beat = {.metadata_offset = 99};
    struct kl_controller_heartbeat_reply reply;
    int64_t offset = 50, first;
    int more;

    kl_controller_activate(c, 0);
    for (int32_t id = 1; id <= 2; id++, offset++) {
        beat.broker_id = r.broker_id = id;
        r.incarnation_id.bytes[0] = r.directory_id.bytes[0] = (uint8_t)id;
        FUZZ_CHECK(kl_controller_register_broker(c, &r, offset, 0, records,
                                                 &beat.broker_epoch, &more,
                                                 NULL) == 0);
        metadata_commit(c, records, input);
        FUZZ_CHECK(kl_controller_heartbeat(c, &beat, offset, 0, records, &reply,
                                           &more, NULL) == 0);
        metadata_commit(c, records, input);
    }
    FUZZ_CHECK(kl_controller_allocate_producer_ids(c, 2, beat.broker_epoch,
                                                   records, &first, NULL) == 0);
    metadata_commit(c, records, input);
    kl_controller_contact_lost(c, 2, beat.broker_epoch);
    FUZZ_CHECK(kl_controller_tick(c, 0, records, NULL) == 0);
    metadata_commit(c, records, input);
    FUZZ_CHECK(kl_controller_unregister_broker(c, 2, records, &more, NULL) ==
               0);
    metadata_commit(c, records, input);
}

static void metadata_seeds(struct fuzz_seeds *seeds)
{
    static const struct kl_controller_config configs[] = {{"flush", "commit"},
                                                          {"note", "a"}};
    static const struct kl_controller_config change = {"note", "b"};
    static const struct kl_controller_create topics[] = {
        {"a", 2, -1, configs, 2, NULL}, {"bb", 1, 1, NULL, 0, NULL}};
    struct kl_controller_records records;
    struct kl_base_error error;
    struct kl_base_buf input;
    struct kl_controller *c = metadata_new();

    kl_controller_records_init(&records, &kl_base_alloc_libc);
    kl_base_buf_init(&input, &kl_base_alloc_libc);
    FUZZ_CHECK(kl_controller_bootstrap(c, &records, &error) == 0);
    metadata_commit(c, &records, &input);
    seeds->emit(seeds, input.data, input.size);
    for (int i = 0; i < 2; i++) {
        FUZZ_CHECK(kl_controller_create_topic(c, &topics[i], &records, NULL,
                                              &error) == 0);
        metadata_commit(c, &records, &input);
        seeds->emit(seeds, input.data, input.size);
    }
    FUZZ_CHECK(
        kl_controller_alter_config(c, "a", &change, 1, &records, &error) == 0);
    metadata_commit(c, &records, &input);
    seeds->emit(seeds, input.data, input.size);
    FUZZ_CHECK(kl_controller_delete_topic(c, "a", &records, &error) == 0);
    metadata_commit(c, &records, &input);
    seeds->emit(seeds, input.data, input.size);
    metadata_brokers(c, &records, &input);
    seeds->emit(seeds, input.data, input.size);
    kl_base_buf_deinit(&input);
    kl_controller_records_deinit(&records);
    kl_controller_free(c);
}

const struct fuzz_target fuzz_metadata = {"metadata", metadata_run,
                                          metadata_seeds, 4000};
