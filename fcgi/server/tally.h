/*
 * Totals of a worker by name and value, for counters that travel with what
 * they count: each value has its own, and what was not taken is no part of
 * it.
 */
#ifndef FCGI_TALLY_H
#define FCGI_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_line {
	char name[48], value[80];
	int64_t raw, pending;
};

struct tally {
	struct tally_line *lines;
	size_t n;
};

/* The total with n more, which are pending until tally_settle(); n itself
 * where there is no memory for a new one. */
int64_t tally_add(struct tally *t, const char *name, const char *value,
    int64_t n);

/* What is pending was taken, or never happened. */
void tally_settle(struct tally *t, bool taken);

void tally_fini(struct tally *t);

#endif
