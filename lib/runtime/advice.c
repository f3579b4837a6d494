/*
 * Advice for whoever stands before a folder that is damaged. What comes first
 * never makes anything worse: salvage leaves the folder as it is, and an open
 * is advised only where it changes nothing that somebody may still want.
 */
#include "runtime/advice.h"

/* ---- effects ----------------------------------------------------------- */

/* What damage does to a node that opens the folder. */
static enum kl_runtime_effect advice_damage(enum kl_store_finding_kind kind,
                                            enum kl_runtime_left left)
{
    switch (kind) {
    case KL_STORE_FINDING_IDENTITY:
    case KL_STORE_FINDING_SLOT: /* both of them */
    case KL_STORE_FINDING_WAL_FILE:
        return KL_RUNTIME_EFFECT_BLOCKED;
    case KL_STORE_FINDING_QUORUM:
        return KL_RUNTIME_EFFECT_QUORUM;
    case KL_STORE_FINDING_SUSPECT:
        return KL_RUNTIME_EFFECT_REFUSED;
    case KL_STORE_FINDING_RECORDS:
    case KL_STORE_FINDING_CRC:
    case KL_STORE_FINDING_EPOCH:
        return KL_RUNTIME_EFFECT_LOST; /* they were written like that */
    default:
        return left == KL_RUNTIME_LEFT_NOTHING ? KL_RUNTIME_EFFECT_LOST
                                               : KL_RUNTIME_EFFECT_SAVED;
    }
}

enum kl_runtime_effect
kl_runtime_advice_effect(const struct kl_store_finding *f, int is_metadata,
                         enum kl_runtime_left left)
{
    if (f->severity == KL_STORE_HARMLESS)
        return 0;
    if (f->severity == KL_STORE_COVERED)
        return KL_RUNTIME_EFFECT_REPAIRED;
    /* Nobody may take a topic for deleted on its word. */
    if (is_metadata)
        return KL_RUNTIME_EFFECT_BLOCKED;
    return advice_damage(f->kind, left);
}

const char *kl_runtime_advice_cost(enum kl_store_finding_kind kind)
{
    switch (kind) {
    case KL_STORE_FINDING_IDENTITY:
        return "which node of which cluster this is; no record";
    case KL_STORE_FINDING_QUORUM:
        return "whom this node has voted for; no record";
    case KL_STORE_FINDING_SLOT:
        return "where logs begin and end; records are found again";
    case KL_STORE_FINDING_WAL_FILE:
    case KL_STORE_FINDING_WAL_ROT:
        return "records that no segment had yet, if it held any";
    case KL_STORE_FINDING_SUSPECT:
        return "what came behind, if anything did";
    case KL_STORE_FINDING_SNAPSHOT:
        return "the snapshot; an older one or the log serves";
    case KL_STORE_FINDING_RECORDS:
    case KL_STORE_FINDING_CRC:
    case KL_STORE_FINDING_EPOCH:
        return "nothing since it was written: it was written like that";
    default:
        return NULL;
    }
}

/* ---- what to do -------------------------------------------------------- */

struct kl_runtime_advised kl_runtime_advice_of(uint32_t effects,
                                               uint32_t voters)
{
    struct kl_runtime_advised a = {KL_RUNTIME_ADVICE_NONE,
                                   KL_RUNTIME_ADVICE_NONE};

    if (effects & KL_RUNTIME_EFFECT_UNFINISHED) {
        a.next = KL_RUNTIME_ADVICE_CREATE;
    } else if (effects & KL_RUNTIME_EFFECT_QUORUM && voters > 1) {
        a.next = KL_RUNTIME_ADVICE_REPLACE;
        a.other = KL_RUNTIME_ADVICE_SALVAGE;
    } else if (effects & KL_RUNTIME_EFFECT_BLOCKED) {
        a.next = KL_RUNTIME_ADVICE_SALVAGE;
    } else if (effects & KL_RUNTIME_EFFECT_SAVED) {
        a.next = KL_RUNTIME_ADVICE_SALVAGE;
        a.other =
            effects & (KL_RUNTIME_EFFECT_QUORUM | KL_RUNTIME_EFFECT_REFUSED)
                ? KL_RUNTIME_ADVICE_ACCEPT_LOSS
                : KL_RUNTIME_ADVICE_OPEN;
    } else if (effects & KL_RUNTIME_EFFECT_FULL) {
        a.next = KL_RUNTIME_ADVICE_FREE;
    } else if (effects &
               (KL_RUNTIME_EFFECT_QUORUM | KL_RUNTIME_EFFECT_REFUSED)) {
        a.next = KL_RUNTIME_ADVICE_ACCEPT_LOSS;
        a.other = KL_RUNTIME_ADVICE_SALVAGE;
    } else if (effects &
               (KL_RUNTIME_EFFECT_LOST | KL_RUNTIME_EFFECT_REPAIRED)) {
        a.next = KL_RUNTIME_ADVICE_OPEN;
    }
    return a;
}

static const struct
{
    const char *name;
    const char *text;
} advice_words[KL_RUNTIME_ADVICE_COUNT] = {
    {"none", "there is nothing to do"},
    {"open", "the folder opens: that repairs what has a copy; offsets that "
             "are lost answer KL_ECORRUPT, all others are served"},
    {"free", "the disk is full: records are refused until there is space, "
             "nothing else is wrong with that"},
    {"accept-loss", "gives up what may be lost; the folder then takes records "
                    "again, at the offsets behind what is left"},
    {"salvage", "writes all that can be had to a new folder and changes "
                "nothing in this one"},
    {"replace", "other voters may know what this one promised: let them "
                "remove it, and start it with an empty folder"},
    {"create", "the folder was never made to its end; nothing was ever in it"},
};

const char *kl_runtime_advice_name(enum kl_runtime_advice advice)
{
    return advice_words[advice].name;
}

const char *kl_runtime_advice_text(enum kl_runtime_advice advice)
{
    return advice_words[advice].text;
}
