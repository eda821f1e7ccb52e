/*
 * bazel's graphs through libcgraph.
 */
#include <graphviz/cgraph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/graph_read.h"

#define FILE_MAX (8 << 20)

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

/* "//a/b:c.cc", "@repo//a:b" and "@repo" as the end of a file's path. */
static void
bazel_own(struct graph *g, const char *label, uint32_t node)
{
	char path[GRAPH_NAME_MAX + 16];
	const char *slashes = strstr(label, "//"), *colon;

	colon = slashes != NULL ? strrchr(slashes, ':') : NULL;
	if (colon == NULL || strchr(label, '\n') != NULL)
		return;
	snprintf(path, sizeof(path), "%s%.*s%s%.*s%s%s",
	    label[0] == '@' ? "external/" : "",
	    (int)(slashes - label - (label[0] == '@')),
	    label + (label[0] == '@'), label[0] == '@' ? "/" : "",
	    (int)(colon - slashes - 2), slashes + 2,
	    colon > slashes + 2 ? "/" : "", colon + 1);
	graph_own(g, GRAPH_BY_FILE, path, node);
}

void
graph_own_files(struct graph *g)
{
	bool *done = calloc(g->n_nodes + 1, sizeof(*done));

	for (size_t i = 0; done != NULL && i < g->n_edges; i++) {
		const struct graph_edge *e = &g->edges[i];
		const char *name = g->nodes[e->to].name;

		if (done[e->to] || strrchr(name, '.') == NULL ||
		    strrchr(name, '.') < strrchr(name, ':'))
			continue;
		done[e->to] = true;
		bazel_own(g, name, e->from);
	}
	free(done);
}

/* "//a/b" of "//a/b:c", "@repo" of "@repo//a:c"; of one label alone. */
static void
bazel_package(struct graph *g, struct graph_node *n)
{
	const char *slashes = strstr(n->name, "//");
	size_t len = n->name[0] == '@' ? strcspn(n->name, "/")
				       : strcspn(n->name, ":");
	char package[GRAPH_NAME_MAX];

	if (n->package != NULL || slashes == NULL ||
	    (slashes != n->name && n->name[0] != '@') ||
	    strchr(n->name, '\n') != NULL || len >= sizeof(package))
		return;
	memcpy(package, n->name, len);
	package[len] = '\0';
	graph_set(g, &n->package, package);
}

void
graph_label_packages(struct graph *g)
{
	for (size_t i = 0; i < g->n_nodes; i++)
		bazel_package(g, &g->nodes[i]);
}

bool
graph_load_bazel(struct graph *g, const struct graph_source *s)
{
	FILE *f = fopen(s->path, "re");
	Agraph_t *a;

	if (f == NULL || fseek(f, 0, SEEK_END) != 0)
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
	graph_own_files(g);
	graph_label_packages(g);
	return !g->failed;
}
