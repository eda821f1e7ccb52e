/*
 * Which series an open journal has, by service and by what many of them have
 * in common: who asks for one service's takes those up, and no others.  Series
 * are numbered as in a table of nothing but them; number i is member i.
 *
 *	service -> its profiles, its metrics, the end of its newest slot
 *	member  -> head, service, the next one of its list
 *	head    -> kind, name, unit
 */
#ifndef STORE_OPEN_SERIES_H
#define STORE_OPEN_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/intern.h"

struct symtab;

/* As enum index_list: a histogram is a metric here. */
enum open_list { OPEN_PROFILES, OPEN_METRICS, OPEN_LISTS };

struct open_head {
	uint32_t kind, name, unit; /* strings of the table */
};

struct open_member {
	uint32_t head, service;
	uint32_t next; /* of the same service and list, or INTERN_NONE */
};

struct open_service {
	uint32_t first[OPEN_LISTS]; /* INTERN_NONE: none */
	uint64_t end;               /* of its newest slot; 0: it has none */
};

/* All zero when empty. */
struct open_series {
	struct intern names; /* service i + 1's; 0 is of series without one */
	struct intern heads; /* struct open_head */
	struct open_service *services;
	struct open_member *members;
	uint32_t n_services, cap_services, n, cap;
	uint32_t last_set; /* label set of the last one: most of a service's
	                    * come in a row */
};

void open_series_fini(struct open_series *x);
size_t open_series_bytes(const struct open_series *x);

/* Takes up the table's series from the x->n-th on.  False: out of memory. */
bool open_series_take(struct open_series *x, const struct symtab *t);

/* A service of this name, or INTERN_NONE. */
uint32_t open_series_find(const struct open_series *x, const void *name,
    size_t n);

static inline const struct open_head *
open_series_head(const struct open_series *x, uint32_t head)
{
	return intern_at(&x->heads, head);
}

/* A member has something up to slot `end`. */
static inline void
open_series_saw(struct open_series *x, uint32_t member, uint64_t end)
{
	struct open_service *s = &x->services[x->members[member].service];

	if (end > s->end)
		s->end = end;
}

#endif
