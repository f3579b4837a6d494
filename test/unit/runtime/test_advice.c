/*
 * From findings to what is to be done: tables.
 */
#include "runtime/advice.h"

#include <check.h>
#include <string.h>

enum {
    REPAIRED = KL_RUNTIME_EFFECT_REPAIRED,
    LOST = KL_RUNTIME_EFFECT_LOST,
    SAVED = KL_RUNTIME_EFFECT_SAVED,
    REFUSED = KL_RUNTIME_EFFECT_REFUSED,
    QUORUM = KL_RUNTIME_EFFECT_QUORUM,
    BLOCKED = KL_RUNTIME_EFFECT_BLOCKED,
    FULL = KL_RUNTIME_EFFECT_FULL,
    UNFINISHED = KL_RUNTIME_EFFECT_UNFINISHED
};

static uint32_t effect(enum kl_store_finding_kind kind,
                       enum kl_store_severity severity, int is_metadata,
                       enum kl_runtime_left left)
{
    struct kl_store_finding f = {.kind = kind, .severity = severity};

    return kl_runtime_advice_effect(&f, is_metadata, left);
}

START_TEST(effects_of_damage)
{
    /* Of a partition where nothing is left, and where another copy is. */
    static const struct
    {
        enum kl_store_finding_kind kind;
        uint32_t gone;
        uint32_t left;
    } table[] = {
        {KL_STORE_FINDING_IDENTITY, BLOCKED, BLOCKED},
        {KL_STORE_FINDING_SLOT, BLOCKED, BLOCKED},
        {KL_STORE_FINDING_WAL_FILE, BLOCKED, BLOCKED},
        {KL_STORE_FINDING_QUORUM, QUORUM, QUORUM},
        {KL_STORE_FINDING_SUSPECT, REFUSED, REFUSED},
        {KL_STORE_FINDING_WAL_ROT, LOST, SAVED},
        {KL_STORE_FINDING_WAL_FRAME, LOST, SAVED},
        {KL_STORE_FINDING_SEGMENT, LOST, SAVED},
        {KL_STORE_FINDING_HEADER, LOST, SAVED},
        {KL_STORE_FINDING_FOREIGN, LOST, SAVED},
        {KL_STORE_FINDING_SHORT, LOST, SAVED},
        {KL_STORE_FINDING_FRAME, LOST, SAVED},
        {KL_STORE_FINDING_BODY, LOST, SAVED},
        {KL_STORE_FINDING_GAP, LOST, SAVED},
        {KL_STORE_FINDING_SNAPSHOT, LOST, SAVED},
        {KL_STORE_FINDING_RECORDS, LOST, LOST},
        {KL_STORE_FINDING_CRC, LOST, LOST},
        {KL_STORE_FINDING_EPOCH, LOST, LOST},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const enum kl_store_finding_kind kind = table[i].kind;

        ck_assert_uint_eq(
            effect(kind, KL_STORE_DAMAGE, 0, KL_RUNTIME_LEFT_NOTHING),
            table[i].gone);
        ck_assert_uint_eq(
            effect(kind, KL_STORE_DAMAGE, 0, KL_RUNTIME_LEFT_SOME),
            table[i].left);
        ck_assert_uint_eq(effect(kind, KL_STORE_DAMAGE, 0, KL_RUNTIME_LEFT_ALL),
                          table[i].left);
    }
}
END_TEST

/* Whatever it is: severity comes first, and a damaged metadata log is not
 * believed. */
START_TEST(effects_of_every_kind)
{
    for (int k = 0; k < KL_STORE_FINDING_COUNT; k++) {
        const enum kl_store_finding_kind kind = (enum kl_store_finding_kind)k;

        ck_assert_uint_eq(
            effect(kind, KL_STORE_HARMLESS, k % 2, KL_RUNTIME_LEFT_NOTHING), 0);
        ck_assert_uint_eq(
            effect(kind, KL_STORE_COVERED, k % 2, KL_RUNTIME_LEFT_NOTHING),
            REPAIRED);
        ck_assert_uint_eq(effect(kind, KL_STORE_DAMAGE, 1, KL_RUNTIME_LEFT_ALL),
                          BLOCKED);
        ck_assert_uint_ne(
            effect(kind, KL_STORE_DAMAGE, 0, KL_RUNTIME_LEFT_NOTHING), 0);
    }
}
END_TEST

START_TEST(advice_by_effects)
{
    static const struct
    {
        uint32_t effects;
        uint32_t voters;
        enum kl_runtime_advice next;
        enum kl_runtime_advice other;
    } table[] = {
        {0, 1, KL_RUNTIME_ADVICE_NONE, KL_RUNTIME_ADVICE_NONE},
        {REPAIRED, 1, KL_RUNTIME_ADVICE_OPEN, KL_RUNTIME_ADVICE_NONE},
        {LOST, 1, KL_RUNTIME_ADVICE_OPEN, KL_RUNTIME_ADVICE_NONE},
        {LOST | REPAIRED, 3, KL_RUNTIME_ADVICE_OPEN, KL_RUNTIME_ADVICE_NONE},
        /* An open would write over the last copy. */
        {SAVED, 1, KL_RUNTIME_ADVICE_SALVAGE, KL_RUNTIME_ADVICE_OPEN},
        {SAVED | LOST | REPAIRED | FULL, 1, KL_RUNTIME_ADVICE_SALVAGE,
         KL_RUNTIME_ADVICE_OPEN},
        {SAVED | REFUSED, 1, KL_RUNTIME_ADVICE_SALVAGE,
         KL_RUNTIME_ADVICE_ACCEPT_LOSS},
        {SAVED | QUORUM, 1, KL_RUNTIME_ADVICE_SALVAGE,
         KL_RUNTIME_ADVICE_ACCEPT_LOSS},
        {REFUSED, 1, KL_RUNTIME_ADVICE_ACCEPT_LOSS, KL_RUNTIME_ADVICE_SALVAGE},
        {REFUSED | LOST, 3, KL_RUNTIME_ADVICE_ACCEPT_LOSS,
         KL_RUNTIME_ADVICE_SALVAGE},
        {QUORUM, 1, KL_RUNTIME_ADVICE_ACCEPT_LOSS, KL_RUNTIME_ADVICE_SALVAGE},
        {QUORUM, 0, KL_RUNTIME_ADVICE_ACCEPT_LOSS, KL_RUNTIME_ADVICE_SALVAGE},
        /* Two votes in one epoch would be two leaders. */
        {QUORUM, 3, KL_RUNTIME_ADVICE_REPLACE, KL_RUNTIME_ADVICE_SALVAGE},
        {QUORUM | REFUSED | BLOCKED, 2, KL_RUNTIME_ADVICE_REPLACE,
         KL_RUNTIME_ADVICE_SALVAGE},
        {BLOCKED, 3, KL_RUNTIME_ADVICE_SALVAGE, KL_RUNTIME_ADVICE_NONE},
        {BLOCKED | QUORUM | REFUSED | LOST, 1, KL_RUNTIME_ADVICE_SALVAGE,
         KL_RUNTIME_ADVICE_NONE},
        {FULL, 1, KL_RUNTIME_ADVICE_FREE, KL_RUNTIME_ADVICE_NONE},
        {FULL | REPAIRED | REFUSED, 1, KL_RUNTIME_ADVICE_FREE,
         KL_RUNTIME_ADVICE_NONE},
        {UNFINISHED, 0, KL_RUNTIME_ADVICE_CREATE, KL_RUNTIME_ADVICE_NONE},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kl_runtime_advised a =
            kl_runtime_advice_of(table[i].effects, table[i].voters);

        ck_assert_msg(a.next == table[i].next && a.other == table[i].other,
                      "row %zu: %s or %s", i, kl_runtime_advice_name(a.next),
                      kl_runtime_advice_name(a.other));
    }
}
END_TEST

/* No set of findings is left without advice, and what asks for nothing gets
 * none. */
START_TEST(advice_for_every_set)
{
    for (uint32_t set = 0; set < 2 * UNFINISHED; set++)
        for (uint32_t voters = 0; voters < 4; voters++) {
            struct kl_runtime_advised a = kl_runtime_advice_of(set, voters);

            ck_assert_int_eq(a.next == KL_RUNTIME_ADVICE_NONE, set == 0);
            ck_assert(a.other == KL_RUNTIME_ADVICE_NONE || a.other != a.next);
            /* Never in place where other voters may know better. */
            if (set & QUORUM && voters > 1) {
                ck_assert_int_ne(a.next, KL_RUNTIME_ADVICE_ACCEPT_LOSS);
                ck_assert_int_ne(a.other, KL_RUNTIME_ADVICE_ACCEPT_LOSS);
            }
        }
}
END_TEST

START_TEST(words)
{
    for (int i = 0; i < KL_RUNTIME_ADVICE_COUNT; i++) {
        const char *name = kl_runtime_advice_name((enum kl_runtime_advice)i);

        ck_assert_uint_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz-"),
                          strlen(name));
        ck_assert_uint_gt(
            strlen(kl_runtime_advice_text((enum kl_runtime_advice)i)), 10);
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(name,
                             kl_runtime_advice_name((enum kl_runtime_advice)j));
    }
    /* What stops a node costs no offset, so words say what it does cost. */
    for (int k = 0; k < KL_STORE_FINDING_COUNT; k++) {
        const enum kl_store_finding_kind kind = (enum kl_store_finding_kind)k;

        if (effect(kind, KL_STORE_DAMAGE, 0, KL_RUNTIME_LEFT_ALL) &
            (BLOCKED | QUORUM | REFUSED | LOST))
            ck_assert_ptr_nonnull(kl_runtime_advice_cost(kind));
    }
}
END_TEST

Suite *suite_runtime_advice(void);

Suite *suite_runtime_advice(void)
{
    Suite *s = suite_create("runtime_advice");
    TCase *t = tcase_create("advice");

    tcase_add_test(t, effects_of_damage);
    tcase_add_test(t, effects_of_every_kind);
    tcase_add_test(t, advice_by_effects);
    tcase_add_test(t, advice_for_every_set);
    tcase_add_test(t, words);
    suite_add_tcase(s, t);
    return s;
}
