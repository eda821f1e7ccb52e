/*
 * The frames of a picture: what has to be known of all of them before the
 * first is drawn, and which of them are drawn or gathered.
 */
#include <stdlib.h>

#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flamesvg_private.h"
#include "store/base/gone.h"

/* Own samples of a frame as a share of all; of two profiles what moved. */
static double
survey_own(const struct svg *s, const struct flame_frame *a)
{
	const int128 *self;
	double whole[2];

	if (s->diff == NULL)
		return (double)a->self / (double)s->f->total;
	if (a->node == FLAME_NO_NODE)
		return 0;
	self = s->diff->sides[a->node].self;
	for (int i = 0; i < 2; i++)
		if ((whole[i] = (double)svg_whole(s, i)) <= 0)
			return 0;
	return (double)self[DIFF_B] / whole[DIFF_B] -
	    (double)self[DIFF_A] / whole[DIFF_A];
}

bool
svg_survey(struct svg *s)
{
	const struct flame_frame *a;
	uint32_t hidden = UINT32_MAX;
	struct flame_walk w;

	s->own = calloc(s->f->n_names, sizeof(*s->own));
	s->height = 1;
	if (s->own == NULL || !flame_walk_init(&w, s->f))
		return false;
	while ((a = flame_walk_next(&w)) != NULL) {
		if (a->n_cut == 0 && s->f->total > 0)
			s->own[a->name] += survey_own(s, a);
		if (a->level > hidden)
			continue;
		if (a->level + 1 > s->height)
			s->height = a->level + 1;
		/* what is gathered is below a frame that is drawn */
		hidden = a->level > 0 && svg_double(a->total) < s->least
		    ? a->level : UINT32_MAX;
	}
	flame_walk_fini(&w);
	return true;
}

/* ---- drawing ---- */

/* A frame that is drawn and not closed yet. */
struct svg_open {
	int128 next_x;   /* where its next child begins */
	int128 cut, samples, unknown; /* of children that are gathered */
	uint64_t n_cut;
	struct diff_sides gathered; /* the same of a difference */
};

struct svg_walk {
	struct svg *s;
	struct svg_open *open; /* by level */
	uint32_t depth;
	uint32_t hidden; /* the level of the last gathered frame; all below
			  * it goes with it */
};

static bool
walk_close(struct svg_walk *w, uint32_t level)
{
	while (w->depth > level) {
		const struct svg_open *o = &w->open[--w->depth];
		struct svg_frame a = {.level = w->depth + 1,
		    .n_cut = o->n_cut,
		    .x = o->next_x,
		    .total = o->cut,
		    .samples = o->samples,
		    .unknown = o->unknown,
		    .sides = &o->gathered};

		if (o->cut <= 0)
			continue;
		w->s->n_cut += o->n_cut;
		if (!svg_put_frame(w->s, &a))
			return false;
	}
	return true;
}

static void
walk_gather(struct svg_walk *w, const struct flame_frame *f,
    const struct svg_frame *a)
{
	struct svg_open *up = &w->open[f->level - 1];

	up->cut += f->total;
	up->samples += a->samples;
	up->unknown += a->unknown;
	up->n_cut += f->n_cut > 0 ? f->n_cut : 1;
	for (int i = 0; i < 2 && a->sides != NULL; i++) {
		up->gathered.total[i] += a->sides->total[i];
		up->gathered.total_samples[i] += a->sides->total_samples[i];
		up->gathered.total_unknown[i] += a->sides->total_unknown[i];
	}
	w->hidden = f->level;
}

/* What is below a frame that is too narrow is so, too, and is not looked at:
 * it has no place, and is in that frame's amounts already. */
static bool
walk_frame(struct svg_walk *w, const struct flame_frame *f)
{
	struct svg_frame a = {.name = f->name, .level = f->level,
	    .total = f->total};
	struct svg_open *o = &w->open[f->level];

	if (f->level > w->hidden) {
		w->open[w->hidden - 1].n_cut += f->n_cut > 0 ? f->n_cut : 1;
		return true;
	}
	if (!walk_close(w, f->level))
		return false;
	if (w->s->f->samples != NULL) {
		const struct profile_samples *n =
		    &w->s->f->samples[f - w->s->f->frames];

		a.samples = n->total;
		a.unknown = n->total_unknown;
	}
	if (w->s->sides != NULL)
		a.sides = &w->s->sides[f - w->s->f->frames];
	w->hidden = UINT32_MAX;
	if (f->level > 0 &&
	    (f->n_cut > 0 || svg_double(f->total) < w->s->least)) {
		walk_gather(w, f, &a);
		return true;
	}
	if (f->level > 0) {
		a.x = o[-1].next_x;
		o[-1].next_x += f->total;
	}
	*o = (struct svg_open){.next_x = a.x + f->self};
	w->depth = f->level + 1;
	return svg_put_frame(w->s, &a);
}

bool
svg_put_frames(struct svg *s)
{
	struct svg_walk w = {.s = s, .hidden = UINT32_MAX};
	const struct flame_frame *a;
	struct flame_walk frames;
	bool good = flame_walk_init(&frames, s->f);

	w.open = calloc((size_t)s->f->n_levels + 1, sizeof(*w.open));
	good = good && w.open != NULL;
	while (good && !gone() && (a = flame_walk_next(&frames)) != NULL)
		good = walk_frame(&w, a);
	good = good && walk_close(&w, 0);
	flame_walk_fini(&frames);
	free(w.open);
	return good;
}
