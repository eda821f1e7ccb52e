/*
 * Targets: told and configured.
 */
#include "fcgi/graph/graph_target.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fcgi/graph/graph_cache.h"
#include "fcgi/graph/graph_told.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/fact.h"

#define PROCESS_SPAN (2 * 3600 * NS_PER_S)

/* The executable of the newest process that a service was seen with. */
struct target_process {
	const char *service;
	int64_t time_ns, started_ns;
	char *path;
	size_t room;
};

static bool
target_take_process(void *arg, int64_t time_ns, const char *subject,
    const void *data, size_t n)
{
	struct target_process *p = arg;
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
target_find_service(struct graph_target *t, struct context *c,
    const struct request *rq, const char *service)
{
	struct target_process p = {service, -1, 0, t->path, sizeof(t->path)};
	struct store *s;
	const struct err *e;

	if ((e = context_store(c, &s)) != NULL ||
	    (e = store_each_fact(s, FACT_PROCESS, rq->now_ns - PROCESS_SPAN,
	    rq->now_ns + NS_PER_S, target_take_process, &p)) != NULL)
		return e;
	if (t->path[0] == '\0')
		return err_field(ERR_REQUEST, 404, "target",
		    "no process of the service \"%.100s\" was seen in the "
		    "last two hours", service);
	t->started_ns = p.started_ns;
	return NULL;
}

/* A number for the state of the file. */
static const struct err *
target_stamp(struct graph_target *t)
{
	uint64_t stamp = hash64(0, t->path, strlen(t->path));
	struct stat st;

	if (stat(t->path, &st) < 0)
		return err_new(ERR_REQUEST, 404, "%.200s cannot be read: it is "
		    "gone or not for this user", t->path);
	if (S_ISDIR(st.st_mode))
		return err_field(ERR_REQUEST, 422, "target", "%.200s is a "
		    "folder: memlens graph --tell reads BUILD files",
		    t->path);
	t->written_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
	stamp = hash64_u64(stamp, (uint64_t)st.st_ino);
	stamp = hash64_u64(stamp, (uint64_t)st.st_size);
	stamp = hash64_u64(stamp, (uint64_t)st.st_mtim.tv_sec);
	t->stamp = hash64_u64(stamp, (uint64_t)st.st_mtim.tv_nsec);
	return NULL;
}

/* From what the configuration says to a file. */
static const struct err *
target_locate(struct graph_target *t, struct context *c,
    const struct request *rq)
{
	const struct settings_graph *g = t->settings;
	const struct err *e;

	if (g->bazel != NULL)
		snprintf(t->path, sizeof(t->path), "%s", g->bazel);
	else if (g->elf[0] == '/')
		snprintf(t->path, sizeof(t->path), "%s", g->elf);
	else if ((e = target_find_service(t, c, rq, g->elf)) != NULL)
		return e;
	return target_stamp(t);
}

/* What is told; without a store there is nothing. */
static const struct err *
target_ask(struct graph_target *t, struct context *c,
    const struct request *rq, int64_t until_ns)
{
	struct graph_told told;
	const struct err *e;
	struct buf names = {0};
	struct store *s;

	if (context_store(c, &s) != NULL)
		return NULL;
	if (t->name[0] == '\0') {
		e = graph_told_names(&names, s, until_ns, rq->now_ns);
		if (e == NULL && names.len > 0)
			snprintf(t->name, sizeof(t->name), "%s",
			    (const char *)names.data);
		buf_fini(&names);
		if (e != NULL || t->name[0] == '\0')
			return e;
	}
	e = graph_told_read(&told, s, t->name, until_ns, rq->now_ns);
	t->told_ns = told.told_ns;
	t->code = told.code;
	t->stamp = hash64(1, t->code.data, t->code.len);
	return e;
}

const struct err *
graph_target_find(struct graph_target *t, struct context *c,
    const struct request *rq, const char *name, int64_t until_ns)
{
	const struct err *e;

	memset(t, 0, sizeof(*t));
	t->until_ns = until_ns;
	t->settings = settings_find_graph(c->settings, name);
	if (name == NULL && t->settings != NULL)
		name = t->settings->name;
	snprintf(t->name, sizeof(t->name), "%s", name != NULL ? name : "");
	if ((e = target_ask(t, c, rq, until_ns)) != NULL)
		return e;
	if (t->told_ns != 0)
		return NULL;
	if (t->settings == NULL)
		return err_field(ERR_REQUEST, 404, "target", "\"%.200s\" is "
		    "not configured, nor told by memlens graph --tell: see "
		    "[graph NAME] of memlens-fcgi.conf", t->name);
	return target_locate(t, c, rq);
}

void
graph_target_fini(struct graph_target *t)
{
	buf_fini(&t->code);
}

bool
graph_target_is_newer(const struct graph_target *t)
{
	return t->started_ns != 0 && t->written_ns > t->started_ns;
}

static const struct err *
target_read(const struct graph_target *t, struct graph **out, uint32_t *root)
{
	const struct settings_graph *g = t->settings;

	return graph_read(&(struct graph_source){.path = t->path,
	    .elf = g->bazel == NULL, .root = g->root,
	    .whole = g->complete != NULL && *g->complete != '\0'}, out, root);
}

const struct err *
graph_target_load(const struct graph_target *t, struct context *c,
    struct graph **out, uint32_t *root)
{
	struct buf code = {0};
	const struct err *e;
	char key[300];

	*out = NULL;
	*root = 0;
	if (t->told_ns != 0)
		return graph_decode(t->code.data, t->code.len, out);
	snprintf(key, sizeof(key), "graph %s", t->name);
	if (graph_cache_get(c->graphs, key, t->stamp, &code) &&
	    code.len > 4) {
		*root = (uint32_t)code.data[0] << 24 |
		    (uint32_t)code.data[1] << 16 |
		    (uint32_t)code.data[2] << 8 | code.data[3];
		e = graph_decode(code.data + 4, code.len - 4, out);
	} else if ((e = target_read(t, out, root)) == NULL) {
		buf_clear(&code);
		buf_put_be32(&code, *root);
		graph_encode(*out, &code);
		graph_cache_put(&c->graphs, key, t->stamp, &code);
	}
	buf_fini(&code);
	return e;
}
