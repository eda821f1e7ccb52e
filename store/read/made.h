/*
 * Types that nobody stores: the sum of others, made as it is read.  Not for
 * programs.
 *
 *	wall = offcpu + cpu
 *
 * Of a service that has pushed such a type by itself, that is the answer.  Of
 * the others the parts are added, but only where the first of them has data
 * in the range, or in the step of a timeline: CPU time alone is no wall time.
 * So the series are read in an order: the type itself, its first part, the
 * others.
 */
#ifndef STORE_MADE_H
#define STORE_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct selector;
struct store;
struct type;

struct made {
	const struct type *type; /* NULL: what is asked for is stored */
	struct store *s;
	uint8_t *had;  /* by service: what has had data so far, */
	uint8_t **steps; /* and bits of the steps where its first part had; or
	                  * NULL */
	uint32_t none; /* those without a service */
};

/* The type with parts that a selector asks for, or NULL. */
const struct type *made_type(const struct selector *selector);

/* Is a series of this name the type (0), or which part of it (1, 2, ...)?
 * -1: neither. */
int made_part(const struct type *type, const char *name);

/* Brings series that match into their order.  Errors: out of memory;
 * made_fini() after any outcome. */
const struct err *made_begin(struct made *m, struct store *s,
    const struct selector *selector, uint32_t *series, size_t n);
/* Does this series, the next one, belong to the sum? */
bool made_takes(const struct made *m, uint32_t series);
/* It had data in the range. */
void made_saw(struct made *m, uint32_t series);
/* The same of a timeline: in those steps where it was observed. */
const struct err *made_saw_steps(struct made *m, uint32_t series,
    const uint64_t *observed, size_t n);
/* Is the series a part of the sum in this step? */
bool made_covers(const struct made *m, uint32_t series, size_t step);
void made_fini(struct made *m);

#endif
