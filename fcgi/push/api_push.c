/*
 * POST /push.v1.PusherService/Push: pprof with labels, of many series at
 * once.
 */
#include <string.h>

#include "connect.pb-c.h"
#include "fcgi/format/arena.h"
#include "fcgi/format/pprof/pprof.h"
#include "fcgi/format/stacks.h"
#include "fcgi/push/ingest.h"
#include "fcgi/push/pages.h"
#include "fcgi/push/push.h"
#include "fcgi/pyroscope/appname.h"
#include "fcgi/server/connect.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/typeid.h"

#define LABELS_MAX 48
#define PROFILES_MAX 4096
#define EARLIEST (366 * INT64_C(86400) * NS_PER_S) /* 1970: no clock */

struct series {
	const char *service, *group;
	struct label labels[LABELS_MAX];
	size_t n_labels;
};

/* Names that begin with "__" are the server's own affair. */
static const struct err *
series_label(struct series *s, const Connect__LabelPair *l)
{
	if (strcmp(l->name, "__name__") == 0) {
		s->group = l->value;
	} else if (strcmp(l->name, "service_name") == 0) {
		s->service = l->value;
	} else if (strncmp(l->name, "__", 2) != 0 && *l->name != '\0' &&
	    !appname_is_id(l->name)) {
		if (s->n_labels == LABELS_MAX)
			return err_field(ERR_REQUEST, 400, "labels",
			    "more than %d", LABELS_MAX);
		s->labels[s->n_labels++] =
		    (struct label){l->name, l->value};
	}
	return NULL;
}

static const struct err *
series_read(struct series *s, const Connect__RawProfileSeries *from)
{
	const struct err *e = NULL;

	*s = (struct series){.group = "", .service = ""};
	for (size_t i = 0; i < from->n_labels && e == NULL; i++)
		e = series_label(s, from->labels[i]);
	for (size_t i = 0; i < s->n_labels && *s->service == '\0'; i++)
		if (strcmp(s->labels[i].name, "service") == 0 ||
		    strcmp(s->labels[i].name, "app") == 0)
			s->service = s->labels[i].value;
	if (*s->service == '\0')
		s->service = "unspecified";
	return e;
}

static enum series_kind
series_name(void *arg, const struct pprof_column *c, char *name, size_t size)
{
	const struct series *s = arg;

	if (*s->group == '\0')
		return pprof_name(NULL, c, name, size);
	return typeid_name(s->group, c->type, c->unit, name, size);
}

static const struct err *
push_sample(struct context *c, struct push *p, struct series *s,
    const Connect__RawSample *raw, const struct request *rq,
    struct ingest_report *report)
{
	struct pprof_options o = {.max_bytes = INGEST_PPROF_MAX,
	    .name = series_name, .name_arg = s};
	struct push_window w = {s->service, s->labels, s->n_labels, 0, 0};
	struct stacks *stacks = stacks_new(&stacks_limits_push);
	const struct err *e;

	if (stacks == NULL)
		return err_nomem();
	e = pprof_parse_as(stacks, raw->raw_profile.data,
	    raw->raw_profile.len, &o);
	stacks_range(stacks, &w.from_ns, &w.until_ns);
	if (w.from_ns < EARLIEST) /* microseconds of old agents, or none */
		w.from_ns = w.until_ns = rq->now_ns;
	if (e == NULL)
		e = push_add(p, stacks, &w);
	if (e == NULL) {
		push_mean(p, stacks_mean(stacks), &w);
		push_places(p, &c->told, stacks, &w);
	}
	stacks_free(stacks);
	report->profiles++;
	return e;
}

static const struct err *
push_all(struct context *c, struct push *p, const Connect__PushRequest *m,
    const struct request *rq, struct ingest_report *report)
{
	const struct err *e = NULL;
	struct series s;

	for (size_t i = 0; i < m->n_series && e == NULL; i++) {
		const Connect__RawProfileSeries *from = m->series[i];

		if ((e = series_read(&s, from)) != NULL)
			return e;
		for (size_t k = 0; k < from->n_samples && e == NULL; k++) {
			if (report->profiles == PROFILES_MAX)
				return err_new(ERR_REQUEST, 413,
				    "more than %d profiles", PROFILES_MAX);
			e = push_sample(c, p, &s, from->samples[k], rq,
			    report);
		}
	}
	return e;
}

static const struct err *
push_take(struct context *c, struct request *rq, struct response *rs,
    struct arena *a)
{
	Connect__PushResponse done = CONNECT__PUSH_RESPONSE__INIT;
	struct ingest_report report = {.format = "connect"};
	ProtobufCMessage *m;
	struct push *p = NULL;
	const struct err *e;

	e = connect_read(rq, a, &connect__push_request__descriptor, &m);
	if (e == NULL && (e = ingest_begin(c, rq, false, &p)) == NULL)
		e = push_all(
		    c, p, (const Connect__PushRequest *)m, rq, &report);
	if (e == NULL)
		e = ingest_send(c, rq, p, &report, rs);
	if (e == NULL)
		e = connect_write(rq, rs, &done.base);
	push_free(p);
	return e;
}

const struct err *
api_push(struct context *c, struct request *rq, struct response *rs)
{
	struct arena arena;
	const struct err *e;

	arena_init(&arena, REQUEST_PLAIN_MAX * 2u);
	e = push_take(c, rq, rs, &arena);
	arena_fini(&arena);
	if (e != NULL)
		connect_error(rs, e);
	return NULL;
}
