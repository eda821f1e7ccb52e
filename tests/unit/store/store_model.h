/*
 * A naive model of a store for tests: random batches of profiles and metrics,
 * on time, late and early, each also kept in a plain list.
 */
#ifndef TESTS_UNIT_STORE_MODEL_H
#define TESTS_UNIT_STORE_MODEL_H

#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/counts.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define STACKS 40
#define SERVICES 3
#define FIRST 4000 /* slot at which the clock starts: below a full span */

/* One put: a service's stack got value in slot. */
struct put {
	uint64_t slot;
	int service, stack, value;
};

struct gauge_put {
	uint64_t slot;
	int series, value;
};

struct model {
	char dir[64];
	struct store_writer *w;
	struct store_options options;
	struct put *puts;
	size_t n_puts, cap_puts;
	struct gauge_put *gauges;
	size_t n_gauges, cap_gauges;
	uint64_t now;
	unsigned seed;
};

static inline unsigned
roll(struct model *m, unsigned n)
{
	return (unsigned)rand_r(&m->seed) % n;
}

static inline void
model_open(struct model *m)
{
	CHECK_OK(store_writer_open(&m->w, m->dir, &m->options));
}

static inline void
model_init(struct model *m, unsigned seed)
{
	memset(m, 0, sizeof(*m));
	m->seed = seed;
	m->now = FIRST;
	snprintf(m->dir, sizeof(m->dir), "%s/test-store-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(m->dir) == NULL)
		abort();
	m->options = (struct store_options){.slot_ns = SLOT,
	    .no_thread = true};
	model_open(m);
}

static inline void
model_fini(struct model *m)
{
	char command[128];

	CHECK_OK(store_writer_close(m->w));
	snprintf(command, sizeof(command), "rm -rf %s", m->dir);
	CHECK(system(command) == 0);
	free(m->puts);
	free(m->gauges);
}

/* Stack s: f(s%4) ; g(s%7) ; ... a small tree with shared prefixes, in one
 * of two pools. */
static inline uint32_t
stack_node(struct batch *b, int stack)
{
	struct label pool = {"pool", stack % 2 ? "odd" : "even"};
	uint32_t node = batch_node(b, 0, batch_labels(b, &pool, 1));
	char name[32];

	for (int depth = 0, rest = stack; depth < 3; depth++, rest /= 4) {
		struct frame f = {FRAME_NATIVE, name, "kv", "b1", 16};

		snprintf(name, sizeof(name), "fn_%d_%d", depth, rest % 4);
		node = batch_node(b, node, batch_frame(b, &f));
	}
	return node;
}

static inline uint32_t
service_series(struct batch *b, int service)
{
	char name[16];
	struct label l = {"service", name};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &l, 1};

	snprintf(name, sizeof(name), "s%d", service);
	return batch_series(b, &d);
}

static inline uint32_t
metric_series_of(struct batch *b, int i)
{
	char name[16];
	struct label l = {"device", name};
	struct series_desc g = {SERIES_GAUGE, "load", "", 0, 2, &l, 1};
	struct series_desc c = {SERIES_COUNTER, "reads_total", "", 0, 0, &l,
	    1};

	snprintf(name, sizeof(name), "d%d", i / 2);
	return batch_series(b, i % 2 ? &c : &g);
}

static inline void
model_put(struct model *m, struct batch *b, uint64_t slot)
{
	struct put p = {slot, (int)roll(m, SERVICES), (int)roll(m, STACKS),
	    (int)roll(m, 30) + 1};

	if (m->n_puts == m->cap_puts) {
		m->cap_puts = m->cap_puts ? m->cap_puts * 2 : 1024;
		m->puts = realloc(m->puts, m->cap_puts * sizeof(p));
	}
	m->puts[m->n_puts++] = p;
	batch_add_profile(b, service_series(b, p.service), slot,
	    stack_node(b, p.stack), p.value);
}

static inline void
model_gauge(struct model *m, struct batch *b, uint64_t slot)
{
	struct gauge_put p = {slot, (int)roll(m, 6), (int)roll(m, 1000)};
	uint32_t s = metric_series_of(b, p.series);

	if (m->n_gauges == m->cap_gauges) {
		m->cap_gauges = m->cap_gauges ? m->cap_gauges * 2 : 1024;
		m->gauges = realloc(m->gauges, m->cap_gauges * sizeof(p));
	}
	m->gauges[m->n_gauges++] = p;
	if (p.series % 2)
		batch_add_counter(b, s, slot, (int64_t)slot * SLOT + 5,
		    p.value, p.value * 7);
	else
		batch_add_gauge(b, s, slot, (int64_t)slot * SLOT + 5,
		    p.value - 500);
}

/* A batch of the present slot, sometimes with late or early blocks. */
static inline void
model_batch(struct model *m)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	unsigned n = roll(m, 12);

	for (unsigned i = 0; i < n; i++)
		model_put(m, b, m->now);
	for (unsigned i = 0; i < n / 2; i++)
		model_gauge(m, b, m->now);
	if (roll(m, 40) == 0)
		model_put(m, b, m->now - roll(m, 3000) - 1);
	if (roll(m, 100) == 0)
		model_gauge(m, b, m->now - roll(m, 300) - 1);
	if (roll(m, 200) == 0)
		model_put(m, b, m->now + roll(m, 200));
	CHECK_OK(store_append(m->w, b));
	if (roll(m, 50) == 0)
		CHECK_OK(store_append(m->w, b)); /* the same one again */
	batch_free(b);
}

static inline void
model_run(struct model *m, unsigned slots)
{
	for (unsigned i = 0; i < slots; i++) {
		CHECK_OK(store_tick(m->w, (int64_t)m->now * SLOT + SLOT / 2));
		if (roll(m, 20) != 0) /* else a gap */
			model_batch(m);
		m->now++;
		if (roll(m, 400) == 0)
			m->now += roll(m, 300); /* an outage */
		if (roll(m, 150) == 0) { /* a restart */
			CHECK_OK(store_writer_close(m->w));
			model_open(m);
		}
	}
}

/* ---- answers ---- */

static inline int128
naive_total(const struct model *m, int service, int64_t from, int64_t until)
{
	int128 sum = 0;

	for (size_t i = 0; i < m->n_puts; i++) {
		int64_t at = (int64_t)m->puts[i].slot * SLOT;

		if ((service < 0 || m->puts[i].service == service) &&
		    at >= from && at < until)
			sum += m->puts[i].value;
	}
	return sum;
}

static inline struct profile *
ask(struct store *s, const char *text, int64_t from, int64_t until,
    const char *split)
{
	struct profile_query q = {NULL, from, until, split, false};
	struct profile *p = NULL;
	struct selector *sel;

	CHECK_OK(selector_parse(text, &sel));
	q.selector = sel;
	CHECK_OK(store_query_profile(s, &q, &p));
	selector_free(sel);
	return p;
}

static inline int128
ask_total(struct store *s, const char *text, int64_t from, int64_t until)
{
	struct profile *p = ask(s, text, from, until, NULL);
	int128 total = p ? counts_of(p, 0).total : -1;

	profile_free(p);
	return total;
}

#endif
