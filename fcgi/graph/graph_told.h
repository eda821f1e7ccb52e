/*
 * Graphs that memlens graph --tell has put into the store (FACT_GRAPH), by
 * name: they are told anew each day, and whenever the program has changed.
 */
#ifndef FCGI_GRAPH_TOLD_H
#define FCGI_GRAPH_TOLD_H

#include <stdint.h>

#include "store/base/buf.h"

struct err;
struct store;

#define GRAPH_TOLD_BEFORE_NS (25 * INT64_C(3600000000000))

struct graph_told {
	int64_t told_ns; /* 0: there is none */
	struct buf code; /* graph_decode()'s */
};

/* The newest of that name told before until_ns, else the first after it. */
const struct err *graph_told_read(struct graph_told *t, struct store *s,
    const char *name, int64_t until_ns, int64_t now_ns);
void graph_told_fini(struct graph_told *t);

/* Names that are told, sorted, each once and NUL-terminated, one after the
 * other. */
const struct err *graph_told_names(struct buf *names, struct store *s,
    int64_t until_ns, int64_t now_ns);

#endif
