/*
 * GET /api/v1/graph.json, .dot and .svg: what a target is built of, so many
 * levels deep, where that was read, and the command that prints the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fcgi/format/writer.h"
#include "fcgi/graph/graph.h"
#include "fcgi/graph/graph_cache.h"
#include "fcgi/graph/graph_read.h"
#include "fcgi/graph/pages.h"
#include "fcgi/server/context.h"
#include "fcgi/server/draw.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/fact.h"

#define PROCESS_SPAN (2 * 3600 * NS_PER_S)

struct graph_page {
	const struct settings *settings;
	struct draw *draw;
	const struct settings_graph *target;
	int64_t depth;
	char path[4096]; /* of the file that the graph is read from */
	struct graph_source source;
	int64_t written_ns; /* when that file was */
	int64_t started_ns; /* of the process that runs it; 0: none is known */
	struct graph *graph;
};

/* Writes one form of the answer. */
typedef const struct err *graph_put_fn(const struct graph_page *page,
    struct buf *out);

/* The executable of the newest process that a service was seen with. */
struct graph_process {
	const char *service;
	int64_t time_ns, started_ns;
	char *path;
	size_t room;
};

static bool
graph_take_process(void *arg, int64_t time_ns, const char *subject,
    const void *data, size_t n)
{
	struct graph_process *p = arg;
	struct fact_process f;
	const char *blank;

	if (strcmp(subject, p->service) != 0 || time_ns < p->time_ns ||
	    !fact_take_process(data, n, &f) || f.command.n == 0 ||
	    f.command.p[0] != '/' || f.command.n >= p->room)
		return true;
	/* arguments, where they are kept */
	blank = memchr(f.command.p, ' ', f.command.n);
	if (blank != NULL)
		f.command.n = (size_t)(blank - f.command.p);
	p->time_ns = time_ns;
	p->started_ns = f.started_ns;
	snprintf(p->path, p->room, "%.*s", (int)f.command.n, f.command.p);
	return true;
}

static const struct err *
graph_find_service(struct graph_page *page, struct context *c,
    const struct request *rq, const char *service)
{
	struct graph_process p = {service, -1, 0, page->path,
	    sizeof(page->path)};
	struct store *s;
	const struct err *e;

	page->path[0] = '\0';
	if ((e = context_store(c, &s)) != NULL ||
	    (e = store_each_fact(s, FACT_PROCESS, rq->now_ns - PROCESS_SPAN,
	    rq->now_ns + NS_PER_S, graph_take_process, &p)) != NULL)
		return e;
	if (page->path[0] == '\0')
		return err_field(ERR_REQUEST, 404, "target",
		    "no process of the service \"%.100s\" was seen in the "
		    "last two hours", service);
	page->started_ns = p.started_ns;
	return NULL;
}

/* From what the configuration says to a file. */
static const struct err *
graph_locate(struct graph_page *page, struct context *c,
    const struct request *rq)
{
	const struct settings_graph *t = page->target;
	size_t room = sizeof(page->path);

	if (t->bazel != NULL)
		snprintf(page->path, room, "%s", t->bazel);
	else if (t->elf[0] == '/')
		snprintf(page->path, room, "%s", t->elf);
	else
		return graph_find_service(page, c, rq, t->elf);
	return NULL;
}

static const struct err *
graph_parse(struct graph_page *page, struct context *c,
    const struct request *rq)
{
	const char *name = request_text(rq, "target");
	const struct err *e;

	page->settings = c->settings;
	page->draw = c->draw;
	e = request_int(rq, "depth", 2, GRAPH_DEPTH_MAX, 2, &page->depth);
	if (e != NULL)
		return e;
	page->target = settings_find_graph(c->settings, name);
	if (page->target == NULL)
		return err_field(ERR_REQUEST, 404, "target", "\"%.200s\" is "
		    "not configured: see [graph NAME] of memlens-fcgi.conf",
		    name != NULL ? name : "");
	if ((e = graph_locate(page, c, rq)) != NULL)
		return e;
	page->source = (struct graph_source){.path = page->path,
	    .elf = page->target->bazel == NULL,
	    .root = page->target->root,
	    .whole = page->target->complete != NULL &&
	        *page->target->complete != '\0'};
	return NULL;
}

/* A number for the state of the file. */
static const struct err *
graph_stamp(struct graph_page *page, uint64_t *stamp)
{
	struct stat st;

	if (stat(page->path, &st) < 0)
		return err_new(ERR_REQUEST, 404, "%.200s cannot be read: it is "
		    "gone or not for this user", page->path);
	page->written_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
	*stamp = hash64(0, page->path, strlen(page->path));
	*stamp = hash64_u64(*stamp, (uint64_t)st.st_ino);
	*stamp = hash64_u64(*stamp, (uint64_t)st.st_size);
	*stamp = hash64_u64(*stamp, (uint64_t)st.st_mtim.tv_sec);
	*stamp = hash64_u64(*stamp, (uint64_t)st.st_mtim.tv_nsec);
	return NULL;
}

/* Is the file not what the process began with?  Then its libraries may not
 * be those that run. */
static bool
graph_is_newer(const struct graph_page *page)
{
	return page->started_ns != 0 && page->written_ns > page->started_ns;
}

/* What was read, when it was written, and how to see the same.  What a file
 * of bazel does not say, whether deeper levels are missing, is null. */
static void
graph_put_source(struct writer *w, const struct graph_page *page)
{
	struct buf text = {0};

	buf_printf(&text, page->source.elf ? "the libraries that %s and they "
	    "themselves ask for (DT_NEEDED)" : "a graph of bazel in %s",
	    page->path);
	if (graph_is_newer(page))
		buf_printf(&text, "; that file is newer than the process that "
		    "began with its name, which may run another");
	writer_key(w, "source");
	writer_strn(w, (const char *)text.data, text.len);
	text.len = 0;
	writer_key_seconds(w, "time", page->written_ns);
	graph_put_command(&text, &page->source, (unsigned)page->depth);
	writer_key(w, "command");
	writer_strn(w, (const char *)text.data, text.len);
	buf_fini(&text);
	writer_key(w, "complete");
	if (page->graph->cut || (page->source.elf && !graph_is_newer(page)) ||
	    page->source.whole)
		writer_bool(w, !page->graph->cut);
	else
		writer_null(w);
}

static void
graph_put_nodes(struct writer *w, const struct graph *g)
{
	writer_key_open(w, "nodes", '[');
	for (size_t i = 0; i < g->n_nodes; i++) {
		writer_open(w, '{');
		writer_key_str(w, "id", g->nodes[i].name);
		writer_key_str(w, "label", g->nodes[i].name);
		writer_key_int(w, "level", g->nodes[i].level);
		writer_close(w, '}');
	}
	writer_close(w, ']');
}

static void
graph_put_edges(struct writer *w, const struct graph *g)
{
	writer_key_open(w, "edges", '[');
	for (size_t i = 0; i < g->n_edges; i++) {
		const struct graph_edge *e = &g->edges[i];

		writer_open(w, '{');
		writer_key_str(w, "from", g->nodes[e->from].name);
		writer_key_str(w, "to", g->nodes[e->to].name);
		if (e->label != NULL) {
			writer_key_str(w, "label", e->label);
		}
		writer_close(w, '}');
	}
	writer_close(w, ']');
}

static const struct err *
graph_put_json(const struct graph_page *page, struct buf *out)
{
	struct writer w = writer_of(out);

	writer_open(&w, '{');
	writer_key_str(&w, "target", page->target->name);
	writer_key_open(&w, "targets", '[');
	for (size_t i = 0; i < page->settings->n_graphs; i++)
		writer_str(&w, page->settings->graphs[i].name);
	writer_close(&w, ']');
	writer_key_int(&w, "depth", page->depth);
	graph_put_source(&w, page);
	graph_put_nodes(&w, page->graph);
	graph_put_edges(&w, page->graph);
	writer_close(&w, '}');
	return NULL;
}

static const struct err *
graph_put_dot_text(const struct graph_page *page, struct buf *out)
{
	graph_put_dot(out, page->graph);
	return NULL;
}

static const struct err *
graph_put_svg(const struct graph_page *page, struct buf *out)
{
	struct buf dot = {0};
	const struct err *e;

	graph_put_dot(&dot, page->graph);
	e = dot.failed ? err_nomem()
		       : draw_graph(page->draw, &dot, out);
	buf_fini(&dot);
	return e;
}

static const struct err *
graph_make(struct graph_page *page, struct context *c,
    const struct request *rq, struct response *rs, graph_put_fn *put)
{
	char key[300];
	uint64_t stamp = 0;
	const struct err *e;

	if ((e = graph_stamp(page, &stamp)) != NULL)
		return e;
	if (response_unchanged_tag(rs, rq, stamp))
		return NULL;
	snprintf(key, sizeof(key), "%s %lld %.200s", rs->type,
	    (long long)page->depth, page->target->name);
	if (graph_cache_get(c->graphs, key, stamp, &rs->body))
		return NULL;
	if ((e = graph_read(&page->source, (unsigned)page->depth,
	    &page->graph)) != NULL || (e = put(page, &rs->body)) != NULL)
		return e;
	graph_cache_put(&c->graphs, key, stamp, &rs->body);
	return NULL;
}

static const struct err *
graph_answer(struct context *c, const struct request *rq, struct response *rs,
    const char *type, graph_put_fn *put)
{
	struct graph_page *page = calloc(1, sizeof(*page));
	const struct err *e;

	if (page == NULL)
		return err_nomem();
	rs->type = type;
	e = graph_parse(page, c, rq);
	if (e == NULL)
		e = graph_make(page, c, rq, rs, put);
	graph_free(page->graph);
	free(page);
	return e;
}

const struct err *
api_graph_json(struct context *c, struct request *rq, struct response *rs)
{
	return graph_answer(c, rq, rs, TYPE_JSON, graph_put_json);
}

const struct err *
api_graph_dot(struct context *c, struct request *rq, struct response *rs)
{
	return graph_answer(c, rq, rs, "text/vnd.graphviz; charset=utf-8",
	    graph_put_dot_text);
}

const struct err *
api_graph_svg(struct context *c, struct request *rq, struct response *rs)
{
	return graph_answer(c, rq, rs, TYPE_SVG, graph_put_svg);
}
