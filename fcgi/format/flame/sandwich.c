/*
 * Both trees are grown by (parent, name) and put into pre-order at the end.
 */
#include "fcgi/format/flame/sandwich.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/base/intern.h"

#define NONE UINT32_MAX

struct sandwich_node {
	uint32_t parent, name; /* of the tree; of the flame */
	uint32_t first, n;     /* children, in order[] */
	int128 self, total;
	struct profile_samples samples; /* of a flame of several periods */
};

struct sandwich_tree {
	struct sandwich_node *nodes;
	uint32_t n, cap;
	struct map64 by_edge;
	bool failed;
};

/* Where the walk stands in the flame. */
struct sandwich_walk {
	const struct flame *f;
	const char *function;
	struct sandwich_tree up, down;
	uint32_t *path;  /* by level: the frame */
	uint32_t *below; /* by level: its node in `down` */
	uint32_t inside; /* level of the outermost frame; 0: outside */
	uint64_t steps;
};

static uint32_t
sandwich_child(struct sandwich_tree *t, uint32_t parent, uint32_t name)
{
	uint64_t key = (uint64_t)parent << 32 | name;
	uint32_t at = map64_get(&t->by_edge, key);

	if (at != INTERN_NONE)
		return at;
	if (!array_room(&t->nodes, t->n + 1, &t->cap) ||
	    !map64_add(&t->by_edge, key, t->n)) {
		t->failed = true;
		return 0;
	}
	t->nodes[t->n] = (struct sandwich_node){.parent = parent,
	    .name = name};
	return t->n++;
}

/* A root and, below it, the function. */
static bool
sandwich_tree_init(struct sandwich_tree *t)
{
	sandwich_child(t, NONE, 0);
	return !t->failed;
}

/* Those of one period follow from the amounts. */
static struct profile_samples
sandwich_samples(const struct sandwich_walk *w, uint32_t frame)
{
	return w->f->samples != NULL ? w->f->samples[frame]
				     : (struct profile_samples){0};
}

static void
sandwich_add_self(struct profile_samples *to, int128 self, int128 unknown)
{
	to->self += self;
	to->self_unknown += unknown;
}

static void
sandwich_add_total(struct profile_samples *to, const struct profile_samples *s)
{
	to->total += s->total;
	to->total_unknown += s->total_unknown;
}

static void
sandwich_add_up(struct sandwich_walk *w, uint32_t level, uint32_t frame)
{
	struct sandwich_tree *t = &w->up;
	int128 total = w->f->frames[frame].total;
	struct profile_samples samples = sandwich_samples(w, frame);
	uint32_t at = 0;

	t->nodes[0].total += total;
	sandwich_add_total(&t->nodes[0].samples, &samples);
	for (uint32_t l = level; l > 0; l--, w->steps++) {
		at = sandwich_child(t, at, w->f->frames[w->path[l]].name);
		t->nodes[at].total += total;
		sandwich_add_total(&t->nodes[at].samples, &samples);
	}
	t->nodes[at].self += total;
	sandwich_add_self(&t->nodes[at].samples, samples.total,
	    samples.total_unknown);
}

static void
sandwich_add_down(struct sandwich_walk *w, uint32_t frame)
{
	const struct flame_frame *fr = &w->f->frames[frame];
	uint32_t above = fr->level == w->inside ? 0 : w->below[fr->level - 1];
	uint32_t at = sandwich_child(&w->down, above, fr->name);
	struct profile_samples samples = sandwich_samples(w, frame);
	struct sandwich_node *to = w->down.nodes;

	to[at].self += fr->self;
	to[at].total += fr->total;
	sandwich_add_self(&to[at].samples, samples.self,
	    samples.self_unknown);
	sandwich_add_total(&to[at].samples, &samples);
	if (above == 0) {
		to[0].total += fr->total;
		sandwich_add_total(&to[0].samples, &samples);
	}
	w->below[fr->level] = at;
}

static const struct err *
sandwich_walk(struct sandwich_walk *w)
{
	for (uint32_t i = 1; i < w->f->n_frames; i++) {
		const struct flame_frame *fr = &w->f->frames[i];

		w->path[fr->level] = i;
		if (fr->level <= w->inside)
			w->inside = 0;
		if (w->inside == 0 && strcmp(w->f->names[fr->name].text,
		    w->function) == 0) {
			w->inside = fr->level;
			sandwich_add_up(w, fr->level, i);
		}
		if (w->inside != 0)
			sandwich_add_down(w, i);
		if (w->up.failed || w->down.failed)
			return err_nomem();
		if (w->steps > SANDWICH_STEPS_MAX)
			return err_field(ERR_REQUEST, 413, "function",
			    "has too many callers to draw: ask for a shorter "
			    "range");
	}
	return NULL;
}

struct sandwich_sort {
	const struct sandwich_tree *t;
	const struct flame *f;
};

static int
sandwich_compare(const void *a, const void *b, void *arg)
{
	const struct sandwich_sort *s = arg;
	const struct sandwich_node *x = &s->t->nodes[*(const uint32_t *)a],
	    *y = &s->t->nodes[*(const uint32_t *)b];
	int by;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	by = strcmp(s->f->names[x->name].text, s->f->names[y->name].text);
	if (by != 0)
		return by;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* A kind of frame that is drawn as this kind. */
static void
sandwich_kind(struct profile_node *n, enum flame_kind kind)
{
	static const struct {
		enum frame_kind kind;
		const char *module;
	} kinds[] = {
	    [FLAME_USER] = {FRAME_NATIVE, ""},
	    [FLAME_LIBRARY] = {FRAME_NATIVE, ".so"},
	    [FLAME_KERNEL] = {FRAME_KERNEL, ""},
	    [FLAME_JIT] = {FRAME_JIT, ""},
	    [FLAME_UNKNOWN] = {FRAME_MARK, ""},
	};

	n->kind = kinds[kind].kind;
	n->module = kinds[kind].module;
}

/* Children of one node stand together in order[], sorted by name. */
static uint32_t *
sandwich_order(struct sandwich_tree *t, const struct flame *f)
{
	struct sandwich_sort sort = {t, f};
	uint32_t *order = malloc((t->n + 1) * sizeof(*order));

	if (order == NULL)
		return NULL;
	for (uint32_t i = 1; i < t->n; i++)
		order[i - 1] = i;
	qsort_r(order, t->n - 1, sizeof(*order), sandwich_compare, &sort);
	for (uint32_t i = 0; i + 1 < t->n; i++) {
		struct sandwich_node *up =
		    &t->nodes[t->nodes[order[i]].parent];

		if (up->n++ == 0)
			up->first = i;
	}
	return order;
}

/* Lays the tree out in pre-order; stack[] holds what is still to come. */
static void
sandwich_lay(const struct sandwich_tree *t, const struct flame *f,
    const uint32_t *order, uint32_t *stack, uint32_t *place,
    struct profile *p)
{
	uint32_t n = 0;

	stack[n++] = 0;
	while (n > 0) {
		uint32_t i = stack[--n], me = (uint32_t)p->n_nodes++;
		const struct sandwich_node *node = &t->nodes[i];
		struct profile_node *to = &p->nodes[me];

		place[i] = me;
		if (p->samples != NULL)
			p->samples[me] = node->samples;
		*to = (struct profile_node){.name = f->names[node->name].text,
		    .self = node->self, .total = node->total};
		sandwich_kind(to, f->names[node->name].kind);
		if (i > 0) {
			to->parent = place[node->parent];
			to->depth = p->nodes[to->parent].depth + 1;
		}
		for (uint32_t k = node->n; k > 0; k--)
			stack[n++] = order[node->first + k - 1];
	}
}

static struct profile *
sandwich_profile(struct sandwich_tree *t, const struct flame *f)
{
	struct profile *p = calloc(1, sizeof(*p));
	uint32_t *order = sandwich_order(t, f);
	uint32_t *stack = malloc(2 * (size_t)t->n * sizeof(*stack));

	if (p != NULL)
		p->nodes = malloc(t->n * sizeof(*p->nodes));
	if (p != NULL && f->samples != NULL)
		p->samples = malloc(t->n * sizeof(*p->samples));
	if (p == NULL || p->nodes == NULL || order == NULL || stack == NULL ||
	    (f->samples != NULL && p->samples == NULL)) {
		free(order);
		free(stack);
		profile_free(p);
		return NULL;
	}
	p->period = f->period;
	sandwich_lay(t, f, order, stack, stack + t->n, p);
	free(order);
	free(stack);
	return p;
}

static const struct err *
sandwich_make(struct sandwich *s, struct sandwich_walk *w)
{
	const struct flame *f = w->f;
	const struct err *e;

	w->path = malloc(((size_t)f->n_levels + 1) * sizeof(*w->path));
	w->below = malloc(((size_t)f->n_levels + 1) * sizeof(*w->below));
	if (w->path == NULL || w->below == NULL ||
	    !sandwich_tree_init(&w->up) || !sandwich_tree_init(&w->down))
		return err_nomem();
	if ((e = sandwich_walk(w)) != NULL)
		return e;
	s->total = w->down.nodes[0].total;
	sandwich_add_total(&s->samples, &w->down.nodes[0].samples);
	for (uint32_t i = 1; i < w->down.n; i++) {
		if (strcmp(f->names[w->down.nodes[i].name].text,
		    w->function) != 0)
			continue;
		s->self += w->down.nodes[i].self;
		sandwich_add_self(&s->samples, w->down.nodes[i].samples.self,
		    w->down.nodes[i].samples.self_unknown);
	}
	if (f->period > 0)
		s->samples = (struct profile_samples){
		    .self = samples_of(s->self, f->period),
		    .total = samples_of(s->total, f->period)};
	s->callers = sandwich_profile(&w->up, f);
	s->callees = sandwich_profile(&w->down, f);
	return s->callers != NULL && s->callees != NULL ? NULL : err_nomem();
}

const struct err *
sandwich_new(struct sandwich **out, const struct flame *f,
    const char *function)
{
	struct sandwich_walk w = {.f = f, .function = function};
	struct sandwich *s = calloc(1, sizeof(*s));
	const struct err *e = s != NULL ? sandwich_make(s, &w) : err_nomem();

	free(w.path);
	free(w.below);
	free(w.up.nodes);
	free(w.down.nodes);
	map64_fini(&w.up.by_edge);
	map64_fini(&w.down.by_edge);
	if (e != NULL) {
		sandwich_free(s);
		s = NULL;
	}
	*out = s;
	return e;
}

void
sandwich_free(struct sandwich *s)
{
	if (s == NULL)
		return;
	profile_free(s->callers);
	profile_free(s->callees);
	free(s);
}
