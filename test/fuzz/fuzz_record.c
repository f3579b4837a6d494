/*
 * The payload of one metadata record: what is decoded is encoded to the same
 * bytes, and can be printed.
 */
#include "fuzz.h"
#include "wire/wire.h"

#include <kraftlog/error.h>
#include <string.h>

static void record_run(const uint8_t *data, size_t size)
{
    struct kl_wire_record r;
    struct kl_base_error error = {0};
    struct kl_base_buf out;
    int rc = kl_wire_record_decode(&r, data, size, &error);

    if (rc) {
        FUZZ_CHECK(rc == KL_ECORRUPT || rc == KL_EFORMAT);
        FUZZ_CHECK(error.code == rc && error.text[0]);
        return;
    }
    fuzz_alloc_begin(SIZE_MAX);
    kl_base_buf_init(&out, &fuzz_alloc);
    FUZZ_CHECK(kl_wire_record_size(&r) == size);
    FUZZ_CHECK(kl_wire_record_encode(&r, &out, &error) == 0);
    FUZZ_CHECK(out.size == size && memcmp(out.data, data, size) == 0);
    kl_wire_record_print(&r, &out);
    FUZZ_CHECK(out.size > size && out.error == 0);
    kl_base_buf_deinit(&out);
    fuzz_alloc_end();
}

static void record_seed(struct fuzz_seeds *seeds, struct kl_wire_record *r,
                        uint16_t type)
{
    struct kl_base_error error;
    struct kl_base_buf out;

    kl_base_buf_init(&out, &kl_base_alloc_libc);
    r->type = type;
    FUZZ_CHECK(kl_wire_record_encode(r, &out, &error) == 0);
    seeds->emit(seeds, out.data, out.size);
    kl_base_buf_deinit(&out);
}

static void record_seeds(struct fuzz_seeds *seeds)
{
    static const uint8_t ids[] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
    struct kl_base_uuid id = {{1, 2, 3}};
    struct kl_wire_record r;

    memset(&r, 0, sizeof r);
    r.topic.name.data = "caf\xc3\xa9";
    r.topic.name.size = 5;
    r.topic.topic_id = id;
    record_seed(seeds, &r, KL_WIRE_TOPIC_RECORD);
    memset(&r, 0, sizeof r);
    r.partition.topic_id = id;
    r.partition.replicas.data = r.partition.isr.data = ids;
    r.partition.replicas.count = 3;
    r.partition.isr.count = 2;
    r.partition.leader = 1;
    r.partition.last_known_leader = -1;
    record_seed(seeds, &r, KL_WIRE_PARTITION_RECORD);
    memset(&r, 0, sizeof r);
    r.config.resource_type = KL_WIRE_RESOURCE_TOPIC;
    r.config.resource_name.data = r.config.key.data = "name";
    r.config.resource_name.size = r.config.key.size = 4;
    r.config.value.data = "value";
    r.config.value.size = 5;
    record_seed(seeds, &r, KL_WIRE_CONFIG_RECORD);
    memset(&r, 0, sizeof r);
    r.remove_topic.topic_id = id;
    record_seed(seeds, &r, KL_WIRE_REMOVE_TOPIC_RECORD);
    memset(&r, 0, sizeof r);
    r.feature_level.name.data = "metadata.version";
    r.feature_level.name.size = 16;
    r.feature_level.level = 1;
    record_seed(seeds, &r, KL_WIRE_FEATURE_LEVEL_RECORD);
}

const struct fuzz_target fuzz_record = {"record", record_run, record_seeds,
                                        6000};
