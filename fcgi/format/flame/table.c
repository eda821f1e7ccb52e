/*
 * One walk over a tree in pre-order, with a count of the open frames of each
 * function: a frame adds to a total only where its function is not open yet.
 */
#include "fcgi/format/flame/table.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame_names.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/model/series.h"

/* What is open while a tree is walked: the row of each level's frame. */
struct table_walk {
	struct table *t;
	uint32_t *path;  /* by level */
	uint32_t *open;  /* by row: its frames among path[] */
	uint32_t depth;
};

static void
table_walk_fini(struct table_walk *w)
{
	free(w->path);
	free(w->open);
}

static bool
table_walk_init(struct table_walk *w, struct table *t, size_t rows,
    size_t levels)
{
	*w = (struct table_walk){.t = t};
	w->path = malloc((levels + 1) * sizeof(*w->path));
	w->open = calloc(rows + 1, sizeof(*w->open));
	t->rows = calloc(rows + 1, sizeof(*t->rows));
	return w->path != NULL && w->open != NULL && t->rows != NULL;
}

/* Adds what a frame has to its function: the total only where that is not
 * open already. */
static void
table_row_add(struct table_row *r, const struct diff_sides *a, bool outermost)
{
	struct diff_sides *has = &r->has;

	for (int side = 0; side < 2; side++) {
		has->self[side] += a->self[side];
		has->self_samples[side] += a->self_samples[side];
		has->self_unknown[side] += a->self_unknown[side];
		if (!outermost)
			continue;
		has->total[side] += a->total[side];
		has->total_samples[side] += a->total_samples[side];
		has->total_unknown[side] += a->total_unknown[side];
	}
}

static void
table_walk_add(struct table_walk *w, uint32_t level, uint32_t row,
    const struct diff_sides *a)
{
	while (w->depth > level)
		w->open[w->path[--w->depth]]--;
	table_row_add(&w->t->rows[row], a, w->open[row] == 0);
	w->open[row]++;
	w->path[w->depth++] = row;
}

/* Names that no frame but the root has leave no row. */
static void
table_pack(struct table *t, size_t n)
{
	t->n_rows = 0;
	for (size_t i = 0; i < n; i++)
		if (t->rows[i].name != NULL)
			t->rows[t->n_rows++] = t->rows[i];
}

static struct diff_sides
table_of_frame(const struct flame *f, size_t i)
{
	struct diff_sides has = {.self = {f->frames[i].self},
	    .total = {f->frames[i].total}};

	if (f->samples != NULL) {
		has.self_samples[0] = f->samples[i].self;
		has.total_samples[0] = f->samples[i].total;
		has.self_unknown[0] = f->samples[i].self_unknown;
		has.total_unknown[0] = f->samples[i].total_unknown;
	}
	return has;
}

/* Of one period: samples follow from what was added. */
static void
table_row_count(struct table_row *r, int64_t period)
{
	r->has.self_samples[0] = samples_of(r->has.self[0], period);
	r->has.total_samples[0] = samples_of(r->has.total[0], period);
}

const struct err *
table_of_flame(struct table **out, const struct flame *f)
{
	struct table *t = calloc(1, sizeof(*t));
	struct table_walk w = {0};

	*out = NULL;
	if (t == NULL || !table_walk_init(&w, t, f->n_names, f->n_levels)) {
		table_walk_fini(&w);
		table_free(t);
		return err_nomem();
	}
	for (size_t i = 1; i < f->n_frames && !gone(); i++) {
		const struct flame_frame *frame = &f->frames[i];
		const struct flame_name *name = &f->names[frame->name];
		struct diff_sides has = table_of_frame(f, i);

		t->rows[frame->name].name = name->text;
		t->rows[frame->name].kind = name->kind;
		table_walk_add(&w, frame->level - 1, frame->name, &has);
	}
	t->sum[0] = f->total;
	t->sampled = f->samples != NULL || f->period > 0;
	t->unknown = f->samples != NULL && f->samples[0].total_unknown != 0;
	table_pack(t, f->n_names);
	for (size_t i = 0; i < t->n_rows && f->period > 0; i++)
		table_row_count(&t->rows[i], f->period);
	table_walk_fini(&w);
	*out = t;
	return NULL;
}

/* Rows are by the numbers of names. */
static bool
table_walk_diff(struct table_walk *w, const struct diff *d)
{
	struct flame_names names;
	bool good = flame_names_init(&names, d->tree.n_nodes);

	for (size_t i = 1; good && i < d->tree.n_nodes && !gone(); i++) {
		const struct profile_node *n = &d->tree.nodes[i];
		uint32_t row;

		/* what a filter has emptied is not there */
		if (d->sides[i].total[0] == 0 && d->sides[i].total[1] == 0)
			continue;
		row = flame_names_of(&names, n, true);
		if (names.failed)
			break;
		w->t->rows[row].name = names.names[row].text;
		w->t->rows[row].kind = names.names[row].kind;
		table_walk_add(w, n->depth - 1, row, &d->sides[i]);
	}
	w->t->n_rows = names.n;
	good = good && !names.failed;
	flame_names_fini(&names);
	return good;
}

const struct err *
table_of_diff(struct table **out, const struct diff *d)
{
	struct table *t = calloc(1, sizeof(*t));
	struct table_walk w = {0};
	bool good = t != NULL && table_walk_init(&w, t, d->tree.n_nodes,
	    flame_depth(&d->tree)) && table_walk_diff(&w, d);

	table_walk_fini(&w);
	*out = NULL;
	if (!good) {
		table_free(t);
		return err_nomem();
	}
	t->sampled = d->sampled;
	t->unknown = d->unknown;
	for (int side = 0; side < 2; side++)
		t->sum[side] = d->sides[0].total[side];
	*out = t;
	return NULL;
}

void
table_free(struct table *t)
{
	if (t == NULL)
		return;
	free(t->rows);
	free(t);
}

struct table_key {
	enum table_order order;
	double weight[2];
};

static double
table_value(const struct table_row *r, const struct table_key *k)
{
	const int128 *v = k->order == TABLE_SELF ||
	    k->order == TABLE_SELF_DIFFERENCE ? r->has.self : r->has.total;
	double by;

	if (k->order == TABLE_SELF || k->order == TABLE_TOTAL)
		return (double)(v[0] + v[1]);
	by = k->weight[1] * (double)v[1] - k->weight[0] * (double)v[0];
	return by < 0 ? -by : by;
}

static int
table_compare(const void *a, const void *b, void *arg)
{
	const struct table_row *x = a, *y = b;
	const struct table_key *k = arg;
	int order;

	if (k->order != TABLE_NAME) {
		double p = table_value(x, k), q = table_value(y, k);

		if (p != q)
			return p > q ? -1 : 1;
	}
	order = strcmp(x->name, y->name);
	return order != 0 ? order : (int)x->kind - (int)y->kind;
}

void
table_sort(struct table *t, enum table_order order, const double weight[2])
{
	struct table_key k = {order, {1, 1}};

	if (weight != NULL)
		memcpy(k.weight, weight, sizeof(k.weight));
	qsort_r(t->rows, t->n_rows, sizeof(*t->rows), table_compare, &k);
}

bool
table_of_name(const struct flame *f, const char *name, struct table_row *out)
{
	uint32_t inside = 0; /* level of the outermost open frame; 0: none */
	bool found = false;

	*out = (struct table_row){.name = name};
	for (size_t i = 1; i < f->n_frames; i++) {
		const struct flame_frame *frame = &f->frames[i];
		struct diff_sides has = table_of_frame(f, i);

		if (frame->level <= inside)
			inside = 0;
		if (strcmp(f->names[frame->name].text, name) != 0)
			continue;
		found = true;
		table_row_add(out, &has, inside == 0);
		if (inside == 0)
			inside = frame->level;
	}
	if (f->period > 0)
		table_row_count(out, f->period);
	return found;
}
