/*
 * From the slot's aggregate to blocks: one flow series a service.
 */
#include "collector/profile/source_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "collector/engine/thread_pool.h"
#include "collector/engine/service_faults.h"
#include "collector/process/services.h"
#include "store/base/clock.h"
#include "store/batch/batch.h"

#define SET_SLOTS 2048 /* > 4 * (SERVICES_MAX + 1) */

/* The series of each service of the slot, by name. */
struct service_set {
	struct source *source;
	struct batch *batch;
	uint64_t slot;
	uint64_t period_ns; /* of the present rate */
	size_t n[2];        /* services of this period, and of others */
	struct {
		const char *name; /* NULL: free */
		uint64_t period_ns;
		uint32_t series;
	} slots[SET_SLOTS];
};

static uint32_t
cpu_series(const struct service_set *t, const char *service,
    uint64_t period_ns)
{
	struct label label = {.name = "service", .value = service};
	struct series_desc d = {.kind = SERIES_FLOW, .name = "cpu",
	    .unit = "nanoseconds", .labels = &label, .n_labels = 1,
	    .period = (int64_t)period_ns};

	return batch_series(t->batch, &d);
}

/* The series of a service; *other: it was one too many, and this is
 * "(other services)".  `name` must live as long as the set.  A slot in which
 * the rate changed has series of two periods, hardly ever of more. */
static uint32_t
service_set_get(struct service_set *t, const char *name, uint64_t period_ns,
    bool *other)
{
	size_t i = hash64(0, name, strlen(name)) % SET_SLOTS;
	bool old = period_ns != t->period_ns;

	*other = false;
	for (; t->slots[i].name != NULL; i = (i + 1) % SET_SLOTS)
		if (t->slots[i].period_ns == period_ns &&
		    strcmp(t->slots[i].name, name) == 0)
			return t->slots[i].series;
	if (t->n[old] >= SERVICES_MAX && strcmp(name, SERVICES_OTHER) != 0) {
		uint32_t series = service_set_get(t, SERVICES_OTHER,
		    period_ns, other);

		*other = true;
		return series;
	}
	t->n[old]++;
	t->slots[i].name = name;
	t->slots[i].period_ns = period_ns;
	t->slots[i].series = cpu_series(t, name, period_ns);
	/* "Sampled, and nothing ran" is a block without entries. */
	batch_observe(t->batch, t->slots[i].series, t->slot, 1);
	return t->slots[i].series;
}

static void
cpu_observe_process(void *arg, struct process *p)
{
	bool other;

	struct service_set *t = arg;

	service_set_get(t, p->service, t->period_ns, &other);
}

/* The label set of a group as the first edge of the call tree. */
static uint32_t
cpu_labels_node(struct batch *b, const struct aggregate_group *g)
{
	const struct label all[] = {{"cgroup", g->cgroup}, {"pool", g->pool},
	    {"process", g->process}};
	struct label some[3];
	size_t i, n = 0;

	for (i = 0; i < 3; i++)
		if (all[i].value[0] != '\0')
			some[n++] = all[i];
	return batch_node(b, 0, batch_labels(b, some, n));
}

/* Group number -> where its stacks go. */
struct group_place {
	uint32_t series, node;
	const char *service; /* its own name, or "(other services)" */
	bool other, by_entry;
};

static struct group_place *
cpu_place_groups(struct source *s, struct service_set *t)
{
	size_t i, n = aggregate_groups(s->aggregate);
	struct group_place *places = calloc(n + 1, sizeof(*places));

	for (i = 0; i < n && places != NULL; i++) {
		struct aggregate_group g =
		    aggregate_get_group(s->aggregate, i);

		places[i].series = service_set_get(t, g.service,
		    g.period_ns != 0 ? g.period_ns : t->period_ns,
		    &places[i].other);
		places[i].service = places[i].other ? SERVICES_OTHER :
		    g.service;
		places[i].node = cpu_labels_node(t->batch, &g);
		places[i].by_entry = g.by_entry;
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
cpu_frame(struct source *s, struct batch *b, struct frame_cache *c,
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

/* The label set of a thread without a name of its own: its pool is the
 * function that it began with, if that is known. */
static uint32_t
cpu_entry_node(struct source *s, struct batch *b,
    const struct group_place *place, const struct aggregate_stack *stack)
{
	enum thread_pool_frame what = THREAD_POOL_RUNTIME;
	struct aggregate_group g;
	char pool[THREAD_POOL_NAME_MAX];
	struct frame f;
	uint32_t n;

	for (n = 0; n < stack->n && what == THREAD_POOL_RUNTIME; n++) {
		if (!symbols_is_settled(s->symbols, stack->frames[n]))
			return place->node;
		f = symbols_get(s->symbols,
		    symbols_final(s->symbols, stack->frames[n]));
		what = thread_pool_judge(&f, pool);
	}
	if (what != THREAD_POOL_ENTRY)
		return place->node;
	g = aggregate_get_group(s->aggregate, stack->group);
	g.pool = pool;
	return cpu_labels_node(b, &g);
}

/* A stack that is not whole begins with its reason's mark. */
static void
cpu_count_stack(struct source *s, const char *service,
    const struct aggregate_stack *stack)
{
	struct service_counts *c = service_faults_of(s->faults, service);
	enum broken why = BROKEN_NOT;
	struct frame root;

	if (stack->n > 0 && (stack->frames[0] & SYMBOLS_UNRESOLVED) == 0) {
		root = symbols_get(s->symbols, stack->frames[0]);
		if (root.kind == FRAME_MARK)
			why = broken_of_mark(root.name);
	}
	c->samples += (uint64_t)stack->value;
	if (why != BROKEN_NOT)
		c->broken[why] += (uint64_t)stack->value;
}

static void
cpu_put_stack(struct source *s, struct service_set *t,
    const struct group_place *places, struct frame_cache *c, size_t i)
{
	struct aggregate_stack stack = aggregate_get_stack(s->aggregate, i);
	const struct group_place *place = &places[stack.group];
	uint32_t refs[SYMBOLS_EXPAND_MAX], node = place->node, frame, n;
	size_t k, expanded;
	uint64_t value = (uint64_t)stack.value;
	bool nameless;

	if (place->by_entry)
		node = cpu_entry_node(s, t->batch, place, &stack);
	for (n = 0; n < stack.n; n++) {
		expanded = symbols_expand(s->symbols, stack.frames[n], refs);
		for (k = 0; k < expanded; k++) {
			frame = cpu_frame(s, t->batch, c, refs[k], &nameless);
			node = batch_node(t->batch, node, frame);
			s->now.unsymbolised += nameless ? value : 0;
		}
	}
	cpu_count_stack(s, place->service, &stack);
	s->now.frames += stack.n * value;
	s->now.other_services += place->other ? value : 0;
	batch_add_profile(t->batch, place->series, t->slot, node,
	    stack.value);
}

void
cpu_put_profiles(struct source *s, uint64_t slot, struct batch *b)
{
	struct service_set *t = calloc(1, sizeof(*t));
	struct group_place *places = NULL;
	struct frame_cache c = {0};
	struct symbols_stats stats;
	size_t i, n = aggregate_stacks(s->aggregate);

	symbols_stats(s->symbols, &stats);
	c.numbers = calloc(stats.frames, sizeof(*c.numbers));
	c.nameless = calloc(stats.frames, sizeof(*c.nameless));
	if (t == NULL || c.numbers == NULL || c.nameless == NULL) {
		b->failed = true;
		goto done;
	}
	c.n = stats.frames;
	t->source = s;
	t->batch = b;
	t->slot = slot;
	t->period_ns = (uint64_t)(NS_PER_S / governor_hz(&s->governor));
	places = cpu_place_groups(s, t);
	services_each(s->services, cpu_observe_process, t);
	b->failed = b->failed || places == NULL;
	for (i = 0; i < n && places != NULL; i++)
		cpu_put_stack(s, t, places, &c, i);
done:
	free(places);
	free(c.numbers);
	free(c.nameless);
	free(t);
}
