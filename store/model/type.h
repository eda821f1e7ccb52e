/*
 * Names of types: those that everybody uses promise a unit and a way of
 * counting (types.h), and what does not keep it has another one.
 *
 * Whoever asks for `cpu` adds up all that has this name, so what is in
 * another unit, or averages where the type adds up, has a name of its own:
 *
 *	cpu in cycles            cpu_cycles
 *	cpu, averaged            cpu_average
 *	inuse_space, summed      inuse_space_sum
 *	cpu-clock                cpu_clock     as selectors can name it
 *
 * The rule is one for what is pushed, and for what stores of before hold.
 */
#ifndef STORE_TYPE_H
#define STORE_TYPE_H

#include <stddef.h>

#include "store/model/series.h"

#define TYPE_NAME_MAX 256

/* The name that profiles of a name, a kind and a unit have: the one given,
 * or another one in buf, cut to its size. */
const char *type_name(enum series_kind kind, const char *name,
    const char *unit, char buf[TYPE_NAME_MAX]);

/* What a selector cannot name becomes '_'; "" becomes "samples". */
void type_sanitize(char *name, size_t size, const char *text);

#endif
