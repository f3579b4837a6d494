/*
 * From what is wrong with a folder to what is to be done about it: arithmetic
 * on the kinds of findings, for inspect_doctor.c.
 */
#ifndef KL_RUNTIME_ADVICE_H
#define KL_RUNTIME_ADVICE_H

#include "store/store.h"

/* What findings do, as bits of a set. */
enum kl_runtime_effect {
    KL_RUNTIME_EFFECT_REPAIRED = 1 << 0,  /* by the next open */
    KL_RUNTIME_EFFECT_LOST = 1 << 1,      /* for good; all else is served */
    KL_RUNTIME_EFFECT_SAVED = 1 << 2,     /* salvage alone finds the copy */
    KL_RUNTIME_EFFECT_REFUSED = 1 << 3,   /* logs take no records */
    KL_RUNTIME_EFFECT_QUORUM = 1 << 4,    /* its vote is forgotten */
    KL_RUNTIME_EFFECT_BLOCKED = 1 << 5,   /* the folder does not open */
    KL_RUNTIME_EFFECT_FULL = 1 << 6,      /* the disk is */
    KL_RUNTIME_EFFECT_UNFINISHED = 1 << 7 /* it never was a store */
};

enum kl_runtime_advice {
    KL_RUNTIME_ADVICE_NONE,
    KL_RUNTIME_ADVICE_OPEN,
    KL_RUNTIME_ADVICE_FREE,
    KL_RUNTIME_ADVICE_ACCEPT_LOSS,
    KL_RUNTIME_ADVICE_SALVAGE,
    KL_RUNTIME_ADVICE_REPLACE,
    KL_RUNTIME_ADVICE_CREATE,
    KL_RUNTIME_ADVICE_COUNT
};

/* Offsets that a finding is about, as the content of the log says. */
enum kl_runtime_left {
    KL_RUNTIME_LEFT_NOTHING,
    KL_RUNTIME_LEFT_SOME,
    KL_RUNTIME_LEFT_ALL
};

/* The effect of one finding; left counts for damage of a log. */
enum kl_runtime_effect
kl_runtime_advice_effect(const struct kl_store_finding *f, int is_metadata,
                         enum kl_runtime_left left);

struct kl_runtime_advised
{
    enum kl_runtime_advice next;
    enum kl_runtime_advice other; /* does as well, at a price; NONE = nothing */
};
/* What is to be done where findings have these effects together. voters: of the
 * quorum, 0 = not known. */
struct kl_runtime_advised kl_runtime_advice_of(uint32_t effects,
                                               uint32_t voters);

/* "salvage", for programs, and why, for people. */
const char *kl_runtime_advice_name(enum kl_runtime_advice advice);
const char *kl_runtime_advice_text(enum kl_runtime_advice advice);

/* What damage of a kind costs where no offsets can be named; NULL where the
 * offsets say it. */
const char *kl_runtime_advice_cost(enum kl_store_finding_kind kind);

#endif
