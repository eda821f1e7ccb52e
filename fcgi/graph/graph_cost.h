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
 * an inlined one, where nothing else is known, its caller's; so is a mark, as
 * of how large what was asked for is.  Files that run
 * and that nobody declares become nodes (GRAPH_SEEN), the kernel among them,
 * and calls that nobody declares become edges (GRAPH_CALLS).  What recurs is
 * counted once a stack.  The self of all nodes and the unknown are the
 * profile's total.
 *
 * What has the program's file name and another build id is another program, or
 * another build of it: a node of its own, "NAME (build ID)", with the first 12
 * digits of that.  Where one other build ran and nothing else, names are taken
 * for the graph's: who shows the graph has to say so.  Several libraries of one
 * name that nobody declares are such nodes, too.
 */
#ifndef FCGI_GRAPH_COST_H
#define FCGI_GRAPH_COST_H

#include "fcgi/graph/model/graph.h"

struct err;
struct places;
struct profile;

#define GRAPH_BUILDS_MAX 8 /* that are told apart by amount */

/* Which code was sampled under the program's file name. */
struct graph_build {
	const char *id; /* the profile's; "": it does not say */
	int128 self;
	bool own;       /* its names are taken for the graph's */
};

/* A function of the node that is looked at. */
struct graph_function {
	const char *name; /* the profile's */
	int128 self, total;
	uint32_t on; /* private */
};

/* A node that has a function of the name that is looked for. */
struct graph_home {
	char *node; /* its name; NULL: of no node */
	const char *function; /* the profile's, whole */
	int128 self, total; /* of the function there */
	uint32_t number, on; /* private */
};

struct graph_cost {
	int128 total, unknown; /* unknown: of frames of no node */
	bool one_service;      /* set before: code of no module is the
	                        * program's, as one service was asked for */
	const char *node;      /* set before: whose functions; or NULL */
	struct graph_function *functions; /* by total, the most first */
	size_t n_functions;
	const char *function; /* set before: whose nodes, with its parameters
	                       * or without; or NULL */
	struct graph_home *homes; /* by total; of each such function */
	size_t n_homes;
	struct graph_build builds[GRAPH_BUILDS_MAX]; /* by self */
	size_t n_builds;
};

/* Adds a profile, asked for by module, to side 0 or 1 of nodes and edges;
 * `places` may be NULL.
 * Functions and builds are known as long as the profile.  Errors: ENOMEM. */
const struct err *graph_cost_add(struct graph *g, const struct profile *p,
    const struct places *places, unsigned side, struct graph_cost *cost);
void graph_cost_fini(struct graph_cost *cost); /* after any outcome */

#endif
