/*
 * The simulated disk: calls that fail, lie or take long, and rot.
 */
#include "need.h"
#include "sim_disk.h"

#include <check.h>
#include <string.h>

static struct sim_disk *disk;
static const struct kl_os_vfs_ops *ops;
static struct kl_os_file *file; /* "f": 'a', durable */

enum { SIZE = 4 * SIM_BLOCK };

static void put(char byte, size_t size, uint64_t offset)
{
    char bytes[SIZE];
    struct kl_os_iovec part = {bytes, size};

    memset(bytes, byte, size);
    need_ok(ops->write(file, &part, 1, offset, NULL));
}

static void setup(void)
{
    disk = sim_disk_new(0);
    ops = disk->base.ops;
    need_ok(ops->open(&disk->base, "f", KL_OS_WRITE | KL_OS_CREATE, &file));
    put('a', SIZE, 0);
    sim_disk_settle(disk);
}

static void teardown(void)
{
    if (file)
        need_ok(ops->close(file));
    sim_disk_free(disk);
}

static char byte_at(struct sim_disk *d, uint64_t offset)
{
    struct kl_os_file *f;
    char byte = 0;
    size_t got;

    need_ok(ops->open(&d->base, "f", KL_OS_READ, &f));
    need_ok(ops->read(f, &byte, 1, offset, &got));
    need_ok(ops->close(f));
    return byte;
}

/* After a power cut. */
static char durable_at(uint64_t offset)
{
    struct sim_choice choice = {.fate = SIM_FATE_LOST};
    struct sim_disk *d = sim_disk_crash(disk, choice);
    char byte = byte_at(d, offset);

    sim_disk_free(d);
    return byte;
}

/* How many bytes of the file are not as they were. */
static size_t damaged(void)
{
    static char bytes[SIZE];
    size_t got, count = 0;

    need_ok(ops->read(file, bytes, sizeof bytes, 0, &got));
    for (size_t i = 0; i < got; i++)
        count += bytes[i] != 'a';
    return count + (sizeof bytes - got);
}

/* ---- the plan ------------------------------------------------------------ */

START_TEST(fault_strikes_the_calls_it_names)
{
    struct kl_os_iovec part = {"b", 1};
    struct sim_fault *fault =
        sim_faults_add(&disk->faults, (struct sim_fault){.kind = SIM_FAULT_CODE,
                                                         .call = SIM_WRITE,
                                                         .part = "f",
                                                         .skip = 2,
                                                         .times = 2});

    put('a', 1, 0);
    put('a', 1, 0);
    ck_assert_int_eq(ops->write(file, &part, 1, 0, NULL), KL_EIO);
    need_ok(ops->sync(file));
    ck_assert_int_eq(ops->write(file, &part, 1, 0, NULL), KL_EIO);
    ck_assert_int_eq(byte_at(disk, 0), 'a');
    put('b', 1, 0);
    ck_assert_int_eq(byte_at(disk, 0), 'b');
    ck_assert_uint_eq(fault->struck, 2);
    sim_faults_clear(&disk->faults);
    ck_assert_uint_eq(disk->faults.calls[SIM_WRITE], 6);
}
END_TEST

START_TEST(other_paths_are_spared)
{
    sim_faults_add(&disk->faults, (struct sim_fault){.kind = SIM_FAULT_CODE,
                                                     .call = SIM_CALLS,
                                                     .part = "g"});
    put('b', 1, 0);
    ck_assert_int_eq(ops->mkdir(&disk->base, "g"), KL_EIO);
}
END_TEST

static uint64_t strikes_by_chance(uint64_t seed)
{
    uint64_t pattern = 0;
    size_t got;
    char byte;

    sim_faults_clear(&disk->faults);
    sim_faults_seed(&disk->faults, seed);
    sim_faults_add(&disk->faults, (struct sim_fault){.kind = SIM_FAULT_CODE,
                                                     .call = SIM_READ,
                                                     .chance = 250000});
    for (int i = 0; i < 64; i++)
        pattern = pattern << 1 | (ops->read(file, &byte, 1, 0, &got) != 0);
    sim_faults_clear(&disk->faults);
    return pattern;
}

START_TEST(chance_is_drawn_from_the_seed)
{
    uint64_t one = strikes_by_chance(1), two = strikes_by_chance(2);

    ck_assert_uint_eq(strikes_by_chance(1), one);
    ck_assert_uint_ne(one, two);
    ck_assert_int_gt(__builtin_popcountll(one), 4);
    ck_assert_int_lt(__builtin_popcountll(one), 40);
}
END_TEST

/* Each call of the port can fail, and nothing has happened then. */
START_TEST(every_call_can_fail)
{
    static const int codes[] = {KL_EIO, KL_ENOFILES, KL_EDISKFULL};
    struct kl_os_file *other;
    uint64_t number;
    char byte;
    size_t got;

    need_ok(ops->mkdir(&disk->base, "d"));
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        int code = codes[i];
        uint64_t version = disk->version;
        struct kl_os_iovec part = {"b", 1};

        sim_faults_add(&disk->faults, (struct sim_fault){.kind = SIM_FAULT_CODE,
                                                         .call = SIM_CALLS,
                                                         .code = code});
        ck_assert_int_eq(ops->open(&disk->base, "f", KL_OS_READ, &other), code);
        ck_assert_int_eq(
            ops->open(&disk->base, "g", KL_OS_WRITE | KL_OS_CREATE, &other),
            code);
        ck_assert_int_eq(ops->read(file, &byte, 1, 0, &got), code);
        ck_assert_int_eq(ops->write(file, &part, 1, 0, &got), code);
        ck_assert_uint_eq(got, 0);
        ck_assert_int_eq(ops->sync(file), code);
        ck_assert_int_eq(ops->truncate(file, 1), code);
        ck_assert_int_eq(ops->allocate(file, 0, SIZE + 1), code);
        ck_assert_int_eq(ops->size(file, &number), code);
        ck_assert_int_eq(ops->lock(file), code);
        ck_assert_int_eq(ops->rename(&disk->base, "f", "g"), code);
        ck_assert_int_eq(ops->unlink(&disk->base, "f"), code);
        ck_assert_int_eq(ops->mkdir(&disk->base, "e"), code);
        ck_assert_int_eq(ops->rmdir(&disk->base, "d"), code);
        ck_assert_int_eq(ops->list(&disk->base, "d", NULL, NULL), code);
        ck_assert_int_eq(ops->sync_dir(&disk->base, "d"), code);
        ck_assert_int_eq(ops->sync_all(file), code);
        ck_assert_int_eq(ops->space(&disk->base, "d", &number), code);
        sim_faults_clear(&disk->faults);
        ck_assert_uint_eq(disk->version, version);
    }
    ck_assert_uint_eq(damaged(), 0);
}
END_TEST

START_TEST(close_fails_but_closes)
{
    sim_faults_add(&disk->faults, (struct sim_fault){.kind = SIM_FAULT_CODE,
                                                     .call = SIM_CLOSE});
    ck_assert_int_eq(ops->close(file), KL_EIO);
    file = NULL;
    ck_assert_uint_eq(disk->open_count, 0);
}
END_TEST

/* ---- syncs ----------------------------------------------------------------
 */

static void fail_sync(enum sim_fault_kind kind, int code)
{
    sim_faults_add(
        &disk->faults,
        (struct sim_fault){.kind = kind, .call = SIM_SYNC, .times = 1});
    put('b', SIM_BLOCK, 0);
    ck_assert_int_eq(ops->sync(file), code);
}

/* Nobody writes it again: later syncs succeed and change nothing. */
START_TEST(failed_sync_leaves_bytes_in_the_cache)
{
    fail_sync(SIM_FAULT_SYNC_CACHED, KL_EIO);
    ck_assert_int_eq(byte_at(disk, 0), 'b');
    ck_assert_int_eq(durable_at(0), 'a');
    need_ok(ops->sync(file));
    ck_assert_int_eq(durable_at(0), 'a');
    ck_assert_uint_eq(sim_disk_images(disk, 10), 1);
    put('b', SIM_BLOCK, 0); /* but writing the same again helps */
    need_ok(ops->sync(file));
    ck_assert_int_eq(durable_at(0), 'b');
}
END_TEST

START_TEST(failed_sync_brings_old_bytes_back)
{
    fail_sync(SIM_FAULT_SYNC_REVERTED, KL_EIO);
    ck_assert_int_eq(byte_at(disk, 0), 'a');
    need_ok(ops->sync(file));
    ck_assert_int_eq(durable_at(0), 'a');
}
END_TEST

START_TEST(failed_sync_leaves_zeros)
{
    put('b', SIM_BLOCK, SIZE);
    fail_sync(SIM_FAULT_SYNC_ZEROS, KL_EIO);
    ck_assert_int_eq(byte_at(disk, 0), 'a');
    ck_assert_int_eq(byte_at(disk, SIZE), 0);
    need_ok(ops->sync(file));
    ck_assert_int_eq(durable_at(0), 'a');
    ck_assert_int_eq(durable_at(SIZE), 0);
    ck_assert_int_eq(durable_at(SIZE + SIM_BLOCK - 1), 0);
}
END_TEST

START_TEST(failed_sync_is_told_to_another_handle)
{
    struct kl_os_file *other;

    need_ok(ops->open(&disk->base, "f", KL_OS_WRITE, &other));
    fail_sync(SIM_FAULT_SYNC_ELSEWHERE, 0);
    ck_assert_int_eq(durable_at(0), 'a');
    need_ok(ops->sync(file));
    ck_assert_int_eq(ops->sync(other), KL_EIO);
    need_ok(ops->sync(other));
    need_ok(ops->close(other));
    ck_assert_int_eq(durable_at(0), 'a');
}
END_TEST

START_TEST(failed_sync_is_told_by_close)
{
    fail_sync(SIM_FAULT_SYNC_ELSEWHERE, 0);
    ck_assert_int_eq(ops->close(file), KL_EIO);
    file = NULL;
}
END_TEST

/* A file that had grown is as short as before, also in the cache. */
START_TEST(failed_sync_reverts_the_size)
{
    uint64_t size;

    sim_faults_add(&disk->faults,
                   (struct sim_fault){.kind = SIM_FAULT_SYNC_REVERTED,
                                      .call = SIM_SYNC,
                                      .times = 1});
    put('b', 10, SIZE);
    ck_assert_int_eq(ops->sync(file), KL_EIO);
    need_ok(ops->size(file, &size));
    ck_assert_uint_eq(size, SIZE);
}
END_TEST

/* ---- writes and reads ----------------------------------------------------
 */

START_TEST(short_write_takes_so_many_bytes)
{
    char bytes[SIM_BLOCK];
    struct kl_os_iovec part = {bytes, sizeof bytes};
    size_t written;

    memset(bytes, 'b', sizeof bytes);
    sim_faults_add(&disk->faults, (struct sim_fault){.kind = SIM_FAULT_SHORT,
                                                     .call = SIM_WRITE,
                                                     .bytes = 700});
    ck_assert_int_eq(ops->write(file, &part, 1, 0, &written), KL_EDISKFULL);
    ck_assert_uint_eq(written, 700);
    ck_assert_uint_eq(damaged(), 700);
    part.size = 600; /* fits */
    need_ok(ops->write(file, &part, 1, 0, &written));
    ck_assert_uint_eq(written, 600);
}
END_TEST

START_TEST(lost_write_says_nothing)
{
    sim_faults_add(&disk->faults,
                   (struct sim_fault){.kind = SIM_FAULT_WRITE_LOST,
                                      .call = SIM_WRITE,
                                      .times = 1});
    put('b', SIM_BLOCK, 0);
    need_ok(ops->sync(file));
    ck_assert_uint_eq(damaged(), 0);
    ck_assert_int_eq(durable_at(0), 'a');
}
END_TEST

START_TEST(misdirected_write_lands_elsewhere)
{
    sim_faults_add(&disk->faults,
                   (struct sim_fault){.kind = SIM_FAULT_WRITE_ELSEWHERE,
                                      .call = SIM_WRITE,
                                      .times = 1});
    put('b', SIM_SECTOR, 0);
    ck_assert_int_eq(byte_at(disk, 0), 'a');
    ck_assert_uint_eq(damaged(), SIM_SECTOR);
}
END_TEST

static void fail_read(enum sim_fault_kind kind)
{
    sim_faults_add(
        &disk->faults,
        (struct sim_fault){.kind = kind, .call = SIM_READ, .times = 1});
}

START_TEST(read_flips_one_bit)
{
    fail_read(SIM_FAULT_READ_FLIP);
    ck_assert_uint_eq(damaged(), 1);
    ck_assert_uint_eq(damaged(), 0);
}
END_TEST

START_TEST(read_is_stale)
{
    fail_read(SIM_FAULT_READ_STALE);
    put('b', SIZE, 0);
    ck_assert_uint_eq(damaged(), SIZE - SIM_SECTOR); /* one is from before */
    ck_assert_uint_eq(damaged(), SIZE);
    need_ok(ops->sync(file));
    fail_read(SIM_FAULT_READ_STALE);
    ck_assert_uint_eq(damaged(), SIZE - SIM_SECTOR);
}
END_TEST

START_TEST(read_is_misdirected)
{
    char bytes[2];
    size_t got;

    put('b', 1, 2 * SIM_BLOCK); /* in one block alone */
    fail_read(SIM_FAULT_READ_ELSEWHERE);
    need_ok(ops->read(file, bytes, 1, 2 * SIM_BLOCK, &got));
    ck_assert_int_eq(bytes[0], 'a');
    need_ok(ops->read(file, bytes, 1, 2 * SIM_BLOCK, &got));
    ck_assert_int_eq(bytes[0], 'b');
}
END_TEST

static int64_t stalled_ns;

static void note_stall(void *user, enum sim_call call, int64_t stall_ns)
{
    (void)user;
    (void)call;
    stalled_ns += stall_ns;
}

/* A stall adds to whatever else strikes. */
START_TEST(stall_takes_time)
{
    disk->enter = note_stall;
    stalled_ns = 0;
    sim_faults_add(&disk->faults, (struct sim_fault){.kind = SIM_FAULT_STALL,
                                                     .call = SIM_SYNC,
                                                     .stall_ns = 5});
    sim_faults_add(&disk->faults, (struct sim_fault){.kind = SIM_FAULT_CODE,
                                                     .call = SIM_SYNC,
                                                     .times = 1});
    put('b', 1, 0);
    ck_assert_int_eq(stalled_ns, 0);
    ck_assert_int_eq(ops->sync(file), KL_EIO);
    need_ok(ops->sync(file));
    ck_assert_int_eq(stalled_ns, 10);
}
END_TEST

/* ---- rot ------------------------------------------------------------------
 */

START_TEST(rot_damages_what_it_is_told_to)
{
    uint64_t size;

    need_ok(sim_disk_rot(disk, "f", SIM_ROT_BIT, 100, 10, 1));
    ck_assert_uint_eq(damaged(), 1);
    need_ok(sim_disk_rot(disk, "f", SIM_ROT_ZEROS, 0, SIM_SECTOR, 1));
    ck_assert_uint_eq(damaged(), SIM_SECTOR);
    ck_assert_int_eq(durable_at(0), 0);
    need_ok(sim_disk_rot(disk, "f", SIM_ROT_GARBAGE, SIM_BLOCK, SIM_BLOCK, 1));
    ck_assert_uint_gt(damaged(), SIM_BLOCK);
    ck_assert_uint_le(damaged(), SIM_BLOCK + SIM_SECTOR);
    need_ok(sim_disk_rot(disk, "f", SIM_ROT_CUT, 10, 0, 1));
    need_ok(ops->size(file, &size));
    ck_assert_uint_eq(size, 10);
    ck_assert_int_eq(sim_disk_rot(disk, "g", SIM_ROT_BIT, 0, 1, 1), KL_ENOENT);
    ck_assert_int_eq(sim_disk_rot(disk, "f", SIM_ROT_BIT, 10, 1, 1), KL_EEND);
}
END_TEST

/* A disk from a crash shares its bytes with nobody who would notice. */
START_TEST(rot_is_of_one_disk)
{
    struct sim_choice choice = {.fate = SIM_FATE_KEPT};
    struct sim_disk *d = sim_disk_crash(disk, choice);

    need_ok(sim_disk_rot(d, "f", SIM_ROT_ZEROS, 0, SIZE, 1));
    ck_assert_int_eq(byte_at(d, 0), 0);
    ck_assert_uint_eq(damaged(), 0);
    sim_disk_free(d);
}
END_TEST

Suite *suite_fault_sim_faults(void);

Suite *suite_fault_sim_faults(void)
{
    Suite *suite = suite_create("fault_sim_faults");
    TCase *tcase = tcase_create("sim_faults");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, fault_strikes_the_calls_it_names);
    tcase_add_test(tcase, other_paths_are_spared);
    tcase_add_test(tcase, chance_is_drawn_from_the_seed);
    tcase_add_test(tcase, every_call_can_fail);
    tcase_add_test(tcase, close_fails_but_closes);
    tcase_add_test(tcase, failed_sync_leaves_bytes_in_the_cache);
    tcase_add_test(tcase, failed_sync_brings_old_bytes_back);
    tcase_add_test(tcase, failed_sync_leaves_zeros);
    tcase_add_test(tcase, failed_sync_is_told_to_another_handle);
    tcase_add_test(tcase, failed_sync_is_told_by_close);
    tcase_add_test(tcase, failed_sync_reverts_the_size);
    tcase_add_test(tcase, short_write_takes_so_many_bytes);
    tcase_add_test(tcase, lost_write_says_nothing);
    tcase_add_test(tcase, misdirected_write_lands_elsewhere);
    tcase_add_test(tcase, read_flips_one_bit);
    tcase_add_test(tcase, read_is_stale);
    tcase_add_test(tcase, read_is_misdirected);
    tcase_add_test(tcase, stall_takes_time);
    tcase_add_test(tcase, rot_damages_what_it_is_told_to);
    tcase_add_test(tcase, rot_is_of_one_disk);
    suite_add_tcase(suite, tcase);
    return suite;
}
