/*
 * The graph of a target by the BUILD files of its workspace: what bazel query
 * "deps(TARGET)" prints with --notool_deps --noimplicit_deps, but for what the
 * files of other repositories say, where those are not here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/graph/read/build_private.h"
#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/graph_read.h"

struct workspace_walk {
	struct build build;
	struct graph *g;
	const char *root;  /* the target */
	size_t absent;     /* repositories that are not here */
	struct star_dict gone; /* those */
};

/* "//a:b", "//conditions:default" with a line between them. */
static const char *
workspace_condition(struct star *s, const struct star_list *conditions)
{
	size_t n = 1;
	char *text;

	for (size_t i = 0; i < conditions->n; i++)
		n += conditions->items[i].text->n + 1;
	text = star_alloc(s, n);
	for (size_t i = 0; i < conditions->n; i++) {
		if (i > 0)
			strcat(text, "\n");
		strcat(text, conditions->items[i].text->p);
	}
	return text;
}

static void
workspace_edges(struct workspace_walk *w, uint32_t from,
    const struct star_dict *needs)
{
	for (size_t i = 0; i < needs->n; i++)
		graph_edge(w->g, from,
		    graph_node(w->g, needs->pairs[i].key.text->p),
		    workspace_condition(&w->build.star,
		        needs->pairs[i].value.list));
}

/* A bound name stands for another. */
static bool
workspace_is_bound(struct workspace_walk *w, uint32_t node,
    const struct build_label *label)
{
	struct build *b = &w->build;
	const struct star_value *v;
	struct build_label to;

	if (*label->repo != '\0' || strcmp(label->package, "external") != 0)
		return false;
	v = star_field(&b->star, &b->bound, label->name);
	if (v != NULL && build_label_read(b, &(struct build_place){"", "",
	        false}, v->text->p, &to))
		graph_edge(w->g, node, graph_node(w->g,
		    build_label_text(&b->star, &to).text->p), NULL);
	return v != NULL;
}

/* Nothing says what it needs. */
static void
workspace_is_gone(struct workspace_walk *w, const struct build_label *label)
{
	struct star_value key = star_str(&w->build.star, label->repo);

	w->g->cut = true;
	star_set(&w->build.star, &w->gone, key, star_none());
}

/* A label of the package that is below another package: bazel refuses it. */
static bool
workspace_crosses(struct workspace_walk *w, const struct build_package *p,
    const struct build_label *label)
{
	struct star *s = &w->build.star;
	const char *slash = label->name, *name;

	while ((slash = strchr(slash, '/')) != NULL) {
		name = star_text(s, label->name, (size_t)(slash -
		    label->name)).text->p;
		if (build_is_package(s, build_join(s, p->folder, name))) {
			build_note(&w->build, "%.200s is below the package "
			    "%.200s, and bazel refuses it",
			    build_label_text(s, label).text->p,
			    build_join(s, label->package, name));
			return true;
		}
		slash++;
	}
	return false;
}

/* What nobody declares is a file, or a rule makes it without a word. */
static void
workspace_file(struct workspace_walk *w, uint32_t node,
    const struct build_package *p, const struct build_label *label)
{
	struct star *s = &w->build.star;

	workspace_edges(w, node, &p->visible);
	if (access(build_join(s, p->folder, label->name), F_OK) == 0)
		return;
	w->g->nodes[node].kind = GRAPH_MISSING;
	build_note(&w->build, "%.200s is neither declared nor a file",
	    build_label_text(s, label).text->p);
}

static void
workspace_visit(struct workspace_walk *w, uint32_t node)
{
	struct build *b = &w->build;
	const struct star_value *target;
	struct build_package *p;
	struct build_label label;

	if (!build_label_read(b, &(struct build_place){"", "", false},
	        w->g->nodes[node].name, &label) ||
	    workspace_is_bound(w, node, &label))
		return;
	p = build_package(b, label.repo, label.package);
	target = star_field(&b->star, &p->targets, label.name);
	if (p->folder != NULL && workspace_crosses(w, p, &label))
		w->g->nodes[node].kind = GRAPH_MISSING;
	else if (target != NULL)
		workspace_edges(w, node, target->dict);
	else if (p->folder == NULL)
		workspace_is_gone(w, &label);
	else if (p->partly)
		w->g->cut = true; /* it may be declared further on */
	else if (p->found)
		workspace_file(w, node, p, &label);
	else
		w->g->nodes[node].kind = GRAPH_MISSING;
}

static void
workspace_walk(void *arg)
{
	struct workspace_walk *w = arg;
	struct build_label label;

	build_begin(&w->build);
	if (!build_label_read(&w->build, &(struct build_place){"", "", false},
	        w->root, &label))
		return;
	graph_node(w->g, build_label_text(&w->build.star, &label).text->p);
	for (uint32_t i = 0; i < w->g->n_nodes; i++)
		workspace_visit(w, i);
}

static bool
workspace_has_module(struct build *b)
{
	char path[BUILD_PATH_MAX];

	snprintf(path, sizeof(path), "%s/MODULE.bazel", b->root);
	return access(path, F_OK) == 0;
}

/* What is not known, for the source of the graph. */
static void
workspace_describe(struct workspace_walk *w, const char *path)
{
	struct build *b = &w->build;
	struct buf out = {0};

	buf_printf(&out, "the BUILD files of %s, read without bazel", path);
	if (workspace_has_module(b))
		buf_printf(&out, "; its MODULE.bazel is not read");
	if (b->said > 0) {
		buf_printf(&out, "; not understood: %.*s",
		    (int)b->reports.len, (const char *)b->reports.data);
		if (b->said > BUILD_SAID_MAX)
			buf_printf(&out, "; and %zu more",
			    b->said - BUILD_SAID_MAX);
	}
	if (b->star.over != NULL)
		buf_printf(&out, "; reading ended early: %s", b->star.over);
	if (w->gone.n > 0)
		buf_printf(&out, "; %zu repositories are not here, nor what "
		    "they need:", w->gone.n);
	for (size_t i = 0; i < w->gone.n && i < 20; i++)
		buf_printf(&out, " @%s", w->gone.pairs[i].key.text->p);
	buf_put_u8(&out, 0);
	if (out.failed || b->reports.failed)
		w->g->failed = true;
	else
		graph_set(w->g, &w->g->origin.source, (const char *)out.data);
	buf_fini(&out);
}

bool
graph_load_workspace(struct graph *g, const struct graph_source *s)
{
	struct workspace_walk w = {.g = g, .root = s->root};
	char *folder = realpath(s->path, NULL);
	bool whole;

	if (folder == NULL)
		return false;
	build_init(&w.build, folder);
	whole = star_try(&w.build.star, workspace_walk, &w);
	if (!whole || w.build.said > 0)
		g->cut = true;
	if (!g->cut)
		g->origin.complete = GRAPH_WHOLE;
	g->origin.time_ns = w.build.time_ns;
	workspace_describe(&w, s->path);
	graph_own_files(g);
	graph_label_packages(g);
	build_fini(&w.build);
	free(folder);
	return !g->failed;
}
