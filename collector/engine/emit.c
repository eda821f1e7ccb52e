/*
 * One flow series for each type, service and period; every service that lives
 * is observed, so that nothing ran is not the same as no data.
 */
#include "collector/engine/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/alloc/alloc.h"
#include "collector/engine/engine.h"
#include "collector/engine/service_faults.h"
#include "collector/objects/objects.h"
#include "collector/process/services.h"
#include "collector/process/thread_entry.h"
#include "collector/process/thread_pool.h"
#include "store/base/clock.h"
#include "store/base/text.h"
#include "store/batch/batch.h"
#include "store/model/types.h"

#define SET_SLOTS 2048 /* > 4 * (SERVICES_MAX + 1) */

/* The series of a type's services in the slot, by name. */
struct service_set {
	const struct type *type;
	struct batch *batch;
	uint64_t slot;
	uint64_t period; /* of the present rate */
	int64_t seen_ns; /* of the slot */
	size_t n[2];        /* services of this period, and of others */
	struct {
		const char *name; /* NULL: free */
		uint64_t period;
		uint32_t series;
	} slots[SET_SLOTS];
};

static uint32_t
emit_series(const struct service_set *t, const char *service,
    uint64_t period)
{
	struct label label = {.name = "service", .value = service};
	struct series_desc d = {.kind = t->type->kind,
	    .name = t->type->name, .unit = t->type->unit, .labels = &label,
	    .n_labels = 1, .period = (int64_t)period};

	return batch_series(t->batch, &d);
}

/* A stock that is observed at the end of a slot of which we have seen a part
 * weighs less than others. */
static void
emit_seen(const struct service_set *t, const char *service)
{
	struct fact_seen f = {t->seen_ns, fact_part_of(t->type->name)};
	struct buf text = {0};

	if (t->type->kind != SERIES_STOCK ||
	    t->seen_ns >= (int64_t)t->batch->slot_ns)
		return;
	fact_put_seen(&text, &f);
	if (text.failed)
		t->batch->failed = true;
	else
		batch_add_fact(t->batch, (int64_t)(t->slot *
		    t->batch->slot_ns), FACT_SEEN, service, text.data,
		    text.len);
	buf_fini(&text);
}

/* The series of a service; *other: it was one too many, and this is
 * "(other services)".  `name` must live as long as the set.  A slot in which
 * the rate changed has series of two periods, hardly ever of more. */
static uint32_t
service_set_get(struct service_set *t, const char *name, uint64_t period,
    bool *other)
{
	size_t i = hash64(0, name, strlen(name)) % SET_SLOTS;
	bool old = period != t->period;

	*other = false;
	for (; t->slots[i].name != NULL; i = (i + 1) % SET_SLOTS)
		if (t->slots[i].period == period &&
		    strcmp(t->slots[i].name, name) == 0)
			return t->slots[i].series;
	if (t->n[old] >= SERVICES_MAX && strcmp(name, SERVICES_OTHER) != 0) {
		uint32_t series = service_set_get(t, SERVICES_OTHER,
		    period, other);

		*other = true;
		return series;
	}
	emit_seen(t, name);
	t->n[old]++;
	t->slots[i].name = name;
	t->slots[i].period = period;
	t->slots[i].series = emit_series(t, name, period);
	/* "Sampled, and nothing ran" is a block without entries. */
	batch_observe(t->batch, t->slots[i].series, t->slot, 1);
	return t->slots[i].series;
}

static void
emit_observe_process(void *arg, struct process *p)
{
	struct service_set *t = arg;
	bool other;

	service_set_get(t, p->read->service, t->period, &other);
}

/* The label set of a group as the first edge of the call tree. */
static uint32_t
emit_labels_node(struct batch *b, const struct aggregate_group *g)
{
	const struct label all[] = {{"cgroup", g->cgroup},
	    {"instance", g->instance}, {"pool", g->pool},
	    {"process", g->process}, {"reason", g->reason}};
	struct label some[sizeof(all) / sizeof(all[0])];
	size_t i, n = 0;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].value != NULL && all[i].value[0] != '\0')
			some[n++] = all[i];
	return batch_node(b, 0, batch_labels(b, some, n));
}

/* Group number -> where its stacks go. */
struct group_place {
	uint32_t series, node;
	const char *service; /* its own name, or "(other services)" */
	uint8_t type;
	bool other, by_entry;
	bool lock;       /* a lock is behind the frames */
	uint32_t counts; /* the series of how many waits; or AGGREGATE_NONE */
	uint32_t objects, brief; /* of what is allocated: the series of how
	                          * many, and of what was short-lived */
};

/* A group of waits for locks has a second series: how many. */
static void
emit_place_lock(const struct engine *s, struct service_set *sets,
    const struct aggregate_group *g, struct group_place *place)
{
	struct service_set *counts;
	bool time = s->locks != NULL &&
	    g->type == locks_type(s->locks, LOCK_TIME), other;

	place->lock = time || (s->locks != NULL &&
	    g->type == locks_type(s->locks, LOCK_HOLDER));
	place->counts = AGGREGATE_NONE;
	if (!time)
		return;
	counts = &sets[locks_type(s->locks, LOCK_COUNT)];
	place->counts = service_set_get(counts, g->service, counts->period,
	    &other);
}

/* A group of what is allocated has two more. */
static void
emit_place_allocs(const struct engine *s, struct service_set *sets,
    const struct aggregate_group *g, struct group_place *place)
{
	const uint8_t *of = s->allocs.types;
	bool other;

	place->objects = AGGREGATE_NONE;
	if (s->allocs.objects == NULL || g->type != of[ALLOCS_SPACE])
		return;
	place->objects = service_set_get(&sets[of[ALLOCS_OBJECTS]],
	    g->service, 1, &other);
	place->brief = service_set_get(&sets[of[ALLOCS_SHORT]], g->service,
	    1, &other);
}

static struct group_place *
emit_place_groups(struct engine *s, struct service_set *sets)
{
	size_t i, n = aggregate_groups(s->aggregate);
	struct group_place *places = calloc(n + 1, sizeof(*places));

	for (i = 0; i < n && places != NULL; i++) {
		struct aggregate_group g =
		    aggregate_get_group(s->aggregate, i);
		struct service_set *t = &sets[g.type];

		places[i].series = service_set_get(t, g.service,
		    g.period != 0 ? g.period : t->period,
		    &places[i].other);
		places[i].service = places[i].other ? SERVICES_OTHER :
		    g.service;
		places[i].node = emit_labels_node(t->batch, &g);
		places[i].type = g.type;
		places[i].by_entry = g.by_entry;
		emit_place_lock(s, sets, &g, &places[i]);
		emit_place_allocs(s, sets, &g, &places[i]);
	}
	return places;
}

/* Reference -> frame of the batch, each asked for once. */
struct frame_cache {
	uint32_t *numbers; /* frame + 1, 0: not yet */
	uint8_t *nameless;
	size_t n;
};

static bool
frame_is_nameless(const struct frame *f)
{
	return f->kind == FRAME_ADDRESS ||
	    (f->kind == FRAME_KERNEL && strcmp(f->name, "[kernel]") == 0);
}

static uint32_t
emit_frame(struct engine *s, struct batch *b, struct frame_cache *c,
    uint32_t ref, bool *nameless)
{
	struct frame f;
	uint32_t number;

	if (ref < c->n && c->numbers[ref] != 0) {
		*nameless = c->nameless[ref];
		return c->numbers[ref] - 1;
	}
	f = symbols_get(s->symbols, ref);
	*nameless = frame_is_nameless(&f);
	number = batch_frame(b, &f);
	if (ref < c->n) {
		c->numbers[ref] = number + 1;
		c->nameless[ref] = *nameless;
	}
	return number;
}

/* The pool of a thread without a name of its own is the function that it
 * began with; false: that is not known. */
static bool
emit_entry_pool(struct engine *s, const struct aggregate_stack *stack,
    char *pool)
{
	enum thread_pool_frame what = THREAD_POOL_RUNTIME;
	struct frame f;
	uint32_t n;

	for (n = 0; n < stack->n && what == THREAD_POOL_RUNTIME; n++) {
		if (!symbols_is_settled(s->symbols, stack->frames[n]))
			return false;
		f = symbols_get(s->symbols,
		    symbols_final(s->symbols, stack->frames[n]));
		what = thread_pool_judge(&f, pool);
	}
	return what == THREAD_POOL_ENTRY;
}

static bool
emit_entry_of(void *arg, uint32_t stack, char *pool)
{
	struct engine *s = arg;
	struct aggregate_stack of = aggregate_get_stack(s->aggregate, stack);
	struct frame root;

	if (of.n == 0 || !symbols_is_settled(s->symbols, of.frames[0]))
		return false;
	/* On any of its threads Go runs now this goroutine and now that. */
	root = symbols_get(s->symbols, symbols_final(s->symbols,
	    of.frames[0]));
	return strncmp(root.name, "runtime.", 8) != 0 &&
	    emit_entry_pool(s, &of, pool);
}

void
emit_entries(struct engine *s)
{
	thread_entries_settle(s->entries, emit_entry_of, s);
}

static uint32_t
emit_entry_node(struct engine *s, struct batch *b,
    const struct group_place *place, const struct aggregate_stack *stack)
{
	struct aggregate_group g;
	char pool[THREAD_POOL_NAME_MAX];

	if (!emit_entry_pool(s, stack, pool))
		return place->node;
	g = aggregate_get_group(s->aggregate, stack->group);
	g.pool = pool;
	return emit_labels_node(b, &g);
}

/* Why a stack is not whole: what the mark next to its root says. */
static enum broken
emit_broken(const struct engine *s, const struct aggregate_stack *stack)
{
	enum broken why = BROKEN_NOT;
	struct frame f;
	uint32_t n;

	for (n = 0; n < stack->n && why == BROKEN_NOT; n++) {
		if ((stack->frames[n] & SYMBOLS_UNRESOLVED) != 0)
			continue;
		f = symbols_get(s->symbols, stack->frames[n]);
		if (f.kind == FRAME_MARK)
			why = broken_of_mark(f.name);
	}
	return why;
}

static void
emit_count_stack(struct engine *s, const struct group_place *place,
    const struct aggregate_stack *stack)
{
	struct service_counts *c = service_faults_of(
	    s->profiles[place->type].faults, place->service);
	enum broken why = emit_broken(s, stack);

	c->samples += stack->samples;
	if (why != BROKEN_NOT)
		c->broken[why] += stack->samples;
}

/* The frames of a stack below its label set; returns the leaf's node. */
static uint32_t
emit_frames(struct engine *s, struct batch *b, struct frame_cache *c,
    const struct aggregate_stack *stack, uint32_t node, uint64_t *unnamed)
{
	uint32_t refs[SYMBOLS_EXPAND_MAX], frame, n;
	size_t k, expanded;
	bool nameless;

	for (n = 0; n < stack->n; n++) {
		expanded = symbols_expand(s->symbols, stack->frames[n], refs);
		for (k = 0; k < expanded; k++) {
			frame = emit_frame(s, b, c, refs[k], &nameless);
			node = batch_node(b, node, frame);
			*unnamed += nameless ? stack->samples : 0;
		}
	}
	return node;
}

static void
emit_account(struct engine *s, const struct group_place *place,
    const struct aggregate_stack *stack, uint64_t unnamed)
{
	struct account_profile *now = &s->profiles[place->type].now;

	emit_count_stack(s, place, stack);
	now->unsymbolised += unnamed;
	now->frames += stack->n * stack->samples;
	now->other_services += place->other ? stack->samples : 0;
}

/* The label set says what kind of lock it is, the leaf which one. */
static void
emit_lock_stack(struct engine *s, struct batch *b, uint64_t slot,
    const struct group_place *place, struct frame_cache *c,
    const struct aggregate_stack *stack)
{
	struct aggregate_group g = aggregate_get_group(s->aggregate,
	    stack->group);
	struct aggregate_stack code = *stack;
	char pool[THREAD_POOL_NAME_MAX];
	struct locks_told told;
	uint64_t unnamed = 0;
	uint32_t node;

	if (!locks_tell(s, stack, place->counts == AGGREGATE_NONE, &told))
		return;
	code.n = told.n;
	g.reason = told.reason;
	if (place->by_entry && emit_entry_pool(s, &code, pool))
		g.pool = pool;
	node = emit_frames(s, b, c, &code, emit_labels_node(b, &g), &unnamed);
	node = batch_node(b, node, batch_frame(b, &(struct frame){
	    .kind = FRAME_MARK, .name = told.leaf, .module = "",
	    .build_id = ""}));
	emit_account(s, place, &code, unnamed);
	if (stack->value != 0)
		batch_add_profile(b, place->series, slot, node, stack->value);
	if (place->counts != AGGREGATE_NONE && stack->samples != 0)
		batch_add_profile(b, place->counts, slot, node,
		    (int64_t)stack->samples);
}

/* The names of a stack whose objects go on. */
static void
emit_keep(struct engine *s, const struct group_place *place,
    const struct aggregate_stack *stack, uint32_t number)
{
	struct aggregate_group g = aggregate_get_group(s->aggregate,
	    stack->group);
	uint32_t refs[SYMBOLS_EXPAND_MAX], n;
	char pool[THREAD_POOL_NAME_MAX];
	struct frame f;
	size_t k, expanded;

	if (place->by_entry && emit_entry_pool(s, stack, pool))
		g.pool = pool;
	objects_keep(s->allocs.objects, number, g.pool);
	for (n = 0; n < stack->n; n++) {
		expanded = symbols_expand(s->symbols, stack->frames[n], refs);
		for (k = 0; k < expanded; k++) {
			f = symbols_get(s->symbols, refs[k]);
			objects_keep_frame(s->allocs.objects, number, &f);
		}
	}
}

/* What a stack has allocated besides bytes. */
static void
emit_objects(struct engine *s, struct batch *b, uint64_t slot,
    const struct group_place *place, const struct aggregate_stack *stack,
    uint32_t number, uint32_t node)
{
	struct objects_slot sum = objects_slot(s->allocs.objects, number);

	if (sum.objects != 0)
		batch_add_profile(b, place->objects, slot, node,
		    objects_drawn(sum.objects, slot << 32 | number));
	if (sum.short_bytes != 0)
		batch_add_profile(b, place->brief, slot, node,
		    sum.short_bytes);
	if (sum.live > 0)
		emit_keep(s, place, stack, number);
}

static void
emit_stack(struct engine *s, struct batch *b, uint64_t slot,
    const struct group_place *place, struct frame_cache *c,
    const struct aggregate_stack *stack, uint32_t number)
{
	uint32_t node = place->node;
	uint64_t unnamed = 0;

	if (place->lock) {
		emit_lock_stack(s, b, slot, place, c, stack);
		return;
	}
	if (place->by_entry)
		node = emit_entry_node(s, b, place, stack);
	node = emit_frames(s, b, c, stack, node, &unnamed);
	emit_account(s, place, stack, unnamed);
	batch_add_profile(b, place->series, slot, node, stack->value);
	if (place->objects != AGGREGATE_NONE)
		emit_objects(s, b, slot, place, stack, number, node);
}

/* All stacks of the aggregate, once it is known where each group's go. */
static void
emit_stacks(struct engine *s, struct batch *b, uint64_t slot,
    const struct group_place *places)
{
	size_t i, n = aggregate_stacks(s->aggregate);
	struct aggregate_stack stack;
	struct frame_cache c = {0};
	struct symbols_stats stats;

	symbols_stats(s->symbols, &stats);
	c.numbers = calloc(stats.frames, sizeof(*c.numbers));
	c.nameless = calloc(stats.frames, sizeof(*c.nameless));
	c.n = stats.frames;
	b->failed = b->failed || c.numbers == NULL || c.nameless == NULL;
	for (i = 0; i < n && s->locks != NULL; i++) {
		stack = aggregate_get_stack(s->aggregate, i);
		if (places[stack.group].type == locks_type(s->locks,
		    LOCK_TIME))
			locks_judge(s, &stack);
	}
	for (i = 0; i < n && !b->failed; i++) {
		stack = aggregate_get_stack(s->aggregate, i);
		emit_stack(s, b, slot, &places[stack.group], &c, &stack,
		    (uint32_t)i);
	}
	free(c.numbers);
	free(c.nameless);
}

/* One kept stack: its bytes and its objects. */
static void
emit_kept(const struct engine *s, struct service_set *sets, size_t i)
{
	const struct objects *o = s->allocs.objects;
	struct objects_kept k = objects_kept_get(o, i);
	const uint8_t *of = s->allocs.types;
	struct service_set *space = &sets[of[ALLOCS_IN_USE]];
	char process[sizeof(k.p->read->comm)];
	struct aggregate_group g;
	uint32_t node, series, n;
	bool other;

	if (k.p == NULL)
		return;
	snprintf(process, sizeof(process), "%s", k.p->read->comm);
	text_clean(process);
	g = (struct aggregate_group){.cgroup = k.p->read->cgroup,
	    .instance = k.p->read->instance,
	    .pool = k.pool, .process = process, .reason = ""};
	node = emit_labels_node(space->batch, &g);
	for (n = 0; n < k.n; n++) {
		struct frame f = objects_kept_frame(o, i, n);

		node = batch_node(space->batch, node,
		    batch_frame(space->batch, &f));
	}
	series = service_set_get(space, k.p->read->service, 1, &other);
	batch_add_profile(space->batch, series, space->slot, node,
	    k.sum.bytes);
	series = service_set_get(&sets[of[ALLOCS_IN_USE_OBJECTS]],
	    k.p->read->service, 1, &other);
	batch_add_profile(space->batch, series, space->slot, node,
	    objects_drawn(k.sum.objects, i));
}

/* How seldom the library has sampled, at most, a service that has it. */
static void
emit_sampling(const struct service_set *t, const char *service, int64_t mean)
{
	struct label label = {"service", service};
	struct series_desc d = {.kind = SERIES_GAUGE, .name = TYPES_SAMPLING,
	    .unit = "bytes", .labels = &label, .n_labels = 1};

	batch_add_gauge(t->batch, batch_series(t->batch, &d), t->slot,
	    (int64_t)((t->slot + 1) * t->batch->slot_ns) - 1, mean);
}

/* How many processes of a part of a service have the library, or have not, and
 * what is resident in them. */
static void
emit_part(const struct service_set *t, const struct observed_part *x,
    bool has)
{
	struct label labels[] = {{"instance", x->instance},
	    {"library", has ? "yes" : "no"}, {"service", x->service}};
	bool named = x->instance[0] != '\0';
	struct series_desc d = {.kind = SERIES_GAUGE,
	    .name = TYPES_LIBRARY_PROCESSES, .unit = "",
	    .labels = labels + !named, .n_labels = 2 + named};
	int64_t at_ns = (int64_t)((t->slot + 1) * t->batch->slot_ns) - 1;

	batch_add_gauge(t->batch, batch_series(t->batch, &d), t->slot, at_ns,
	    x->processes[has]);
	d.name = TYPES_LIBRARY_RESIDENT;
	d.unit = "bytes";
	batch_add_gauge(t->batch, batch_series(t->batch, &d), t->slot, at_ns,
	    x->bytes[has]);
}

static void
emit_observed(const struct engine *s, const struct service_set *t)
{
	const struct observed *o = &s->allocs.observed;

	for (size_t i = 0; i < o->n; i++) {
		const struct observed_part *x = &o->parts[i];
		int64_t mean = observed_mean(o, x->service);

		emit_part(t, x, false);
		emit_part(t, x, true);
		if (mean > 0)
			emit_sampling(t, x->service, mean);
	}
}

/* What is in use, once the slot's objects have settled. */
static void
emit_in_use(struct engine *s, struct service_set *sets)
{
	size_t i;

	if (s->allocs.objects == NULL)
		return;
	allocs_settle(s);
	for (i = 0; i < objects_kept_count(s->allocs.objects); i++)
		emit_kept(s, sets, i);
	emit_observed(s, &sets[s->allocs.types[ALLOCS_IN_USE]]);
}

/* For how long we have been there in a slot: from its start, or ours, to its
 * end, or to now, where we are about to go. */
static int64_t
emit_seen_ns(const struct engine *s, uint64_t slot)
{
	int64_t end_ns = (int64_t)(slot + 1) * s->border.slot_ns -
	    s->border.wall_offset_ns;
	int64_t from_ns = end_ns - s->border.slot_ns;

	if (s->began_ns > from_ns)
		from_ns = s->began_ns;
	if (s->now_ns < end_ns)
		end_ns = s->now_ns;
	/* else the clock was set: nobody knows */
	return end_ns > from_ns ? end_ns - from_ns : s->border.slot_ns;
}

/* An empty set of services of each type; NULL when out of memory. */
static struct service_set *
emit_sets(struct engine *s, uint64_t slot, struct batch *b)
{
	struct service_set *sets = calloc(s->n_profiles, sizeof(*sets));
	size_t i;

	for (i = 0; i < s->n_profiles && sets != NULL; i++) {
		const struct engine_profile *p = &s->profiles[i];

		sets[i].type = p->type;
		sets[i].batch = b;
		sets[i].slot = slot;
		sets[i].seen_ns = emit_seen_ns(s, slot);
		sets[i].period = (uint64_t)pace_period(s, p);
	}
	return sets;
}

/* Who is sampled: all, or of memory those who have the library. */
static void
emit_observe(struct engine *s, struct service_set *sets, size_t i)
{
	const struct engine_profile *p = &s->profiles[i];

	if (p->row == NULL || p->state == SOURCE_NOT_ATTACHED)
		return;
	if (allocs_has_type(s, i))
		objects_holders(s->allocs.objects, emit_observe_process,
		    &sets[i]);
	else
		services_each(s->services, emit_observe_process, &sets[i]);
}

void
emit_profiles(struct engine *s, uint64_t slot, struct batch *b)
{
	struct service_set *sets = emit_sets(s, slot, b);
	struct group_place *places = NULL;
	size_t i;

	if (sets != NULL)
		places = emit_place_groups(s, sets);
	for (i = 0; i < s->n_profiles && places != NULL; i++)
		emit_observe(s, sets, i);
	b->failed = b->failed || places == NULL;
	if (places != NULL)
		emit_stacks(s, b, slot, places);
	if (places != NULL)
		emit_in_use(s, sets);
	free(places);
	free(sets);
}

/* ---- places ---- */

struct places_target {
	struct batch *batch;
	int64_t time_ns;
};

static void
emit_place(void *arg, const struct frame *f, const char *place)
{
	const struct places_target *t = arg;
	struct fact_place p = {.module = fact_part_of(f->module),
	    .build_id = fact_part_of(f->build_id)};
	struct buf text = {0};

	if (fact_take_line(fact_part_of(place), &p) &&
	    fact_put_place(&text, &p) && !text.failed)
		batch_add_fact(t->batch, t->time_ns, FACT_PLACE, f->name,
		    text.data, text.len);
	buf_fini(&text);
}

void
emit_places(struct engine *s, uint64_t slot, struct batch *b)
{
	struct places_target t = {b, (int64_t)slot * s->border.slot_ns};

	symbols_tell_places(s->symbols, s->now_ns, EMIT_PLACES_AGAIN_NS,
	    EMIT_PLACES_MAX, emit_place, &t);
}
