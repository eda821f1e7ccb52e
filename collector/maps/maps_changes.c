/*
 * A ring of changes, in two chains: that of its bucket of pids, newest first,
 * and that of its cell, of which each range that was mapped leads to those
 * before it, so that a process that maps code all the time, at the same places
 * or not, costs its samples little:
 *
 *	cell ─▶ newest of a range ─other▶ newest of another one ─other▶ ...
 *	              │ same                    │ same
 *	              ▼ the one before          ▼
 *
 * Chains are not mended when the ring goes round: a place that holds a younger
 * change than the one that led to it ends the walk, and in the beginning one of
 * another cell.
 */
#include "collector/maps/maps_changes.h"

#include <string.h>

#include "store/base/buf.h"

#define CELL_SHIFT 16 /* the smallest: 64 KiB */
#define CELL_MAX 63
#define CELL_HASH UINT64_C(0x9e3779b97f4a7c15)

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
	uint32_t bucket = (uint32_t)old->pid % CHANGES_BUCKETS;
	int64_t *forgot = &c->forgot_ns[bucket];

	if (--c->count[bucket] == 0)
		c->sizes[bucket] = 0;
	if (old->time_ns > *forgot)
		*forgot = old->time_ns;
}

/* Cells of 2^size bytes, as large as the change or larger: it is in this one
 * and, at most, the next. */
static unsigned
changes_size(const struct maps_change *m)
{
	uint64_t bytes = (m->end - m->start - 1) | ((1u << CELL_SHIFT) - 1);
	unsigned size = 64 - (unsigned)__builtin_clzll(bytes);

	return m->end <= m->start || size > CELL_MAX ? CELL_MAX : size;
}

static uint32_t
changes_cell(int32_t pid, unsigned size, uint64_t at)
{
	uint64_t key = (at << 6 | size) * CELL_HASH ^ (uint32_t)pid;

	return (uint32_t)(key * CELL_HASH >> 32) % CHANGES_CELLS;
}

/* How long ago the change at a place came, in changes. */
static uint64_t
changes_age(const struct maps_changes *c, uint32_t place)
{
	return (c->n + CHANGES_MAX - 1 - place) % CHANGES_MAX;
}

/* The place that `next` leads to from another one; CHANGES_MAX: there is
 * none, or a younger change has taken it. */
static uint32_t
changes_next(const struct maps_changes *c, uint32_t place, uint32_t next)
{
	return next == 0 || changes_age(c, next - 1) <= changes_age(c, place) ?
	    CHANGES_MAX : next - 1;
}

/* Where a cell's newest change is; CHANGES_MAX: it has none. */
static uint32_t
changes_first(const struct maps_changes *c, uint32_t cell)
{
	uint32_t n = c->latest[cell];

	return n == 0 || c->cell[n - 1] != cell ? CHANGES_MAX : n - 1;
}

static bool
changes_are_there(const struct maps_change *a, const struct maps_change *b)
{
	return a->pid == b->pid && a->start == b->start && a->end == b->end;
}

/* The newest of its cell, of its range: that one's last change is behind it
 * now, and no more among the ranges. */
static void
changes_chain(struct maps_changes *c, uint32_t place, uint32_t cell)
{
	uint32_t at, last = CHANGES_MAX;

	c->cell[place] = CHANGES_CELLS; /* it may have been the newest */
	at = changes_first(c, cell);
	c->same[place] = 0;
	c->other[place] = at == CHANGES_MAX ? 0 : at + 1;
	for (; at != CHANGES_MAX; last = at,
	    at = changes_next(c, at, c->other[at]))
		if (changes_are_there(&c->all[at], &c->all[place])) {
			c->same[place] = at + 1;
			*(last == CHANGES_MAX ? &c->other[place] :
			    &c->other[last]) = c->other[at];
			break;
		}
	c->cell[place] = cell;
	c->latest[cell] = place + 1;
}

void
maps_changes_round(struct maps_changes *c)
{
	c->rounds++;
}

void
maps_changes_add(struct maps_changes *c, const struct maps_change *m,
    const char *path)
{
	uint32_t place = (uint32_t)(c->n++ % CHANGES_MAX);
	uint32_t bucket = (uint32_t)m->pid % CHANGES_BUCKETS;
	unsigned size = changes_size(m);
	uint32_t *newest = &c->newest[bucket];

	if (c->n > CHANGES_MAX)
		changes_forget(c, &c->all[place]);
	c->all[place] = *m;
	c->all[place].path = changes_keep(c, path);
	c->round[place] = c->rounds;
	c->count[bucket]++;
	c->older[place] = *newest == place + 1 ? 0 : *newest;
	*newest = place + 1;
	c->sizes[bucket] |= UINT64_C(1) << size;
	changes_chain(c, place, changes_cell(m->pid, size, m->start >> size));
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

void
maps_changes_each(const struct maps_changes *c, int32_t pid,
    int64_t since_ns, maps_changes_fn *fn, void *arg)
{
	uint32_t at = c->newest[(uint32_t)pid % CHANGES_BUCKETS], next;

	if (c->count[(uint32_t)pid % CHANGES_BUCKETS] == 0)
		return; /* what was there is another's now */
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
	int32_t pid;
	uint64_t addr;
	int64_t time_ns;
	const struct maps_change *last; /* before the moment, */
	uint32_t round;                 /* and its round */
	bool later;
};

static void
changes_see(const struct maps_changes *c, struct changes_at *at,
    uint32_t place)
{
	const struct maps_change *m = &c->all[place];

	if (m->time_ns > at->time_ns) {
		at->later = true;
	} else if (at->last == NULL || m->time_ns > at->last->time_ns) {
		at->last = m;
		at->round = c->round[place];
	}
}

/* Those of a range that holds the address, up to what is older than the last
 * one for sure. */
static void
changes_look(const struct maps_changes *c, struct changes_at *at,
    uint32_t place)
{
	for (; place != CHANGES_MAX;
	    place = changes_next(c, place, c->same[place])) {
		if (at->last != NULL &&
		    (int32_t)(at->round - c->round[place]) >= 2)
			return;
		changes_see(c, at, place);
	}
}

static void
changes_look_in(const struct maps_changes *c, struct changes_at *at,
    uint32_t cell)
{
	uint32_t place = changes_first(c, cell);

	for (; place != CHANGES_MAX;
	    place = changes_next(c, place, c->other[place])) {
		const struct maps_change *m = &c->all[place];

		if (m->pid == at->pid && at->addr >= m->start &&
		    at->addr < m->end)
			changes_look(c, at, place);
	}
}

const struct maps_change *
maps_changes_at(const struct maps_changes *c, int32_t pid, uint64_t addr,
    int64_t time_ns, bool *later)
{
	struct changes_at at = {.pid = pid, .addr = addr, .time_ns = time_ns};
	uint64_t sizes = c->sizes[(uint32_t)pid % CHANGES_BUCKETS], here;
	unsigned size;

	for (; sizes != 0; sizes &= sizes - 1) {
		size = (unsigned)__builtin_ctzll(sizes);
		here = addr >> size;
		changes_look_in(c, &at, changes_cell(pid, size, here));
		if (here > 0)
			changes_look_in(c, &at, changes_cell(pid, size,
			    here - 1));
	}
	*later = at.later;
	return at.last;
}
