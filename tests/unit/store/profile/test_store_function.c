/*
 * What one function has of a profile, beside what its tree says: of random
 * stacks in which functions call themselves, in files and in a journal, over
 * ranges that cut slots.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define FIRST 6400
#define SLOTS 200
#define FUNCTIONS 12

static char dir[64];
static unsigned seed = 5;

static const char *
function(unsigned i)
{
	static char name[16];

	snprintf(name, sizeof(name), "f%u", i);
	return name;
}

/* The same function of two modules is one. */
static uint32_t
random_stack(struct batch *b)
{
	struct label l = {"pool", rand_r(&seed) % 2 ? "a" : "b"};
	uint32_t node = batch_node(b, 0, batch_labels(b, &l, 1));

	for (int depth = rand_r(&seed) % 6; depth > 0; depth--) {
		struct frame f = {FRAME_NATIVE,
		    function((unsigned)rand_r(&seed) % FUNCTIONS),
		    rand_r(&seed) % 2 ? "m" : "n", "", 0};

		node = batch_node(b, node, batch_frame(b, &f));
	}
	return node;
}

static void
put(struct store_writer *w, unsigned slot)
{
	struct batch *b = batch_new((uint64_t)SLOT);

	for (int i = 0; i < 2; i++) {
		struct label l = {"service", i == 0 ? "kv" : "other"};
		struct series_desc cpu = {SERIES_FLOW, "cpu", "nanoseconds",
		    10101010, 0, &l, 1};
		struct series_desc held = {SERIES_STOCK, "inuse", "bytes", 0,
		    0, &l, 1};

		for (int k = 0; k < 20; k++)
			batch_add_profile(b, batch_series(b, &cpu),
			    FIRST + slot, random_stack(b),
			    1 + rand_r(&seed) % 5);
		batch_add_profile(b, batch_series(b, &held), FIRST + slot,
		    random_stack(b), 5);
		batch_observe(b, batch_series(b, &held), FIRST + slot, 1);
	}
	CHECK_OK(store_append(w, b));
	CHECK_OK(store_tick(w, (FIRST + slot) * SLOT));
	batch_free(b);
}

/* By the tree: what is below a frame of the name counts once. */
static void
sum_tree(const struct profile *p, const char *name, struct function_sum *sum)
{
	uint32_t inside = 0; /* depth of the outermost; 0: none */

	for (size_t i = 1; i < p->n_nodes; i++) {
		const struct profile_node *n = &p->nodes[i];

		if (n->depth <= inside)
			inside = 0;
		if (strcmp(n->name, name) != 0)
			continue;
		sum->self += n->self;
		sum->total += inside == 0 ? n->total : 0;
		if (inside == 0)
			inside = n->depth;
	}
	sum->slots = p->slots;
}

static void
check_range(struct store *s, const struct selector *sel, int64_t from,
    int64_t until)
{
	struct profile_query q = {sel, from, until, NULL, false};
	struct profile *p = NULL;

	CHECK_OK(store_query_profile(s, &q, &p));
	for (unsigned i = 0; i <= FUNCTIONS && p != NULL; i++) {
		struct function_sum want = {0}, got;

		sum_tree(p, function(i), &want);
		CHECK_OK(store_query_function(s, &q, function(i), &got));
		CHECK(got.self == want.self && got.total == want.total);
		CHECK_INT(got.slots, want.slots);
		if (i == FUNCTIONS) /* there is none */
			CHECK(got.total == 0);
	}
	profile_free(p);
}

TEST(functions_add_up_as_in_the_tree)
{
	static const char *const asked[] = {"cpu", "cpu{service=\"kv\"}",
	    "cpu{pool=\"a\"}", "cpu{service=\"none\"}"};
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	struct store_writer *w;
	struct store *s = NULL;

	snprintf(dir, sizeof(dir), "/tmp/test-function-XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	CHECK_OK(store_writer_open(&w, dir, &o));
	for (unsigned slot = 0; slot < SLOTS; slot++)
		put(w, slot);
	CHECK_OK(store_open(&s, dir, 0));
	for (int i = 0; i < 4; i++) {
		struct selector *sel = NULL;

		CHECK_OK(selector_parse(asked[i], &sel));
		check_range(s, sel, FIRST * SLOT, (FIRST + SLOTS) * SLOT);
		check_range(s, sel, 0, SLOT);
		for (int k = 0; k < 20; k++) {
			int64_t a = FIRST * SLOT + rand_r(&seed) * SLOT / 9 %
			    (SLOTS * SLOT);

			check_range(s, sel, a, a + 1 + rand_r(&seed) *
			    SLOT / 7 % (30 * SLOT));
		}
		selector_free(sel);
	}
	store_close(s);
	CHECK_OK(store_writer_close(w));
}

TEST(means_are_asked_by_their_tree)
{
	struct profile_query q = {NULL, FIRST * SLOT, (FIRST + 9) * SLOT,
	    NULL, false};
	struct function_sum sum;
	struct selector *sel = NULL;
	struct store *s = NULL;
	const struct err *e;
	char command[80];

	CHECK_OK(selector_parse("inuse", &sel));
	q.selector = sel;
	CHECK_OK(store_open(&s, dir, 0));
	e = store_query_function(s, &q, "f1", &sum);
	CHECK(e != NULL && e->code == 422);
	store_close(s);
	selector_free(sel);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_INT(system(command), 0);
}

int
main(void)
{
	RUN(functions_add_up_as_in_the_tree);
	RUN(means_are_asked_by_their_tree);
	return test_done();
}
