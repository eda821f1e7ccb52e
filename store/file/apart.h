/*
 * Some late files hold a few services alone, above all those that were set
 * apart.  The manifest names them, the types of their profiles and, in short,
 * their metrics in a word of its line, so that a question about others does
 * not open them:
 *
 *	loud,my%20app;1/cpu/nanoseconds;9c04e1f7
 *
 * Services, then types: kind (enum series_kind), name, unit; then of each name
 * of what is no profile 16 bits of its hash, or "*" for any.  Bytes but
 * letters, digits, '.', '_' and '-' are %xx.  "" says nothing: the file may
 * have whatever it may have.
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

/* One service after the other into `name` (APART_OF bytes), from *at on, which
 * begins as `of`; false at the end. */
bool apart_next_service(const char **at, char *name);

/* The same of types; name and unit as they stand in series. */
struct apart_type {
	int kind;
	char name[APART_OF], unit[APART_OF];
};
bool apart_next_type(const char **at, struct apart_type *type);

#endif
