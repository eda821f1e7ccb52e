/*
 * How many blocks an answer reads, how few nodes it may have, and how seldom
 * a large summary is written.
 */
#include "tests/unit/store/store_model.h"

/* For n slots that a range touches: 15 of each second level, up and down, 7.5
 * log2(n), and the slots of files that have nothing else. */
static bool
few_blocks(uint64_t blocks, int64_t from, int64_t until)
{
	uint64_t n = (uint64_t)((until + SLOT - 1) / SLOT - from / SLOT);
	uint64_t log = 64 - (uint64_t)__builtin_clzll(n);

	return blocks <= n && blocks <= 15 * log / 2 + 3 * 64;
}

/* Any range, its borders within slots too, reads few blocks. */
TEST(few_blocks_are_read)
{
	struct model m;
	struct store *s = NULL;
	uint64_t most = 0;

	model_init(&m, 3);
	for (unsigned i = 0; i < 9000; i++) {
		struct batch *b = batch_new((uint64_t)SLOT);

		CHECK_OK(store_tick(m.w, (int64_t)m.now * SLOT));
		batch_add_profile(b, service_series(b, 0), m.now,
		    stack_node(b, (int)(m.now % STACKS)), 1);
		CHECK_OK(store_append(m.w, b));
		batch_free(b);
		m.now++;
	}
	CHECK_OK(store_tick(m.w, (int64_t)(m.now + 70) * SLOT));
	CHECK_OK(store_open(&s, m.dir, 0));
	for (unsigned i = 0; i < 400; i++) {
		unsigned a = roll(&m, 8000);
		unsigned n = 1 + roll(&m, i % 2 ? 40 : 8900 - a);
		int64_t from = (int64_t)(FIRST + a) * SLOT;
		int64_t until = from + n * SLOT;
		struct profile *p = ask(s, "cpu", from, until, NULL);

		CHECK(counts_of(p, 0).total == n);
		CHECK(few_blocks(p->blocks, from, until));
		profile_free(p);
		from += roll(&m, SLOT);
		until += roll(&m, SLOT);
		p = ask(s, "cpu", from, until, NULL);
		CHECK(few_blocks(p->blocks, from, until));
		if (p->blocks > most)
			most = p->blocks;
		profile_free(p);
	}
	printf("# at most %u blocks\n", (unsigned)most);
	store_close(s);
	model_fini(&m);
}

static void
summary_name(const char *dir, char *name, size_t size)
{
	char path[128], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/manifest", dir);
	name[0] = '\0';
	if ((f = fopen(path, "r")) == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "summary ", 8) == 0)
			snprintf(name, size, "%s", strrchr(line, ' '));
	}
	fclose(f);
}

/* An old store's summary is large: it is not written anew for each full span,
 * and answers stay exact and few blocks. */
TEST(an_old_summary_waits_for_more)
{
	char name[256] = "", last[256] = "";
	unsigned spans = 200, written = 0;
	struct store *s = NULL;
	struct model m;

	model_init(&m, 4);
	for (unsigned i = 0; i < spans; i++) {
		struct batch *b = batch_new((uint64_t)SLOT);

		m.now = 4096 * (i + 1);
		CHECK_OK(store_tick(m.w, (int64_t)m.now * SLOT));
		batch_add_profile(b, service_series(b, 0), m.now,
		    stack_node(b, (int)(i % STACKS)), 1);
		CHECK_OK(store_append(m.w, b));
		batch_free(b);
		summary_name(m.dir, name, sizeof(name));
		written += i >= 140 && strcmp(name, last) != 0;
		strcpy(last, name);
	}
	CHECK(written > 10 && written < 40); /* of 60 */
	CHECK_OK(store_open(&s, m.dir, 0));
	for (unsigned i = 0; i < 200; i++) {
		unsigned a = roll(&m, spans), n = 1 + roll(&m, spans - a);
		int64_t from = (int64_t)(a + 1) * 4096 * SLOT;
		int64_t until = from + n * 4096 * SLOT;
		struct profile *p = ask(s, "cpu", from, until, NULL);

		CHECK(counts_of(p, 0).total == n);
		CHECK(few_blocks(p->blocks, from, until));
		profile_free(p);
	}
	store_close(s);
	model_fini(&m);
}

/* The node of the whole tree that is this node of a cut one. */
static size_t
same_node(const struct profile *all, size_t parent,
    const struct profile_node *n)
{
	for (size_t i = parent + 1; i < all->n_nodes; i++) {
		if (all->nodes[i].parent == parent &&
		    strcmp(all->nodes[i].name, n->name) == 0)
			return i;
	}
	return 0;
}

/* The largest are shown, and of equals those that come first. */
static void
check_first(const struct profile *all, const bool *is_shown, int128 least)
{
	bool none = false;

	for (size_t i = 0; i < all->n_nodes; i++) {
		int128 total = all->nodes[i].total;

		CHECK(is_shown[i] ? total >= least : total <= least);
		CHECK(total != least || !none || !is_shown[i]);
		none |= total == least && !is_shown[i];
	}
}

/* Cuts add up, and what is shown is what the whole tree shows. */
static void
check_largest(const struct profile *all, const struct profile *p, size_t most)
{
	size_t *at = calloc(p->n_nodes, sizeof(*at)), shown = 1;
	int128 *sum = calloc(p->n_nodes, sizeof(*sum)), least = INT64_MAX;
	bool *is_shown = calloc(all->n_nodes, sizeof(*is_shown));
	uint64_t hidden = 0;

	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct profile_node *n = &p->nodes[i];
		bool cut = p->cut != NULL && p->cut[i] > 0;

		sum[i] += n->self;
		if (i > 0 && !cut) {
			at[i] = same_node(all, at[n->parent], n);
			CHECK(at[i] > 0);
			shown++;
		}
		is_shown[at[i]] |= !cut;
		hidden += cut ? p->cut[i] : 0;
		CHECK(cut || n->total == all->nodes[at[i]].total);
		CHECK(cut || n->self == all->nodes[at[i]].self);
		if (!cut && n->total < least)
			least = n->total;
	}
	for (size_t i = p->n_nodes; i-- > 1;) {
		CHECK(sum[i] == p->nodes[i].total);
		sum[p->nodes[i].parent] += p->nodes[i].total;
	}
	CHECK(sum[0] == p->nodes[0].total);
	check_first(all, is_shown, least);
	CHECK_INT(shown, most);
	CHECK(hidden + shown == all->n_nodes);
	free(is_shown);
	free(at);
	free(sum);
}

TEST(the_largest_nodes_are_exact)
{
	struct profile_query q = {NULL, 0, INT64_MAX / 2, NULL, false};
	struct selector *selector;
	struct store *s = NULL;
	unsigned cuts = 0;
	struct model m;

	model_init(&m, 21);
	model_run(&m, 300);
	CHECK_OK(store_open(&s, m.dir, 0));
	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	for (unsigned i = 0; i < 40; i++) {
		struct profile *all, *p;
		struct profile_limit limit = {1 + roll(&m, 90), 0};
		size_t most = limit.max_nodes;

		q.split = i % 3 ? NULL : "pool"; /* which is not cut */
		q.from_ns = (int64_t)(FIRST + roll(&m, 300)) * SLOT;
		CHECK_OK(store_query_profile(s, &q, &all));
		CHECK_OK(store_query_profile_largest(s, &q, &limit, &p));
		if (q.split != NULL || most > all->n_nodes)
			most = all->n_nodes;
		check_largest(all, p, most);
		cuts += p->n_nodes < all->n_nodes;
		profile_free(all);
		profile_free(p);
	}
	CHECK(cuts > 10);
	selector_free(selector);
	store_close(s);
	model_fini(&m);
}

int
main(void)
{
	RUN(few_blocks_are_read);
	RUN(the_largest_nodes_are_exact);
	RUN(an_old_summary_waits_for_more);
	return test_done();
}
