/*
 * Events lie behind each other in one buffer; a try goes through all of them,
 * when rows have come.
 */
#include "collector/engine/second.h"

#include <string.h>

#include "collector/engine/engine.h"
#include "collector/engine/resolve.h"
#include "collector/process/services.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"
#include "store/base/clock.h"

#define HELD_MAX (2u << 20)
#define WAIT_NS (500 * NS_PER_MS)

static bool
second_keep(struct second *x, const struct sample_event *e, size_t size)
{
	uint64_t n = (size + 7) & ~(size_t)7;

	if (x->held.len + n > HELD_MAX || !buf_reserve(&x->held, 8 + n)) {
		x->held.failed = false;
		return false;
	}
	buf_put(&x->held, &n, sizeof(n));
	memcpy(x->held.data + x->held.len, e, size);
	x->held.len += n;
	return true;
}

bool
second_hold(struct engine *s, const struct sample_event *e, size_t size)
{
	if (s->second.trying || (e->flags & EVENT_COPY) == 0 ||
	    s->processes == NULL || e->lacks >= e->n_user ||
	    e->lacks >= EVENT_LEAF ||
	    s->now_ns - (int64_t)e->time_ns > WAIT_NS)
		return false;
	return second_keep(&s->second, e, size);
}

static uint64_t
second_made(const struct engine *s)
{
	struct unwind_tables_stats stats;

	unwind_tables_stats(s->tables, &stats);
	return stats.regions.made;
}

/* Asks for what the second walk lacked. */
static void
second_want(struct engine *s, struct process *p, const struct sample_event *e)
{
	struct unwind_lack lack = {.table = e->table, .offset = e->offset,
	    .address = event_frame(e, e->lacks) - (e->lacks > 0)};

	if (e->table != UNWIND_NO_TABLE)
		unwind_processes_load(s->processes, p, &lack, s->now_ns);
}

/* One event; false when it is to wait. */
static bool
second_walk(struct engine *s, const struct sample_event *e, size_t size,
    bool over)
{
	static struct sample_event out;
	struct process *p = services_process(s->services, (int32_t)e->pid,
	    e->start_ns);

	over = over || s->now_ns - (int64_t)e->time_ns > WAIT_NS;
	if (p == NULL || !unwind_processes_walk(s->processes, p, e, size,
	    &out)) {
		if (over)
			resolve_event(s, e, size);
		return over;
	}
	if ((out.flags & EVENT_PENDING) != 0 && !over) {
		second_want(s, p, &out);
		return false;
	}
	resolve_event(s, &out, offsetof(struct sample_event, frames) +
	    (out.n_kernel + (size_t)out.n_user) * sizeof(out.frames[0]));
	return true;
}

void
second_try(struct engine *s, bool over)
{
	struct second *x = &s->second;
	struct buf old = x->held;
	uint64_t made, n;
	size_t at = 0;

	if (old.len == 0)
		return;
	made = second_made(s);
	memcpy(&n, old.data, sizeof(n));
	/* The first one has waited for longest. */
	if (!over && made == x->made && s->now_ns - (int64_t)((const struct
	    sample_event *)(const void *)(old.data + 8))->time_ns <= WAIT_NS)
		return;
	x->made = made;
	x->held = (struct buf){0};
	x->trying = true;
	for (; at < old.len; at += 8 + n) {
		const struct sample_event *e =
		    (const void *)(old.data + at + 8);

		memcpy(&n, old.data + at, sizeof(n));
		if (!second_walk(s, e, n, over) &&
		    !second_keep(x, e, n))
			resolve_event(s, e, n);
	}
	x->trying = false;
	buf_fini(&old);
	sampler_unwind(s->sampler)->release(sampler_unwind(s->sampler)->arg);
}

void
second_fini(struct second *x)
{
	buf_fini(&x->held);
}
