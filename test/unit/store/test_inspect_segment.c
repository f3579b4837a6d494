/*
 * Looking at segments and their indexes: every kind of damage, where it is and
 * which offsets it costs.
 */
#include "base/endian.h"
#include "batch/frame.h"
#include "inspect_help.h"
#include "need.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct store_fixture fx;
static struct kl_store_id id;
static const char *segment; /* the first one */
static const char *active;  /* the last one */
static int64_t active_base;

enum { RECORDS = 10, BATCHES = 40 };

/* A log of batches of ten records in several segments, cleanly closed. */
static void make(enum kl_store_flush flush)
{
    struct kl_store_log *log;
    struct kl_store_view view;
    char name[32] = "00000000000000000000.seg";

    store_fixture_init(&fx);
    id = store_fixture_id(0, 0);
    need_ok(store_fixture_open(&fx));
    log = store_fixture_create(&fx, &id, flush, 24 * 1024);
    for (int i = 0; i < BATCHES; i++) {
        need_ok(store_fixture_append(&fx, log, RECORDS, 200, (uint64_t)i, 0,
                                     fx.wall_ms));
        if (i % 4 == 3)
            store_fixture_settle(&fx);
    }
    kl_store_log_view(log, &view);
    ck_assert_int_eq(view.leo, RECORDS * BATCHES);
    active_base = kl_store_files_active(log)->info.base;
    ck_assert_int_gt(active_base, 0);
    store_fixture_close(&fx);
    segment = inspect_path(&fx, &id, name);
    name[17] = (char)('0' + active_base / 100);
    name[18] = (char)('0' + active_base / 10 % 10);
    active = inspect_path(&fx, &id, name);
}

static void set_up(void)
{
    make(KL_STORE_FLUSH_COMMIT);
}

static void tear_down(void)
{
    store_fixture_deinit(&fx);
}

/* A frame with this base offset, and the finding about it. */
static uint64_t frame_at(int64_t base, struct kl_batch_info *info)
{
    return inspect_frame(&fx, segment, &id, base, info);
}

static void check_frame(enum kl_store_finding_kind kind, int64_t base,
                        uint64_t at, uint32_t size)
{
    const struct kl_store_finding *f;

    inspect_look(&fx);
    f = inspect_only(kind, KL_STORE_DAMAGE, "/00000000000000000000.seg");
    ck_assert(f->has_log);
    ck_assert_int_eq(memcmp(&f->id, &id, sizeof id), 0);
    inspect_range(f, base, base + RECORDS);
    ck_assert_uint_eq(f->position, at);
    ck_assert_uint_eq(f->size, size);
}

/* ---- frames ------------------------------------------------------------ */

/* Every byte of a frame's headers: the magic, sizes, sums, reserved fields. */
START_TEST(frame_with_a_bad_header)
{
    struct kl_batch_info info;
    uint64_t at = frame_at(20, &info);

    for (uint32_t i = 0; i < KL_BATCH_OVERHEAD; i++) {
        /* The sum of the body says which it is. */
        int is_sum = i >= KL_BATCH_AT_BODY_SUM && i < KL_BATCH_AT_FLAGS;

        inspect_flip(&fx, segment, at + i);
        if (!is_sum)
            check_frame(KL_STORE_FINDING_FRAME, 20, at, info.frame_size);
        inspect_flip(&fx, segment, at + i);
    }
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

START_TEST(frame_with_a_bad_body)
{
    struct kl_batch_info info;
    uint64_t at = frame_at(30, &info);

    inspect_flip(&fx, segment, at + KL_BATCH_OVERHEAD);
    check_frame(KL_STORE_FINDING_BODY, 30, at, info.frame_size);
    inspect_flip(&fx, segment, at + KL_BATCH_OVERHEAD);
    inspect_flip(&fx, segment, at + info.frame_size - 1);
    check_frame(KL_STORE_FINDING_BODY, 30, at, info.frame_size);
    ck_assert_uint_eq(found.stats.batches, BATCHES - 1);
}
END_TEST

START_TEST(several_frames_in_a_row)
{
    struct kl_batch_info info;
    uint8_t zeros[8192] = {0};
    uint64_t at = frame_at(10, &info);
    uint64_t next = frame_at(40, &info);
    const struct kl_store_finding *f;

    store_fixture_patch(&fx, segment, at, zeros, (size_t)(next - at));
    inspect_look(&fx);
    f = inspect_only(KL_STORE_FINDING_FRAME, KL_STORE_DAMAGE, ".seg");
    inspect_range(f, 10, 40);
    ck_assert_uint_eq(f->position, at);
    ck_assert_uint_eq(f->size, next - at);
}
END_TEST

START_TEST(frames_far_apart_are_findings_of_their_own)
{
    struct kl_batch_info info;
    uint64_t first = frame_at(10, &info), second = frame_at(40, &info);

    inspect_flip(&fx, segment, first + 100);
    inspect_flip(&fx, segment, second + 100);
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 2);
    inspect_range(&found.items[0], 10, 20);
    inspect_range(&found.items[1], 40, 50);
}
END_TEST

/* More of them than are kept at a time. */
START_TEST(a_segment_full_of_damage)
{
    struct kl_store_log *log = store_fixture_reopen(&fx, &id);
    const char *path;
    struct kl_batch_info info;
    struct kl_store_id many = store_fixture_id(5, 0);

    (void)log;
    log = store_fixture_create(&fx, &many, KL_STORE_FLUSH_COMMIT, 1 << 20);
    for (int i = 0; i < 10; i++) {
        store_fixture_fill(&fx, log, 30, 10, 1);
        store_fixture_settle(&fx);
    }
    store_fixture_close(&fx);
    path = inspect_path(&fx, &many, "00000000000000000000.seg");
    for (int64_t i = 298; i >= 0; i -= 2)
        inspect_flip(&fx, path,
                     inspect_frame(&fx, path, &many, 0, &info) +
                         (uint64_t)i * info.frame_size + 95);
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 150);
    for (size_t i = 0; i < found.count; i++) {
        ck_assert_int_eq(found.items[i].kind, KL_STORE_FINDING_BODY);
        inspect_range(&found.items[i], (int64_t)i * 2, (int64_t)i * 2 + 1);
    }
}
END_TEST

/* ---- what is inside ------------------------------------------------------ */

/* Changes a frame of the first segment and makes its checksums fit. */
static uint64_t reseal(int64_t base, uint32_t at, uint8_t value,
                       struct kl_batch_info *info)
{
    uint64_t position = frame_at(base, info);
    size_t size;
    uint8_t *data = store_fixture_load(&fx, segment, &size);

    data[position + at] = value;
    kl_batch_frame_seal(data + position,
                        kl_batch_seed(&id.topic_id, id.partition));
    store_fixture_save(&fx, segment, data, size);
    free(data);
    return position;
}

START_TEST(records_that_cannot_be_read)
{
    struct kl_batch_info info;
    uint64_t at = reseal(20, KL_BATCH_AT_RECORDS, 0x7e, &info);

    check_frame(KL_STORE_FINDING_RECORDS, 20, at, info.frame_size);
}
END_TEST

START_TEST(crc_that_is_wrong)
{
    struct kl_batch_info info;
    uint64_t at = reseal(20, KL_BATCH_AT_FLAGS, KL_BATCH_FLAG_CRC, &info);

    check_frame(KL_STORE_FINDING_CRC, 20, at, info.frame_size);
}
END_TEST

START_TEST(epoch_that_goes_back)
{
    struct kl_batch_info info;
    uint64_t at;

    reseal(0, KL_BATCH_AT_LEADER_EPOCH + 3, 7, &info);
    reseal(10, KL_BATCH_AT_LEADER_EPOCH + 3, 7, &info);
    at = reseal(20, KL_BATCH_AT_LEADER_EPOCH + 3, 6, &info);
    inspect_look(&fx);
    ck_assert_int_eq(found.items[0].kind, KL_STORE_FINDING_EPOCH);
    inspect_range(&found.items[0], 20, 30);
    ck_assert_uint_eq(found.items[0].position, at);
}
END_TEST

START_TEST(codec_that_is_not_known)
{
    struct kl_batch_info info;

    reseal(20, KL_BATCH_AT_ATTRIBUTES + 1, 2, &info);
    reseal(40, KL_BATCH_AT_ATTRIBUTES + 1, 2, &info);
    inspect_look(&fx);
    ck_assert_uint_eq(inspect_is_fine(), 1); /* once is enough */
    ck_assert_int_eq(found.items[0].kind, KL_STORE_FINDING_CODEC);
    inspect_range(&found.items[0], 20, 30);
}
END_TEST

/* ---- the file ---------------------------------------------------------- */

START_TEST(segment_that_is_missing)
{
    const struct kl_store_finding *f;

    store_fixture_unlink(&fx, segment);
    inspect_look(&fx);
    f = inspect_only(KL_STORE_FINDING_SEGMENT, KL_STORE_DAMAGE,
                     "/00000000000000000000.seg");
    ck_assert_int_eq(f->from, 0);
    ck_assert_int_gt(f->end, 50);
    ck_assert_uint_eq(f->size, 0);
    store_fixture_unlink(&fx, active);
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 2);
    inspect_range(&found.items[1], active_base, RECORDS * BATCHES);
}
END_TEST

START_TEST(segment_that_ends_too_early)
{
    struct kl_batch_info info;
    uint64_t at = inspect_frame(&fx, active, &id, active_base, &info);
    const struct kl_store_finding *f;

    inspect_cut(&fx, active, at + info.frame_size);
    inspect_look(&fx);
    f = inspect_only(KL_STORE_FINDING_SHORT, KL_STORE_DAMAGE, ".seg");
    inspect_range(f, active_base + RECORDS, RECORDS * BATCHES);
    ck_assert_uint_eq(f->position, at + info.frame_size);
    ck_assert_uint_eq(f->size, 0);
    /* In the middle of a frame; before the first one; nothing at all. */
    inspect_cut(&fx, active, at + 100);
    inspect_look(&fx);
    ck_assert_int_eq(found.items[0].kind, KL_STORE_FINDING_SHORT);
    ck_assert_int_eq(found.items[0].from, active_base);
    inspect_cut(&fx, active, KL_STORE_BLOCK);
    inspect_look(&fx);
    f = inspect_only(KL_STORE_FINDING_SHORT, KL_STORE_DAMAGE, ".seg");
    inspect_range(f, active_base, RECORDS * BATCHES);
    inspect_cut(&fx, active, 0);
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 2); /* its header too */
    ck_assert_int_eq(found.items[0].kind, KL_STORE_FINDING_HEADER);
    ck_assert_int_eq(found.items[1].kind, KL_STORE_FINDING_SHORT);
}
END_TEST

START_TEST(header_that_is_damaged)
{
    const struct kl_store_finding *f;

    for (uint64_t at = 0; at < KL_STORE_BLOCK; at += 97) {
        inspect_flip(&fx, segment, at);
        inspect_look(&fx);
        f = inspect_only(KL_STORE_FINDING_HEADER, KL_STORE_COVERED, ".seg");
        ck_assert_uint_eq(f->position, 0);
        ck_assert_uint_eq(f->size, KL_STORE_BLOCK);
        ck_assert_uint_eq(found.stats.batches, BATCHES);
        inspect_flip(&fx, segment, at);
    }
}
END_TEST

START_TEST(segment_from_somewhere_else)
{
    size_t size;
    uint8_t *data = store_fixture_load(&fx, active, &size);

    store_fixture_save(&fx, segment, data, size);
    free(data);
    inspect_look(&fx);
    ck_assert_uint_ge(found.count, 2);
    ck_assert_int_eq(found.items[0].kind, KL_STORE_FINDING_FOREIGN);
    ck_assert_int_eq(found.items[0].severity, KL_STORE_DAMAGE);
    ck_assert_int_eq(found.items[1].from, 0);
}
END_TEST

/* Takes a segment out of the manifest, whose checksum fits again. */
static void drop_from_manifest(uint32_t index)
{
    const char *path = inspect_path(&fx, &id, "manifest");
    struct kl_store_manifest m;
    struct kl_base_buf buf;
    size_t size;
    uint8_t *data = store_fixture_load(&fx, path, &size);
    uint32_t all;

    need_ok(kl_store_manifest_decode(data, size, &fx.alloc.alloc, &m));
    all = m.count;
    memmove(m.segments + index, m.segments + index + 1,
            (m.count - index - 1) * sizeof *m.segments);
    m.count--;
    kl_base_buf_init(&buf, &fx.alloc.alloc);
    need_ok(kl_store_manifest_encode(&buf, &m));
    store_fixture_save(&fx, path, buf.data, buf.size);
    kl_base_buf_deinit(&buf);
    kl_base_free(&fx.alloc.alloc, m.segments, all * sizeof *m.segments);
    free(data);
}

START_TEST(gap_between_segments)
{
    const struct kl_store_finding *f;

    drop_from_manifest(1);
    inspect_look(&fx);
    f = inspect_find(KL_STORE_FINDING_GAP);
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(f->severity, KL_STORE_DAMAGE);
    ck_assert_int_gt(f->from, 0);
    ck_assert_int_lt(f->end, active_base);
    ck_assert_int_gt(f->end, f->from);
    drop_from_manifest(0);
    inspect_look(&fx);
    f = inspect_find(KL_STORE_FINDING_GAP);
    ck_assert_int_eq(f->from, 0);
}
END_TEST

/* What was deleted before the start is no gap. */
START_TEST(segments_below_the_start_are_not_missed)
{
    struct kl_store_log *log = store_fixture_reopen(&fx, &id);

    need_ok(kl_store_set_start(log, active_base + 5));
    for (int i = 0; i < 3; i++) {
        store_fixture_settle(&fx);
        kl_store_checkpoint_request(fx.store);
    }
    store_fixture_close(&fx);
    ck_assert(!store_fixture_exists(&fx, segment));
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

/* ---- the end of an interval log ----------------------------------------- */

START_TEST(torn_end_of_an_interval_log)
{
    struct kl_store_log *log;
    size_t size;
    uint8_t *data;
    const struct kl_store_finding *f;

    tear_down();
    make(KL_STORE_FLUSH_INTERVAL);
    log = store_fixture_reopen(&fx, &id);
    need_ok(store_fixture_append(&fx, log, RECORDS, 200, 1, 0, fx.wall_ms));
    store_fixture_settle(&fx);
    store_fixture_crash(&fx);
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 0);
    ck_assert_uint_eq(found.stats.batches, BATCHES + 1);

    data = store_fixture_load(&fx, active, &size);
    inspect_flip(&fx, active, size - 1);
    inspect_look(&fx);
    f = inspect_only(KL_STORE_FINDING_TAIL, KL_STORE_HARMLESS, ".seg");
    inspect_range(f, RECORDS * BATCHES, -1);
    ck_assert_uint_eq(f->position + f->size, size);
    ck_assert_uint_eq(found.stats.batches, BATCHES);
    free(data);
}
END_TEST

START_TEST(damage_below_what_was_synced)
{
    struct kl_batch_info info;
    uint64_t at;

    tear_down();
    make(KL_STORE_FLUSH_INTERVAL);
    at = frame_at(20, &info);
    inspect_flip(&fx, segment, at + 200);
    check_frame(KL_STORE_FINDING_BODY, 20, at, info.frame_size);
}
END_TEST

/* What was truncated since the checkpoint is neither missed nor looked at. */
START_TEST(truncated_since_the_checkpoint)
{
    struct kl_store_log *log;
    struct kl_batch_info info;

    tear_down();
    make(_i ? KL_STORE_FLUSH_INTERVAL : KL_STORE_FLUSH_COMMIT);
    log = store_fixture_reopen(&fx, &id);
    need_ok(kl_store_truncate(log, active_base + RECORDS));
    while (log->durable_truncation == 0)
        store_fixture_turn(&fx);
    store_fixture_crash(&fx);
    inspect_look(&fx);
    ck_assert_uint_eq(inspect_is_fine(), found.count);
    inspect_frame(&fx, active, &id, active_base, &info);
    inspect_flip(&fx, active, KL_STORE_BLOCK + 100);
    inspect_look(&fx);
    ck_assert_int_eq(found.items[0].kind, KL_STORE_FINDING_BODY);
    inspect_range(&found.items[0], active_base, active_base + RECORDS);
}
END_TEST

/* ---- the index ------------------------------------------------------------
 */

START_TEST(index_that_is_damaged)
{
    const char *path = inspect_path(&fx, &id, "00000000000000000000.idx");
    const struct kl_store_finding *f;

    ck_assert(store_fixture_exists(&fx, path));
    for (uint64_t at = 0; at < KL_STORE_BLOCK; at += 61) {
        inspect_flip(&fx, path, at);
        inspect_look(&fx);
        f = inspect_only(KL_STORE_FINDING_INDEX, KL_STORE_HARMLESS, ".idx");
        ck_assert_uint_eq(f->position, 0);
        ck_assert_uint_eq(f->size, KL_STORE_BLOCK);
        inspect_flip(&fx, path, at);
    }
    store_fixture_unlink(&fx, path);
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

/* Entries that are well-formed but say something wrong. */
START_TEST(index_that_lies)
{
    const char *path = inspect_path(&fx, &id, "00000000000000000000.idx");
    struct kl_store_index_entry entries[KL_STORE_INDEX_FANOUT];
    uint8_t block[KL_STORE_BLOCK];
    uint32_t count;
    size_t size;
    uint8_t *data = store_fixture_load(&fx, path, &size);

    need_ok(kl_store_index_block_decode(data, 0, entries, &count));
    ck_assert_uint_gt(count, 2);
    if (_i == 0)
        entries[1].relative++;
    if (_i == 1)
        entries[1].position++;
    if (_i == 2)
        entries[1].max_timestamp -= 1000;
    kl_store_index_block_encode(block, 0, entries, count);
    store_fixture_save(&fx, path, block, sizeof block);
    free(data);
    inspect_look(&fx);
    inspect_only(KL_STORE_FINDING_INDEX, KL_STORE_HARMLESS, ".idx");
}
END_TEST

/* An entry whose frame is damaged is not called wrong for it. */
START_TEST(index_beside_damage)
{
    struct kl_batch_info info;
    uint8_t zeros[8192] = {0};
    uint64_t at = frame_at(10, &info), next = frame_at(40, &info);

    store_fixture_patch(&fx, segment, at, zeros, (size_t)(next - at));
    inspect_look(&fx);
    ck_assert_uint_eq(found.count, 1);
}
END_TEST

Suite *suite_store_inspect_segment(void);

Suite *suite_store_inspect_segment(void)
{
    Suite *s = suite_create("store_inspect_segment");
    TCase *t = tcase_create("segment");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, frame_with_a_bad_header);
    tcase_add_test(t, frame_with_a_bad_body);
    tcase_add_test(t, several_frames_in_a_row);
    tcase_add_test(t, frames_far_apart_are_findings_of_their_own);
    tcase_add_test(t, a_segment_full_of_damage);
    tcase_add_test(t, records_that_cannot_be_read);
    tcase_add_test(t, crc_that_is_wrong);
    tcase_add_test(t, epoch_that_goes_back);
    tcase_add_test(t, codec_that_is_not_known);
    tcase_add_test(t, segment_that_is_missing);
    tcase_add_test(t, segment_that_ends_too_early);
    tcase_add_test(t, header_that_is_damaged);
    tcase_add_test(t, segment_from_somewhere_else);
    tcase_add_test(t, gap_between_segments);
    tcase_add_test(t, segments_below_the_start_are_not_missed);
    tcase_add_test(t, torn_end_of_an_interval_log);
    tcase_add_test(t, damage_below_what_was_synced);
    tcase_add_loop_test(t, truncated_since_the_checkpoint, 0, 2);
    tcase_add_test(t, index_that_is_damaged);
    tcase_add_loop_test(t, index_that_lies, 0, 3);
    tcase_add_test(t, index_beside_damage);
    suite_add_tcase(s, t);
    return s;
}
