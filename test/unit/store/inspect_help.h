/*
 * What the tests of the offline tools share: looking at a folder and at what
 * was found, and damage.
 */
#ifndef TEST_INSPECT_HELP_H
#define TEST_INSPECT_HELP_H

#include "store_fixture.h"

enum { INSPECT_FINDINGS = 512 };

struct inspect_help
{
    struct kl_store_finding items[INSPECT_FINDINGS];
    size_t count;
    struct kl_store_inspect_stats stats;
    struct kl_base_error error;
};

extern struct inspect_help found;

/* Verifies the folder of the fixture into found; it must be as it was before.
 * Returns the code of opening or of going on. */
int inspect_verify(struct store_fixture *f, uint32_t flags);
/* The same where it must go through. */
void inspect_look(struct store_fixture *f);
/* Nothing was found that is worse than harmless; how much of that was. */
size_t inspect_is_fine(void);
/* Exactly one finding is worse than harmless: it is this one, in a file whose
 * name ends so. Returned to be looked at further. */
const struct kl_store_finding *inspect_only(enum kl_store_finding_kind kind,
                                            enum kl_store_severity severity,
                                            const char *ending);
/* The first finding of a kind, or NULL. */
const struct kl_store_finding *inspect_find(enum kl_store_finding_kind kind);
void inspect_range(const struct kl_store_finding *f, int64_t from, int64_t end);

/* "data/logs/<log>/<name>", name NULL = the folder. Static; there are four. */
const char *inspect_path(struct store_fixture *f, const struct kl_store_id *id,
                         const char *name);
/* Flips a bit of a byte of a file. */
void inspect_flip(struct store_fixture *f, const char *path, uint64_t at);
/* Cuts a file. */
void inspect_cut(struct store_fixture *f, const char *path, uint64_t size);
/* Where the frame with this base offset begins in a segment, and what its
 * header says. */
uint64_t inspect_frame(struct store_fixture *f, const char *path,
                       const struct kl_store_id *id, int64_t base,
                       struct kl_batch_info *info);

#endif
