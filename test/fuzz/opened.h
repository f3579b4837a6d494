/*
 * What must hold of a store that was opened over anything: no byte is served
 * that was not written, and what it has it still has after going on, stopping
 * and opening again.
 */
#ifndef TEST_OPENED_H
#define TEST_OPENED_H

#include "edit.h"

/* Opens over the edits. Codes that say what is wrong are all right. */
int opened_open(struct store_fixture *f, const struct edit *e);
/* Reads all logs. is_genuine: nobody made checksums right, so that each frame
 * must be one that was once appended. */
void opened_read(struct store_fixture *f, const struct image *image,
                 int is_genuine);
/* Looks up, appends to every log, stops or crashes, opens again: what there was
 * is still there, unless somebody made checksums of a lie right. */
void opened_go_on(struct store_fixture *f, const struct edit *e, int is_genuine,
                  int is_crash);

#endif
