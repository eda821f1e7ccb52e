/*
 * Questions in Pyroscope's languages, as selectors of ours.
 *
 *	my.app.cpu{region="eu",pod=~"a|b"}     FlameQL of 0.37
 *	process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="my.app"}
 *	cpu{service="my.app"}                  ours: with a service inside
 *
 * In the first form regular expressions are not anchored.  Where the last
 * part of a name is no type, in the tables or in the store, all of it is the
 * service, and the type is cpu.
 */
#ifndef FCGI_FLAMEQL_H
#define FCGI_FLAMEQL_H

#include <stdbool.h>

#include "store/base/buf.h"

struct err;
struct selector;
struct store;

struct flameql {
	struct selector *selector;
	char type[128];    /* "cpu"; "" where all types are asked for */
	char service[256]; /* "" where it is none by name */
	char unit[64];     /* that a type id says; "" where there is none */
	struct buf text;   /* of the selector, NUL-terminated */
};

/* Errors: ERR_REQUEST 400 with field "query".  flameql_free() after any
 * outcome. */
const struct err *flameql_parse(struct flameql *q, struct store *s,
    const char *text);

/* The same of "name{k=v}", without quotes. */
const struct err *flameql_parse_name(struct flameql *q, struct store *s,
    const char *name);

/* Of a type id and matchers, "{}" or "" for all.  `id` "": every type. */
const struct err *flameql_parse_id(struct flameql *q, const char *id,
    const char *matchers);
void flameql_free(struct flameql *q);

/* Is what was found, in `unit` ("": nothing was), what the id asks for?
 * Errors: ERR_REQUEST 400 with field "profile_typeID". */
const struct err *flameql_check_unit(const struct flameql *q,
    const char *unit);

/* "service" for "service_name"; others are the same. */
const char *flameql_label(const char *name);

#endif
