/*
 * A dependency graph: named nodes, directed edges, both bounded, a root; who
 * it is by, and which code belongs to which node.  Pure; where graphs come
 * from is graph_read.h's business, what they cost graph_cost.h's.
 */
#ifndef FCGI_GRAPH_H
#define FCGI_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"
#include "store/base/hashtable.h"

struct err;

#define GRAPH_NODES_MAX 8192u
#define GRAPH_EDGES_MAX 65536u
#define GRAPH_KEYS_MAX 400000u
#define GRAPH_NAME_MAX 4096u
#define GRAPH_ALL UINT32_MAX    /* a depth: no level is left out */
#define GRAPH_BESIDE UINT32_MAX /* a level: no declared edge leads here */

enum graph_kind {
	GRAPH_TARGET,  /* of a build, or a source file of it */
	GRAPH_PROGRAM,
	GRAPH_LIBRARY,
	GRAPH_OBJECT,  /* a part of the program, as the linker knows it */
	GRAPH_FOLDER,  /* of the program's sources */
	GRAPH_PACKAGE,
	GRAPH_MISSING, /* it is asked for and was not found */
	GRAPH_SEEN,    /* nobody asks for it: it was in stacks */
	GRAPH_KINDS
};
/* "target", "program", ... */
const char *graph_kind_name(enum graph_kind kind);

enum graph_edge_kind {
	GRAPH_NEEDS,
	GRAPH_WHEN,  /* needs it under a condition, its label */
	GRAPH_HOLDS, /* a part of it */
	GRAPH_CALLS, /* was seen in stacks, and is not declared */
	GRAPH_EDGE_KINDS
};
/* "needs", "condition", "holds", "seen" */
const char *graph_edge_kind_name(enum graph_edge_kind kind);

struct graph_node {
	char *name;     /* lines separated by newlines */
	char *package;  /* that it comes from, with its version; or NULL */
	enum graph_kind kind;
	int64_t bytes;  /* of its code; -1: not known */
	uint32_t level; /* edges from the root; set by graph_cut() */
	int128 self[2], total[2]; /* graph_cost.h */
};

struct graph_edge {
	uint32_t from, to;
	char *label; /* or NULL */
	enum graph_edge_kind kind;
	bool last;   /* from a node of the last level that is shown: bazel,
	              * which does not ask what such a node needs, leaves it
	              * out of deps(x, depth) */
	int128 calls[2]; /* graph_cost.h */
};

/* How code is known to be a node's. */
enum graph_key_kind {
	GRAPH_BY_MODULE,   /* file name of a program or library */
	GRAPH_BY_FUNCTION, /* name of a function of the graph's own module */
	GRAPH_BY_FILE,     /* a source file, by the end of its path */
	GRAPH_BY_PREFIX    /* a package of Go or a crate of Rust, with which
	                    * names of its functions begin */
};
#define GRAPH_RUST "\1rust" /* a prefix that says which of both */
#define GRAPH_GO "\1go"     /* of Go's own packages, where they are a node */

struct graph_key {
	uint64_t hash;
	uint32_t node; /* GRAPH_BOTH: of several */
};
#define GRAPH_BOTH (UINT32_MAX - 1)

/* Which bounds were reached, as bits. */
enum graph_bound {
	GRAPH_OVER_NODES = 1,
	GRAPH_OVER_EDGES = 2,
	GRAPH_OVER_KEYS = 4
};

enum graph_complete {
	GRAPH_NOT_SAID, /* whether something is missing */
	GRAPH_PARTLY,
	GRAPH_WHOLE
};

/* Who says so. */
struct graph_origin {
	char *source;   /* what was read; or NULL */
	char *command;  /* that prints the same, without depth; or NULL */
	char *build_id; /* of the program, hexadecimal; or NULL */
	int64_t time_ns; /* when what was read was written; 0: not known */
	enum graph_complete complete;
};

struct graph {
	struct graph_node *nodes;
	struct graph_edge *edges;
	struct graph_key *keys; /* by hash, each once, after graph_settle() */
	size_t n_nodes, n_edges, n_keys;
	size_t cap_nodes, cap_edges, cap_keys; /* private */
	char *module; /* file name of the program, or NULL */
	struct graph_origin origin;
	bool cut;       /* something is known to be missing: a bound was
	                 * reached, or a library was not found */
	uint8_t over;   /* enum graph_bound: then it is cut, too */
	uint32_t begin; /* node that its reader says is the root; 0: none,
	                 * or the first.  Not encoded */
	bool failed;    /* out of memory */
	struct hashtable table; /* private */
};

/* NULL when out of memory. */
struct graph *graph_new(void);
void graph_free(struct graph *g);

/* The number of the node of this name, made when it is new; UINT32_MAX when
 * there are too many (g->over) or memory is short. */
uint32_t graph_node(struct graph *g, const char *name);
/* An edge, with a condition or without (NULL, "").  Nothing happens where a
 * node is UINT32_MAX. */
void graph_edge(struct graph *g, uint32_t from, uint32_t to,
    const char *label);
void graph_edge_of(struct graph *g, uint32_t from, uint32_t to,
    enum graph_edge_kind kind, const char *label);

/* Sets a text of a node or of the graph; an empty one is none. */
void graph_set(struct graph *g, char **field, const char *text);

/* What is missing there is missing here, too. */
void graph_lack(struct graph *g, const struct graph *other);
/* "; there are more nodes than the 8192 that are kept", where there are. */
void graph_put_bounds(struct buf *out, const struct graph *g);

/* The node of this name, or UINT32_MAX. */
uint32_t graph_find(const struct graph *g, const char *name);

/* The node to begin with: the first that no edge leads to, else the first. */
uint32_t graph_root(const struct graph *g);

/* Code of that name is the node's. */
void graph_own(struct graph *g, enum graph_key_kind kind, const char *name,
    uint32_t node);
/* All is told: keys can be asked.  What several nodes claim is nobody's. */
void graph_settle(struct graph *g);
/* The node, UINT32_MAX where none is known, or GRAPH_BOTH. */
uint32_t graph_owner(const struct graph *g, enum graph_key_kind kind,
    const char *name, size_t n);

/* The node of a package of Go or a crate of Rust: its own, that of the module
 * that it lies in, or that of Go's own packages. */
uint32_t graph_package_owner(const struct graph *g, const char *name,
    size_t n);

/* The same by the longest end of a path of n bytes that a node has; and by the
 * package or crate that the name of a function begins with: "crate" of
 * "<crate::T>::new", "host/path/package" of "host/path/package.(*T).New". */
uint32_t graph_of_file(const struct graph *g, const char *file, size_t n);
uint32_t graph_of_name(const struct graph *g, const char *function);

/* How much of a function's name is not its parameters and what follows them:
 * "ns::f" of "ns::f(int) const"; all, where it has none. */
size_t graph_bare(const char *function);

/* What Rust's compiler brings is declared nowhere: core, alloc, std.  Is it a
 * function of that, in a graph of crates? */
#define GRAPH_RUST_OWN "Rust's standard library"
bool graph_is_rust_own(const struct graph *g, const char *function);

/* What is at most `depth` edges from the root, in breadth-first order, so
 * that node 0 is the root, and with that what was only seen; with keys where
 * all is wanted.  A new graph; NULL when out of memory. */
struct graph *graph_cut(const struct graph *g, uint32_t root, unsigned depth);

/* Adds nodes, edges and keys of another graph, by name, and libraries by the
 * names of their files; what is known of a node of both stays.  The node there
 * of its node `root`, UINT32_MAX where there are too many. */
uint32_t graph_merge(struct graph *g, const struct graph *other,
    uint32_t root);

/* One node for each package, and for each node of none. */
struct graph *graph_collapse(const struct graph *g);

/* As a DOT file; any bytes in names. */
void graph_put_dot(struct buf *out, const struct graph *g);
/* What nodes cost, as graph_cost.h has set it: of one profile, or of two. */
struct graph_shares {
	unsigned sides;  /* 0: of none */
	int128 total[2]; /* 0: there is no data, and no share */
	bool room;       /* the room for such a text alone */
};
/* The same with shares as text, as colour (of two: blue where B has less,
 * orange where it has more), and as size: of letters by self, of lines by
 * calls.  Where there is room alone, no byte depends on a share. */
void graph_put_dot_cost(struct buf *out, const struct graph *g,
    const struct graph_shares *shares);
/* The same costs put into Graphviz's SVG of a text with room for them, with
 * borders by self; false when out of memory. */
bool graph_paint(struct buf *out, const struct buf *svg,
    const struct graph *g, const struct graph_shares *shares);

/* One encoding for a pipe and for the store: all but costs and levels;
 * graph_decode() checks all. */
void graph_encode(const struct graph *g, struct buf *out);
const struct err *graph_decode(const void *data, size_t n, struct graph **out);

#endif
