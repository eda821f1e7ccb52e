/*
 * GET /api/v1/services: who had data in a range: services by name, their
 * processes and the types of their profiles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/measure.h"
#include "fcgi/server/context.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/array.h"
#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/model/fact.h"
#include "store/model/types.h"

#define SERVICES_LISTED_MAX 4096u
#define PROCESSES_LISTED_MAX 65536u
#define PROCESSES_SHOWN_MAX 100u /* of one service */
#define PROFILE_TYPES_MAX 32u
#define FACT_SLOTS 66 /* the collector says all again every 64 slots */

struct service_entry {
	int64_t last_ns; /* 0: known by its processes alone */
	uint16_t profiles[PROFILE_TYPES_MAX]; /* types */
	uint32_t n_profiles;
};

struct service_process {
	char *service, *command;
	int64_t pid, started_ns;
};

/* A type as the store names it, and the one that is made of it and others. */
struct service_type {
	const char *name; /* its address tells it */
	uint32_t type, made; /* INTERN_NONE: there is none */
};

struct service_list {
	struct intern names; /* number i is entries[i]'s */
	struct intern types; /* of profiles */
	struct service_type *known;
	size_t n_known, cap_known;
	struct service_entry *entries;
	struct service_process *processes;
	size_t n_processes;
	bool full;   /* of different processes: folding frees little */
	bool failed;
};

static void
services_list_fini(struct service_list *l)
{
	for (size_t i = 0; i < l->n_processes; i++) {
		free(l->processes[i].service);
		free(l->processes[i].command);
	}
	free(l->entries);
	free(l->processes);
	free(l->known);
	intern_fini(&l->names);
	intern_fini(&l->types);
}

/* Room for one more: arrays grow when their length is a power of two. */
static void *
services_grow(void *array, size_t n, size_t size)
{
	if (n != 0 && (n & (n - 1)) != 0)
		return array;
	return realloc(array, (n ? 2 * n : 1) * size);
}

static struct service_entry *
services_entry(struct service_list *l, const char *name)
{
	uint32_t n = l->names.n, known;
	struct service_entry *grown;

	known = n < SERVICES_LISTED_MAX
	    ? intern_put(&l->names, name, strlen(name))
	    : intern_find(&l->names, name, strlen(name));
	if (known < n)
		return &l->entries[known];
	if (known == INTERN_NONE) {
		l->failed = n < SERVICES_LISTED_MAX;
		return NULL;
	}
	grown = services_grow(l->entries, n, sizeof(*grown));
	if (grown == NULL) {
		l->failed = true;
		return NULL;
	}
	l->entries = grown;
	l->entries[n] = (struct service_entry){0};
	return &l->entries[n];
}

static void
services_add_profile(struct service_entry *s, uint32_t type)
{
	for (size_t i = 0; i < s->n_profiles; i++)
		if (s->profiles[i] == type)
			return;
	if (s->n_profiles < PROFILE_TYPES_MAX && type <= UINT16_MAX)
		s->profiles[s->n_profiles++] = (uint16_t)type;
}

/* Thousands of services have the same few types.  NULL: out of memory. */
static const struct service_type *
services_type(struct service_list *l, const char *name)
{
	struct service_type t = {name, INTERN_NONE, INTERN_NONE};
	const struct type *made;

	for (size_t i = 0; i < l->n_known; i++)
		if (l->known[i].name == name)
			return &l->known[i];
	made = types_made_with(name);
	t.type = intern_put(&l->types, name, strlen(name));
	if (made != NULL)
		t.made = intern_put(&l->types, made->name,
		    strlen(made->name));
	if (t.type == INTERN_NONE || (made != NULL && t.made == INTERN_NONE) ||
	    !array_room(&l->known, l->n_known + 1, &l->cap_known))
		return NULL;
	l->known[l->n_known] = t;
	return &l->known[l->n_known++];
}

static bool
services_take(void *arg, const struct store_service *x)
{
	struct service_list *l = arg;
	struct service_entry *s = services_entry(l, x->name);

	for (size_t i = 0; s != NULL && i < x->n_profiles; i++) {
		const struct service_type *t = services_type(l,
		    x->profiles[i]);

		if (t == NULL) {
			l->failed = true;
			return false;
		}
		services_add_profile(s, t->type);
		if (t->made != INTERN_NONE)
			services_add_profile(s, t->made);
	}
	if (s != NULL && x->last_ns > s->last_ns)
		s->last_ns = x->last_ns;
	return !l->failed;
}

static bool
services_take_group(void *arg, const struct series_desc *d, int64_t last_ns)
{
	struct service_list *l = arg;
	struct store_service x = {.last_ns = last_ns,
	    .name = label_find(d->labels, d->n_labels, "groupname")};

	return x.name == NULL || services_take(l, &x);
}

/* Who has no service may have a group's name, as process-exporter says. */
static const struct err *
services_load_groups(struct service_list *l, struct store *s, int64_t from_ns,
    int64_t until_ns)
{
	struct selector *none;
	const struct err *e = selector_parse("{service=\"\"}", &none);

	if (e != NULL)
		return e;
	e = store_each_series(s, none, from_ns, until_ns, services_take_group,
	    l);
	selector_free(none);
	return e;
}

/* By service, the youngest first. */
static int
services_compare_processes(const void *a, const void *b)
{
	const struct service_process *x = a, *y = b;
	int order = strcmp(x->service, y->service);

	if (order != 0)
		return order;
	if (x->started_ns != y->started_ns)
		return x->started_ns > y->started_ns ? -1 : 1;
	return (x->pid < y->pid) - (x->pid > y->pid);
}

/* A process is told of again and again: sorts, and keeps one of each. */
static void
services_fold_processes(struct service_list *l)
{
	size_t n = 0;

	if (l->n_processes > 0)
		qsort(l->processes, l->n_processes, sizeof(*l->processes),
		    services_compare_processes);
	for (size_t i = 0; i < l->n_processes; i++) {
		struct service_process *p = &l->processes[i];

		if (n > 0 && services_compare_processes(p,
		    &l->processes[n - 1]) == 0) {
			free(p->service);
			free(p->command);
		} else {
			l->processes[n++] = *p;
		}
	}
	l->n_processes = n;
}

/* Room for one more process.  Facts come oldest first: without folding, the
 * repetitions of a long range would leave none for the youngest. */
static bool
services_room(struct service_list *l)
{
	if (l->n_processes == PROCESSES_LISTED_MAX && !l->full) {
		services_fold_processes(l);
		l->full = l->n_processes > PROCESSES_LISTED_MAX / 4 * 3;
	}
	return l->n_processes < PROCESSES_LISTED_MAX;
}

static void
services_add_process(struct service_list *l, const char *service,
    const struct fact_process *f)
{
	struct service_process *grown, *p;

	if (!services_room(l))
		return;
	grown = services_grow(l->processes, l->n_processes, sizeof(*grown));
	if (grown == NULL) {
		l->failed = true;
		return;
	}
	l->processes = grown;
	p = &l->processes[l->n_processes++];
	*p = (struct service_process){.service = strdup(service),
	    .pid = f->pid, .started_ns = f->started_ns};
	if (asprintf(&p->command, "%.*s%s%.*s", (int)f->comm.n, f->comm.p,
	    f->command.n > 0 ? " " : "", (int)f->command.n,
	    f->command.n > 0 ? f->command.p : "") < 0)
		p->command = NULL;
	if (p->service == NULL || p->command == NULL)
		l->failed = true;
}

static bool
services_take_process(void *arg, int64_t time_ns, const char *subject,
    const void *data, size_t n)
{
	struct service_list *l = arg;
	struct fact_process f;

	(void)time_ns;
	if (fact_take_process(data, n, &f) &&
	    services_entry(l, subject) != NULL)
		services_add_process(l, subject, &f);
	return !l->failed;
}

static const struct err *
services_load(struct service_list *l, struct store *s, int64_t from_ns,
    int64_t until_ns)
{
	struct store_extent extent;
	const struct err *e;

	store_extent(s, &extent);
	e = store_each_service(s, from_ns, until_ns, services_take, l);
	if (e == NULL)
		e = services_load_groups(l, s, from_ns, until_ns);
	if (e == NULL)
		e = store_each_fact(s, FACT_PROCESS,
		    from_ns - FACT_SLOTS * extent.slot_ns, until_ns,
		    services_take_process, l);
	if (e == NULL && l->failed)
		e = err_nomem();
	if (e != NULL)
		return e;
	services_fold_processes(l);
	return NULL;
}

static void
services_put_process(struct writer *w, const struct service_process *p)
{
	writer_open(w, '{');
	writer_key_int(w, "pid", p->pid);
	writer_key_str(w, "command", p->command);
	writer_key_seconds(w, "started", p->started_ns);
	writer_close(w, '}');
}

/* The youngest of a service's processes, and how many there are: most that a
 * list of thousands has none. */
static void
services_put_processes(struct writer *w, const struct service_list *l,
    const char *service, size_t *next)
{
	static const char none[] = "\"processes\":[],\"processes_seen\":0";
	size_t n = 0;

	if (*next == l->n_processes ||
	    strcmp(l->processes[*next].service, service) != 0) {
		writer_raw(w, none, sizeof(none) - 1);
		return;
	}
	writer_key_open(w, "processes", '[');
	for (; *next < l->n_processes; (*next)++, n++) {
		const struct service_process *p = &l->processes[*next];

		if (strcmp(p->service, service) != 0)
			break;
		if (n < PROCESSES_SHOWN_MAX)
			services_put_process(w, p);
	}
	writer_close(w, ']');
	writer_key_int(w, "processes_seen", (int64_t)n);
}

/* What is said behind a service's processes; most say the same as the one
 * before. */
struct service_tail {
	const struct service_entry *of;
	struct buf text;
};

static void
services_make_tail(const struct service_list *l, struct service_tail *t,
    const struct service_entry *s)
{
	struct writer w = writer_of(&t->text);

	if (t->of != NULL && t->of->last_ns == s->last_ns &&
	    t->of->n_profiles == s->n_profiles && memcmp(t->of->profiles,
	        s->profiles, s->n_profiles * sizeof(*s->profiles)) == 0)
		return;
	t->of = s;
	buf_clear(&t->text);
	writer_key_open(&w, "profiles", '[');
	for (size_t k = 0; k < s->n_profiles; k++)
		writer_str(&w, intern_str(&l->types, s->profiles[k]));
	writer_close(&w, ']');
	writer_key(&w, "last");
	s->last_ns ? writer_seconds(&w, s->last_ns) : writer_null(&w);
}

static void
services_put(struct writer *w, const struct service_list *l, uint32_t service,
    struct service_tail *tail, size_t *next)
{
	const char *name = intern_str(&l->names, service);

	services_make_tail(l, tail, &l->entries[service]);
	writer_open(w, '{');
	writer_key_str(w, "name", name);
	services_put_processes(w, l, name, next);
	writer_raw(w, (const char *)tail->text.data, tail->text.len);
	w->out->failed |= tail->text.failed;
	writer_close(w, '}');
}

static int
services_compare(const void *a, const void *b, void *names)
{
	return intern_compare(names, *(const uint32_t *)a,
	    *(const uint32_t *)b);
}

/* Numbers of the services by name: most of them came so. */
static uint32_t *
services_order(struct service_list *l)
{
	uint32_t *order = malloc((l->names.n + 1) * sizeof(*order));
	bool sorted = true;

	for (uint32_t i = 0; i < l->names.n && order != NULL; i++) {
		order[i] = i;
		sorted &= i == 0 || intern_compare(&l->names, i - 1, i) < 0;
	}
	if (order != NULL && !sorted)
		qsort_r(order, l->names.n, sizeof(*order), services_compare,
		    &l->names);
	return order;
}

/* By name. */
static const struct err *
services_put_all(struct writer *w, struct service_list *l)
{
	uint32_t *order = services_order(l);
	struct service_tail tail = {0};
	size_t next = 0; /* processes are in the order of the services */

	if (order == NULL)
		return err_nomem();
	writer_key_open(w, "services", '[');
	for (uint32_t i = 0; i < l->names.n; i++)
		services_put(w, l, order[i], &tail, &next);
	writer_close(w, ']');
	buf_fini(&tail.text);
	free(order);
	return NULL;
}

const struct err *
api_services(struct context *c, struct request *rq, struct response *rs)
{
	struct service_list l = {0};
	struct writer w = writer_of(&rs->body);
	int64_t from, until;
	struct store *s;
	const struct err *e;

	if ((e = request_range(rq, &from, &until)) != NULL ||
	    (e = context_store(c, &s)) != NULL)
		return e;
	if (response_unchanged(rs, rq, s, from, until))
		return NULL;
	e = services_load(&l, s, from, until);
	if (e == NULL) {
		writer_open(&w, '{');
		writer_key_seconds(&w, "from", from);
		writer_key_seconds(&w, "until", until);
		partial_put_state(&w, s, from, until);
		e = services_put_all(&w, &l);
		writer_close(&w, '}');
	}
	services_list_fini(&l);
	return e;
}
