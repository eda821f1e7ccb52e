/*
 * bazel's graphs through libcgraph.
 */
#include <graphviz/cgraph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/graph/graph_read.h"
#include "fcgi/server/child.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define FILE_MAX (8 << 20)

static const struct child_limits limits = {10 * NS_PER_S, 512u << 20,
    32u << 20};

/* DOT keeps "\n" as two characters; we want lines. */
static void
bazel_unescape(const char *from, char *to, size_t room)
{
	size_t n = 0;

	for (; *from != '\0' && n + 1 < room; from++) {
		if (from[0] == '\\' && from[1] != '\0') {
			from++;
			to[n++] = *from == 'n' || *from == 'l' || *from == 'r'
			    ? '\n' : *from;
		} else {
			to[n++] = *from;
		}
	}
	to[n] = '\0';
}

static uint32_t
bazel_node(struct graph *g, Agnode_t *n)
{
	char name[GRAPH_NAME_MAX];

	bazel_unescape(agnameof(n), name, sizeof(name));
	return graph_node(g, name);
}

static void
bazel_edges(struct graph *g, Agraph_t *a, Agnode_t *n)
{
	char label[GRAPH_NAME_MAX], key[] = "label";

	for (Agedge_t *e = agfstout(a, n); e != NULL; e = agnxtout(a, e)) {
		const char *text = agget(e, key);

		bazel_unescape(text != NULL ? text : "", label, sizeof(label));
		graph_edge(g, bazel_node(g, agtail(e)),
		    bazel_node(g, aghead(e)), label);
	}
}

/* Nothing at all: it is no graph. */
static bool
bazel_load(void *arg, struct buf *out)
{
	struct graph *g = graph_new();
	FILE *f = fopen(arg, "re");
	Agraph_t *a;

	if (g == NULL || f == NULL || fseek(f, 0, SEEK_END) != 0)
		return false;
	if (ftell(f) > FILE_MAX)
		return true;
	rewind(f);
	a = agread(f, NULL);
	if (a == NULL)
		return true;
	/* names first, so that nodes keep the order of the file */
	for (Agnode_t *n = agfstnode(a); n != NULL; n = agnxtnode(a, n))
		bazel_node(g, n);
	for (Agnode_t *n = agfstnode(a); n != NULL; n = agnxtnode(a, n))
		bazel_edges(g, a, n);
	if (g->failed)
		return false;
	if (g->n_nodes > 0)
		graph_encode(g, out);
	return true;
}

const struct err *
graph_read_bazel(const char *path, struct graph **out)
{
	struct buf data = {0};
	const struct err *e;
	char *copy;

	*out = NULL;
	if (access(path, R_OK) < 0)
		return err_errno("%s", path);
	copy = strdup(path);
	if (copy == NULL)
		return err_nomem();
	e = child_run("reading the graph", &limits, bazel_load, copy, &data);
	if (e == NULL && data.len == 0)
		e = err_field(ERR_REQUEST, 422, "target", "%.200s is no graph "
		    "of bazel's, of at most %d MiB", path, FILE_MAX >> 20);
	if (e == NULL)
		e = graph_decode(data.data, data.len, out);
	buf_fini(&data);
	free(copy);
	return e;
}
