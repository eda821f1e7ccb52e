/*
 * How shares of a profile look: text, colour, width.  For DOT and for pictures.
 */
#ifndef FCGI_GRAPH_SHARES_H
#define FCGI_GRAPH_SHARES_H

#include <stdbool.h>

#include "fcgi/graph/model/graph.h"

#define SHARES_COLOUR_MAX 8     /* "#rrggbb" */
#define SHARES_EDGE_LEAST 0.05  /* from which on an edge is wider */

/* Of its side's total; -1 where there is no data. */
double shares_of(const int128 amount[2], const struct graph_shares *s,
    unsigned side);
/* The larger; 0 where there is none. */
double shares_most(const int128 amount[2], const struct graph_shares *s);

/* "12.3 %", "12.3 % → 15.4 %"; with those of its own behind: "(self 1.0 %)". */
void shares_put(struct buf *out, const int128 amount[2],
    const struct graph_shares *s);
void shares_put_text(struct buf *out, const int128 total[2],
    const int128 self[2], const struct graph_shares *s);

/* The more of the total, the redder; of two, the more it has moved: as the
 * flame graph's difference does.  Text stays readable on it.  False where
 * nothing is to be shown. */
bool shares_colour(const int128 total[2], const struct graph_shares *s,
    char out[SHARES_COLOUR_MAX]);

/* Of a border, 1 to 4, in the steps of the letters' sizes. */
int shares_width(const int128 self[2], const struct graph_shares *s);
/* Of letters, in points; 0: as they are. */
int shares_letters(const int128 self[2], const struct graph_shares *s);

#endif
