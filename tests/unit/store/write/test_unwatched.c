/*
 * Services that nobody watches go earlier, and nothing else does; against the
 * naive model.
 */
#include "tests/unit/store/store_model.h"

#define SPAN UINT64_C(4096)
#define AGE UINT64_C(1500)

static struct store_writer_stats
stats(const struct model *m)
{
	struct store_writer_stats s;

	store_writer_stats(m->w, &s);
	return s;
}

static void
tell(struct model *m, const char *const *names, size_t n)
{
	CHECK_OK(store_retain_unwatched(m->w, names, n,
	    (int64_t)AGE * SLOT));
}

/* On time, without outages and restarts. */
static void
steady(struct model *m, unsigned slots)
{
	while (slots-- > 0) {
		struct batch *b = batch_new((uint64_t)SLOT);

		model_put(m, b, m->now);
		CHECK_OK(store_append(m->w, b));
		batch_free(b);
		m->now++;
		CHECK_OK(store_tick(m->w, (int64_t)m->now * SLOT));
	}
}

/* Metrics of the services s0 and s1, and one of the host, of an old time. */
static void
put_metrics(struct model *m)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	struct label l[3] = {{"service", "s0"}, {"service", "s1"},
	    {"service", ""}};

	for (int i = 0; i < 4; i++) {
		struct series_desc d = {SERIES_GAUGE, "temp", "", 0, 0, &l[i],
		    i < 3};

		if (i != 2) /* an empty label is none */
			batch_add_gauge(b, batch_series(b, &d), FIRST + 500,
			    (FIRST + 500) * SLOT, 1);
	}
	CHECK_OK(store_append(m->w, b));
	batch_free(b);
}

static bool
count_metric(void *arg, const struct series_desc *d, int64_t last_ns)
{
	(void)last_ns;
	*(int *)arg += d->kind == SERIES_GAUGE;
	return true;
}

static int
metrics(struct store *s, const char *text)
{
	struct selector *sel;
	int n = 0;

	CHECK_OK(selector_parse(text, &sel));
	CHECK_OK(store_each_series(s, sel, 0, INT64_MAX / 2, count_metric,
	    &n));
	selector_free(sel);
	return n;
}

/* Of s1 there is no data before slot `gone`, and all from slot `kept` on; of
 * the others everything is there. */
static void
check_services(struct model *m, uint64_t gone, uint64_t kept, int watched)
{
	struct store *s = NULL;
	struct profile *p;
	char text[32];

	CHECK_OK(store_open(&s, m->dir, 0));
	if (s == NULL)
		return;
	for (int i = 0; i < 60; i++) {
		int64_t from = FIRST / 2 + (int64_t)roll(m, (unsigned)m->now);
		int64_t until = from + 1 + (int64_t)roll(m, 9000);

		for (int k = 0; k < SERVICES; k++) {
			int64_t since = (watched >> k & 1) != 0 ? from
			    : from > (int64_t)kept ? from : (int64_t)kept;

			snprintf(text, sizeof(text), "cpu{service=\"s%d\"}", k);
			CHECK(ask_total(s, text, since * SLOT,
			    (since + until - from) * SLOT) ==
			    naive_total(m, k, since * SLOT,
			        (since + until - from) * SLOT));
		}
	}
	p = ask(s, "cpu{service=\"s1\"}", 0, (int64_t)gone * SLOT, NULL);
	CHECK(p != NULL && p->slots == 0 && p->series == 0 && p->n_nodes == 1);
	profile_free(p);
	store_close(s);
}

TEST(only_what_nobody_watches_goes)
{
	static const char *const names[] = {"s0", "s2"};
	struct model m;
	uint64_t limit, before;
	struct store *s = NULL;

	model_init(&m, 21);
	model_run(&m, 9000);
	put_metrics(&m);
	steady(&m, 700);
	limit = m.now - AGE;
	tell(&m, names, 2);
	CHECK_INT(stats(&m).thinned, 0);
	steady(&m, 800); /* more than an hour's allowance */
	CHECK(stats(&m).thinned > 0);
	CHECK(stats(&m).thinned_until > limit / SPAN * SPAN - SPAN &&
	    stats(&m).thinned_until <= m.now - AGE);
	check_services(&m, limit / SPAN * SPAN, m.now - AGE, 5);
	CHECK_OK(store_open(&s, m.dir, 0));
	CHECK_INT(metrics(s, "temp{service=\"s0\"}"), 1);
	CHECK_INT(metrics(s, "temp{service=\"s1\"}"), 0);
	CHECK_INT(metrics(s, "temp{service=\"\"}"), 1);
	store_close(s);

	before = stats(&m).thinned; /* what has nothing of it is not written */
	tell(&m, names, 2);
	limit = m.now - AGE;
	steady(&m, 1);
	CHECK(stats(&m).thinned - before <= (limit + AGE) / 64);
	before = stats(&m).thinned;
	tell(&m, names, 2);
	steady(&m, 1);
	CHECK_INT(stats(&m).thinned, before);

	tell(&m, names, 1); /* s2 has lost its rule */
	steady(&m, 800);
	CHECK(stats(&m).thinned > before);
	check_services(&m, limit / SPAN * SPAN, m.now - AGE, 1);
	model_fini(&m);
}

TEST(an_age_of_0_is_never)
{
	struct model m;

	model_init(&m, 22);
	model_run(&m, 5000);
	CHECK_OK(store_retain_unwatched(m.w, NULL, 0, 0));
	steady(&m, 400);
	CHECK_INT(stats(&m).thinned, 0);
	check_services(&m, 1, 0, 7);
	model_fini(&m);
}

/* Where fine slots have gone the summary alone has it. */
TEST(it_goes_out_of_the_summary)
{
	static const char *const names[] = {"s0", "s2"};
	struct store *s = NULL;
	struct model m;

	model_init(&m, 23);
	CHECK_OK(store_writer_close(m.w));
	m.options.retain_fine_ns = 5000 * SLOT;
	model_open(&m);
	steady(&m, 16000);
	CHECK(stats(&m).removed >= 2);
	CHECK_OK(store_open(&s, m.dir, 0));
	CHECK(ask_total(s, "cpu{service=\"s1\"}", 0, 2 * SPAN * SLOT) > 0);
	store_close(s);
	tell(&m, names, 2);
	steady(&m, 500);
	CHECK_OK(store_open(&s, m.dir, 0));
	for (int k = 0; k < SERVICES; k++) {
		char text[32];

		snprintf(text, sizeof(text), "cpu{service=\"s%d\"}", k);
		CHECK(ask_total(s, text, 0, 3 * SPAN * SLOT) ==
		    (k == 1 ? 0 : naive_total(&m, k, 0, 3 * SPAN * SLOT)));
		CHECK(ask_total(s, text, (int64_t)(m.now - AGE) * SLOT,
		    (int64_t)m.now * SLOT) == naive_total(&m, k,
		    (int64_t)(m.now - AGE) * SLOT, (int64_t)m.now * SLOT));
	}
	store_close(s);
	model_fini(&m);
}

TEST(a_clock_that_has_jumped_takes_nothing)
{
	struct model m;

	model_init(&m, 24);
	steady(&m, 5000);
	m.now += 100000;
	steady(&m, 5);
	tell(&m, NULL, 0);
	steady(&m, 300);
	CHECK_INT(stats(&m).thinned, 0);
	CHECK_INT(stats(&m).held_ns, 100001 * SLOT);
	steady(&m, 100);
	CHECK(stats(&m).thinned > 0);
	CHECK_INT(stats(&m).held_ns, 0);
	model_fini(&m);
}

int
main(void)
{
	RUN(only_what_nobody_watches_goes);
	RUN(an_age_of_0_is_never);
	RUN(it_goes_out_of_the_summary);
	RUN(a_clock_that_has_jumped_takes_nothing);
	return test_done();
}
