/*
 * Profile types as Grafana and newer agents name them,
 * "process_cpu:cpu:nanoseconds:cpu:nanoseconds", and as the store does,
 * "cpu" in nanoseconds.  What is in no table keeps its name: x:x:... is "x",
 * and x:y:... is "x_y".
 */
#ifndef STORE_TYPEID_H
#define STORE_TYPEID_H

#include <stddef.h>

#include "store/model/series.h"

struct err;

#define TYPEID_MAX 300
#define TYPEID_UNIT_MAX 40 /* bytes of a unit in one */

/* The five parts of an id; what is missing is "". */
struct typeid {
	char text[TYPEID_MAX]; /* the id */
	char parts[TYPEID_MAX];
	const char *group, *type, *unit, *period_type, *period_unit;
};

/* The store's name of a group's type in a unit, and how it counts:
 * "process_cpu" and "cpu" are "cpu", and "cpu_cycles" in "cycles". */
enum series_kind typeid_name(const char *group, const char *type,
    const char *unit, char *name, size_t size);

/* A unit in the words of ids: what is counted is "count", whatever it is
 * called in the store, and time is "nanoseconds". */
const char *typeid_unit(const char *unit);

/* The id of a series of the store. */
void typeid_of(struct typeid *id, const char *name, const char *unit);

/* Takes an id apart.  Errors: ERR_REQUEST 400. */
const struct err *typeid_parse(struct typeid *id, const char *text);

#endif
