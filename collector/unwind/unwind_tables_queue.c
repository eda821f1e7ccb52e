/*
 * The queue of the code that waits for rows: what is asked for first.
 */
#include <string.h>
#include <unistd.h>

#include "collector/unwind/unwind_tables_private.h"

void
queue_remove(struct unwind_tables *t, uint32_t at)
{
	struct table *f = &t->tables[t->queue[at].table];

	f->met -= t->queue[at].times;
	t->n_queue--;
	memmove(t->queue + at, t->queue + at + 1,
	    (t->n_queue - at) * sizeof(t->queue[0]));
	if (--f->wants > 0 || f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
	t->n_open--;
}

static bool
want_is(const struct want *w, uint32_t table, uint32_t offset)
{
	return w->table == table && w->offset >> UNWIND_REGION_SHIFT ==
	    offset >> UNWIND_REGION_SHIFT;
}

struct want *
queue_find(struct unwind_tables *t, uint32_t table, uint32_t offset)
{
	uint32_t i;

	for (i = 0; i < t->n_queue; i++)
		if (want_is(&t->queue[i], table, offset))
			return &t->queue[i];
	return NULL;
}

bool
queue_is_asked(const struct unwind_tables *t, uint32_t table, uint32_t offset)
{
	uint32_t i;

	for (i = 0; i < t->n_asked; i++)
		if (want_is(&t->asked[i], table, offset))
			return true;
	return false;
}

/* Of two in the queue the one that goes first: that of the file that more
 * samples wait for, so that a large program's many regions do not stand behind
 * each of the small ones that come and go; then the one that was met more, then
 * the younger one, whose samples may still wait. */
static bool
queue_is_before(const struct unwind_tables *t, const struct want *a,
    const struct want *b)
{
	const struct table *x = &t->tables[a->table], *y = &t->tables[b->table];

	return x->met != y->met ? x->met > y->met : a->times >= b->times;
}

/* Room for one more: what no descriptor came for makes it, the oldest first;
 * else what would be asked last. */
void
queue_room(struct unwind_tables *t)
{
	uint32_t i, last = 0;

	if (t->n_queue < QUEUE_MAX)
		return;
	for (i = 0; i < t->n_queue; i++) {
		if (t->tables[t->queue[i].table].fd < 0) {
			queue_remove(t, i);
			return;
		}
		if (queue_is_before(t, &t->queue[last], &t->queue[i]))
			last = i;
	}
	queue_remove(t, last);
}

bool
queue_may_ask(const struct unwind_tables *t, const struct want *w,
    int64_t now_ns)
{
	const struct table *f = &t->tables[w->table];

	return now_ns >= f->retry_ns &&
	    unwind_tables_lack(t, w->table, w->offset) &&
	    (f->state != TABLE_READY || regions_have_room(t->regions, f->code,
	    w->offset, now_ns));
}

enum lane
queue_lane(const struct unwind_tables *t, const struct want *w)
{
	const struct table *f = &t->tables[w->table];

	return f->state != TABLE_READY || regions_are_new(f->code, w->offset)
	    ? LANE_NEW : LANE_AGAIN;
}

/* The entry to be asked next of those with an open file that still lack rows;
 * NONE when there is none.  While a file's code is not known, its other
 * questions wait: its first answer may be all. */
uint32_t
queue_next(struct unwind_tables *t, enum lane lane, int64_t now_ns)
{
	uint32_t i = 0, best = NONE;
	const struct table *f;

	while (i < t->n_queue) {
		const struct want *w = &t->queue[i];

		f = &t->tables[w->table];
		if (!queue_may_ask(t, w, now_ns)) {
			queue_remove(t, i);
			best = best != NONE && best > i ? best - 1 : best;
			continue;
		}
		if (f->fd >= 0 && queue_lane(t, w) == lane &&
		    (f->state != TABLE_UNKNOWN || f->asked == 0) &&
		    (best == NONE || queue_is_before(t, w, &t->queue[best])))
			best = i;
		i++;
	}
	return best;
}
