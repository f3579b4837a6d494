/*
 * A function on a stack of its own that can be left in the middle and gone on
 * with later: how a simulation runs several threads' work in an order that it
 * chooses itself.
 */
#ifndef TEST_FIBER_H
#define TEST_FIBER_H

struct fiber;

typedef void (*fiber_fn)(void *user);

struct fiber *fiber_new(void);
/* It must not be in the middle of anything. */
void fiber_free(struct fiber *f);
/* Begins; returns when fn does, or at its first fiber_leave. */
void fiber_begin(struct fiber *f, fiber_fn fn, void *user);
/* Goes on behind fiber_leave. */
void fiber_resume(struct fiber *f);
/* Inside: back to whoever has begun or resumed it. */
void fiber_leave(struct fiber *f);
int fiber_is_under_way(const struct fiber *f);

#endif
