/*
 * States that a swarm must reach: a name that no seed has met is a fault of the
 * simulator or of the options. KL_MARK counts one, at the place where the world
 * sees it.
 */
#ifndef SIM_MARK_H
#define SIM_MARK_H

#include <stdint.h>

/* The second: 1 where a node alone can reach it. */
#define MARK_TABLE(X)                                                          \
    X(OPEN_FAILED, 1, "a start fails")                                         \
    X(OPEN_CUT, 1, "the power goes while a node opens")                        \
    X(STORE_FAILED, 1, "a store fails while it works")                         \
    X(STORE_FULL, 1, "a command or a record finds the disk full")              \
    X(STOPPED, 1, "an ordered stop comes to its end")                          \
    X(UNKNOWN, 1, "a command ends and nobody knows how")                       \
    X(TORN, 1, "a crash leaves a part of what was pending")                    \
    X(DELETED, 1, "a topic is deleted")                                        \
    X(LINK_FULL, 0, "a link takes no more for a while")                        \
    X(INBOX_FULL, 0, "an inbox takes no more for a while")                     \
    X(LINK_FORMAT, 0, "a message that was changed ends its link")              \
    X(REPLAYED, 0, "an old message comes again")                               \
    X(PROSPECTIVE, 0, "somebody asks whether an election would be won")        \
    X(CANDIDATE, 0, "somebody stands for election")                            \
    X(RESIGNED, 0, "a leader gives up")                                        \
    X(NEW_LEADER, 0, "another node leads")                                     \
    X(TRUNCATED, 0, "a log is cut to fit its leader's")                        \
    X(SNAPSHOT, 0, "a node begins with the leader's snapshot")                 \
    X(VOTED, 0, "a vote for somebody else is durable")                         \
    X(STALE, 0, "a message of an epoch that is over is dropped")               \
    X(FOREIGN, 0, "a message of another cluster is counted")                   \
    X(UNKNOWN_KIND, 0, "a message of an unknown kind is counted")              \
    X(MISDIRECTED, 0, "a message for somebody else is counted")                \
    X(MALFORMED, 0, "a malformed message is counted")                          \
    X(VOTER_ADDED, 0, "a node becomes a voter while things break")             \
    X(VOTER_REMOVED, 0, "a voter becomes an observer while things break")      \
    X(VOTERS_BACK, 0, "a change of the voters is cut off again")

enum mark {
#define X(id, alone, text) MARK_##id,
    MARK_TABLE(X)
#undef X
        MARKS
};

extern uint64_t marks[MARKS];

#define KL_MARK(id) (void)(marks[MARK_##id]++)

const char *mark_text(enum mark m);
/* Whether worlds of so many hosts have to reach it. */
int mark_is_due(enum mark m, int hosts);

#endif
