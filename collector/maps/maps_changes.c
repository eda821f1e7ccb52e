/*
 * A ring of changes, with a chain for each bucket of pids, newest first.
 * Chains are not mended when the ring goes round: a place that holds a
 * younger change than the one that led to it ends the walk.
 */
#include "collector/maps/maps_changes.h"

#include <string.h>

#include "store/base/buf.h"

/* Where a path is remembered, or NULL. */
static const struct changes_path *
changes_find(const struct maps_changes *c, uint64_t hash)
{
	uint32_t i;

	for (i = 0; i < CHANGES_PROBES; i++) {
		const struct changes_path *p =
		    &c->paths[(hash / 2 + i) % CHANGES_PATHS];

		if (p->hash == hash)
			return p;
	}
	return NULL;
}

/* Remembers a path, in a free place near its own or, in turn, in that of
 * another one; its hash, or 0 for one that is none or too long. */
static uint64_t
changes_keep(struct maps_changes *c, const char *path)
{
	size_t n = path != NULL ? strlen(path) : 0;
	uint64_t hash = hash64(0, path != NULL ? path : "", n) | 1;
	uint64_t at = hash / 2;
	uint32_t i;

	/* Lines are made of them: maps_told.c. */
	if (n == 0 || n >= CHANGES_PATH || strchr(path, '\n') != NULL)
		return 0;
	if (changes_find(c, hash) != NULL)
		return hash;
	for (i = 0; i < CHANGES_PROBES; i++)
		if (c->paths[(at + i) % CHANGES_PATHS].hash == 0)
			break;
	at = (at + (i < CHANGES_PROBES ? i : c->n % CHANGES_PROBES)) %
	    CHANGES_PATHS;
	c->paths[at].hash = hash;
	memcpy(c->paths[at].text, path, n + 1);
	return hash;
}

const char *
maps_changes_path(const struct maps_changes *c, const struct maps_change *m)
{
	const struct changes_path *p = m->path != 0 ?
	    changes_find(c, m->path) : NULL;

	return p != NULL ? p->text : "";
}

/* Notes that the change whose place another one takes is forgotten. */
static void
changes_forget(struct maps_changes *c, const struct maps_change *old)
{
	int64_t *forgot = &c->forgot_ns[(uint32_t)old->pid % CHANGES_BUCKETS];

	if (old->time_ns > *forgot)
		*forgot = old->time_ns;
}

void
maps_changes_add(struct maps_changes *c, const struct maps_change *m,
    const char *path)
{
	uint32_t place = (uint32_t)(c->n++ % CHANGES_MAX);
	uint32_t *newest = &c->newest[(uint32_t)m->pid % CHANGES_BUCKETS];

	if (c->n > CHANGES_MAX)
		changes_forget(c, &c->all[place]);
	c->all[place] = *m;
	c->all[place].path = changes_keep(c, path);
	c->older[place] = *newest == place + 1 ? 0 : *newest;
	*newest = place + 1;
}

/* Takes the gaps that touch this one into it; where there are too many, the
 * oldest two become one. */
void
maps_changes_lose(struct maps_changes *c, int64_t since_ns, int64_t until_ns)
{
	struct changes_gap new = {since_ns, until_ns};
	uint32_t i, n = 0;

	for (i = 0; i < c->n_gaps; i++) {
		const struct changes_gap *g = &c->gaps[i];

		if (g->until_ns < new.since_ns || g->since_ns > new.until_ns) {
			c->gaps[n++] = *g;
			continue;
		}
		if (g->since_ns < new.since_ns)
			new.since_ns = g->since_ns;
		if (g->until_ns > new.until_ns)
			new.until_ns = g->until_ns;
	}
	if (n == CHANGES_GAPS) {
		c->gaps[1].since_ns = c->gaps[0].since_ns;
		memmove(c->gaps, c->gaps + 1, --n * sizeof(c->gaps[0]));
	}
	for (i = n; i > 0 && c->gaps[i - 1].since_ns > new.since_ns; i--)
		c->gaps[i] = c->gaps[i - 1];
	c->gaps[i] = new;
	c->n_gaps = n + 1;
}

bool
maps_changes_miss(const struct maps_changes *c, int32_t pid, int64_t from_ns,
    int64_t to_ns)
{
	uint32_t i;

	for (i = 0; i < c->n_gaps; i++)
		if (c->gaps[i].since_ns < to_ns &&
		    c->gaps[i].until_ns > from_ns)
			return true;
	return c->forgot_ns[(uint32_t)pid % CHANGES_BUCKETS] > from_ns;
}

bool
maps_change_is(const struct maps_change *m, const struct mapping *map)
{
	if (map->ino != m->ino)
		return false;
	return m->ino == 0 ? map->start == m->start && map->end == m->end :
	    map->start - map->offset == m->start - m->offset;
}

/* How long ago the change at a place came, in changes. */
static uint64_t
changes_age(const struct maps_changes *c, uint32_t place)
{
	return (c->n + CHANGES_MAX - 1 - place) % CHANGES_MAX;
}

bool
maps_changes_allow(const struct maps_changes *c, int32_t pid,
    const struct mapping *map, uint64_t addr, int64_t time_ns)
{
	uint32_t at = c->newest[(uint32_t)pid % CHANGES_BUCKETS], next;
	const struct maps_change *last = NULL; /* before the moment */
	bool later = false;

	/* Code without a file comes and goes in place. */
	for (; at != 0 && map->ino != 0; at = next) {
		const struct maps_change *m = &c->all[at - 1];
		bool here = m->pid == pid && addr >= m->start &&
		    addr < m->end;

		later = later || (here && m->time_ns > time_ns);
		if (here && m->time_ns <= time_ns &&
		    (last == NULL || m->time_ns > last->time_ns))
			last = m;
		next = c->older[at - 1];
		if (next != 0 && changes_age(c, next - 1) <=
		    changes_age(c, at - 1))
			break;
	}
	return last != NULL ? maps_change_is(last, map) : !later;
}

void
maps_changes_each(const struct maps_changes *c, int32_t pid,
    int64_t since_ns, maps_changes_fn *fn, void *arg)
{
	uint32_t at = c->newest[(uint32_t)pid % CHANGES_BUCKETS], next;

	for (; at != 0; at = next) {
		const struct maps_change *m = &c->all[at - 1];

		if (m->pid == pid && m->time_ns >= since_ns && !fn(arg, m))
			return;
		next = c->older[at - 1];
		if (next != 0 && changes_age(c, next - 1) <=
		    changes_age(c, at - 1))
			return;
	}
}

struct changes_at {
	uint64_t addr;
	int64_t time_ns;
	const struct maps_change *last;
};

static bool
changes_see(void *arg, const struct maps_change *m)
{
	struct changes_at *at = arg;

	if (at->addr >= m->start && at->addr < m->end &&
	    m->time_ns <= at->time_ns &&
	    (at->last == NULL || m->time_ns > at->last->time_ns))
		at->last = m;
	return true;
}

const struct maps_change *
maps_changes_at(const struct maps_changes *c, int32_t pid, uint64_t addr,
    int64_t time_ns)
{
	struct changes_at at = {addr, time_ns, NULL};

	maps_changes_each(c, pid, INT64_MIN, changes_see, &at);
	return at.last;
}
