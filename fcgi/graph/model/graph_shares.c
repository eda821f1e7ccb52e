/*
 * Shares as people see them.
 */
#include "fcgi/graph/model/graph_shares.h"

#include <math.h>
#include <stdio.h>

double
shares_of(const int128 amount[2], const struct graph_shares *s, unsigned side)
{
	return s->total[side] > 0
	    ? (double)amount[side] / (double)s->total[side] : -1;
}

double
shares_most(const int128 amount[2], const struct graph_shares *s)
{
	double most = 0;

	for (unsigned i = 0; i < s->sides; i++)
		if (shares_of(amount, s, i) > most)
			most = shares_of(amount, s, i);
	return most;
}

void
shares_put(struct buf *out, const int128 amount[2],
    const struct graph_shares *s)
{
	for (unsigned i = 0; i < s->sides; i++) {
		double share = shares_of(amount, s, i);

		if (i > 0)
			buf_printf(out, " → ");
		if (share < 0)
			buf_printf(out, "no data");
		else
			buf_printf(out, "%.1f %%", 100 * share);
	}
}

/* Of two there is room for their own difference, in points of a hundred. */
void
shares_put_text(struct buf *out, const int128 total[2], const int128 self[2],
    const struct graph_shares *s)
{
	double a = shares_of(total, s, 0), b = shares_of(total, s, 1);

	shares_put(out, total, s);
	if (s->sides == 2) {
		if (a >= 0 && b >= 0)
			buf_printf(out, " (%s%.1f pp)", b > a ? "+"
			    : b < a ? "−" : "±", 100 * fabs(b - a));
		return;
	}
	buf_printf(out, " (self ");
	shares_put(out, self, s);
	buf_printf(out, ")");
}

/* The colour of a hue's sixth and how full it is, at its brightest. */
static void
shares_put_hue(double hue, double full, char out[SHARES_COLOUR_MAX])
{
	double sixth = 6 * hue, part = sixth - floor(sixth);
	double low = 1 - full, falls = 1 - full * part,
	    grows = 1 - full * (1 - part);
	const double rgb[6][3] = {{1, grows, low}, {falls, 1, low},
	    {low, 1, grows}, {low, falls, 1}, {grows, low, 1},
	    {1, low, falls}};
	const double *c = rgb[(int)sixth % 6];

	snprintf(out, SHARES_COLOUR_MAX, "#%02x%02x%02x",
	    (unsigned)lround(255 * c[0]) & 255u,
	    (unsigned)lround(255 * c[1]) & 255u,
	    (unsigned)lround(255 * c[2]) & 255u);
}

bool
shares_colour(const int128 total[2], const struct graph_shares *s,
    char out[SHARES_COLOUR_MAX])
{
	double a = shares_of(total, s, 0), b = shares_of(total, s, 1);
	double most = a > b ? a : b;

	if (s->sides == 1 && a > 0)
		shares_put_hue(0.05, 0.05 + 0.5 * (a > 1 ? 1 : a), out);
	else if (s->sides == 2 && a >= 0 && b >= 0)
		shares_put_hue(b > a ? 0.08 : 0.58, most > 0
		    ? 0.5 * sqrt(fabs(b - a) / most) : 0, out);
	else
		return false;
	return true;
}

/* What a node has itself, in four steps. */
static int
shares_step(const int128 self[2], const struct graph_shares *s)
{
	double most = shares_most(self, s);

	return most >= 0.2 ? 3 : most >= 0.05 ? 2 : most >= 0.01;
}

int
shares_width(const int128 self[2], const struct graph_shares *s)
{
	return 1 + shares_step(self, s);
}

int
shares_letters(const int128 self[2], const struct graph_shares *s)
{
	static const int sizes[] = {0, 13, 15, 18};

	return sizes[shares_step(self, s)];
}
