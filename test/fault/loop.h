/*
 * The fault loops: a scenario runs again and again, each time another call of
 * the file-system port or another allocation fails, once or from then on, until
 * a run meets no fault. Whatever happened: nothing leaks, what the store says
 * is a known code with a text, and when the fault is gone the store goes on
 * where it has not failed, and a reopened one has all that it had acknowledged.
 */
#ifndef TEST_LOOP_H
#define TEST_LOOP_H

#include "work.h"

struct loop_fault
{
    int code; /* of the port; 0 = an allocation fails */
    int is_lasting;
    int has_syncs; /* lasting: syncs fail as well */
    int is_short;
};

extern const struct loop_fault loop_faults[];
extern const int loop_fault_count;

/* Failure points of one scenario and one fault: all of them, or with a stride
 * every so many. */
uint64_t loop_run(const struct work_scenario *scenario,
                  const struct loop_fault *fault, uint64_t stride);

#endif
