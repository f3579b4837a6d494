/*
 * The simulated disk: what a crash may leave, by profile.
 */
#include "need.h"
#include "sim_disk.h"

#include "base/hash.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct sim_disk *disk;
static const struct kl_os_vfs_ops *ops;

static void setup(void)
{
    disk = sim_disk_new(0);
    ops = disk->base.ops;
}

static void teardown(void)
{
    sim_disk_free(disk);
}

static struct kl_os_file *open_file(struct sim_disk *d, const char *path)
{
    struct kl_os_file *file;

    need_ok(ops->open(&d->base, path, KL_OS_WRITE | KL_OS_CREATE, &file));
    return file;
}

static void put(struct kl_os_file *file, char byte, size_t size,
                uint64_t offset)
{
    char bytes[4 * SIM_BLOCK];
    struct kl_os_iovec part = {bytes, size};

    need(size <= sizeof bytes);
    memset(bytes, byte, size);
    need_ok(ops->write(file, &part, 1, offset, NULL));
}

/* A file with bytes in it; closed. */
static void make(const char *path, char byte, size_t size)
{
    struct kl_os_file *file = open_file(disk, path);

    put(file, byte, size, 0);
    need_ok(ops->close(file));
}

static void sync_file(const char *path)
{
    struct kl_os_file *file = open_file(disk, path);

    need_ok(ops->sync(file));
    need_ok(ops->close(file));
}

/* What a file holds, or -1 where it is not there. */
static int64_t load(struct sim_disk *d, const char *path, char *out,
                    size_t size)
{
    struct kl_os_file *file;
    uint64_t all;
    size_t got;

    if (ops->open(&d->base, path, KL_OS_READ, &file))
        return -1;
    need_ok(ops->size(file, &all));
    need_ok(ops->read(file, out, size, 0, &got));
    need_ok(ops->close(file));
    return (int64_t)all;
}

static int is_there(struct sim_disk *d, const char *path)
{
    char none;

    return load(d, path, &none, 0) >= 0;
}

static int add_to_hash(const char *name, void *user)
{
    uint64_t *hash = user;
    static char bytes[8 * SIM_BLOCK];
    int64_t size =
        load((struct sim_disk *)(uintptr_t)hash[1], name, bytes, sizeof bytes);

    hash[0] = kl_base_hash(name, strlen(name), hash[0]);
    if (size >= 0)
        hash[0] = kl_base_hash(bytes, (size_t)size, hash[0] + 1);
    return 0;
}

/* Over names and bytes of the files in the root. */
static uint64_t hash_of(struct sim_disk *d)
{
    uint64_t hash[2] = {1, (uint64_t)(uintptr_t)d};

    need_ok(ops->list(&d->base, "/", add_to_hash, hash));
    return hash[0];
}

static struct sim_disk *crash(enum sim_profile profile, enum sim_fate fate,
                              uint64_t number)
{
    struct sim_choice choice = {profile, fate, number, 0};

    return sim_disk_crash(disk, choice);
}

/* ---- the adversary ------------------------------------------------------ */

START_TEST(unsynced_is_lost_or_kept)
{
    char bytes[2 * SIM_SECTOR];
    struct sim_disk *d;

    make("f", 'a', sizeof bytes);
    sync_file("f");
    need_ok(ops->sync_dir(&disk->base, "/"));
    ck_assert_uint_eq(sim_disk_images(disk, 100), 1);
    make("f", 'b', sizeof bytes);
    ck_assert_uint_eq(sim_disk_images(disk, 100), 4);
    d = crash(SIM_ADVERSARY, SIM_FATE_LOST, 0);
    ck_assert_int_eq(load(d, "f", bytes, sizeof bytes), sizeof bytes);
    ck_assert(bytes[0] == 'a' && bytes[SIM_SECTOR] == 'a');
    sim_disk_free(d);
    d = crash(SIM_ADVERSARY, SIM_FATE_KEPT, 0);
    ck_assert_int_eq(load(d, "f", bytes, sizeof bytes), sizeof bytes);
    ck_assert(bytes[0] == 'b' && bytes[SIM_SECTOR] == 'b');
    sim_disk_free(d);
}
END_TEST

/* Two sectors written once and one of them twice: torn in each way. */
START_TEST(every_number_is_another_image)
{
    char bytes[2 * SIM_SECTOR];
    int seen[3][2] = {{0}};
    struct sim_disk *d;

    make("f", 'a', sizeof bytes);
    sim_disk_settle(disk);
    make("f", 'b', sizeof bytes);
    make("f", 'c', SIM_SECTOR);
    ck_assert_uint_eq(sim_disk_images(disk, 100), 6);
    ck_assert_uint_eq(sim_disk_images(disk, 5), 5);
    for (uint64_t i = 0; i < 6; i++) {
        d = crash(SIM_ADVERSARY, SIM_FATE_NUMBER, i);
        load(d, "f", bytes, sizeof bytes);
        seen[bytes[0] - 'a'][bytes[SIM_SECTOR] - 'a']++;
        sim_disk_free(d);
    }
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(seen[i / 2][i % 2], 1);
}
END_TEST

START_TEST(size_and_bytes_are_apart)
{
    char bytes[SIM_SECTOR];
    int seen[2] = {0}, lost = 0;
    struct sim_disk *d;
    int64_t size;

    make("f", 'a', 0);
    sim_disk_settle(disk);
    make("f", 'b', SIM_SECTOR);
    ck_assert_uint_eq(sim_disk_images(disk, 100), 4);
    for (uint64_t i = 0; i < 4; i++) {
        d = crash(SIM_ADVERSARY, SIM_FATE_NUMBER, i);
        size = load(d, "f", bytes, sizeof bytes);
        if (size == 0)
            lost++;
        else
            seen[bytes[0] == 'b']++;
        sim_disk_free(d);
    }
    ck_assert_int_eq(lost, 2);
    ck_assert_int_eq(seen[0], 1);
    ck_assert_int_eq(seen[1], 1);
}
END_TEST

/* What lay behind the end is not there when the file grows again. */
START_TEST(lost_bytes_do_not_come_back)
{
    char bytes[SIM_SECTOR];
    struct kl_os_file *file;
    struct sim_disk *d;

    make("f", 'a', SIM_SECTOR);
    sim_disk_settle(disk);
    file = open_file(disk, "f");
    need_ok(ops->truncate(file, 10));
    need_ok(ops->sync(file));
    need_ok(ops->truncate(file, SIM_SECTOR));
    need_ok(ops->sync(file));
    need_ok(ops->close(file));
    d = crash(SIM_ADVERSARY, SIM_FATE_LOST, 0);
    ck_assert_int_eq(load(d, "f", bytes, sizeof bytes), SIM_SECTOR);
    ck_assert_int_eq(bytes[9], 'a');
    ck_assert_int_eq(bytes[10], 0);
    ck_assert_int_eq(bytes[SIM_SECTOR - 1], 0);
    sim_disk_free(d);
}
END_TEST

START_TEST(names_need_their_folder)
{
    struct sim_disk *d;

    need_ok(ops->mkdir(&disk->base, "d"));
    make("d/f", 'a', 10);
    sync_file("d/f");
    d = crash(SIM_ADVERSARY, SIM_FATE_LOST, 0);
    ck_assert(!is_there(d, "d/f"));
    sim_disk_free(d);
    need_ok(ops->sync_dir(&disk->base, "d"));
    need_ok(ops->sync_dir(&disk->base, "/"));
    d = crash(SIM_ADVERSARY, SIM_FATE_LOST, 0);
    ck_assert(is_there(d, "d/f"));
    sim_disk_free(d);
    need_ok(ops->unlink(&disk->base, "d/f"));
    d = crash(SIM_ADVERSARY, SIM_FATE_LOST, 0);
    ck_assert(is_there(d, "d/f"));
    sim_disk_free(d);
}
END_TEST

/* A rename leaves the old name, the new one or both, but never none. */
START_TEST(rename_is_never_nothing)
{
    int seen[2][2] = {{0}};
    struct sim_disk *d;

    make("old", 'a', 10);
    sim_disk_settle(disk);
    need_ok(ops->rename(&disk->base, "old", "new"));
    for (uint64_t i = 0; i < sim_disk_images(disk, 100); i++) {
        d = crash(SIM_ADVERSARY, SIM_FATE_NUMBER, i);
        seen[is_there(d, "old")][is_there(d, "new")]++;
        sim_disk_free(d);
    }
    ck_assert_int_eq(seen[0][0], 0);
    ck_assert(seen[0][1] && seen[1][0] && seen[1][1]);
}
END_TEST

/* ---- the others ----------------------------------------------------------
 */

/* Whatever a profile leaves, the adversary may leave too. */
START_TEST(profiles_restrict_the_adversary)
{
    enum { IMAGES = 2048 };
    static uint64_t hashes[IMAGES];
    uint64_t count, hash;
    struct sim_disk *d;
    int found, distinct = 0;
    struct kl_os_file *file = open_file(disk, "a");

    put(file, 'a', SIM_SECTOR, 0);
    sim_disk_settle(disk);
    put(file, 'b', 2 * SIM_SECTOR, SIM_SECTOR / 2); /* three sectors, a size */
    put(file, 'c', SIM_SECTOR, 0);
    make("b", 'd', 10);
    need_ok(ops->rename(&disk->base, "b", "c"));
    need_ok(ops->truncate(file, SIM_SECTOR));
    need_ok(ops->close(file));
    count = sim_disk_images(disk, IMAGES);
    ck_assert_uint_lt(count, IMAGES);
    for (uint64_t i = 0; i < count; i++) {
        d = crash(SIM_ADVERSARY, SIM_FATE_NUMBER, i);
        hashes[i] = hash_of(d);
        sim_disk_free(d);
    }
    for (uint64_t i = 0; i < 3000; i++) {
        enum sim_profile profile = (enum sim_profile)(i % SIM_PROFILES);
        enum sim_fate fate =
            (enum sim_fate)(SIM_FATE_LOST + i % (SIM_FATES - SIM_FATE_LOST));

        if (profile == SIM_EXT4_WRITEBACK)
            continue; /* has garbage */
        d = crash(profile, fate, i);
        hash = hash_of(d);
        sim_disk_free(d);
        found = 0;
        for (uint64_t k = 0; k < count && !found; k++)
            found = hashes[k] == hash;
        ck_assert_msg(found, "%s, %s %llu", sim_profile_name(profile),
                      sim_fate_name(fate), (unsigned long long)i);
        distinct += hash != hashes[0];
    }
    ck_assert_int_gt(distinct, 1000);
}
END_TEST

/* Three names one after the other: which of the eight sets are left. */
static uint32_t name_sets(enum sim_profile profile)
{
    uint32_t sets = 0;
    struct sim_disk *d;

    for (uint64_t i = 0; i < 400; i++) {
        d = crash(profile, SIM_FATE_RANDOM, i);
        sets |= 1u << (is_there(d, "1") | is_there(d, "2") << 1 |
                       is_there(d, "3") << 2);
        sim_disk_free(d);
    }
    return sets;
}

START_TEST(journals_keep_names_in_order)
{
    enum { IN_ORDER = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 7 };

    make("1", 'a', 0);
    make("2", 'a', 0);
    make("3", 'a', 0);
    ck_assert_uint_eq(name_sets(SIM_ADVERSARY), 0xff);
    ck_assert_uint_eq(name_sets(SIM_RAW_FLASH), 0xff);
    ck_assert_uint_eq(name_sets(SIM_EXT4_ORDERED), IN_ORDER);
    ck_assert_uint_eq(name_sets(SIM_EXT4_WRITEBACK), IN_ORDER);
    ck_assert_uint_eq(name_sets(SIM_XFS), IN_ORDER);
    ck_assert_uint_eq(name_sets(SIM_BTRFS), IN_ORDER);
    ck_assert_uint_eq(name_sets(SIM_F2FS), IN_ORDER);
    sync_file("2");
    ck_assert_uint_eq(name_sets(SIM_ADVERSARY), 0xff);
    ck_assert_uint_eq(name_sets(SIM_EXT4_ORDERED), 1 << 7);
    ck_assert_uint_eq(name_sets(SIM_XFS), 1 << 3 | 1 << 7);
    ck_assert_uint_eq(name_sets(SIM_F2FS), IN_ORDER);
    need_ok(ops->sync_dir(&disk->base, "/"));
    for (int i = 0; i < SIM_PROFILES; i++)
        ck_assert_uint_eq(name_sets((enum sim_profile)i), 1 << 7);
}
END_TEST

/* Which first bytes a file may have that has grown from nothing. */
static int grown_bytes(enum sim_profile profile, int has_garbage, char want)
{
    char bytes[SIM_SECTOR];
    int count = 0;
    struct sim_disk *d;
    struct sim_choice choice = {profile, SIM_FATE_RANDOM, 0, has_garbage};

    for (; choice.number < 200; choice.number++) {
        d = sim_disk_crash(disk, choice);
        if (load(d, "f", bytes, sizeof bytes) > 0)
            count += want == '?' ? bytes[0] != 'a' && bytes[0] != 0
                                 : bytes[0] == want;
        sim_disk_free(d);
    }
    return count;
}

START_TEST(a_file_grows_with_its_bytes_or_not)
{
    make("f", 'x', 0);
    make("beside", 'o', SIM_BLOCK);
    need_ok(ops->mkdir(&disk->base, "d"));
    make("d/other", 'p', SIM_BLOCK);
    sim_disk_settle(disk);
    make("f", 'a', SIM_SECTOR);
    ck_assert_int_gt(grown_bytes(SIM_ADVERSARY, 0, 0), 0);
    ck_assert_int_eq(grown_bytes(SIM_ADVERSARY, 0, '?'), 0);
    ck_assert_int_gt(grown_bytes(SIM_ADVERSARY, 1, '?'), 0);
    ck_assert_int_gt(grown_bytes(SIM_EXT4_WRITEBACK, 0, '?'), 0);
    ck_assert_int_gt(grown_bytes(SIM_EXT4_WRITEBACK, 0, 'p'), 0);
    ck_assert_int_lt(grown_bytes(SIM_EXT4_WRITEBACK, 0, 'o'), 4);
    for (int i = 0; i < 3; i++) {
        static const enum sim_profile with[] = {SIM_EXT4_ORDERED, SIM_XFS,
                                                SIM_BTRFS};

        ck_assert_int_gt(grown_bytes(with[i], 0, 'a'), 0);
        ck_assert_int_eq(grown_bytes(with[i], 0, 0), 0);
        ck_assert_int_eq(grown_bytes(with[i], 0, '?'), 0);
    }
}
END_TEST

/* A block written twice: how often its sectors are of different writes. */
static int torn_blocks(enum sim_profile profile)
{
    char bytes[SIM_BLOCK];
    int torn = 0;
    struct sim_disk *d;

    for (uint64_t i = 0; i < 200; i++) {
        d = crash(profile, SIM_FATE_RANDOM, i);
        load(d, "f", bytes, sizeof bytes);
        torn += memcmp(bytes, bytes + SIM_SECTOR, SIM_BLOCK - SIM_SECTOR) != 0;
        sim_disk_free(d);
    }
    return torn;
}

/* A kill alone loses nothing, but a power cut after it still can. */
START_TEST(a_kill_keeps_everything)
{
    char bytes[SIM_BLOCK];
    struct kl_os_file *file;
    struct sim_disk *d, *cut;

    make("f", 'a', SIM_BLOCK);
    sim_disk_settle(disk);
    make("f", 'b', SIM_BLOCK);
    make("f", 'c', SIM_SECTOR);
    file = open_file(disk, "f");
    put(file, 'd', SIM_BLOCK, SIM_BLOCK);
    put(file, 'e', SIM_SECTOR, SIM_BLOCK);
    need_ok(ops->truncate(file, SIM_BLOCK + 700));
    need_ok(ops->close(file));
    make("g", 'f', 10);
    need_ok(ops->rename(&disk->base, "g", "h"));
    d = crash(SIM_ADVERSARY, SIM_FATE_KEPT, 0);
    ck_assert_uint_eq(hash_of(d), hash_of(disk));
    ck_assert_uint_eq(sim_disk_images(d, 10000), sim_disk_images(disk, 10000));
    cut = sim_disk_crash(d, (struct sim_choice){.fate = SIM_FATE_LOST});
    ck_assert_int_eq(load(cut, "f", bytes, sizeof bytes), SIM_BLOCK);
    ck_assert_int_eq(bytes[0], 'a');
    ck_assert(!is_there(cut, "h"));
    sim_disk_free(cut);
    sim_disk_settle(d);
    cut = sim_disk_crash(d, (struct sim_choice){.fate = SIM_FATE_LOST});
    ck_assert_uint_eq(hash_of(cut), hash_of(disk));
    sim_disk_free(cut);
    sim_disk_free(d);
}
END_TEST

START_TEST(blocks_are_torn_or_not)
{
    make("f", 'a', SIM_BLOCK);
    sim_disk_settle(disk);
    make("f", 'b', SIM_BLOCK);
    make("f", 'c', SIM_BLOCK);
    ck_assert_int_gt(torn_blocks(SIM_ADVERSARY), 100);
    ck_assert_int_gt(torn_blocks(SIM_EXT4_ORDERED), 100);
    ck_assert_int_gt(torn_blocks(SIM_XFS), 100);
    ck_assert_int_eq(torn_blocks(SIM_BTRFS), 0);
    ck_assert_int_eq(torn_blocks(SIM_F2FS), 0);
    ck_assert_int_eq(torn_blocks(SIM_RAW_FLASH), 0);
}
END_TEST

/* Four blocks appended one by one: f2fs leaves the first ones of them. */
START_TEST(f2fs_has_files_of_one_moment)
{
    char bytes[4 * SIM_BLOCK];
    uint32_t sizes = 0;
    struct kl_os_file *file = open_file(disk, "f");
    struct sim_disk *d;
    int64_t size;

    sim_disk_settle(disk);
    for (uint64_t i = 0; i < 4; i++)
        put(file, (char)('a' + i), SIM_BLOCK, i * SIM_BLOCK);
    need_ok(ops->close(file));
    for (uint64_t i = 0; i < 200; i++) {
        d = crash(SIM_F2FS, SIM_FATE_RANDOM, i);
        size = load(d, "f", bytes, sizeof bytes);
        for (int64_t k = 0; k < size / SIM_BLOCK; k++)
            ck_assert_int_eq(bytes[k * SIM_BLOCK], 'a' + k);
        sizes |= 1u << size / SIM_BLOCK;
        sim_disk_free(d);
    }
    ck_assert_uint_eq(sizes, 0x1f);
}
END_TEST

/* ---- calls ---------------------------------------------------------------
 */

struct calls
{
    int count[3];
    int64_t sizes[3];
};

static void note_call(void *user, enum sim_call call, enum sim_when when,
                      const char *path)
{
    struct calls *c = user;
    struct sim_choice choice = {.fate = SIM_FATE_KEPT};
    struct sim_disk *d = sim_disk_crash(disk, choice);
    char bytes[SIM_BLOCK];

    ck_assert_int_eq(call, SIM_WRITE);
    ck_assert_str_eq(path, "f");
    c->count[when]++;
    c->sizes[when] = load(d, "f", bytes, sizeof bytes);
    sim_disk_free(d);
}

/* A kill before, inside and after a write. */
START_TEST(hook_is_called_inside_a_write)
{
    struct kl_os_file *file = open_file(disk, "f");
    struct calls c = {{0}, {0}};

    disk->hook = note_call;
    disk->hook_user = &c;
    put(file, 'a', 3 * SIM_SECTOR, 100);
    disk->hook = NULL;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(c.count[i], 1);
    ck_assert_int_eq(c.sizes[SIM_BEFORE], 0);
    ck_assert_int_gt(c.sizes[SIM_INSIDE], 0);
    ck_assert_int_eq(c.sizes[SIM_INSIDE] % SIM_SECTOR, 0);
    ck_assert_int_lt(c.sizes[SIM_INSIDE], 3 * SIM_SECTOR + 100);
    ck_assert_int_eq(c.sizes[SIM_AFTER], 3 * SIM_SECTOR + 100);
    need_ok(ops->close(file));
}
END_TEST

START_TEST(a_lying_cache_keeps_nothing)
{
    struct sim_disk *d;

    disk->lie_call = SIM_CALLS;
    disk->lie_part = "";
    make("f", 'a', 10);
    sync_file("f");
    need_ok(ops->sync_dir(&disk->base, "/"));
    d = crash(SIM_ADVERSARY, SIM_FATE_LOST, 0);
    ck_assert(!is_there(d, "f"));
    sim_disk_free(d);
}
END_TEST

START_TEST(a_full_disk_takes_what_fits)
{
    char bytes[100];
    struct kl_os_iovec parts[2] = {{bytes, 60}, {bytes, 60}};
    struct kl_os_file *file;
    uint64_t room;
    size_t written;

    memset(bytes, 'a', sizeof bytes);
    disk->capacity = 100;
    file = open_file(disk, "f");
    ck_assert_int_eq(ops->write(file, parts, 2, 0, &written), KL_EDISKFULL);
    ck_assert_uint_eq(written, 100);
    need_ok(ops->space(&disk->base, "/", &room));
    ck_assert_uint_eq(room, 0);
    ck_assert_int_eq(ops->allocate(file, 0, 101), KL_EDISKFULL);
    need_ok(ops->write(file, parts, 1, 40, &written)); /* in place */
    need_ok(ops->unlink(&disk->base, "f"));
    ck_assert_int_eq(ops->truncate(file, 101), KL_EDISKFULL);
    need_ok(ops->close(file));
    need_ok(ops->space(&disk->base, "/", &room));
    ck_assert_uint_eq(room, 100);
}
END_TEST

/* What was freed and is used again is gone for good: the sizes that a crash
 * leaves fit on the disk. */
START_TEST(freed_space_is_durable_before_it_is_used)
{
    struct sim_disk *d;

    make("a", 'a', SIM_BLOCK);
    make("b", 'b', SIM_BLOCK);
    sim_disk_settle(disk);
    disk->capacity = 2 * SIM_BLOCK;
    need_ok(ops->unlink(&disk->base, "a"));
    ck_assert_uint_eq(sim_disk_images(disk, 10), 2);
    make("c", 'c', SIM_BLOCK);
    for (uint64_t i = 0; i < sim_disk_images(disk, 10000); i++) {
        d = crash(SIM_ADVERSARY, SIM_FATE_NUMBER, i);
        ck_assert(!is_there(d, "a"));
        sim_disk_free(d);
    }
}
END_TEST

Suite *suite_fault_sim_disk(void);

Suite *suite_fault_sim_disk(void)
{
    Suite *suite = suite_create("fault_sim_disk");
    TCase *tcase = tcase_create("sim_disk");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, unsynced_is_lost_or_kept);
    tcase_add_test(tcase, every_number_is_another_image);
    tcase_add_test(tcase, size_and_bytes_are_apart);
    tcase_add_test(tcase, lost_bytes_do_not_come_back);
    tcase_add_test(tcase, names_need_their_folder);
    tcase_add_test(tcase, rename_is_never_nothing);
    tcase_add_test(tcase, profiles_restrict_the_adversary);
    tcase_add_test(tcase, journals_keep_names_in_order);
    tcase_add_test(tcase, a_file_grows_with_its_bytes_or_not);
    tcase_add_test(tcase, a_kill_keeps_everything);
    tcase_add_test(tcase, blocks_are_torn_or_not);
    tcase_add_test(tcase, f2fs_has_files_of_one_moment);
    tcase_add_test(tcase, hook_is_called_inside_a_write);
    tcase_add_test(tcase, a_lying_cache_keeps_nothing);
    tcase_add_test(tcase, a_full_disk_takes_what_fits);
    tcase_add_test(tcase, freed_space_is_durable_before_it_is_used);
    suite_add_tcase(suite, tcase);
    return suite;
}
