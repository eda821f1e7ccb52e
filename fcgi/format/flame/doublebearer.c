/*
 * Choose, lay out in pre-order, sort by level, write.
 */
#include "fcgi/format/flame/doublebearer.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flame.h"
#include "store/base/err.h"

#define NONE UINT32_MAX

struct double_frame {
	uint32_t name, level;
	int128 x[2], total[2], self[2];
	const struct diff_node *node; /* of what was cut, its own */
};


struct double_work {
	const struct diff *d;
	double *share;  /* per node: the larger of its two shares */
	bool *keep;
	struct diff_node *cut; /* per node: what its children that are not
	                        * kept have */
	int128 (*next_x)[2]; /* by level */
	uint32_t *open;      /* by level: the node */
	uint32_t *index;     /* names by hash */
	size_t mask;
	struct flame_name *names;
	size_t n_names;
	struct double_frame *frames;
	size_t n_frames;
	uint32_t n_levels;
	int128 max_self;
};

static void
double_fini(struct double_work *w)
{
	free(w->share);
	free(w->keep);
	free(w->cut);
	free(w->next_x);
	free(w->open);
	free(w->index);
	free(w->names);
	free(w->frames);
}

static bool
double_init(struct double_work *w, const struct diff *d)
{
	size_t n = d->n_nodes, size = 16, levels = 0;

	*w = (struct double_work){.d = d};
	for (size_t i = 0; i < n; i++)
		if (d->nodes[i].depth > levels)
			levels = d->nodes[i].depth;
	levels += 2;
	while (size < 2 * n + 4)
		size *= 2;
	w->mask = size - 1;
	w->share = malloc(2 * n * sizeof(*w->share));
	w->keep = calloc(n, sizeof(*w->keep));
	w->cut = calloc(n, sizeof(*w->cut));
	w->next_x = calloc(levels, sizeof(*w->next_x));
	w->open = malloc(levels * sizeof(*w->open));
	w->index = malloc(size * sizeof(*w->index));
	w->names = malloc((n + 2) * sizeof(*w->names));
	w->frames = malloc(2 * n * sizeof(*w->frames));
	if (w->index != NULL)
		memset(w->index, 0xff, size * sizeof(*w->index));
	return w->share != NULL && w->keep != NULL && w->cut != NULL &&
	    w->next_x != NULL && w->open != NULL && w->index != NULL &&
	    w->names != NULL && w->frames != NULL;
}

static double
double_share(const struct diff *d, size_t i, int side)
{
	int128 whole = d->nodes[0].total[side];

	return whole > 0
	    ? (double)d->nodes[i].total[side] / (double)whole : 0;
}

static int
double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x > y ? -1 : x < y;
}

/* A parent's shares are never smaller than its children's, and it comes
 * first: what is kept is a tree. */
static void
double_select(struct double_work *w, int64_t max_nodes)
{
	size_t n = w->d->n_nodes, left;
	double *sorted = w->share + n, least = 0;

	for (size_t i = 0; i < n; i++) {
		double a = double_share(w->d, i, DIFF_A);
		double b = double_share(w->d, i, DIFF_B);

		w->share[i] = sorted[i] = a > b ? a : b;
	}
	left = max_nodes >= 0 && (size_t)max_nodes < n ? (size_t)max_nodes : n;
	if (left < n && left > 0) {
		qsort(sorted, n, sizeof(*sorted), double_compare);
		least = sorted[left - 1];
	}
	for (size_t i = 0; i < n; i++)
		if ((w->keep[i] = w->share[i] > least && left > 0))
			left--;
	for (size_t i = 0; i < n; i++)
		if (w->share[i] == least && least > 0 && left > 0) {
			w->keep[i] = true;
			left--;
		}
	w->keep[0] = true;
	for (size_t i = 1; i < n; i++) {
		const struct diff_node *node = &w->d->nodes[i];

		if (w->keep[i] || !w->keep[node->parent])
			continue;
		for (int s = 0; s < 2; s++) {
			struct diff_node *cut = &w->cut[node->parent];

			cut->total[s] += node->total[s];
			cut->total_samples[s] += node->total_samples[s];
			cut->total_unknown[s] += node->total_unknown[s];
			cut->self[s] = cut->total[s];
			cut->self_samples[s] = cut->total_samples[s];
			cut->self_unknown[s] = cut->total_unknown[s];
		}
	}
}

static uint32_t
double_name(struct double_work *w, const char *text, enum flame_kind kind)
{
	size_t at = hash64(kind, text, strlen(text)) & w->mask;

	for (; w->index[at] != NONE; at = (at + 1) & w->mask) {
		const struct flame_name *n = &w->names[w->index[at]];

		if (n->kind == kind && strcmp(n->text, text) == 0)
			return w->index[at];
	}
	w->names[w->n_names] = (struct flame_name){text, kind, false};
	w->index[at] = (uint32_t)w->n_names;
	return (uint32_t)w->n_names++;
}

static void
double_frame(struct double_work *w, uint32_t level, uint32_t name,
    const struct diff_node *n)
{
	struct double_frame *f = &w->frames[w->n_frames++];

	*f = (struct double_frame){.name = name, .level = level, .node = n};
	for (int s = 0; s < 2; s++) {
		f->x[s] = level > 0 ? w->next_x[level - 1][s] : 0;
		f->total[s] = n->total[s];
		f->self[s] = n->self[s];
		if (level > 0)
			w->next_x[level - 1][s] += n->total[s];
		w->next_x[level][s] = f->x[s] + n->self[s];
		if (n->self[s] > w->max_self)
			w->max_self = n->self[s];
	}
	if (level + 1 > w->n_levels)
		w->n_levels = level + 1;
}

static void
double_close(struct double_work *w, uint32_t depth, uint32_t level,
    const char *other)
{
	while (depth > level) {
		const struct diff_node *cut = &w->cut[w->open[--depth]];

		if (cut->total[0] > 0 || cut->total[1] > 0)
			double_frame(w, depth + 1, double_name(w, other,
			    FLAME_UNKNOWN), cut);
	}
}

static void
double_lay(struct double_work *w, const char *other)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < w->d->n_nodes; i++) {
		const struct diff_node *n = &w->d->nodes[i];

		if (!w->keep[i])
			continue;
		double_close(w, depth, n->depth, other);
		w->open[n->depth] = (uint32_t)i;
		depth = n->depth + 1;
		double_frame(w, n->depth, i == 0
		    ? double_name(w, "total", FLAME_UNKNOWN)
		    : double_name(w, n->name, flame_kind_of(n->kind,
		    n->module)), n);
	}
	double_close(w, depth, 0, other);
}

static int
double_by_level(const void *a, const void *b)
{
	const struct double_frame *const *x = a, *const *y = b;

	if ((*x)->level != (*y)->level)
		return (*x)->level < (*y)->level ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static void
double_put_levels(struct writer *w, struct double_frame **order, size_t n)
{
	int128 end[2] = {0, 0};

	for (size_t i = 0; i < n; i++) {
		const struct double_frame *f = order[i];

		if (i == 0 || f->level != order[i - 1]->level) {
			if (i > 0)
				writer_close(w, ']');
			writer_open(w, '[');
			end[0] = end[1] = 0;
		}
		for (int s = 0; s < 2; s++) {
			writer_int128(w, f->x[s] - end[s]);
			writer_int128(w, f->total[s]);
			writer_int128(w, f->self[s]);
			end[s] = f->x[s] + f->total[s];
		}
		writer_int(w, f->name);
	}
	if (n > 0)
		writer_close(w, ']');
}

/* In the order of the levels: samples, or units without. */
static void
double_put_samples(struct writer *w, struct double_frame **order, size_t n,
    bool unknown)
{
	writer_key(w, unknown ? "unknown_levels" : "sample_levels");
	writer_open(w, '[');
	for (size_t i = 0; i < n; i++) {
		const struct double_frame *f = order[i];

		if (i > 0 && f->level != order[i - 1]->level)
			writer_close(w, ']');
		if (i == 0 || f->level != order[i - 1]->level)
			writer_open(w, '[');
		for (int s = 0; s < 2; s++) {
			writer_int128(w, unknown ? f->node->total_unknown[s]
						 : f->node->total_samples[s]);
			writer_int128(w, unknown ? f->node->self_unknown[s]
						 : f->node->self_samples[s]);
		}
	}
	if (n > 0)
		writer_close(w, ']');
	writer_close(w, ']');
}

static void
double_put_names(struct writer *w, const struct double_work *k, bool kinds)
{
	writer_open(w, '[');
	for (size_t i = 0; i < k->n_names; i++)
		writer_str(w, kinds ? flame_kind_name(k->names[i].kind)
				    : k->names[i].text);
	writer_close(w, ']');
}

static const struct err *
double_put(struct writer *w, const struct double_work *k,
    const struct doublebearer_options *o)
{
	struct double_frame **order = malloc(k->n_frames * sizeof(*order));
	const struct diff_node *root = &k->d->nodes[0];

	if (order == NULL)
		return err_nomem();
	for (size_t i = 0; i < k->n_frames; i++)
		order[i] = &k->frames[i];
	qsort(order, k->n_frames, sizeof(struct double_frame *),
	    double_by_level);
	writer_key(w, "flamebearer");
	writer_open(w, '{');
	writer_key(w, "names");
	double_put_names(w, k, false);
	writer_key(w, "levels");
	writer_open(w, '[');
	double_put_levels(w, order, k->n_frames);
	writer_close(w, ']');
	writer_key(w, "numTicks");
	writer_int128(w, root->total[DIFF_A] + root->total[DIFF_B]);
	writer_key(w, "maxSelf");
	writer_int128(w, k->max_self);
	writer_close(w, '}');
	if (o->kinds) {
		writer_key(w, "kinds");
		double_put_names(w, k, true);
	}
	if (o->samples && k->d->sampled)
		double_put_samples(w, order, k->n_frames, false);
	if (o->samples && k->d->sampled && k->d->unknown)
		double_put_samples(w, order, k->n_frames, true);
	free(order);
	return NULL;
}

const struct err *
doublebearer_put(struct writer *w, const struct diff *d,
    const struct doublebearer_options *o)
{
	struct double_work k;
	const struct err *e;

	if (!double_init(&k, d)) {
		double_fini(&k);
		return err_nomem();
	}
	double_select(&k, o->max_nodes);
	double_lay(&k, o->other);
	e = double_put(w, &k, o);
	double_fini(&k);
	return e;
}
