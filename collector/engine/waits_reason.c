/*
 * Reasons of waits, mended by the frames of their stacks: the system call
 * alone (bpf/wait_reason.h) does not always tell.
 *
 *	futex         a mutex that waits with a time limit, Rust's, semaphores
 *	              and reader/writer locks use the operation of a condition;
 *	              some conditions that of a lock: by the function of the
 *	              table of locks (symbols/locks_names.h) next to the leaf;
 *	              a semaphore for work is a condition
 *	open          a FIFO's waits for its other side: by the kernel's frames
 *	poll          a backend of PostgreSQL waits for a row's lock, or a
 *	condition     table's, until its latch is set; InnoDB for a condition
 *
 * What has no stack stays what the system call says.
 */
#include <string.h>

#include "collector/engine/engine.h"
#include "collector/engine/resolve.h"
#include "collector/engine/thread_time.h"
#include "collector/engine/waits.h"
#include "collector/symbols/locks_names.h"

#define LOOK_FRAMES 8 /* from the leaf on, of the kernel and of the user */

/* Functions, of the kernel and of programs, that say more than the call. */
static const struct {
	const char *function;
	enum wait_state from, to;
} reason_frames[] = {
    {"wait_for_partner", WAIT_DISK, WAIT_PIPE},
    {"fifo_open", WAIT_DISK, WAIT_PIPE},
};

static enum wait_state
reason_of_function(const char *function, enum wait_state reason)
{
	size_t i, n = sizeof(reason_frames) / sizeof(reason_frames[0]);

	for (i = 0; i < n; i++)
		if (reason_frames[i].from == reason &&
		    strcmp(reason_frames[i].function, function) == 0)
			return reason_frames[i].to;
	return reason;
}

/* Of a futex. */
static enum wait_state
reason_of_lock(const char *function, enum wait_state reason)
{
	switch (locks_kind_of(function)) {
	case LOCK_MUTEX:
	case LOCK_READER:
	case LOCK_WRITER:
	case LOCK_SEMAPHORE:
	case LOCK_DATABASE:
		return WAIT_LOCK;
	case LOCK_CONDITION:
	case LOCK_TIMED:
	case LOCK_WORK:
		return WAIT_CONDITION;
	default:
		return reason;
	}
}

/* What a frame says of a wait for a futex, or for a latch, of which those
 * nearer to the leaf have said `reason`. */
static enum wait_state
reason_of_frame(const struct frame *f, enum wait_state reason, bool *futex)
{
	enum lock_kind kind = f->kind == FRAME_NATIVE ?
	    locks_kind_of(f->name) : LOCK_NONE;

	if (kind == LOCK_DATABASE && (reason == WAIT_POLL ||
	    reason == WAIT_CONDITION))
		return WAIT_LOCK;
	if (kind == LOCK_WORK && reason == WAIT_LOCK)
		return WAIT_CONDITION;
	if (!*futex || kind == LOCK_NONE)
		return reason;
	*futex = false;
	return reason_of_lock(f->name, reason);
}

static enum wait_state
reason_of_stack(struct engine *s, const struct aggregate_stack *stack,
    enum wait_state reason)
{
	bool futex = reason == WAIT_LOCK || reason == WAIT_CONDITION;
	uint32_t i = stack->n, looked = 0;
	enum wait_state of;
	struct frame f;

	for (; i > 0 && looked < LOOK_FRAMES; i--) {
		f = symbols_get(s->symbols,
		    symbols_final(s->symbols, stack->frames[i - 1]));
		looked += f.kind != FRAME_KERNEL;
		if (f.kind != FRAME_KERNEL && f.kind != FRAME_NATIVE)
			continue;
		reason = reason_of_frame(&f, reason, &futex);
		of = reason_of_function(f.name, reason);
		if (of != reason)
			return of;
	}
	return reason;
}

/* Those that frames may mend; else WAIT_STATES. */
static enum wait_state
reason_of_group(const struct aggregate_group *g)
{
	static const enum wait_state doubtful[] = {WAIT_LOCK, WAIT_CONDITION,
	    WAIT_DISK, WAIT_POLL};

	for (size_t i = 0; i < sizeof(doubtful) / sizeof(doubtful[0]); i++)
		if (strcmp(g->reason, resolve_state_name(doubtful[i])) == 0)
			return doubtful[i];
	return WAIT_STATES;
}

static void
reason_mend(struct engine *s, size_t i, uint8_t type)
{
	struct aggregate_stack stack = aggregate_get_stack(s->aggregate, i);
	struct aggregate_group g = aggregate_get_group(s->aggregate,
	    stack.group);
	enum wait_state reason, of;

	if (g.type != type ||
	    (reason = reason_of_group(&g)) == WAIT_STATES)
		return;
	of = reason_of_stack(s, &stack, reason);
	if (of == reason || !aggregate_set_reason(s->aggregate, i,
	    resolve_state_name(of)))
		return;
	g = aggregate_get_group(s->aggregate, stack.group);
	thread_time_move(waits_time(s->waits), g.service, reason, of,
	    stack.value);
}

void
waits_mend_reasons(struct engine *s, uint8_t type)
{
	size_t i, n = aggregate_stacks(s->aggregate);

	for (i = 0; i < n; i++)
		reason_mend(s, i, type);
}
