/*
 * The slot's aggregate: two open-addressing tables of numbers over growing
 * arrays.  Nothing is removed but all at once.
 */
#include "collector/base/aggregate.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/buf.h"
#include "store/base/text.h"

#define TEXTS 6

/* Numbers (index + 1) by hash; capacity is a power of two, half full. */
struct index {
	uint32_t *slots;
	uint32_t mask, used;
};

struct group {
	uint64_t hash;
	uint32_t text[TEXTS]; /* offsets: service, process, pool, cgroup,
	                       * reason, instance */
	uint64_t period;
	uint8_t type;
	bool by_entry;
};

struct stack {
	uint64_t hash;
	uint32_t group, first, n;
	int64_t value;
	uint64_t samples;
};

struct aggregate {
	struct aggregate_limits limits;
	struct index by_group, by_stack;
	struct group *groups;
	struct stack *stacks;
	uint32_t *numbers;
	uint32_t n_groups, n_stacks, n_numbers;
	uint32_t cap_groups, cap_stacks, cap_numbers;
	struct buf text;
};

/* The array with room for `want` elements, perhaps moved; NULL when out of
 * memory or over the limit, and then the old one stays. */
static void *
array_grow(void *array, uint32_t *cap, uint32_t want, uint32_t limit,
    size_t size)
{
	uint64_t n = *cap != 0 ? *cap : 64;
	void *p;

	if (want > limit)
		return NULL;
	if (array != NULL && want <= *cap)
		return array;
	while (n < want)
		n *= 2;
	p = realloc(array, n * size);
	if (p != NULL)
		*cap = (uint32_t)n;
	return p;
}

typedef uint64_t hash_fn(const struct aggregate *a, uint32_t number);

static uint64_t
hash_of_group(const struct aggregate *a, uint32_t number)
{
	return a->groups[number].hash;
}

static uint64_t
hash_of_stack(const struct aggregate *a, uint32_t number)
{
	return a->stacks[number].hash;
}

static void
index_put(struct index *x, uint64_t hash, uint32_t number)
{
	uint32_t i = (uint32_t)hash & x->mask;

	while (x->slots[i] != 0)
		i = (i + 1) & x->mask;
	x->slots[i] = number + 1;
	x->used++;
}

/* Room for one more number; doubles the table when it is half full. */
static bool
index_grow(struct aggregate *a, struct index *x, hash_fn *hash)
{
	struct index old = *x;
	uint32_t i, n = old.slots != NULL ? (old.mask + 1) * 2 : 256;

	if (old.slots != NULL && old.used * 2 <= old.mask)
		return true;
	x->slots = calloc(n, sizeof(*x->slots));
	if (x->slots == NULL) {
		*x = old;
		return false;
	}
	x->mask = n - 1;
	x->used = 0;
	for (i = 0; old.slots != NULL && i <= old.mask; i++)
		if (old.slots[i] != 0)
			index_put(x, hash(a, old.slots[i] - 1),
			    old.slots[i] - 1);
	free(old.slots);
	return true;
}

static void
index_clear(struct index *x)
{
	if (x->slots != NULL)
		memset(x->slots, 0, ((size_t)x->mask + 1) * sizeof(*x->slots));
	x->used = 0;
}

struct aggregate *
aggregate_new(const struct aggregate_limits *limits)
{
	struct aggregate *a = calloc(1, sizeof(*a));

	if (a != NULL)
		a->limits = *limits;
	return a;
}

void
aggregate_free(struct aggregate *a)
{
	if (a == NULL)
		return;
	free(a->by_group.slots);
	free(a->by_stack.slots);
	free(a->groups);
	free(a->stacks);
	free(a->numbers);
	buf_fini(&a->text);
	free(a);
}

void
aggregate_clear(struct aggregate *a)
{
	index_clear(&a->by_group);
	index_clear(&a->by_stack);
	a->n_groups = a->n_stacks = a->n_numbers = 0;
	buf_clear(&a->text);
}

static const char *
group_text(const struct aggregate *a, const struct group *g, int field)
{
	return (const char *)a->text.data + g->text[field];
}

static bool
group_equal(const struct aggregate *a, const struct group *g,
    const struct aggregate_group *new, const char *const text[TEXTS])
{
	int i;

	if (g->period != new->period || g->type != new->type ||
	    g->by_entry != new->by_entry)
		return false;
	for (i = 0; i < TEXTS; i++)
		if (strcmp(group_text(a, g, i), text[i]) != 0)
			return false;
	return true;
}

static uint32_t
group_add(struct aggregate *a, uint64_t hash,
    const struct aggregate_group *new, const char *const text[TEXTS])
{
	struct group *g = array_grow(a->groups, &a->cap_groups,
	    a->n_groups + 1, a->limits.groups, sizeof(*g));
	int i;

	if (g == NULL)
		return AGGREGATE_NONE;
	a->groups = g;
	if (!index_grow(a, &a->by_group, hash_of_group))
		return AGGREGATE_NONE;
	g += a->n_groups;
	g->hash = hash;
	g->period = new->period;
	g->type = new->type;
	g->by_entry = new->by_entry;
	for (i = 0; i < TEXTS; i++) {
		g->text[i] = (uint32_t)a->text.len;
		buf_put(&a->text, text[i], strlen(text[i]) + 1);
	}
	if (a->text.failed) {
		a->text.failed = false;
		a->text.len = g->text[0];
		return AGGREGATE_NONE;
	}
	index_put(&a->by_group, hash, a->n_groups);
	return a->n_groups++;
}

uint32_t
aggregate_group(struct aggregate *a, const struct aggregate_group *g)
{
	const char *text[TEXTS] = {g->service, g->process, g->pool, g->cgroup,
	    g->reason != NULL ? g->reason : "",
	    g->instance != NULL ? g->instance : ""};
	const struct index *x = &a->by_group;
	uint64_t hash = hash64_u64(g->period, g->type * 2u + g->by_entry);
	uint32_t i;

	for (i = 0; i < TEXTS; i++)
		hash = hash64(hash, text[i], strlen(text[i]) + 1);
	for (i = (uint32_t)hash & x->mask; x->slots != NULL &&
	     x->slots[i] != 0; i = (i + 1) & x->mask) {
		const struct group *old = &a->groups[x->slots[i] - 1];

		if (old->hash == hash && group_equal(a, old, g, text))
			return x->slots[i] - 1;
	}
	return group_add(a, hash, g, text);
}

static uint32_t
stack_add(struct aggregate *a, uint64_t hash, const struct stack *new,
    const uint32_t *frames)
{
	struct stack *s = array_grow(a->stacks, &a->cap_stacks,
	    a->n_stacks + 1, a->limits.stacks, sizeof(*s));
	uint32_t *numbers = array_grow(a->numbers, &a->cap_numbers,
	    a->n_numbers + new->n, a->limits.numbers, sizeof(*numbers));

	a->stacks = s != NULL ? s : a->stacks;
	a->numbers = numbers != NULL ? numbers : a->numbers;
	if (s == NULL || numbers == NULL ||
	    !index_grow(a, &a->by_stack, hash_of_stack))
		return AGGREGATE_NONE;
	s += a->n_stacks;
	*s = *new;
	s->hash = hash;
	s->first = a->n_numbers;
	if (s->n > 0)
		memcpy(a->numbers + s->first, frames,
		    s->n * sizeof(*frames));
	a->n_numbers += s->n;
	index_put(&a->by_stack, hash, a->n_stacks);
	return a->n_stacks++;
}

uint32_t
aggregate_add_to(struct aggregate *a, const struct aggregate_stack *what)
{
	const struct index *x = &a->by_stack;
	struct stack new = {.group = what->group, .n = what->n,
	    .value = what->value, .samples = what->samples};
	size_t bytes = what->n * sizeof(*what->frames);
	uint64_t hash = hash64(what->group, what->frames, bytes);
	uint32_t i;

	for (i = (uint32_t)hash & x->mask; x->slots != NULL &&
	     x->slots[i] != 0; i = (i + 1) & x->mask) {
		struct stack *s = &a->stacks[x->slots[i] - 1];

		if (s->hash == hash && s->group == what->group &&
		    s->n == what->n && (bytes == 0 ||
		    memcmp(a->numbers + s->first, what->frames, bytes) == 0)) {
			s->value += what->value;
			s->samples += what->samples;
			return x->slots[i] - 1;
		}
	}
	return stack_add(a, hash, &new, what->frames);
}

bool
aggregate_add(struct aggregate *a, const struct aggregate_stack *what)
{
	return aggregate_add_to(a, what) != AGGREGATE_NONE;
}

size_t
aggregate_groups(const struct aggregate *a)
{
	return a->n_groups;
}

size_t
aggregate_stacks(const struct aggregate *a)
{
	return a->n_stacks;
}

struct aggregate_group
aggregate_get_group(const struct aggregate *a, size_t i)
{
	const struct group *g = &a->groups[i];

	return (struct aggregate_group){
	    .service = group_text(a, g, 0),
	    .process = group_text(a, g, 1),
	    .pool = group_text(a, g, 2),
	    .cgroup = group_text(a, g, 3),
	    .reason = group_text(a, g, 4),
	    .instance = group_text(a, g, 5),
	    .period = g->period,
	    .type = g->type,
	    .by_entry = g->by_entry,
	};
}

struct aggregate_stack
aggregate_get_stack(const struct aggregate *a, size_t i)
{
	const struct stack *s = &a->stacks[i];

	return (struct aggregate_stack){
	    .group = s->group,
	    .n = s->n,
	    .frames = a->numbers + s->first,
	    .value = s->value,
	    .samples = s->samples,
	};
}

bool
aggregate_set_reason(struct aggregate *a, size_t i, const char *reason)
{
	struct aggregate_group g =
	    aggregate_get_group(a, a->stacks[i].group);
	size_t size = strlen(g.service) + strlen(g.process) +
	    strlen(g.pool) + strlen(g.cgroup) + strlen(reason) +
	    strlen(g.instance) + TEXTS;
	uint32_t group;

	/* Its strings are in the text that may grow. */
	if (!buf_reserve(&a->text, size))
		return false;
	g = aggregate_get_group(a, a->stacks[i].group);
	g.reason = reason;
	group = aggregate_group(a, &g);
	if (group == AGGREGATE_NONE)
		return false;
	a->stacks[i].group = group;
	return true;
}

void
aggregate_fold_digits(char *out, size_t size, const char *name)
{
	size_t n = 0;
	bool digit = false;
	bool was = false;

	for (; *name != '\0' && n + 1 < size; name++) {
		digit = *name >= '0' && *name <= '9';
		if (!digit)
			out[n++] = *name;
		else if (!was)
			out[n++] = '*';
		was = digit;
	}
	out[n] = '\0';
	text_clean(out);
}
