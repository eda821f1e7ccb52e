/*
 * What was mapped at a moment: by the list as it was read, and by the changes
 * that the kernel has told of.
 */
#include <stdlib.h>

#include "collector/maps/maps_private.h"
#include "collector/maps/maps_told.h"
#include "store/base/clock.h"

#define THEN_MAX 64 /* files of a process that have gone again */
#define MOMENT_NS (2 * NS_PER_S) /* before a sample */

static struct mapping *
then_find(const struct maps_list *l, const struct maps_change *c)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->mappings[i].start == c->start &&
		    l->mappings[i].end == c->end &&
		    l->mappings[i].offset == c->offset &&
		    l->mappings[i].ino == c->ino)
			return &l->mappings[i];
	return NULL;
}

/* Makes the list anew of its last mappings and this one. */
static struct mapping *
then_add(struct maps *m, struct maps_process *p, const struct maps_change *c)
{
	struct maps_list *l = &p->list, new = {0};
	size_t i;

	buf_clear(&m->text);
	for (i = l->n < THEN_MAX ? 0 : l->n - THEN_MAX / 2; i < l->n; i++) {
		const struct mapping *o = &l->mappings[i];

		maps_tell(&m->text, &(struct maps_change){.start = o->start,
		    .end = o->end, .offset = o->offset, .dev = o->dev,
		    .ino = o->ino}, maps_name(l, o));
	}
	maps_tell(&m->text, c, maps_changes_path(&m->changes, c));
	if (m->text.failed || maps_parse_any((char *)m->text.data,
	    m->text.len, &new) != NULL || new.n == 0) {
		maps_list_fini(&new);
		return NULL;
	}
	maps_list_fini(l);
	*l = new;
	maps_find_foreign(m, p);
	return &l->mappings[l->n - 1];
}

struct mapping *
maps_then(struct maps *m, struct maps_process *p, uint64_t addr,
    int64_t time_ns, struct maps_process **then)
{
	bool later;
	const struct maps_change *c = maps_changes_at(&m->changes, p->pid,
	    addr, time_ns, &later);
	struct mapping *map;

	if (c == NULL || c->ino == 0 ||
	    maps_changes_path(&m->changes, c)[0] != '/' ||
	    maps_changes_miss(&m->changes, p->pid, c->time_ns, time_ns))
		return NULL;
	if (p->then == NULL)
		p->then = calloc(1, sizeof(*p->then));
	if (p->then == NULL)
		return NULL;
	p->then->pid = p->pid;
	p->then->reader = p->reader;
	*then = p->then;
	map = then_find(&p->then->list, c);
	return map != NULL ? map : then_add(m, p->then, c);
}

/* The last moment up to that one at which the mapping was there for sure, as
 * a list or the last change says; INT64_MIN: there is none. */
static int64_t
maps_known_since(const struct maps_process *p, const struct mapping *map,
    const struct maps_change *c, int64_t time_ns)
{
	int64_t told_ns = c != NULL ? c->time_ns : INT64_MIN;
	int64_t seen_ns = map->seen_ns > time_ns ? INT64_MIN :
	    p->list_ns > time_ns ? map->seen_ns : p->list_ns;

	return told_ns > seen_ns ? told_ns : seen_ns;
}

bool
maps_held(const struct maps *m, const struct maps_process *p,
    const struct mapping *map, uint64_t addr, int64_t time_ns)
{
	const struct maps_change *last;
	int64_t known_ns;
	bool later;

	if (map->ino == 0)
		return true; /* it comes and goes in place */
	last = maps_changes_at(&m->changes, p->pid, addr, time_ns, &later);
	if (last != NULL ? !maps_change_is(last, map) : later)
		return false;
	known_ns = maps_known_since(p, map, last, time_ns);
	/* A list that was read later says nothing where what changed since
	 * then is not known. */
	if (known_ns == INT64_MIN)
		return !maps_changes_miss(&m->changes, p->pid, time_ns,
		    map->seen_ns);
	return addr < p->turns || addr >= p->turns_end ||
	    !maps_changes_miss(&m->changes, p->pid, known_ns, time_ns);
}

int64_t
maps_replaced(const struct maps *m, const struct maps_process *p,
    uint64_t addr, int64_t time_ns)
{
	bool later;
	const struct maps_change *before, *now = maps_changes_at(&m->changes,
	    p->pid, addr, time_ns, &later);

	if (now == NULL || time_ns - now->time_ns > MOMENT_NS)
		return 0;
	before = maps_changes_at(&m->changes, p->pid, addr, now->time_ns - 1,
	    &later);
	return before == NULL || (before->ino == now->ino &&
	    before->dev == now->dev && before->start - before->offset ==
	    now->start - now->offset) ? 0 : before->time_ns;
}
