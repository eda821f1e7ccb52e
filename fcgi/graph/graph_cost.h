/*
 * What a profile's amounts are of a graph's nodes.
 *
 *	stack          main → leveldb::DB::Get → memcmp
 *	function of    main.o   db_impl.cc.o     libc.so.6
 *	self           -        -                1
 *	total          1        1                1
 *	calls          main.o→db_impl.cc.o, db_impl.cc.o→libc.so.6
 *
 * A frame is the node's that owns its function, its source file or its file;
 * an inlined one, where nothing else is known, its caller's.  Files that run
 * and that nobody declares become nodes (GRAPH_SEEN), the kernel among them,
 * and calls that nobody declares become edges (GRAPH_CALLS).  What recurs is
 * counted once a stack.  The self of all nodes and the unknown are the
 * profile's total.
 */
#ifndef FCGI_GRAPH_COST_H
#define FCGI_GRAPH_COST_H

#include "fcgi/graph/graph.h"

struct err;
struct places;
struct profile;

struct graph_cost {
	int128 total, unknown; /* unknown: of frames of no node */
};

/* Adds a profile to side 0 or 1 of nodes and edges; `places` may be NULL.
 * Errors: ENOMEM. */
const struct err *graph_cost_add(struct graph *g, const struct profile *p,
    const struct places *places, unsigned side, struct graph_cost *cost);

#endif
