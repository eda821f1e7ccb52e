/*
 * What each function has of a profile, or of two: its own and that of all
 * stacks that it is on, recursion counted once.
 *
 *	main;read;main  3     function  self  total
 *	main;write      2     main      3     5      not 8
 *	                      read      0     3
 *	                      write     2     2
 *
 * A function is a name and a kind of code (flame_kind).  The selfs add up to
 * the whole, no total exceeds it.
 */
#ifndef FCGI_FORMAT_TABLE_H
#define FCGI_FORMAT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flame.h"

struct err;
struct search;

struct table_row {
	const char *name; /* borrowed from what the table was made of, but for
	                   * sums */
	enum flame_kind kind;
	struct diff_sides has; /* of a single profile: [0], and [1] is 0 */
};

struct table {
	struct table_row *rows;
	size_t n_rows;
	size_t n_all;  /* of a flame: with those that were not chosen */
	int128 sum[2]; /* of the whole */
	bool sampled;  /* are samples of each side known? */
	bool unknown;  /* but not all: rows have amounts without */
	struct buf names; /* private */
};

/* In the order of first sight.  Frames that a truncation has gathered are a
 * function named "(other)": lay the flame out whole to have none.  Errors:
 * ENOMEM. */
const struct err *table_of_flame(struct table **out, const struct flame *f);
const struct err *table_of_diff(struct table **out, const struct diff *d);
void table_free(struct table *t); /* NULL is fine */

enum table_order {
	TABLE_SELF,
	TABLE_TOTAL,
	TABLE_NAME,
	TABLE_SELF_DIFFERENCE, /* its size, not its sign */
	TABLE_TOTAL_DIFFERENCE
};

/* Largest first, names from A to Z; equals by name, then kind.  A difference
 * is weight[1] * B - weight[0] * A; weights may be NULL for other orders.
 * Self and total are A's and B's together. */
void table_sort(struct table *t, enum table_order order,
    const double weight[2]);
/* The same of the first n alone, or of the last n and the last of all first;
 * the others stand behind them in no order. */
void table_first(struct table *t, enum table_order order,
    const double weight[2], bool last, size_t n);

/* The table of those of a flame that table_first() puts first, in that order:
 * of millions of functions most are never made rows. */
struct table_choice {
	enum table_order order; /* no difference */
	bool last;
	size_t n;
	struct search *search;  /* NULL: all functions */
};
const struct err *table_of_flame_first(struct table **out,
    const struct flame *f, const struct table_choice *c);

/*
 * The same of a tree that nobody keeps: begin and take are store_query_each()'s
 * (store.h), and of what that has answered the table is made before the next
 * call with the store.  new: NULL when out of memory.
 */
struct table_sums *table_sums_new(void);
bool table_sums_begin(void *sums, uint32_t n_names);
bool table_sums_take(void *sums, const struct profile_node *n, uint32_t name,
    const struct profile_samples *samples);
const struct err *table_of_sums_first(struct table **out,
    const struct table_sums *s, const struct profile *p,
    const struct table_choice *c);
void table_sums_free(struct table_sums *s); /* NULL is fine */

/* Adds up what one name has, whatever its kinds: outermost frames only.
 * False where no frame is called so, and all is 0. */
bool table_of_name(const struct flame *f, const char *name,
    struct table_row *out);

#endif
