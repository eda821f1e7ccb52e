/*
 * What a differential picture says of a frame, and how wide it is.
 */
#include <math.h>
#include <stdlib.h>

#include "fcgi/format/digits.h"
#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flamesvg_private.h"
#include "store/base/err.h"

/* Ticks of a differential picture are parts of this: fine enough that no
 * rounding is seen, and exact in the script's numbers. */
#define DIFF_TICKS 0x1p50

static bool
diff_is_few(const struct svg *s, const struct svg_frame *a)
{
	const int128 *n = a->sides->total_samples;
	const int128 *unknown = a->sides->total_unknown;

	return s->diff->sampled && diff_few(n[DIFF_A] + n[DIFF_B],
	    unknown[DIFF_A] + unknown[DIFF_B]) == DIFF_FEW;
}

double
svg_change(const struct svg *s, const struct svg_frame *a, bool *few)
{
	double va = (double)a->sides->total[DIFF_A] * s->pair->weight[DIFF_A];
	double vb = (double)a->sides->total[DIFF_B] * s->pair->weight[DIFF_B];
	double most = va > vb ? va : vb;

	*few = diff_is_few(s, a);
	return most > 0 ? (vb - va) / most : 0;
}

int128
svg_whole(const struct svg *s, int side)
{
	return s->pair->whole[side] > 0 ? s->pair->whole[side]
					: s->diff->sides[0].total[side];
}

/* "A 1,234 12.34%"; "A at least 1,234 12.34%" */
static char *
diff_put_side(char *p, const struct svg *s, const struct svg_frame *a,
    int side)
{
	int128 whole = svg_whole(s, side);

	*p++ = side == DIFF_A ? 'A' : 'B';
	*p++ = ' ';
	if (s->amount.counted && a->sides->total_unknown[side] != 0)
		p = svg_str(p, "at least ");
	p = digits_put_grouped(p, s->amount.counted
	    ? a->sides->total_samples[side] : a->sides->total[side]);
	*p++ = ' ';
	return whole > 0
	    ? digits_put_percent(p, a->sides->total[side], whole)
	    : svg_str(p, "of nothing");
}

static char *
diff_put_signed(char *p, double v)
{
	p = svg_str(p, v < 0 ? "\xe2\x88\x92" : "+");
	p = digits_put_decimal(p, (uint64_t)llround(fabs(v) * 100), 2);
	return p;
}

/* "samples: A 12 1.20%, B 30 2.00%; +0.8 points, +66.67% by total, ..." */
char *
svg_put_change(char *p, const struct svg *s, const struct svg_frame *a)
{
	const int128 whole[2] = {svg_whole(s, DIFF_A), svg_whole(s, DIFF_B)};
	const double *w = s->pair->weight;
	double va = (double)a->sides->total[DIFF_A] * w[DIFF_A];
	double vb = (double)a->sides->total[DIFF_B] * w[DIFF_B];

	p = amount_put_word(p, &s->amount);
	p = svg_str(p, ": ");
	p = diff_put_side(p, s, a, DIFF_A);
	p = svg_str(p, ", ");
	p = diff_put_side(p, s, a, DIFF_B);
	if (whole[DIFF_A] > 0 && whole[DIFF_B] > 0) {
		p = svg_str(p, "; ");
		p = diff_put_signed(p, 100 *
		    ((double)a->sides->total[DIFF_B] / (double)whole[DIFF_B] -
		    (double)a->sides->total[DIFF_A] / (double)whole[DIFF_A]));
		p = svg_str(p, " points");
	}
	if (w[DIFF_A] > 0 && w[DIFF_B] > 0) {
		p = svg_str(p, "; normalised ");
		if (va > 0 && vb / va < 1e6)
			p = svg_str(diff_put_signed(p, 100 * (vb - va) / va),
			    "%");
		else
			p = svg_str(p, va > 0 ? "over a million %"
			    : vb > 0 ? "only in B" : "nothing");
	}
	if (diff_is_few(s, a))
		p = svg_str(p, "; few samples");
	return p;
}

const struct err *
flamesvg_diff_flame(struct flame **out, const struct diff *d,
    const struct flamesvg_pair *pair, const struct flame_options *options)
{
	double wa = pair->by_b ? 0 : pair->weight[DIFF_A];
	double wb = pair->weight[DIFF_B];
	double whole = (double)d->sides[0].total[DIFF_A] * wa +
	    (double)d->sides[0].total[DIFF_B] * wb;
	struct flame_options o = *options;
	int128 *self = calloc(d->tree.n_nodes, sizeof(*self));
	const struct err *e;

	*out = NULL;
	if (self == NULL)
		return err_nomem();
	for (size_t i = 0; whole > 0 && i < d->tree.n_nodes; i++) {
		const int128 *own = d->sides[i].self;
		double v = (double)own[DIFF_A] * wa + (double)own[DIFF_B] * wb;

		self[i] = (int128)(v / whole * DIFF_TICKS);
	}
	o.self = self;
	e = flame_new(out, &d->tree, &o);
	free(self);
	return e;
}
