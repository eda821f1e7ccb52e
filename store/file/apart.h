/*
 * Some late files hold a few services alone, above all those that were set
 * apart.  The manifest names them, their profiles and, in short, their metrics
 * in a word of its line, so that a question about others does not open them:
 *
 *	loud/1/cpu/nanoseconds,loud/2/inuse/bytes,my%20app;9c04e1f7
 *
 * A service with kind (enum series_kind), name and unit of each profile, or by
 * itself where it has none; then of each name of what is no profile 16 bits of
 * its hash, or "*" for any.  Bytes but letters, digits, '.', '_' and '-' are
 * %xx.  "" says nothing: the file may have whatever it may have.
 */
#ifndef STORE_APART_H
#define STORE_APART_H

#include <stdbool.h>
#include <stddef.h>

#define APART_OF 256 /* bytes of such a word, with NUL */

struct batch;

/* The word for a file with this dictionary; "" where it has facts or what has
 * no service, and where it does not fit. */
void apart_tell(const struct batch *dict, char of[APART_OF]);

/* May the file have something of a service; a metric or histogram of this
 * name? */
bool apart_may_have(const char *of, const char *service);
bool apart_may_have_metric(const char *of, const char *name);

/* A service, and a profile of it as in its series, if `profile`. */
struct apart_item {
	char service[APART_OF], name[APART_OF], unit[APART_OF];
	int kind;
	bool profile;
};

/* One after the other, from *at on, which begins as `of`; false at the end. */
bool apart_next(const char **at, struct apart_item *item);

#endif
