/*
 * POST /querier.v1.QuerierService/METHOD: what Grafana asks.
 */
#include <string.h>

#include "connect.pb-c.h"
#include "fcgi/pyroscope/pages.h"
#include "fcgi/pyroscope/querier.h"
#include "fcgi/server/connect.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define ARENA_MAX (512u << 20)
#define PREFIX "/querier.v1.QuerierService/"

static const struct {
	const char *name;
	const ProtobufCMessageDescriptor *request;
	querier_fn *answer;
} methods[] = {
    {"ProfileTypes", &connect__profile_types_request__descriptor,
        querier_profile_types},
    {"LabelNames", &connect__label_names_request__descriptor,
        querier_label_names},
    {"LabelValues", &connect__label_values_request__descriptor,
        querier_label_values},
    {"Series", &connect__series_request__descriptor, querier_series},
    {"SelectSeries", &connect__select_series_request__descriptor,
        querier_select_series},
    {"SelectMergeStacktraces",
        &connect__select_merge_stacktraces_request__descriptor,
        querier_merge_stacktraces},
    {"SelectMergeProfile",
        &connect__select_merge_profile_request__descriptor,
        querier_merge_profile},
    {"Diff", &connect__diff_request__descriptor, querier_diff},
};

void *
querier_array(struct querier *q, size_t n, size_t size)
{
	void *p = n > SIZE_MAX / 2 / size ? NULL
					  : arena_alloc(q->arena, n * size + 1);

	if (p != NULL)
		memset(p, 0, n * size + 1);
	return p;
}

void *
querier_new(struct querier *q, const ProtobufCMessageDescriptor *d)
{
	void *m = arena_alloc(q->arena, d->sizeof_message);

	if (m != NULL)
		protobuf_c_message_init(d, m);
	return m;
}

char *
querier_text(struct querier *q, const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = arena_alloc(q->arena, n);

	return copy != NULL ? memcpy(copy, text, n) : NULL;
}

const struct err *
querier_refuse(const char *field, const char *why)
{
	return err_field(ERR_REQUEST, 501, field, "%s", why);
}

const struct err *
querier_range(const struct querier *q, int64_t start, int64_t end,
    int64_t *from_ns, int64_t *until_ns)
{
	int64_t most = REQUEST_UNTIL_MAX / NS_PER_MS;

	*from_ns = start < 0 ? 0 : (start > most ? most : start) * NS_PER_MS;
	*until_ns = end <= 0 ? q->now_ns
			     : (end > most ? most : end) * NS_PER_MS;
	if (end < 0 || *until_ns < *from_ns)
		return err_field(ERR_REQUEST, 400, "end", "is before %s",
		    end < 0 ? "1970" : "start");
	return NULL;
}

static const struct err *
querier_run(struct context *c, struct request *rq, struct response *rs,
    struct arena *a, size_t i)
{
	struct querier q = {NULL, a, rq->now_ns};
	ProtobufCMessage *m, *answer = NULL;
	const struct err *e;

	if ((e = connect_read(rq, a, methods[i].request, &m)) != NULL ||
	    (e = context_store(c, &q.store)) != NULL ||
	    (e = methods[i].answer(&q, m, &answer)) != NULL)
		return e;
	if (answer == NULL)
		return a->over ? err_new(ERR_REQUEST, 413,
		    "too large an answer: ask for less") : err_nomem();
	return connect_write(rq, rs, answer);
}

const struct err *
api_querier(struct context *c, struct request *rq, struct response *rs)
{
	const char *name = rq->path + strlen(PREFIX);
	const struct err *e = NULL;
	struct arena arena;
	size_t i = 0, n = sizeof(methods) / sizeof(methods[0]);

	while (i < n && strcmp(methods[i].name, name) != 0)
		i++;
	arena_init(&arena, ARENA_MAX);
	if (i == n)
		e = err_new(ERR_REQUEST, 501, "no method \"%.60s\" here",
		    name);
	else
		e = querier_run(c, rq, rs, &arena, i);
	arena_fini(&arena);
	if (e != NULL)
		connect_error(rs, e);
	return NULL;
}
