/*
 * The frames are those of a flame over both trees together; beside them,
 * what each side has of a frame, and where it stands.
 */
#include "fcgi/format/flame/doublebearer.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flame.h"
#include "store/base/err.h"

#define NONE UINT32_MAX

struct double_work {
	const struct diff *d;
	struct flame *f;
	struct diff_sides *sides;   /* by frame */
	int128 (*x)[2];             /* by frame */
	uint32_t *index, *first;    /* frames level by level */
	uint32_t *number, *written; /* of a name in the answer; and back */
	uint32_t n_names;
};

static void
double_fini(struct double_work *k)
{
	flame_free(k->f);
	free(k->sides);
	free(k->x);
	free(k->index);
	free(k->first);
	free(k->number);
	free(k->written);
}

/* Of a frame's two shares of their sides the larger: those that are not
 * negative have the order of their bits. */
static int128
double_rank(const struct diff *d, size_t i)
{
	double most = 0;
	int64_t bits;

	for (int s = 0; s < 2; s++) {
		int128 whole = d->sides[0].total[s];
		double share = whole > 0
		    ? (double)d->sides[i].total[s] / (double)whole : 0;

		if (share > most)
			most = share;
	}
	memcpy(&bits, &most, sizeof(bits));
	return bits;
}

static const struct err *
double_frames(struct double_work *k, const struct doublebearer_options *o)
{
	const struct profile *tree = &k->d->tree;
	struct flame_options all = {.max_nodes = o->max_nodes,
	    .other = o->other, .merge_inlined = true};
	int128 *rank = malloc(tree->n_nodes * sizeof(*rank));
	const struct err *e;

	if (rank == NULL)
		return err_nomem();
	for (size_t i = 0; i < tree->n_nodes; i++)
		rank[i] = double_rank(k->d, i);
	all.rank = rank;
	e = flame_new(&k->f, tree, &all);
	free(rank);
	return e;
}

/* Places on both sides; and names in the order in which they come. */
static const struct err *
double_place(struct double_work *k)
{
	const struct flame *f = k->f;
	int128 (*next)[2] = calloc((size_t)f->n_levels + 1, sizeof(*next));

	k->x = malloc(f->n_frames * sizeof(*k->x));
	k->number = malloc(f->n_names * sizeof(*k->number));
	k->written = malloc(f->n_names * sizeof(*k->written));
	k->sides = flame_spread(f, k->d->sides, DIFF_NUMBERS);
	if (next == NULL || k->x == NULL || k->number == NULL ||
	    k->written == NULL || k->sides == NULL ||
	    !flame_by_level(f, &k->index, &k->first)) {
		free(next);
		return err_nomem();
	}
	memset(k->number, 0xff, f->n_names * sizeof(*k->number));
	for (size_t i = 0; i < f->n_frames; i++) {
		const struct flame_frame *a = &f->frames[i];

		/* next[0] is the root's, next[l + 1] of what is below l */
		for (int s = 0; s < 2; s++) {
			k->x[i][s] = next[a->level][s];
			next[a->level][s] += k->sides[i].total[s];
			next[a->level + 1][s] =
			    k->x[i][s] + k->sides[i].self[s];
		}
		if (k->number[a->name] != NONE)
			continue;
		k->written[k->n_names] = a->name;
		k->number[a->name] = k->n_names++;
	}
	free(next);
	return NULL;
}

static void
double_put_frame(struct writer *w, const struct double_work *k, uint32_t i,
    int128 end[2])
{
	for (int s = 0; s < 2; s++) {
		writer_int128(w, k->x[i][s] - end[s]);
		writer_int128(w, k->sides[i].total[s]);
		writer_int128(w, k->sides[i].self[s]);
		end[s] = k->x[i][s] + k->sides[i].total[s];
	}
	writer_int(w, k->number[k->f->frames[i].name]);
}

static void
double_put_levels(struct writer *w, const struct double_work *k)
{
	writer_open(w, '[');
	for (uint32_t l = 0; l < k->f->n_levels; l++) {
		int128 end[2] = {0, 0};

		writer_open(w, '[');
		for (uint32_t i = k->first[l]; i < k->first[l + 1]; i++)
			double_put_frame(w, k, k->index[i], end);
		writer_close(w, ']');
	}
	writer_close(w, ']');
}

/* In the order of the levels: samples, or units without. */
static void
double_put_samples(struct writer *w, const struct double_work *k,
    bool unknown)
{
	writer_key(w, unknown ? "unknown_levels" : "sample_levels");
	writer_open(w, '[');
	for (uint32_t l = 0; l < k->f->n_levels; l++) {
		writer_open(w, '[');
		for (uint32_t i = k->first[l]; i < k->first[l + 1]; i++) {
			const struct diff_sides *n = &k->sides[k->index[i]];

			for (int s = 0; s < 2; s++) {
				writer_int128(w, unknown ? n->total_unknown[s]
							 : n->total_samples[s]);
				writer_int128(w, unknown ? n->self_unknown[s]
							 : n->self_samples[s]);
			}
		}
		writer_close(w, ']');
	}
	writer_close(w, ']');
}

static void
double_put_names(struct writer *w, const struct double_work *k, bool kinds)
{
	writer_open(w, '[');
	for (size_t i = 0; i < k->n_names; i++) {
		const struct flame_name *n = &k->f->names[k->written[i]];

		writer_str(w, kinds ? flame_kind_name(n->kind) : n->text);
	}
	writer_close(w, ']');
}

static int128
double_max_self(const struct double_work *k)
{
	int128 most = 0;

	for (size_t i = 0; i < k->f->n_frames; i++)
		for (int s = 0; s < 2; s++)
			if (k->sides[i].self[s] > most)
				most = k->sides[i].self[s];
	return most;
}

static void
double_put(struct writer *w, const struct double_work *k,
    const struct doublebearer_options *o)
{
	const int128 *all = k->d->sides[0].total;

	writer_key(w, "flamebearer");
	writer_open(w, '{');
	writer_key(w, "names");
	double_put_names(w, k, false);
	writer_key(w, "levels");
	double_put_levels(w, k);
	writer_key(w, "numTicks");
	writer_int128(w, all[DIFF_A] + all[DIFF_B]);
	writer_key(w, "maxSelf");
	writer_int128(w, double_max_self(k));
	writer_close(w, '}');
	if (o->kinds) {
		writer_key(w, "kinds");
		double_put_names(w, k, true);
	}
	if (o->samples && k->d->sampled)
		double_put_samples(w, k, false);
	if (o->samples && k->d->sampled && k->d->unknown)
		double_put_samples(w, k, true);
}

const struct err *
doublebearer_put(struct writer *w, const struct diff *d,
    const struct doublebearer_options *o)
{
	struct double_work k = {.d = d};
	const struct err *e = double_frames(&k, o);

	if (e == NULL)
		e = double_place(&k);
	if (e == NULL)
		double_put(w, &k, o);
	double_fini(&k);
	return e;
}
