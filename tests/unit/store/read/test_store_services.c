/*
 * A list of services, and the newest of all numbers, are what the series one by
 * one would add up to, over any range: of journals, of spans, of a summary
 * alone, whether files tell when services lived or not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/read/reader.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define SPAN 4096
#define FIRST (3 * SPAN)
#define SLOTS (4 * SPAN + 150)
#define EACH 48 /* slots between two that have something */
#define SERVICES 330
#define TYPES 4

static char dir[64];

/* When a service lives, and what it has. */
static struct life {
	unsigned from, until;
	unsigned types; /* bits */
} lives[SERVICES];

static void
put_service(struct batch *b, unsigned i, unsigned slot)
{
	static const struct {
		enum series_kind kind;
		const char *name, *unit;
		int64_t period;
	} types[TYPES] = {{SERIES_FLOW, "wall", "nanoseconds", 10},
	    {SERIES_FLOW, "cpu", "nanoseconds", 10},
	    {SERIES_STOCK, "inuse", "bytes", 1},
	    {SERIES_FLOW, "cpu", "nanoseconds", 20}};
	char name[80];
	struct label l = {"service", name};
	struct series_desc d = {SERIES_GAUGE, "memory", "bytes", 0, 0, &l, 1};

	/* little of it like others': of 330 a file has marks and an index */
	snprintf(name, sizeof(name), "%08x%08x%08x%08x%08x%08x-%03u",
	    i * 2654435761u, i * 2246822519u, i * 3266489917u,
	    i * 668265263u, i * 374761393u, i * 2654435769u, i);
	for (unsigned k = 0; k < TYPES; k++) {
		struct series_desc p = {types[k].kind, types[k].name,
		    types[k].unit, types[k].period, 0, &l, 1};

		/* not in all slots */
		if ((lives[i].types >> k & 1) && (slot / EACH + i + k) % 3 > 0)
			batch_add_profile(b, batch_series(b, &p), FIRST + slot,
			    0, 1);
	}
	if (lives[i].types % 2 == 0)
		batch_add_gauge(b, batch_series(b, &d), FIRST + slot,
		    (int64_t)(FIRST + slot) * SLOT, slot + i);
}

static void
put(struct store_writer *w, unsigned slot, unsigned services)
{
	struct batch *b = batch_new((uint64_t)SLOT);

	for (unsigned i = 0; i < services; i++)
		if (lives[i].from <= slot && slot < lives[i].until)
			put_service(b, i, slot);
	CHECK_OK(store_tick(w, (int64_t)(FIRST + slot) * SLOT));
	CHECK_OK(store_append(w, b));
	batch_free(b);
}

static void
make(unsigned services)
{
	struct store_options options = {.slot_ns = SLOT, .no_thread = true};
	struct store_writer *w = NULL;

	srand(services);
	snprintf(dir, sizeof(dir), "%s/test-services-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	CHECK(mkdtemp(dir) != NULL);
	for (unsigned i = 0; i < services; i++) {
		lives[i].from = i % 5 == 0 ? 0 : (unsigned)rand() % SLOTS;
		lives[i].until = lives[i].from + 1 + (unsigned)rand() % SPAN *
		    (i % 3);
		lives[i].types = (unsigned)rand() % (1u << TYPES);
	}
	CHECK_OK(store_writer_open(&w, dir, &options));
	for (unsigned slot = 0; slot < SLOTS; slot += EACH)
		put(w, slot, services);
	CHECK_OK(store_writer_close(w));
}

/* ---- both lists as text ---- */

struct told {
	struct intern names;
	int64_t last[SERVICES];
	char types[SERVICES][120];
};

static bool
tell_series(void *arg, const struct series_desc *d, int64_t last_ns)
{
	struct told *t = arg;
	const char *name = label_find(d->labels, d->n_labels, "service");
	uint32_t i = intern_put(&t->names, name, strlen(name));
	char type[40];

	CHECK(i < SERVICES);
	if (last_ns > t->last[i])
		t->last[i] = last_ns;
	snprintf(type, sizeof(type), "%s ", d->name);
	if (series_is_profile(d->kind) && strstr(t->types[i], type) == NULL)
		strcat(t->types[i], type);
	return true;
}

static bool
check_service(void *arg, const struct store_service *x)
{
	struct told *t = arg;
	uint32_t i = intern_find(&t->names, x->name, strlen(x->name));
	char types[120] = "";

	CHECK(i < SERVICES);
	if (i >= SERVICES)
		return false;
	CHECK_INT(x->last_ns, t->last[i]);
	for (size_t k = 0; k < x->n_profiles; k++)
		snprintf(types + strlen(types), sizeof(types) - strlen(types),
		    "%s ", x->profiles[k]);
	CHECK_STR(types, t->types[i]);
	t->last[i] = 0; /* each once */
	return true;
}

static void
check_range(struct store *lists, struct store *series, unsigned from,
    unsigned until)
{
	int64_t from_ns = (int64_t)(FIRST + from) * SLOT;
	int64_t until_ns = (int64_t)(FIRST + until) * SLOT;
	struct told *t = calloc(1, sizeof(*t));

	CHECK_OK(store_each_series(series, NULL, from_ns, until_ns,
	    tell_series, t));
	CHECK_OK(store_each_service(lists, from_ns, until_ns, check_service,
	    t));
	for (uint32_t i = 0; i < t->names.n; i++)
		CHECK_INT(t->last[i], 0);
	intern_fini(&t->names);
	free(t);
}

/* One past the newest slot in which a service has its number; 0: none. */
static unsigned
newest_slot(unsigned i, unsigned from, unsigned until)
{
	unsigned newest = 0;

	for (unsigned slot = (from + EACH - 1) / EACH * EACH; slot < until;
	     slot += EACH)
		if (lives[i].types % 2 == 0 && lives[i].from <= slot &&
		    slot < lives[i].until)
			newest = slot + 1;
	return newest;
}

static void
check_numbers(const struct metric_series *m, size_t n, unsigned services,
    unsigned from, unsigned until)
{
	size_t expected = 0;

	for (unsigned i = 0; i < services; i++)
		expected += newest_slot(i, from, until) > 0;
	CHECK_INT(n, expected);
	for (size_t k = 0; k < n; k++) {
		unsigned i = (unsigned)atoi(strchr(m[k].desc.labels[0].value,
		    '-') + 1);

		CHECK_INT(m[k].points[0].last + 1, newest_slot(i, from,
		    until) + i);
	}
}

/* Who asks for the newest of all numbers is told what is the last of them, by
 * a reader that knows all series as by one that has taken up few; where
 * `services` are told, as they were put. */
static void
check_newest(struct store *few, struct store *all, unsigned from,
    unsigned until, unsigned services)
{
	struct metric_query q = {NULL, (int64_t)(FIRST + from) * SLOT,
	    (int64_t)(FIRST + until) * SLOT, (int64_t)(until - from) * SLOT,
	    0, true};
	struct metric_series *newest = NULL, *whole = NULL;
	struct selector *named;
	size_t n = 0, n_whole = 0;

	CHECK_OK(selector_parse("{__name__!=\"\"}", &named));
	q.selector = named;
	CHECK_OK(store_query_metric(few, &q, &newest, &n));
	q.newest = false;
	CHECK_OK(store_query_metric(all, &q, &whole, &n_whole));
	CHECK_INT(n, n_whole);
	for (size_t i = 0; i < n && n == n_whole; i++) {
		CHECK_STR(newest[i].desc.labels[0].value,
		    whole[i].desc.labels[0].value);
		CHECK_INT(newest[i].points[0].last, whole[i].points[0].last);
		CHECK_INT(newest[i].points[0].last_ns,
		    whole[i].points[0].last_ns);
	}
	if (services > 0)
		check_numbers(newest, n, services, from, until);
	metric_series_free(newest, n);
	metric_series_free(whole, n_whole);
	selector_free(named);
}

/* `services`: 0 where the summary alone is left. */
static void
check_store(const char *where, size_t cache, unsigned services)
{
	struct store *lists = NULL, *series = NULL;

	CHECK_OK(store_open(&lists, where, cache));
	CHECK_OK(store_open(&series, where, 0));
	for (int i = 0; i < 60; i++) {
		unsigned from = (unsigned)rand() % SLOTS;
		unsigned n = 1 + (unsigned)rand() %
		    (i % 2 ? 200 : SLOTS - from);

		if (i % 7 == 0)
			from = 0;
		n = from + n < SLOTS ? n : SLOTS - from;
		check_newest(lists, series, from, from + n, services);
		check_range(lists, series, from, from + n);
		if (i % 20 == 19)
			store_forget(lists);
		CHECK_OK(store_refresh(lists));
	}
	store_close(lists);
	store_close(series);
}

static bool
has_lives(const char *where)
{
	struct buf bytes = {0};
	struct store *s = NULL;
	bool has = false;

	CHECK_OK(store_open(&s, where, 0));
	for (uint32_t i = 0; i < s->n_files; i++) {
		struct reader_file *f = &s->files[i];

		if (f->entry.kind != MANIFEST_SUMMARY)
			continue;
		CHECK_OK(reader_need(s, f));
		CHECK_OK(sealed_read_stream(f->sealed, SEALED_LIVES, &bytes));
		has = bytes.len > 0;
	}
	buf_fini(&bytes);
	store_close(s);
	return has;
}

static void
check_all(unsigned services)
{
	char copy[80], command[200];

	make(services);
	CHECK_INT(has_lives(dir), services == SERVICES);
	check_store(dir, 0, services);
	check_store(dir, 1, services); /* nothing is kept */
	snprintf(copy, sizeof(copy), "%s-summary", dir);
	snprintf(command, sizeof(command), "cp -a %s %s && rm %s/span-6-*",
	    dir, copy, copy);
	CHECK_INT(system(command), 0);
	check_store(copy, 0, 0);
	snprintf(command, sizeof(command), "rm -rf %s %s", dir, copy);
	CHECK_INT(system(command), 0);
}

TEST(lists_are_those_of_their_series)
{
	check_all(SERVICES);
}

TEST(also_where_the_summary_does_not_tell_of_services)
{
	check_all(30);
}

int
main(void)
{
	RUN(lists_are_those_of_their_series);
	RUN(also_where_the_summary_does_not_tell_of_services);
	return test_done();
}
