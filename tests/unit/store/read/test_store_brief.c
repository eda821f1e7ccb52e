/*
 * Means of a stock weigh slots by the time that was seen of them, from sealed
 * files and from the open journal alike, against sums by hand.
 */
#include <stdlib.h>

#include "store/base/err.h"
#include "store/model/brief.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(10000000000)
#define FIRST 4096
#define SLOTS 300 /* 256 of them sealed */
#define SERVICES 2

static char dir[64];
static const char *const services[SERVICES] = {"kv", "db"};

/* What a service has in a slot; all observations of it together. */
struct held {
	int64_t sum, n;
	int64_t weight; /* of each observation, in thousandths of a slot */
};
static struct held held[SERVICES][SLOTS];

static void
see(struct batch *b, int service, unsigned slot, const char *type,
    int64_t seen_ns)
{
	struct fact_seen f = {seen_ns, fact_part_of(type)};
	struct buf text = {0};

	fact_put_seen(&text, &f);
	batch_add_fact(b, (FIRST + (int64_t)slot) * SLOT, FACT_SEEN,
	    services[service], text.data, text.len);
	buf_fini(&text);
}

static void
observe(struct batch *b, int service, unsigned slot, int64_t v)
{
	struct label label = {"service", services[service]};
	struct series_desc d = {SERIES_STOCK, "inuse_space", "bytes", 1, 0,
	    &label, 1};
	struct frame f = {FRAME_NATIVE, slot % 2 ? "odd" : "even", "", "", 0};
	uint32_t series = batch_series(b, &d);
	uint32_t node = batch_node(b, batch_node(b, 0, 0), batch_frame(b, &f));

	batch_observe(b, series, FIRST + slot, 1);
	batch_add_profile(b, series, FIRST + slot, node, v);
	held[service][slot].sum += v;
	held[service][slot].n++;
}

/* The daemon of kv ends after 3 s of slots 17 and 270, and begins anew 2 s (1)
 * later; slot 100 is one that it has seen 0.4 s of, slot 200 one of which it
 * says nothing but to others. */
static void
put_slot(struct store_writer *w, unsigned slot)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	bool twice = slot == 17 || slot == 270;

	observe(b, 0, slot, 1000 + 7 * (int64_t)slot % 100);
	if (slot % 5 != 4)
		observe(b, 1, slot, 50 * (int64_t)slot);
	held[0][slot].weight = held[1][slot].weight = 1000;
	if (twice || slot == 100) {
		see(b, 0, slot, "inuse_space", twice ? SLOT * 3 / 10
		    : SLOT / 25);
		held[0][slot].weight = 40;
	}
	if (slot == 200)
		see(b, 0, slot, "inuse_objects", 1);
	CHECK_OK(store_append(w, b));
	batch_free(b);
	if (!twice)
		return;
	b = batch_new((uint64_t)SLOT);
	observe(b, 0, slot, 90000);
	see(b, 0, slot, "inuse_space", slot == 17 ? SLOT / 2 : SLOT * 6 / 10);
	held[0][slot].weight = slot == 17 ? 400 : 450;
	CHECK_OK(store_append(w, b));
	batch_free(b);
}

static void
fill(void)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	struct store_writer *w;

	snprintf(dir, sizeof(dir), "/tmp/memlens-test-brief-XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	CHECK_OK(store_writer_open(&w, dir, &o));
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		put_slot(w, slot);
		CHECK_OK(store_tick(w, (FIRST + (int64_t)slot + 1) * SLOT));
	}
	CHECK_OK(store_writer_close(w));
}

/* The mean of a service over slots, as num / den; den 0: it has none. */
static void
mean_of(int service, unsigned from, unsigned until, int64_t *num, int64_t *den)
{
	*num = *den = 0;
	for (unsigned i = from; i < until && i < SLOTS; i++) {
		const struct held *h = &held[service][i];

		*num += h->sum * h->weight;
		*den += h->n * h->weight;
	}
}

static int64_t
rounded(int64_t num, int64_t den)
{
	return (2 * num + den) / (2 * den);
}

static struct selector *
selector_of(const char *text)
{
	struct selector *sel = NULL;

	CHECK_OK(selector_parse(text, &sel));
	return sel;
}

static void
check_range(struct store *s, const char *query, int service, unsigned from,
    unsigned until)
{
	struct selector *sel = selector_of(query);
	struct profile_query q = {.selector = sel,
	    .from_ns = (FIRST + (int64_t)from) * SLOT,
	    .until_ns = (FIRST + (int64_t)until) * SLOT};
	struct profile *p = NULL;
	int64_t num, den, sum;

	mean_of(service, from, until, &num, &den);
	CHECK_OK(store_query_profile(s, &q, &p));
	sum = 0;
	for (size_t i = 0; i < p->n_nodes; i++)
		sum += (int64_t)p->nodes[i].self;
	CHECK_INT(p->nodes[0].total, rounded(num, den));
	CHECK_INT(sum, p->nodes[0].total);
	CHECK(p->slots <= until - from);
	profile_free(p);
	selector_free(sel);
}

TEST(a_slot_weighs_as_long_as_it_was_seen)
{
	struct store *s;

	CHECK_OK(store_open(&s, dir, 0));
	for (unsigned from = 0; from < SLOTS - 1; from += 3)
		for (unsigned until = from + 1; until <= SLOTS; until += 17) {
			check_range(s, "inuse_space{service=\"kv\"}", 0, from,
			    until);
			if (until > from + 1)
				check_range(s, "inuse_space{service=\"db\"}",
				    1, from, until);
		}
	store_close(s);
}

/* Of that one slot it is what it had, however little was seen. */
TEST(a_slot_by_itself_has_what_it_had)
{
	struct store *s;

	CHECK_OK(store_open(&s, dir, 0));
	check_range(s, "inuse_space{service=\"kv\"}", 0, 100, 101);
	check_range(s, "{service=\"kv\"}", 0, 17, 18);
	CHECK_INT(held[0][17].n, 2);
	store_close(s);
}

static void
check_steps(struct store *s, bool split, unsigned from, unsigned step)
{
	static const char *const labels[] = {"service"};
	struct selector *sel = selector_of("inuse_space");
	struct totals_query q = {.selector = sel,
	    .from_ns = (FIRST + (int64_t)from) * SLOT,
	    .until_ns = (FIRST + SLOTS) * SLOT, .step_ns = step * SLOT,
	    .split = labels, .n_split = split};
	struct totals *t = NULL;

	CHECK_OK(store_query_totals(s, &q, &t));
	CHECK_INT(t->n_groups, split ? SERVICES : 1);
	for (size_t i = 0; i < t->n_steps; i++) {
		unsigned at = from + (unsigned)i * step;
		double all = 0;

		for (int k = 0; k < SERVICES; k++) {
			size_t g = split && strcmp(t->groups[0].labels[0].value,
			    services[k]) != 0;
			int64_t num, den;

			mean_of(k, at, at + step, &num, &den);
			all += den > 0 ? (double)num / (double)den : 0;
			if (split && den > 0)
				CHECK_INT(t->groups[g].steps[i].sum,
				    rounded(num, den));
		}
		if (!split)
			CHECK((double)t->groups[0].steps[i].sum - all < 0.51 &&
			    all - (double)t->groups[0].steps[i].sum < 0.51);
	}
	totals_free(t);
	selector_free(sel);
}

TEST(so_it_does_in_steps)
{
	struct store *s;

	CHECK_OK(store_open(&s, dir, 0));
	for (unsigned step = 2; step < 40; step += 6) {
		check_steps(s, true, 0, step);
		check_steps(s, false, 5, step);
	}
	store_close(s);
}

int
main(void)
{
	char command[100];

	fill();
	RUN(a_slot_weighs_as_long_as_it_was_seen);
	RUN(a_slot_by_itself_has_what_it_had);
	RUN(so_it_does_in_steps);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
	return test_done();
}
