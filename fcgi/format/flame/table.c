/*
 * One walk over a tree in pre-order, with a count of the open frames of each
 * function: a frame adds to a total only where its function is not open yet.
 */
#include "fcgi/format/flame/table.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame_names.h"
#include "fcgi/format/flame/search.h"
#include "store/base/array.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/model/series.h"

/* What is open while a tree is walked: the row of each level's frame.  All
 * zero at first. */
struct table_walk {
	uint32_t *path;  /* by level */
	uint32_t *open;  /* by row: its frames among path[] */
	uint32_t depth, n_open, cap_path, cap_open;
};

static void
table_walk_fini(struct table_walk *w)
{
	free(w->path);
	free(w->open);
}

static bool
table_walk_room(struct table_walk *w, uint32_t level, uint32_t row)
{
	if (!array_room(&w->path, level + 1, &w->cap_path) ||
	    !array_room(&w->open, row + 1, &w->cap_open))
		return false;
	while (w->n_open <= row)
		w->open[w->n_open++] = 0;
	return true;
}

/* Is it the outermost one of its row?  There is room. */
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
		names.failed |= !table_walk_room(w, n->depth - 1, row);
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
	    sizeof(*t->rows))) != NULL && table_walk_diff(&w, t, d);

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
	buf_fini(&t->names);
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

/* ---- of a flame, or of nodes as they come ---- */

/* What a function has, small: rows are made of those alone that are asked
 * for. */
struct table_sum {
	int128 self, total;
	const char *text;
	uint32_t next; /* row + 1 of the same name; 0: none */
	uint8_t kind;  /* enum flame_kind */
	bool inlined, seen;
};

struct table_sums {
	struct table_sum *all; /* by row */
	struct profile_samples *samples; /* the same; NULL: follow from units */
	uint32_t n, cap, cap_samples;
	uint32_t *named; /* number of a name -> its last row + 1 */
	struct table_walk walk;
	const char *module; /* of the node before, and what kind that was */
	enum frame_kind frame;
	enum flame_kind kind;
};

void
table_sums_free(struct table_sums *s)
{
	if (s == NULL)
		return;
	free(s->all);
	free(s->samples);
	free(s->named);
	table_walk_fini(&s->walk);
	free(s);
}

/* False: out of memory. */
static bool
table_sums_add(struct table_sums *s, uint32_t level, uint32_t row,
    const struct table_sum *has, const struct profile_samples *samples)
{
	struct table_sum *to = &s->all[row];
	struct profile_samples *of;
	bool outermost;

	if (!table_walk_room(&s->walk, level, row))
		return false;
	outermost = table_walk_enter(&s->walk, level, row);
	to->seen = true;
	to->self += has->self;
	if (outermost)
		to->total += has->total;
	if (samples == NULL)
		return true;
	of = &s->samples[row];
	of->self += samples->self;
	of->self_unknown += samples->self_unknown;
	if (outermost) {
		of->total += samples->total;
		of->total_unknown += samples->total_unknown;
	}
	return true;
}

/* A row for each name, in their order. */
static bool
table_sums_flame(struct table_sums *s, const struct flame *f)
{
	s->n = (uint32_t)f->n_names;
	s->all = calloc(f->n_names + 1, sizeof(*s->all));
	if (f->samples != NULL)
		s->samples = calloc(f->n_names + 1, sizeof(*s->samples));
	if (s->all == NULL || (f->samples != NULL && s->samples == NULL))
		return false;
	for (size_t i = 0; i < f->n_names; i++) {
		s->all[i].text = f->names[i].text;
		s->all[i].kind = (uint8_t)f->names[i].kind;
	}
	for (size_t i = 1; i < f->n_frames && !gone(); i++) {
		const struct flame_frame *x = &f->frames[i];
		const struct table_sum has = {.self = x->self,
		    .total = x->total};

		if (!table_sums_add(s, x->level - 1, x->name, &has,
		    f->samples != NULL ? &f->samples[i] : NULL))
			return false;
	}
	return true;
}

struct table_sums *
table_sums_new(void)
{
	return calloc(1, sizeof(struct table_sums));
}

bool
table_sums_begin(void *sums, uint32_t n_names)
{
	struct table_sums *s = sums;

	/* as many as are likely, so that the rows are not moved: those that are
	 * not used take no memory */
	s->named = calloc((size_t)n_names + 1, sizeof(*s->named));
	s->all = malloc(((size_t)n_names + 1) * sizeof(*s->all));
	s->cap = s->all != NULL ? n_names + 1 : 0;
	return s->named != NULL && s->all != NULL;
}

/* The row of a node's function, new or old; UINT32_MAX: out of memory. */
static uint32_t
table_sums_row(struct table_sums *s, const struct profile_node *n,
    uint32_t name, bool sampled)
{
	bool inlined = n->kind == FRAME_INLINED;
	uint32_t i = s->named[name];

	while (i != 0 && (s->all[i - 1].kind != s->kind ||
	    s->all[i - 1].inlined != inlined))
		i = s->all[i - 1].next;
	if (i != 0)
		return i - 1;
	if (!array_room(&s->all, s->n + 1, &s->cap) ||
	    (sampled && !array_room(&s->samples, s->n + 1, &s->cap_samples)))
		return UINT32_MAX;
	s->all[s->n] = (struct table_sum){.text = n->name,
	    .next = s->named[name], .kind = (uint8_t)s->kind,
	    .inlined = inlined};
	if (sampled)
		s->samples[s->n] = (struct profile_samples){0};
	s->named[name] = s->n + 1;
	return s->n++;
}

bool
table_sums_take(void *sums, const struct profile_node *n, uint32_t name,
    const struct profile_samples *samples)
{
	const struct table_sum has = {.self = n->self, .total = n->total};
	struct table_sums *s = sums;
	uint32_t row;

	if (n->total <= 0)
		return true; /* no frame of a flame either */
	if (n->module != s->module || n->kind != s->frame) {
		s->kind = flame_kind_of(n->kind, n->module);
		s->module = n->module;
		s->frame = n->kind;
	}
	row = table_sums_row(s, n, name, samples != NULL);
	return row != UINT32_MAX &&
	    table_sums_add(s, n->depth - 1, row, &has, samples);
}

static struct table_row
table_row_of(const struct table_sums *s, int64_t period, uint32_t row)
{
	const struct table_sum *sum = &s->all[row];
	struct table_row r = {sum->text, (enum flame_kind)sum->kind,
	    {.self = {sum->self}, .total = {sum->total}}};

	if (s->samples != NULL) {
		r.has.self_samples[0] = s->samples[row].self;
		r.has.total_samples[0] = s->samples[row].total;
		r.has.self_unknown[0] = s->samples[row].self_unknown;
		r.has.total_unknown[0] = s->samples[row].total_unknown;
	}
	if (period > 0)
		table_row_count(&r, period);
	return r;
}

/* Names that no frame but the root has leave no row. */
static bool
table_take(struct table *t, const struct table_sums *s, int64_t period,
    const struct table_choice *c)
{
	size_t most = c->n < s->n ? c->n : s->n;
	struct table_key k = {c->order, {1, 1}, c->last};

	if ((t->rows = malloc((most + 1) * sizeof(*t->rows))) == NULL)
		return false;
	for (uint32_t i = 0; i < s->n && !gone(); i++) {
		if (!s->all[i].seen || (c->search != NULL &&
		        !search_test(c->search, s->all[i].text)))
			continue;
		t->n_all++;
		t->rows[t->n_rows] = table_row_of(s, period, i);
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
table_choose(struct table **out, const struct table_sums *s, int64_t period,
    const struct table_choice *c)
{
	struct table *t = calloc(1, sizeof(*t));

	*out = NULL;
	if (t == NULL || !table_take(t, s, period, c)) {
		table_free(t);
		return err_nomem();
	}
	*out = t;
	return NULL;
}

static const struct err *
table_choose_flame(struct table **out, const struct flame *f,
    const struct table_choice *c)
{
	struct table_sums *s = table_sums_new();
	const struct err *e = s != NULL && table_sums_flame(s, f)
	    ? table_choose(out, s, f->period, c) : err_nomem();

	table_sums_free(s);
	if (e != NULL)
		return e;
	(*out)->sum[0] = f->total;
	(*out)->sampled = f->samples != NULL || f->period > 0;
	(*out)->unknown = f->samples != NULL &&
	    f->samples[0].total_unknown != 0;
	return NULL;
}

const struct err *
table_of_flame(struct table **out, const struct flame *f)
{
	return table_choose_flame(out, f,
	    &(struct table_choice){.n = SIZE_MAX});
}

const struct err *
table_of_flame_first(struct table **out, const struct flame *f,
    const struct table_choice *c)
{
	const struct err *e = table_choose_flame(out, f, c);

	if (e == NULL)
		table_first(*out, c->order, NULL, c->last, c->n);
	return e;
}

/* Its names become its own. */
static bool
table_keep_names(struct table *t)
{
	size_t at = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		buf_put(&t->names, t->rows[i].name,
		    strlen(t->rows[i].name) + 1);
	if (t->names.failed)
		return false;
	for (size_t i = 0; i < t->n_rows; i++) {
		t->rows[i].name = (const char *)t->names.data + at;
		at += strlen(t->rows[i].name) + 1;
	}
	return true;
}

const struct err *
table_of_sums_first(struct table **out, const struct table_sums *s,
    const struct profile *p, const struct table_choice *c)
{
	const struct err *e = table_choose(out, s, p->period, c);

	if (e != NULL)
		return e;
	table_first(*out, c->order, NULL, c->last, c->n);
	(*out)->sum[0] = p->nodes[0].total;
	(*out)->sampled = p->samples != NULL || p->period > 0;
	(*out)->unknown = p->samples != NULL &&
	    p->samples[0].total_unknown != 0;
	if (table_keep_names(*out))
		return NULL;
	table_free(*out);
	*out = NULL;
	return err_nomem();
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
