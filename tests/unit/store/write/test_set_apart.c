/*
 * Services whose names are too many to be merged are set apart: what is asked
 * is there, of a quiet service without opening what was set apart, and
 * whatever a crash leaves of it, with its manifest and without.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/base/log.h"
#include "store/check/repair.h"
#include "store/check/verify.h"
#include "store/read/reader.h"
#include "tests/unit/counts.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define SPAN 4096
#define FIRST (INT64_C(200) * SPAN)
#define QUIET 3
#define LOUD QUIET
#define STEP 16 /* slots between two that have data */

static char dir[64];
static struct store_writer *writer;

static const struct store_options small = {.slot_ns = SLOT,
    .no_thread = true, .merge_bytes = 24 << 10};

static void
begin(void)
{
	snprintf(dir, sizeof(dir), "%s/test-apart-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(dir) == NULL)
		abort();
	CHECK_OK(store_writer_open(&writer, dir, &small));
}

/* A command in which $d is the directory. */
static void
sh(const char *command)
{
	char text[400];

	snprintf(text, sizeof(text), "d=%s; %s", dir, command);
	CHECK_INT(system(text), 0);
}

static void
end(void)
{
	CHECK_OK(store_writer_close(writer));
	sh("rm -rf $d $d-*");
}

/* ---- what is stored ---- */

static uint32_t
series(struct batch *b, int i, bool flow)
{
	char name[16];
	struct label l = {"service", name};
	struct series_desc d = {flow ? SERIES_FLOW : SERIES_COUNTER,
	    !flow ? "work_total" : i == LOUD ? "allocations" : "cpu",
	    flow ? "nanoseconds" : "", flow ? COUNTS_PERIOD_NS : 0, 0, &l, 1};

	snprintf(name, sizeof(name), i == LOUD ? "loud" : "quiet%d", i);
	return batch_series(b, &d);
}

static int64_t
value(int i, int64_t slot)
{
	return 1 + (slot / STEP * 7 + i) % 11;
}

static void
put_stack(struct batch *b, int i, int64_t slot, const char *leaf, int64_t v)
{
	struct frame all = {FRAME_NATIVE, "all", "kv", "", 0};
	struct frame own = {FRAME_NATIVE, leaf, "kv", "", 0};
	uint32_t top = batch_node(b, 0, batch_labels(b, NULL, 0));

	top = batch_node(b, top, batch_frame(b, &all));
	batch_add_profile(b, series(b, i, true), (uint64_t)slot,
	    batch_node(b, top, batch_frame(b, &own)), v);
}

/* Each service counts, and has a stack; the loud one 40 that nobody has seen,
 * the first of which counts for all. */
static void
put(int64_t slot)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	char name[64];

	for (int i = 0; i <= LOUD; i++) {
		batch_add_counter(b, series(b, i, false), (uint64_t)slot,
		    slot * SLOT, value(i, slot), slot);
		if (i < LOUD)
			put_stack(b, i, slot, "leaf", value(i, slot));
	}
	for (int k = 0; k < 40; k++) {
		snprintf(name, sizeof(name), "a_query_of_its_own_%lld_%d",
		    (long long)slot, k);
		put_stack(b, LOUD, slot, name, k > 0 ? 1 : value(LOUD, slot));
	}
	CHECK_OK(store_append(writer, b));
	batch_free(b);
}

static int64_t
sum(int i, int64_t from, int64_t until, int64_t more)
{
	int64_t all = 0;

	for (int64_t slot = (from + STEP - 1) / STEP * STEP; slot < until;
	     slot += STEP)
		all += value(i, slot) + more;
	return all;
}

static void
fill(int64_t from, int64_t until)
{
	for (int64_t slot = from; slot < until; slot += STEP) {
		CHECK_OK(store_tick(writer, slot * SLOT));
		put(slot);
	}
}

/* ---- what is asked ---- */

static struct selector *
selector(const char *name, int i)
{
	struct selector *s = NULL;
	char text[80], service[16] = "loud";

	if (i < LOUD)
		snprintf(service, sizeof(service), "quiet%d", i);
	snprintf(text, sizeof(text), "%s{service=\"%s\"}", name, service);
	CHECK_OK(selector_parse(text, &s));
	return s;
}

static void
check_profile(struct store *s, int i, int64_t from, int64_t until)
{
	struct profile_query q = {.from_ns = from * SLOT,
	    .until_ns = until * SLOT};
	struct selector *sel = selector(i == LOUD ? "allocations" : "cpu", i);
	struct profile *p = NULL;
	int64_t n = sum(i, from, until, i == LOUD ? 39 : 0);

	q.selector = sel;
	CHECK_OK(store_query_profile(s, &q, &p));
	if (p != NULL)
		CHECK_INT((int64_t)counts_of(p, 0).total, n);
	profile_free(p);
	selector_free(sel);
}

static void
check_metric(struct store *s, int i, int64_t from, int64_t until)
{
	struct selector *sel = selector("work_total", i);
	struct metric_query q = {sel, from * SLOT, until * SLOT,
	    (until - from) * SLOT, 0, false};
	struct metric_series *m = NULL;
	size_t n = 0;

	CHECK_OK(store_query_metric(s, &q, &m, &n));
	CHECK_INT(n, sum(i, from, until, 0) > 0);
	if (n == 1)
		CHECK_INT((int64_t)m[0].points[0].increase,
		    sum(i, from, until, 0));
	metric_series_free(m, n);
	selector_free(sel);
}

static bool
see_service(void *arg, const struct store_service *x)
{
	bool loud = strcmp(x->name, "loud") == 0;
	unsigned *seen = arg;

	CHECK(x->last_ns > FIRST * SLOT);
	CHECK_INT(x->n_profiles, 1);
	CHECK_STR(x->profiles[0], loud ? "allocations" : "cpu");
	*seen |= 1u << (loud ? LOUD : x->name[5] - '0');
	return true;
}

static void
see_type(void *arg, enum series_kind kind, const char *name, const char *unit)
{
	unsigned *seen = arg;

	CHECK_INT(kind, SERIES_FLOW);
	CHECK_STR(unit, "nanoseconds");
	*seen |= strcmp(name, "allocations") == 0 ? 2 : 1;
}

/* Files that were set apart and are open. */
static unsigned
opened(const struct store *s)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->n_files; i++)
		n += s->files[i].sealed != NULL &&
		    manifest_is_apart(s->files[i].entry.name);
	return n;
}

static void
check(const char *where, int64_t until, unsigned ranges)
{
	struct store *s = NULL;
	size_t n;

	CHECK_OK(store_open(&s, where, 0));
	for (int i = 0; i <= LOUD && s != NULL; i++) {
		for (unsigned k = 0; k < ranges; k++) {
			int64_t a = FIRST + rand() % (until - FIRST);
			int64_t b = FIRST + rand() % (until - FIRST) + 1;

			if (k == 0) {
				a = FIRST;
				b = until;
			}
			check_profile(s, i, a < b ? a : b, a < b ? b : a);
			if (a != b)
				check_metric(s, i, a < b ? a : b,
				    a < b ? b : a);
		}
		if (i < LOUD)
			CHECK_INT(opened(s), 0);
	}
	if (s != NULL)
		store_missing(s, &n);
	CHECK(s == NULL || n == 0);
	store_close(s);
}

/* Lists, and questions of all services about a metric that it has not, know
 * what was set apart without opening it. */
static void
check_lists(int64_t until)
{
	struct metric_query q = {NULL, FIRST * SLOT, until * SLOT,
	    (until - FIRST) * SLOT, 0, false};
	unsigned services = 0, types = 0, aparts = 0;
	struct metric_series *m = NULL;
	struct selector *other = NULL;
	struct store *s = NULL;
	size_t n;

	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(store_each_service(s, FIRST * SLOT, until * SLOT,
	    see_service, &services));
	CHECK_OK(store_each_type(s, see_type, &types));
	CHECK_INT(services, (1u << (LOUD + 1)) - 1);
	CHECK_INT(types, 3);
	for (uint32_t i = 0; i < s->n_files; i++) {
		if (!manifest_is_apart(s->files[i].entry.name))
			continue;
		CHECK(strncmp(s->files[i].entry.of,
		    "loud/1/allocations/nanoseconds;", 31) == 0);
		aparts++;
	}
	CHECK(aparts > 1);
	CHECK_OK(selector_parse("{__name__=~\"other_total|work\"}", &other));
	q.selector = other;
	CHECK_OK(store_query_metric(s, &q, &m, &n));
	CHECK_INT(n, 0);
	CHECK_INT(opened(s), 0);
	metric_series_free(m, n);
	selector_free(other);
	check_profile(s, LOUD, FIRST, until);
	CHECK(opened(s) > 1);
	store_close(s);
}

static void
silent(void *arg, const char *what)
{
	(void)arg;
	(void)what;
}

static void
see_wrong(void *arg, const char *what, double progress)
{
	(void)arg;
	(void)progress;
	if (what != NULL)
		printf("# %s\n", what);
	CHECK(what == NULL);
}

/* Three full spans, all in the summary. */
TEST(quiet_services_do_not_open_what_was_set_apart)
{
	int64_t until = FIRST + 3 * SPAN + 200;
	struct verify_report verified;
	struct repair_report r;

	begin();
	fill(FIRST, until);
	check(dir, until, 30);
	check_lists(until);
	sh("ls $d | grep -q ^summary- && ! ls $d | grep -q ^late-");
	CHECK_OK(store_writer_close(writer));
	CHECK_OK(store_verify(dir, see_wrong, NULL, &verified));
	sh("rm $d/manifest");
	CHECK_OK(store_repair(dir, silent, NULL, &r));
	CHECK_INT(r.superseded + r.damaged, 0);
	check(dir, until, 30);
	check_lists(until);
	CHECK_OK(store_writer_open(&writer, dir, &small));
	end();
}

/* ---- crashes ---- */

static int snapshot = -1; /* not 0 or more: none are made */

/* The directory as it is before something in it gets another name or goes. */
static void
take_snapshot(void)
{
	int n = snapshot;
	char command[64];

	if (n < 0)
		return;
	snapshot = -1;
	snprintf(command, sizeof(command), "cp -a $d $d-%d", n);
	sh(command);
	snapshot = n + 1;
}

int
rename(const char *from, const char *to)
{
	static int (*real)(const char *, const char *);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "rename");
	take_snapshot();
	return real(from, to);
}

int
renameat(int a, const char *from, int b, const char *to)
{
	static int (*real)(int, const char *, int, const char *);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "renameat");
	take_snapshot();
	return real(a, from, b, to);
}

int
unlinkat(int at, const char *name, int flags)
{
	static int (*real)(int, const char *, int);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "unlinkat");
	take_snapshot();
	return real(at, name, flags);
}

/* A store as a crash has left it: as it is, and with its manifest lost. */
static void
check_snapshot(int n, int64_t until)
{
	struct repair_report r;
	struct store_writer *w = NULL;
	char where[80], command[200];

	snprintf(where, sizeof(where), "%s-%d", dir, n);
	check(where, until, 2);
	snprintf(command, sizeof(command), "cp -a $d-%d $d-lost && "
	    "rm $d-lost/manifest", n);
	sh(command);
	snprintf(where, sizeof(where), "%s-lost", dir);
	CHECK_OK(store_repair(where, silent, NULL, &r));
	check(where, until, 2);
	CHECK_OK(store_writer_open(&w, where, &small));
	CHECK_OK(store_writer_close(w));
	check(where, until, 2);
	sh("rm -r $d-lost");
}

/* Four spans of 64 slots become one; and a full one goes into the summary. */
static void
check_crashes(int64_t slots, int64_t later)
{
	int64_t until = FIRST + slots;
	int made;

	begin();
	fill(FIRST, until);
	snapshot = 0;
	CHECK_OK(store_tick(writer, (until + later) * SLOT));
	made = snapshot;
	snapshot = -1;
	CHECK(made > 10);
	for (int i = 0; i < made; i++)
		check_snapshot(i, until);
	sh("ls $d | grep -q ^apart-");
	check(dir, until, 30);
	end();
}

TEST(a_crash_as_spans_are_merged_loses_nothing)
{
	check_crashes(4 * 64, 10);
}

TEST(a_crash_as_the_summary_is_made_loses_nothing)
{
	check_crashes(SPAN, 70);
}

int
main(void)
{
	log_init("test", LOG_L_WARN);
	RUN(quiet_services_do_not_open_what_was_set_apart);
	RUN(a_crash_as_spans_are_merged_loses_nothing);
	RUN(a_crash_as_the_summary_is_made_loses_nothing);
	return test_done();
}
