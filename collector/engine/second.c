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
#define MAPPINGS_MAX 32 /* that one stack goes through */
#define AHEAD_MAX 64    /* regions of callers that are asked for ahead */

/* The mappings that a walk has met so far, by address. */
struct met {
	struct maps_process *of;
	uint64_t reads;
	struct unwind_mapping mappings[MAPPINGS_MAX];
	uint32_t n;
};

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

static uint64_t
second_made(const struct engine *s)
{
	struct unwind_tables_stats stats;

	unwind_tables_stats(s->tables, &stats);
	return stats.regions.made;
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

/* The address in no mapping at which the walk ended; 0: at another end. */
static uint64_t
second_strange(const struct sample_event *out, enum unwind_copy_end end)
{
	if (end == UNWIND_COPY_LACKS && out->table == UNWIND_NO_TABLE)
		return event_frame(out, out->lacks) - (out->lacks > 0);
	if (end == UNWIND_COPY_DONE && out->error == BROKEN_NO_MAPPING)
		return event_frame(out, out->n_user - 1u) - 1;
	return 0;
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
		addr = second_strange(out, end);
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

/* One event; false when it is to wait. */
static bool
second_try_one(struct engine *s, const struct sample_event *e, size_t size,
    bool over)
{
	static struct sample_event out;
	enum unwind_copy_end end;

	over = over || s->now_ns - (int64_t)e->time_ns > WAIT_NS;
	if (!second_go(s, e, size, &out, &end)) {
		resolve_event(s, e, size);
		return true;
	}
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
	bool done;

	if (x->trying || (e->flags & EVENT_COPY) == 0 || s->tables == NULL ||
	    e->lacks >= e->n_user || e->lacks >= EVENT_LEAF)
		return false;
	x->trying = true;
	done = second_try_one(s, e, size, false);
	x->trying = false;
	return done || second_keep(x, e, size);
}

void
second_try(struct engine *s, bool over)
{
	struct second *x = &s->second;
	struct buf old = x->held;
	uint64_t made, n;
	size_t at = 0;

	if (s->kernel == NULL) /* by frame pointers: nothing waits */
		return;
	s->kernel->release(s->kernel->arg);
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
		if (!second_try_one(s, e, n, over) &&
		    !second_keep(x, e, n))
			resolve_event(s, e, n);
	}
	x->trying = false;
	buf_fini(&old);
	s->kernel->release(s->kernel->arg);
}

void
second_fini(struct second *x)
{
	buf_fini(&x->held);
}
