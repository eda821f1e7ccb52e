/*
 * Events lie behind each other in one buffer; a try goes through all of them,
 * when rows have come.
 */
#include "collector/engine/second.h"

#include <string.h>

#include "collector/engine/code.h"
#include "collector/engine/engine.h"
#include "collector/engine/resolve.h"
#include "collector/process/services.h"
#include "collector/unwind/unwind_copy.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"
#include "store/base/clock.h"

#define HELD_MAX (2u << 20)
#define WAIT_NS (2 * NS_PER_S)
#define AGAIN_NS (NS_PER_S / 4) /* asked again: others may have made room */
#define MAPPINGS_MAX 32 /* that one stack goes through */
#define AHEAD_MAX 64    /* regions of callers that are asked for ahead, */
#define AHEAD_WORDS 1024 /* that so much of a stack names */

/* The mappings that a walk has met so far, by address. */
struct met {
	struct maps_process *of;
	uint64_t reads;
	struct unwind_mapping mappings[MAPPINGS_MAX];
	uint32_t n;
};

/* The code whose rows a walk lacks, and when it was asked for. */
struct lacking {
	uint32_t table, offset;
	int64_t asked_ns;
};

/* Of an event that waits. */
struct held {
	uint64_t size; /* of the event, by 8 bytes */
	struct lacking lacking;
};

static bool
second_keep(struct second *x, const struct sample_event *e, size_t size,
    const struct lacking *l)
{
	struct held h = {.size = (size + 7) & ~(size_t)7, .lacking = *l};

	if (x->held.len + h.size > HELD_MAX ||
	    !buf_reserve(&x->held, sizeof(h) + h.size)) {
		x->held.failed = false;
		return false;
	}
	buf_put(&x->held, &h, sizeof(h));
	memcpy(x->held.data + x->held.len, e, size);
	x->held.len += h.size;
	return true;
}

/* Adds the mapping that holds an address; false when there is none. */
static bool
met_add(struct engine *s, struct met *m, const struct sample_event *e,
    uint64_t addr)
{
	struct maps_process *of;
	struct mapping *map;
	uint32_t i;

	if (m->n == MAPPINGS_MAX)
		return false;
	map = resolve_mapping(s, e, m->of, addr, &m->reads, &of);
	if (map == NULL || map->kind == MAPPING_SPECIAL)
		return false;
	for (i = m->n++; i > 0 && m->mappings[i - 1].start > map->start; i--)
		m->mappings[i] = m->mappings[i - 1];
	m->mappings[i] = (struct unwind_mapping){.start = map->start,
	    .bias = map->start - (map->kind == MAPPING_VDSO ? 0 :
	    map->offset), .pages = (uint32_t)((map->end - map->start) >> 12),
	    .table = code_table(s, of, map)};
	return true;
}

static bool
met_has(const struct met *m, uint64_t addr)
{
	const struct unwind_mapping *u = m->mappings;

	for (; u < m->mappings + m->n; u++)
		if (addr >= u->start &&
		    addr - u->start < (uint64_t)u->pages << 12)
			return true;
	return false;
}

/* The address in no mapping that was met at which the walk ended; 0: at another
 * end.  The error does not tell: behind a guess it is the guess's. */
static uint64_t
second_strange(const struct met *m, const struct sample_event *out,
    enum unwind_copy_end end)
{
	uint64_t addr;

	if (end == UNWIND_COPY_LACKS && out->table == UNWIND_NO_TABLE)
		return event_frame(out, out->lacks) - (out->lacks > 0);
	if (end != UNWIND_COPY_DONE || out->error == BROKEN_NOT)
		return 0;
	addr = event_frame(out, out->n_user - 1u) - (out->n_user > 1);
	return met_has(m, addr) ? 0 : addr;
}

/* Walks on as far as there are mappings and rows: each mapping is looked for
 * when the walk comes there. */
static enum unwind_copy_end
second_walk(struct engine *s, struct met *m, const struct sample_event *e,
    size_t size, struct sample_event *out)
{
	struct unwind_copy_list l = {.mappings = m->mappings,
	    .tick = unwind_tables_clock(s->tables)};
	enum unwind_copy_end end;
	uint64_t addr;

	do {
		l.n = m->n;
		end = unwind_copy_walk(s->kernel, &l, e, size, out);
		addr = second_strange(m, out, end);
	} while (addr != 0 && met_add(s, m, e, addr));
	return end;
}

/* Asks for the rows of one address, with its file. */
static void
second_ask(struct engine *s, struct maps_process *of, struct mapping *map,
    uint32_t table, uint32_t offset)
{
	if (table != UNWIND_NO_TABLE && unwind_tables_want(s->tables, table,
	    offset, s->now_ns))
		code_offer_rows(s, of, map);
}

/*
 * What looks like code on the rest of the stack is a caller's, mostly: its rows
 * are asked for at once, since one after the other would take a way there and
 * back each.
 */
static void
second_want_ahead(struct engine *s, struct met *m,
    const struct sample_event *e, size_t size)
{
	const struct event_copy *c = (const void *)&e->frames[e->n_kernel +
	    e->n_user];
	size_t n = (size_t)((const char *)e + size - (const char *)c->words) /
	    sizeof(c->words[0]), i;
	uint32_t table, asked = 0, offset;
	struct mapping *map;
	uint64_t last = 0;

	n = n < AHEAD_WORDS ? n : AHEAD_WORDS;
	if (unwind_tables_are_busy(s->tables))
		return;
	for (i = 0; i < n && asked < AHEAD_MAX; i++) {
		map = maps_list_find(maps_process_list(m->of), c->words[i]);
		if (map == NULL || map->kind != MAPPING_FILE ||
		    c->words[i] >> UNWIND_REGION_SHIFT == last)
			continue;
		last = c->words[i] >> UNWIND_REGION_SHIFT;
		table = code_table(s, m->of, map);
		offset = (uint32_t)(c->words[i] - map->start + map->offset);
		second_ask(s, m->of, map, table, offset);
		asked++;
	}
}

/* Asks for the rows that the walk lacked. */
static void
second_want(struct engine *s, struct met *m, const struct sample_event *e,
    const struct sample_event *out)
{
	uint64_t addr = event_frame(out, out->lacks) - (out->lacks > 0);
	struct maps_process *of;
	struct mapping *map;

	if (out->table == UNWIND_NO_TABLE)
		return;
	map = resolve_mapping(s, e, m->of, addr, &m->reads, &of);
	if (map != NULL)
		second_ask(s, of, map, out->table, out->offset);
}

/* False: nobody knows where its code lay; else *end. */
static bool
second_go(struct engine *s, const struct sample_event *e, size_t size,
    struct sample_event *out, enum unwind_copy_end *end)
{
	struct met m = {.of = resolve_maps(s, e)};

	m.reads = maps_reads(s->maps);
	if (m.of == NULL)
		return false;
	*end = second_walk(s, &m, e, size, out);
	if (*end != UNWIND_COPY_LACKS)
		return true;
	second_want(s, &m, e, out);
	if (!s->second.again)
		second_want_ahead(s, &m, e, size);
	return true;
}

bool
second_walk_now(struct engine *s, const struct sample_event *e, size_t size,
    struct sample_event *out)
{
	enum unwind_copy_end end;

	return second_go(s, e, size, out, &end);
}

/* One event; false when it is to wait for *l. */
static bool
second_try_one(struct engine *s, const struct sample_event *e, size_t size,
    bool over, struct lacking *l)
{
	static struct sample_event out;
	enum unwind_copy_end end;

	over = over || s->now_ns - (int64_t)e->time_ns > WAIT_NS;
	if (!second_go(s, e, size, &out, &end)) {
		resolve_event(s, e, size);
		return true;
	}
	*l = (struct lacking){out.table, out.offset, s->now_ns};
	if (end == UNWIND_COPY_LACKS && !over)
		return false;
	resolve_event(s, &out, offsetof(struct sample_event, frames) +
	    (out.n_kernel + (size_t)out.n_user) * sizeof(out.frames[0]));
	return true;
}

bool
second_take(struct engine *s, const struct sample_event *e, size_t size)
{
	struct second *x = &s->second;
	struct lacking l;
	bool done;

	if (x->trying || (e->flags & EVENT_COPY) == 0 || s->tables == NULL ||
	    e->lacks >= e->n_user || e->lacks >= EVENT_LEAF)
		return false;
	x->trying = true;
	done = second_try_one(s, e, size, false, &l);
	x->trying = false;
	return done || second_keep(x, e, size, &l);
}

/* Would another walk end where the last one did?  That of many is dear, so the
 * rows are asked for again without one, unless that takes their file. */
static bool
held_still_lacks(struct engine *s, struct lacking *l)
{
	bool soon = s->now_ns - l->asked_ns < AGAIN_NS;

	if (l->table == UNWIND_NO_TABLE || l->table == UNWIND_NO_ROOM)
		return soon;
	if (!unwind_tables_lack(s->tables, l->table, l->offset))
		return false;
	if (soon)
		return true;
	l->asked_ns = s->now_ns;
	return !unwind_tables_want(s->tables, l->table, l->offset, s->now_ns);
}

/* Moves one up to `to`, as *h says now. */
static void
held_move(struct buf *b, size_t to, size_t at, const struct held *h)
{
	if (to != at)
		memmove(b->data + to, b->data + at, sizeof(*h) + h->size);
	memcpy(b->data + to, h, sizeof(*h));
}

/* All that wait, in their order; those that go on waiting close up.  The room
 * stays until the slot's end: there are more in a moment. */
static void
second_try_all(struct engine *s, bool over)
{
	struct buf *b = &s->second.held;
	size_t at, kept = 0, n;
	struct held h;

	for (at = 0; at < b->len; at += n) {
		const struct sample_event *e = (const void *)(b->data + at +
		    sizeof(h));

		memcpy(&h, b->data + at, sizeof(h));
		n = sizeof(h) + h.size;
		if (!over && s->now_ns - (int64_t)e->time_ns <= WAIT_NS &&
		    held_still_lacks(s, &h.lacking)) {
			held_move(b, kept, at, &h);
			kept += n;
			continue;
		}
		s->second.again = unwind_tables_lack(s->tables,
		    h.lacking.table, h.lacking.offset);
		if (!second_try_one(s, e, h.size, over, &h.lacking)) {
			held_move(b, kept, at, &h);
			kept += n;
		}
	}
	s->second.again = false;
	b->len = kept;
	if (kept == 0 && over)
		buf_fini(b);
}

void
second_try(struct engine *s, bool over)
{
	struct second *x = &s->second;

	if (s->kernel == NULL) /* by frame pointers: nothing waits */
		return;
	s->kernel->release(s->kernel->arg);
	if (x->held.len == 0 && !over)
		return;
	x->trying = true;
	second_try_all(s, over);
	x->trying = false;
	s->kernel->release(s->kernel->arg);
}

void
second_fini(struct second *x)
{
	buf_fini(&x->held);
}
