/*
 * One walk over a tree in pre-order, with a count of the open frames of each
 * function: a frame adds to a total only where its function is not open yet.
 */
#include "fcgi/format/flame/table.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame_names.h"
#include "fcgi/format/flame/search.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/model/series.h"

/* What is open while a tree is walked: the row of each level's frame. */
struct table_walk {
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
table_walk_init(struct table_walk *w, size_t rows, size_t levels)
{
	*w = (struct table_walk){0};
	w->path = malloc((levels + 1) * sizeof(*w->path));
	w->open = calloc(rows + 1, sizeof(*w->open));
	return w->path != NULL && w->open != NULL;
}

/* Is it the outermost one of its row? */
static bool
table_walk_enter(struct table_walk *w, uint32_t level, uint32_t row)
{
	while (w->depth > level)
		w->open[w->path[--w->depth]]--;
	w->path[w->depth++] = row;
	return w->open[row]++ == 0;
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

/* Rows are by the numbers of names. */
static bool
table_walk_diff(struct table_walk *w, struct table *t, const struct diff *d)
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
		t->rows[row].name = names.names[row].text;
		t->rows[row].kind = names.names[row].kind;
		table_row_add(&t->rows[row], &d->sides[i],
		    table_walk_enter(w, n->depth - 1, row));
	}
	t->n_rows = names.n;
	good = good && !names.failed;
	flame_names_fini(&names);
	return good;
}

const struct err *
table_of_diff(struct table **out, const struct diff *d)
{
	struct table *t = calloc(1, sizeof(*t));
	struct table_walk w = {0};
	bool good = t != NULL && (t->rows = calloc(d->tree.n_nodes + 1,
	    sizeof(*t->rows))) != NULL && table_walk_init(&w,
	    d->tree.n_nodes, flame_depth(&d->tree)) &&
	    table_walk_diff(&w, t, d);

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
	bool last; /* the last come first */
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
	const struct table_key *k = arg;
	const struct table_row *x = k->last ? b : a, *y = k->last ? a : b;
	int order;

	if (k->order != TABLE_NAME) {
		double p = table_value(x, k), q = table_value(y, k);

		if (p != q)
			return p > q ? -1 : 1;
	}
	order = strcmp(x->name, y->name);
	return order != 0 ? order : (int)x->kind - (int)y->kind;
}

static void
table_swap(struct table_row *a, struct table_row *b)
{
	struct table_row was = *a;

	*a = *b;
	*b = was;
}

/* Of n rows each comes after its two children, but for this one perhaps. */
static void
table_sift(struct table_row *rows, size_t n, size_t at, struct table_key *k)
{
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		child += child + 1 < n &&
		    table_compare(&rows[child + 1], &rows[child], k) > 0;
		if (table_compare(&rows[at], &rows[child], k) >= 0)
			return;
		table_swap(&rows[at], &rows[child]);
	}
}

static void
table_heap(struct table_row *rows, size_t n, struct table_key *k)
{
	for (size_t i = n / 2; i-- > 0;)
		table_sift(rows, n, i, k);
}

/* The last of n rows, which is rows[0], gives way to one that comes before
 * it. */
static void
table_offer(struct table_row *rows, size_t n, struct table_row *r,
    struct table_key *k)
{
	if (table_compare(r, &rows[0], k) < 0) {
		table_swap(r, &rows[0]);
		table_sift(rows, n, 0, k);
	}
}

void
table_first(struct table *t, enum table_order order, const double weight[2],
    bool last, size_t n)
{
	struct table_key k = {order, {1, 1}, last};

	if (weight != NULL)
		memcpy(k.weight, weight, sizeof(k.weight));
	n = n < t->n_rows ? n : t->n_rows;
	if (n < t->n_rows)
		table_heap(t->rows, n, &k);
	for (size_t i = n; n > 0 && i < t->n_rows; i++)
		table_offer(t->rows, n, &t->rows[i], &k);
	qsort_r(t->rows, n, sizeof(*t->rows), table_compare, &k);
}

void
table_sort(struct table *t, enum table_order order, const double weight[2])
{
	table_first(t, order, weight, false, t->n_rows);
}

/* ---- of a flame ---- */

/*
 * What a name of a flame has, small: rows are made of those alone that are
 * asked for.
 */
struct table_sum {
	int128 self, total;
};

struct table_sums {
	struct table_sum *units;              /* by name */
	struct table_sum *samples, *unknown;  /* NULL: follow from units */
	bool *seen;
};

static void
table_sums_fini(struct table_sums *s)
{
	free(s->units);
	free(s->samples);
	free(s->unknown);
	free(s->seen);
}

static bool
table_sums_init(struct table_sums *s, const struct flame *f)
{
	size_t n = f->n_names + 1;

	s->units = calloc(n, sizeof(*s->units));
	s->seen = calloc(n, sizeof(*s->seen));
	if (f->samples == NULL)
		return s->units != NULL && s->seen != NULL;
	s->samples = calloc(n, sizeof(*s->samples));
	s->unknown = calloc(n, sizeof(*s->unknown));
	return s->units != NULL && s->seen != NULL && s->samples != NULL &&
	    s->unknown != NULL;
}

static void
table_sum_add(struct table_sum *s, int128 self, int128 total, bool outermost)
{
	s->self += self;
	if (outermost)
		s->total += total;
}

static void
table_sums_take(struct table_sums *s, struct table_walk *w,
    const struct flame *f)
{
	for (size_t i = 1; i < f->n_frames && !gone(); i++) {
		const struct flame_frame *x = &f->frames[i];
		bool outermost = table_walk_enter(w, x->level - 1, x->name);

		s->seen[x->name] = true;
		table_sum_add(&s->units[x->name], x->self, x->total,
		    outermost);
		if (f->samples == NULL)
			continue;
		table_sum_add(&s->samples[x->name], f->samples[i].self,
		    f->samples[i].total, outermost);
		table_sum_add(&s->unknown[x->name], f->samples[i].self_unknown,
		    f->samples[i].total_unknown, outermost);
	}
}

static struct table_row
table_row_of(const struct table_sums *s, const struct flame *f, size_t name)
{
	const struct table_sum *units = &s->units[name];
	struct table_row r = {f->names[name].text, f->names[name].kind,
	    {.self = {units->self}, .total = {units->total}}};

	if (f->samples != NULL) {
		r.has.self_samples[0] = s->samples[name].self;
		r.has.total_samples[0] = s->samples[name].total;
		r.has.self_unknown[0] = s->unknown[name].self;
		r.has.total_unknown[0] = s->unknown[name].total;
	}
	if (f->period > 0)
		table_row_count(&r, f->period);
	return r;
}

/* Names that no frame but the root has leave no row. */
static bool
table_take(struct table *t, const struct table_sums *s, const struct flame *f,
    const struct table_choice *c)
{
	size_t most = c->n < f->n_names ? c->n : f->n_names;
	struct table_key k = {c->order, {1, 1}, c->last};

	if ((t->rows = malloc((most + 1) * sizeof(*t->rows))) == NULL)
		return false;
	for (size_t i = 0; i < f->n_names && !gone(); i++) {
		if (!s->seen[i] || (c->search != NULL &&
		        !search_test(c->search, f->names[i].text)))
			continue;
		t->n_all++;
		t->rows[t->n_rows] = table_row_of(s, f, i);
		if (t->n_rows < most)
			t->n_rows++;
		else if (most > 0)
			table_offer(t->rows, most, &t->rows[most], &k);
		if (t->n_all == most)
			table_heap(t->rows, most, &k);
	}
	return true;
}

static const struct err *
table_choose(struct table **out, const struct flame *f,
    const struct table_choice *c)
{
	struct table *t = calloc(1, sizeof(*t));
	struct table_walk w = {0};
	struct table_sums s = {0};
	bool good = t != NULL && table_walk_init(&w, f->n_names,
	    f->n_levels) && table_sums_init(&s, f);

	if (good) {
		table_sums_take(&s, &w, f);
		good = table_take(t, &s, f, c);
	}
	table_walk_fini(&w);
	table_sums_fini(&s);
	*out = NULL;
	if (!good) {
		table_free(t);
		return err_nomem();
	}
	t->sum[0] = f->total;
	t->sampled = f->samples != NULL || f->period > 0;
	t->unknown = f->samples != NULL && f->samples[0].total_unknown != 0;
	*out = t;
	return NULL;
}

const struct err *
table_of_flame(struct table **out, const struct flame *f)
{
	return table_choose(out, f, &(struct table_choice){.n = SIZE_MAX});
}

const struct err *
table_of_flame_first(struct table **out, const struct flame *f,
    const struct table_choice *c)
{
	const struct err *e = table_choose(out, f, c);

	if (e == NULL)
		table_first(*out, c->order, NULL, c->last, c->n);
	return e;
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
