/*
 * From a profile to frames: three passes over its nodes in pre-order (names
 * and matches, kept totals from the leaves up, frames), no recursion, so
 * that a stack of any depth is laid out.
 */
#include "fcgi/format/flame/flame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame_lay.h"
#include "fcgi/format/flame/flame_shape.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/base/kth.h"

#define NONE UINT32_MAX

/* What is known of a profile's node while it is laid out. */
struct flame_work {
	const struct profile *p;
	uint32_t *name;  /* per node, in flame->names */
	int128 *self, *total;
	int128 *cut;     /* total of the node's children that are not kept */
	uint32_t *n_cut; /* how many nodes that is, with all below them */
	bool *keep;
	uint32_t *table; /* names by hash */
	size_t mask;
	struct flame_recent *recent; /* names by address, as a shortcut */
	uint32_t n_recent;
	uint32_t *above; /* per node: itself, or what it is gathered at */
	uint32_t *open;  /* frames that are not closed yet, by level */
	int128 *next_x;  /* where the next child of each of them begins */
};

/* A profile has few distinct strings; most come by the same address. */
struct flame_recent {
	const char *text, *module;
	enum frame_kind kind;
	uint32_t name;
};

#define RECENT 4096u /* powers of two: of a small profile, of a large one */
#define RECENT_LARGE 16384u

const char *
flame_kind_name(enum flame_kind kind)
{
	static const char *const names[] = {"user", "library", "kernel", "jit",
	    "unknown"};

	return names[kind];
}

static bool
flame_is_library(const char *module)
{
	const char *so = strstr(module, ".so");

	return so != NULL && (so[3] == '\0' || so[3] == '.');
}

enum flame_kind
flame_kind_of(enum frame_kind kind, const char *module)
{
	switch (kind) {
	case FRAME_KERNEL:
	case FRAME_BPF:
		return FLAME_KERNEL;
	case FRAME_JIT:
		return FLAME_JIT;
	case FRAME_NATIVE:
	case FRAME_INLINED:
		return flame_is_library(module) ? FLAME_LIBRARY : FLAME_USER;
	case FRAME_ADDRESS:
		return flame_is_library(module) ? FLAME_LIBRARY
						: FLAME_UNKNOWN;
	case FRAME_MANAGED:
		return FLAME_USER;
	default:
		return FLAME_UNKNOWN;
	}
}

/* The number of (text, kind, inlined) among the names, new or not. */
static uint32_t
flame_intern(struct flame *f, struct flame_work *w, const char *text,
    enum flame_kind kind, bool inlined)
{
	size_t at = hash64(kind, text, strlen(text)) & w->mask;

	for (; w->table[at] != NONE; at = (at + 1) & w->mask) {
		const struct flame_name *n = &f->names[w->table[at]];

		if (n->kind == kind && n->inlined == inlined &&
		    strcmp(n->text, text) == 0)
			return w->table[at];
	}
	f->names[f->n_names] = (struct flame_name){text, kind, inlined};
	w->table[at] = (uint32_t)f->n_names;
	return (uint32_t)f->n_names++;
}

/* Each frame that is kept can have an "(other)" below it; until they are
 * laid out, their memory holds a number per node. */
static struct flame_frame *
flame_alloc_frames(size_t n, int64_t max_nodes)
{
	size_t kept = n, bytes;

	if (max_nodes >= 0 && (size_t)max_nodes < n)
		kept = (size_t)max_nodes + 1;
	bytes = 2 * kept * sizeof(struct flame_frame);
	if (bytes < n * sizeof(int128))
		bytes = n * sizeof(int128);
	return malloc(bytes);
}

static bool
flame_alloc(struct flame *f, struct flame_work *w, size_t n,
    int64_t max_nodes)
{
	size_t size = 16;

	while (size < 2 * n + 4)
		size *= 2;
	w->mask = size - 1;
	w->name = malloc(n * sizeof(*w->name));
	w->self = malloc(n * sizeof(*w->self));
	w->total = malloc(n * sizeof(*w->total));
	w->cut = calloc(n, sizeof(*w->cut));
	w->keep = malloc(n * sizeof(*w->keep));
	w->above = malloc(n * sizeof(*w->above));
	w->n_cut = calloc(n, sizeof(*w->n_cut));
	w->table = malloc(size * sizeof(*w->table));
	w->n_recent = n > RECENT ? RECENT_LARGE : RECENT;
	w->recent = calloc(w->n_recent, sizeof(*w->recent));
	f->names = malloc((n + 2) * sizeof(*f->names));
	f->frames = flame_alloc_frames(n, max_nodes);
	if (w->name == NULL || w->self == NULL || w->total == NULL ||
	    w->cut == NULL || w->keep == NULL || w->above == NULL ||
	    w->n_cut == NULL || w->table == NULL || w->recent == NULL ||
	    f->names == NULL || f->frames == NULL)
		return false;
	memset(w->table, 0xff, size * sizeof(*w->table));
	return true;
}

static void
flame_work_fini(struct flame_work *w)
{
	free(w->name);
	free(w->self);
	free(w->total);
	free(w->cut);
	free(w->keep);
	free(w->above);
	free(w->n_cut);
	free(w->table);
	free(w->recent);
	free(w->open);
	free(w->next_x);
}

static uint32_t
flame_name(struct flame *f, struct flame_work *w,
    const struct profile_node *n, bool merge_inlined)
{
	struct flame_recent *r;

	r = &w->recent[((uintptr_t)n->name * 0x9e3779b1u >> 12) &
	    (w->n_recent - 1)];
	if (r->text != n->name || r->module != n->module ||
	    r->kind != n->kind) {
		r->text = n->name;
		r->module = n->module;
		r->kind = n->kind;
		r->name = flame_intern(f, w, n->name,
		    flame_kind_of(n->kind, n->module),
		    n->kind == FRAME_INLINED && !merge_inlined);
	}
	return r->name;
}

static void
flame_names(struct flame *f, struct flame_work *w, bool merge_inlined)
{
	w->name[0] = flame_intern(f, w, "total", FLAME_UNKNOWN, false);
	for (size_t i = 1; i < w->p->n_nodes; i++)
		w->name[i] = flame_name(f, w, &w->p->nodes[i],
		    merge_inlined);
}

static void
flame_sum(struct flame_work *w)
{
	size_t n = w->p->n_nodes;

	memcpy(w->total, w->self, n * sizeof(*w->total));
	for (size_t i = n - 1; i > 0; i--)
		w->total[w->p->nodes[i].parent] += w->total[i];
}

/* Does the profile have it cut already? */
static bool
flame_is_cut(const struct flame_work *w, size_t i)
{
	return w->p->cut != NULL && w->p->cut[i] != 0;
}

/*
 * Marks the max_nodes largest nodes by rank, mostly their totals; of equals, those that come first.  A
 * parent comes before its children and is never smaller, so what is kept is
 * a tree.  Nodes without anything are never kept, save the root.
 */
static void
flame_select(struct flame_work *w, const int128 *rank, int64_t max_nodes,
    int128 *scratch)
{
	size_t n = w->p->n_nodes, left = 0;
	int128 least = 0;

	if (max_nodes >= 0 && (size_t)max_nodes < n) {
		size_t k = max_nodes > 0 ? (size_t)max_nodes : 1;

		for (size_t i = 0; i < n; i++)
			scratch[i] = flame_is_cut(w, i) ? 0 : rank[i];
		least = kth_largest(scratch, n, k);
		left = k;
		for (size_t i = 0; i < n; i++)
			left -= rank[i] > least && !flame_is_cut(w, i);
	}
	for (size_t i = 0; i < n; i++) {
		if (flame_is_cut(w, i)) {
			w->keep[i] = false;
			continue;
		}
		w->keep[i] = rank[i] > least;
		if (rank[i] == least && least > 0 && left > 0) {
			w->keep[i] = true;
			left--;
		}
	}
}

int128
flame_least(int128 total, double min_share)
{
	return (int128)ceil(min_share * (double)total);
}

/* Drops what is smaller than the share, and gathers all that is not kept at
 * the nearest node above it that is. */
static void
flame_gather(struct flame_work *w, double min_share)
{
	int128 least = flame_least(w->total[0], min_share);
	uint32_t *above = w->above;

	w->keep[0] = true;
	above[0] = 0;
	for (size_t i = 1; i < w->p->n_nodes; i++) {
		uint32_t parent = w->p->nodes[i].parent;

		w->keep[i] = w->keep[i] && w->total[i] >= least;
		above[i] = w->keep[i] ? (uint32_t)i : above[parent];
		if (w->keep[i])
			continue;
		w->n_cut[above[i]] += flame_is_cut(w, i)
		    ? w->p->cut[i]
		    : w->total[i] != 0;
		if (w->keep[parent])
			w->cut[parent] += w->total[i];
	}
}

static void
flame_put(struct flame *f, struct flame_work *w,
    const struct flame_frame *frame)
{
	uint32_t level = frame->level;
	int128 x = level > 0 ? w->next_x[level - 1] : 0;
	int128 total = frame->total, self = frame->self;

	f->frames[f->n_frames] = *frame;
	f->frames[f->n_frames++].x = x;
	if (level > 0)
		w->next_x[level - 1] += total;
	w->next_x[level] = x + self;
	if (level + 1 > f->n_levels)
		f->n_levels = level + 1;
	if (self > f->max_self)
		f->max_self = self;
}

/* Closes the open nodes from `level` down: what was cut of each comes
 * last. */
static void
flame_close(struct flame *f, struct flame_work *w, uint32_t depth,
    uint32_t level, const char *other)
{
	while (depth > level) {
		uint32_t i = w->open[--depth];
		struct flame_frame frame = {.level = depth + 1,
		    .node = FLAME_NO_NODE,
		    .n_cut = w->n_cut[i],
		    .total = w->cut[i],
		    .self = w->cut[i]};

		if (frame.total <= 0)
			continue;
		frame.name = flame_intern(f, w, other, FLAME_UNKNOWN, false);
		flame_put(f, w, &frame);
	}
}

static void
flame_frames(struct flame *f, struct flame_work *w, const char *other)
{
	uint32_t depth = 0; /* nodes that are open */

	for (size_t i = 0; i < w->p->n_nodes; i++) {
		uint32_t level = w->p->nodes[i].depth;
		struct flame_frame frame = {.name = w->name[i],
		    .level = level,
		    .node = (uint32_t)i,
		    .total = w->total[i],
		    .self = w->self[i]};

		if (!w->keep[i])
			continue;
		flame_close(f, w, depth, level, other);
		w->open[level] = (uint32_t)i;
		depth = level + 1;
		flame_put(f, w, &frame);
	}
	flame_close(f, w, depth, 0, other);
}

/* Forgets the names of what was cut; the others keep their order.  The hash
 * table is not needed any more: its memory holds the new numbers. */
static void
flame_forget_names(struct flame *f, struct flame_work *w)
{
	uint32_t *number = w->table;
	size_t n = 0;

	memset(number, 0xff, f->n_names * sizeof(*number));
	number[0] = 0;
	for (size_t i = 0; i < f->n_frames; i++)
		number[f->frames[i].name] = 0;
	for (size_t i = 0; i < f->n_names; i++) {
		if (number[i] == NONE)
			continue;
		f->names[n] = f->names[i];
		number[i] = (uint32_t)n++;
	}
	f->n_names = n;
	for (size_t i = 0; i < f->n_frames; i++)
		f->frames[i].name = number[f->frames[i].name];
}

/* Samples by node as focus and ignore leave them, for frames of several
 * periods; `s` is by node. */
static void
flame_sum_samples(const struct flame_work *w, struct profile_samples *s)
{
	for (size_t i = 0; i < w->p->n_nodes; i++) {
		s[i] = (struct profile_samples){0};
		if (w->self[i] == 0)
			continue;
		s[i].self = s[i].total = w->p->samples[i].self;
		s[i].self_unknown = s[i].total_unknown =
		    w->p->samples[i].self_unknown;
	}
	for (size_t i = w->p->n_nodes; i-- > 1;) {
		struct profile_samples *up = &s[w->p->nodes[i].parent];

		up->total += s[i].total;
		up->total_unknown += s[i].total_unknown;
	}
}

void *
flame_spread(const struct flame *f, const void *by_node, size_t n)
{
	const int128 *node, *of = by_node;
	int128 *frames = malloc(f->n_frames * 2 * n * sizeof(*frames));
	/* by level: what is left of the frame that is open above it */
	int128 *rest = calloc(((size_t)f->n_levels + 1) * n, sizeof(*rest));

	if (frames == NULL || rest == NULL) {
		free(frames);
		free(rest);
		return NULL;
	}
	for (size_t i = 0; i < f->n_frames; i++) {
		const struct flame_frame *a = &f->frames[i];
		int128 *to = frames + i * 2 * n, *up = rest + a->level * n;

		node = a->node == FLAME_NO_NODE ? NULL : of + a->node * 2 * n;
		for (size_t k = 0; k < n; k++) {
			to[k] = node != NULL ? node[k] : up[k];
			to[n + k] = node != NULL ? node[n + k] : up[k];
			up[k] -= to[n + k];
			up[n + k] = to[n + k] - to[k];
		}
	}
	free(rest);
	return frames;
}

static const struct err *
flame_count_samples(struct flame *f, const struct flame_work *w)
{
	struct profile_samples *s = malloc(w->p->n_nodes * sizeof(*s));

	if (s != NULL) {
		flame_sum_samples(w, s);
		f->samples = flame_spread(f, s, 2);
	}
	free(s);
	return f->samples == NULL ? err_nomem() : NULL;
}

bool
flame_samples(const struct flame *f, size_t frame,
    struct profile_samples *out)
{
	*out = (struct profile_samples){0};
	if (f->samples != NULL)
		*out = f->samples[frame];
	else if (f->period > 0)
		*out = (struct profile_samples){
		    .self = samples_of(f->frames[frame].self, f->period),
		    .total = samples_of(f->frames[frame].total, f->period)};
	return f->samples != NULL || f->period > 0;
}

void
flame_cut(const struct flame *f, struct flame_cut *out)
{
	*out = (struct flame_cut){0};
	for (size_t i = 0; i < f->n_frames; i++) {
		struct profile_samples s;

		if (f->frames[i].node != FLAME_NO_NODE)
			continue;
		flame_samples(f, i, &s);
		out->total += f->frames[i].total;
		out->samples += s.total;
		out->unknown += s.total_unknown;
		out->n_nodes += f->frames[i].n_cut;
	}
}

uint32_t
flame_depth(const struct profile *p)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].depth > depth)
			depth = p->nodes[i].depth;
	return depth;
}

static const struct err *
flame_build(struct flame *f, struct flame_work *w,
    const struct flame_options *o)
{
	const struct profile *p = w->p;
	size_t levels = (size_t)flame_depth(p) + 2;
	const struct err *e;

	w->open = malloc(levels * sizeof(*w->open));
	w->next_x = malloc(levels * sizeof(*w->next_x));
	if (!flame_alloc(f, w, p->n_nodes, o->max_nodes) || w->open == NULL ||
	    w->next_x == NULL)
		return err_nomem();
	flame_names(f, w, o->merge_inlined);
	if (o->self != NULL)
		memcpy(w->self, o->self, p->n_nodes * sizeof(*w->self));
	else if ((e = flame_filter(p, o->focus, o->ignore, w->self)) != NULL)
		return e;
	flame_sum(w);
	flame_select(w, o->rank != NULL ? o->rank : w->total, o->max_nodes,
	    (int128 *)(void *)f->frames);
	flame_gather(w, o->min_share);
	f->total = w->total[0];
	flame_frames(f, w, o->other);
	flame_forget_names(f, w);
	return p->samples != NULL ? flame_count_samples(f, w) : NULL;
}

static const struct err *
flame_lay_out(struct flame *f, const struct profile *p,
    const struct flame_options *o)
{
	struct flame_options rest = *o;
	struct flame_work w = {.p = p};
	const struct err *e = NULL;

	f->before = p->nodes[0].total;
	f->period = p->period;
	if (flame_is_shaped(o)) {
		e = flame_shape(&f->shaped, p, o);
		w.p = f->shaped;
		rest.focus = rest.ignore = NULL;
	}
	if (e == NULL)
		e = flame_build(f, &w, &rest);
	flame_work_fini(&w);
	return e;
}

const struct err *
flame_new(struct flame **out, const struct profile *p,
    const struct flame_options *options)
{
	struct flame *f = calloc(1, sizeof(*f));
	const struct err *e = gone_check();

	*out = NULL;
	if (f == NULL)
		return err_nomem();
	if (e == NULL)
		e = flame_lay_out(f, p, options);
	if (e != NULL) {
		flame_free(f);
		return e;
	}
	*out = f;
	return NULL;
}

void
flame_free(struct flame *f)
{
	if (f == NULL)
		return;
	free(f->names);
	free(f->frames);
	free(f->samples);
	profile_free(f->shaped);
	lay_free(f->lay);
	free(f);
}

bool
flame_by_level(const struct flame *f, uint32_t **index, uint32_t **first)
{
	uint32_t *at = calloc((size_t)f->n_levels + 2, sizeof(*at));
	uint32_t *order = malloc(f->n_frames * sizeof(*order));

	if (at == NULL || order == NULL) {
		free(at);
		free(order);
		return false;
	}
	/* counting sort; at[l + 1] becomes the start of level l, and moves to
	 * its end, which is the start of the next, while level l is filled */
	for (size_t i = 0; i < f->n_frames; i++)
		at[f->frames[i].level + 2]++;
	for (uint32_t l = 1; l < f->n_levels + 1; l++)
		at[l + 1] += at[l];
	for (size_t i = 0; i < f->n_frames; i++)
		order[at[f->frames[i].level + 1]++] = (uint32_t)i;
	*index = order;
	*first = at;
	return true;
}
