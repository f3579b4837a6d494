/*
 * Units of time.
 */
#ifndef TEST_RAFT_UNITS_H
#define TEST_RAFT_UNITS_H

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

#endif
