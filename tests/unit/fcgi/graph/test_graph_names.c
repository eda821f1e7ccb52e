/*
 * Names that several programs have: each pays for its own, by the store's
 * own profile of two programs in which all names but one are the same.
 */
#include <stdlib.h>
#include <unistd.h>

#include "fcgi/graph/graph_cost.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT (10 * NS_PER_S)
#define BEGIN 102400 /* slot */

/* The program's stack is _start main, and `own` or nothing. */
static void
add_build(struct batch *b, const char *program, const char *build,
    const char *own, int64_t n)
{
	struct label l = {"service", program};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 1, 0, &l,
	    1};
	const char *names[] = {"_start", "main", own};
	uint32_t node = batch_node(b, 0, batch_labels(b, NULL, 0));

	for (int i = 0; i < 3 && names[i] != NULL; i++) {
		struct frame f = {FRAME_NATIVE, names[i], program, build, 0};

		node = batch_node(b, node, batch_frame(b, &f));
	}
	batch_add_profile(b, batch_series(b, &d), BEGIN, node, n);
}

static void
add_stack(struct batch *b, const char *program, const char *own, int64_t n)
{
	add_build(b, program, "", own, n);
}

static void
write_store(const char *dir, struct batch *b)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	struct store_writer *w;

	CHECK_OK(store_writer_open(&w, dir, &o));
	CHECK_OK(store_append(w, b));
	CHECK_OK(store_tick(w, (BEGIN + 1) * SLOT));
	batch_free(b);
	CHECK_OK(store_writer_close(w));
}

static void
fill(const char *dir)
{
	struct batch *b = batch_new(SLOT);

	add_stack(b, "alpha", NULL, 100);
	add_stack(b, "alpha", "churn", 20);
	add_stack(b, "beta", NULL, 3000);
	add_stack(b, "beta", "churn", 400);
	add_stack(b, "beta", "only_beta", 5);
	write_store(dir, b);
}

/* A target "alpha" that has a main of its own. */
static struct graph *
target(void)
{
	struct graph *g = graph_new();

	graph_set(g, &g->module, "alpha");
	graph_own(g, GRAPH_BY_FUNCTION, "main", graph_node(g, "main.o"));
	graph_own(g, GRAPH_BY_FUNCTION, "churn", graph_node(g, "main.o"));
	graph_own(g, GRAPH_BY_MODULE, "alpha", graph_node(g, "alpha"));
	graph_own(g, GRAPH_BY_PREFIX, "only_beta", graph_node(g, "alpha"));
	graph_settle(g);
	return g;
}

static void
check_node(const struct graph *g, const char *name, int self, int total)
{
	uint32_t i = graph_find(g, name);

	CHECK(i < g->n_nodes);
	if (i >= g->n_nodes)
		return;
	CHECK_INT((int64_t)g->nodes[i].self[0], self);
	CHECK_INT((int64_t)g->nodes[i].total[0], total);
}

TEST(a_name_of_two_programs_costs_each_its_own)
{
	char dir[] = "/tmp/test-graph-names-XXXXXX", command[80];
	struct profile_query q = {NULL, BEGIN * SLOT, (BEGIN + 1) * SLOT,
	    NULL, true};
	struct graph *g = target();
	struct graph_cost cost = {.node = NULL};
	struct profile *p = NULL;
	struct selector *sel;
	struct store *s;

	if (mkdtemp(dir) == NULL)
		abort();
	fill(dir);
	CHECK_OK(selector_parse("cpu", &sel));
	CHECK_OK(store_open(&s, dir, 0));
	q.selector = sel;
	CHECK_OK(store_query_profile(s, &q, &p));
	CHECK_OK(graph_cost_add(g, p, NULL, 0, &cost));
	check_node(g, "main.o", 120, 120);
	check_node(g, "alpha", 0, 120);
	check_node(g, "beta", 3405, 3405);
	CHECK(cost.unknown == 0 && cost.total == 3525);
	graph_free(g);
	profile_free(p);
	/* flame graphs have them as one */
	q.by_module = false;
	CHECK_OK(store_query_profile(s, &q, &p));
	CHECK_INT(p->n_nodes, 5);
	profile_free(p);
	selector_free(sel);
	store_close(s);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
}

/* What a target "alpha" of build "aa" costs where those builds ran; the
 * amounts of main.o, and how many builds are its own. */
static void
cost_builds(const char *const *builds, int own, int own_self,
    const char *other, int other_self)
{
	char dir[] = "/tmp/test-graph-names-XXXXXX", command[80];
	struct profile_query q = {NULL, BEGIN * SLOT, (BEGIN + 1) * SLOT,
	    NULL, true};
	struct batch *b = batch_new(SLOT);
	struct graph_cost cost = {.node = NULL};
	struct graph *g = target();
	struct profile *p = NULL;
	struct selector *sel;
	struct store *s;
	int owned = 0;

	if (mkdtemp(dir) == NULL)
		abort();
	graph_set(g, &g->origin.build_id, "aa");
	for (int i = 0; builds[i] != NULL; i++)
		add_build(b, "alpha", builds[i], "churn", 10 << i);
	write_store(dir, b);
	CHECK_OK(selector_parse("cpu", &sel));
	CHECK_OK(store_open(&s, dir, 0));
	q.selector = sel;
	CHECK_OK(store_query_profile(s, &q, &p));
	CHECK_OK(graph_cost_add(g, p, NULL, 0, &cost));
	for (size_t i = 0; i < cost.n_builds; i++)
		owned += cost.builds[i].own;
	CHECK_INT(owned, own);
	check_node(g, "main.o", own_self, own_self);
	if (other != NULL)
		check_node(g, other, other_self, other_self);
	CHECK(cost.unknown == 0);
	graph_free(g);
	graph_cost_fini(&cost);
	profile_free(p);
	selector_free(sel);
	store_close(s);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
}

TEST(two_programs_of_one_file_name_are_two)
{
	cost_builds((const char *const[]){"aa", NULL}, 1, 10, NULL, 0);
	cost_builds((const char *const[]){"aa", "bb", NULL}, 1, 10,
	    "alpha (build bb)", 20);
	/* who does not say which it is, is taken at its name */
	cost_builds((const char *const[]){"", "bb", "aa", NULL}, 2, 50,
	    "alpha (build bb)", 20);
	/* an old graph's names, which its page says */
	cost_builds((const char *const[]){"bb", NULL}, 1, 10, NULL, 0);
	cost_builds((const char *const[]){"bb", "cc", NULL}, 0, 0,
	    "alpha (build cc)", 20);
}

/* Who has no module is of the program only where one service was asked
 * for, else of nobody. */
TEST(a_name_of_no_module_is_no_guess)
{
	struct profile_node nodes[] = {
	    {.name = "", .module = "", .total = 5},
	    {.name = "main", .module = "", .kind = FRAME_NATIVE,
	        .depth = 1, .self = 5, .total = 5}};
	struct profile p = {.nodes = nodes, .n_nodes = 2};

	for (int one = 0; one < 2; one++) {
		struct graph_cost cost = {.one_service = one == 1};
		struct graph *g = target();

		CHECK_OK(graph_cost_add(g, &p, NULL, 0, &cost));
		check_node(g, "main.o", one * 5, one * 5);
		CHECK(cost.unknown == (one ? 0 : 5));
		graph_free(g);
	}
}

/* What a C++ library in a Rust program cost was the cost of Rust's own. */
TEST(both_have_a_std)
{
	static const char *const rust[] = {"std::rt::lang_start::{{closure}}",
	    "<alloc::string::String as core::fmt::Debug>::fmt",
	    "core::ptr::drop_in_place<(alloc::string::String,i32)>",
	    "std::thread::local::LocalKey<T>::with"};
	static const char *const cpp[] = {"std::ostream::operator<<(int)",
	    "std::_Rb_tree<int, int>::_M_erase(std::_Rb_tree_node<int>*)",
	    "std::string::size() const",
	    "std::__cxx11::to_string[abi:cxx11](int)",
	    "std::terminate() [clone .cold]"};
	struct graph *g = graph_new();

	graph_node(g, "program");
	graph_own(g, GRAPH_BY_PREFIX, GRAPH_RUST, 0);
	graph_settle(g);
	for (size_t i = 0; i < sizeof(rust) / sizeof(rust[0]); i++)
		CHECK(graph_is_rust_own(g, rust[i]));
	for (size_t i = 0; i < sizeof(cpp) / sizeof(cpp[0]); i++)
		CHECK(!graph_is_rust_own(g, cpp[i]));
	graph_free(g);
}

/* A build calls its shared library by another name than the program does: it
 * stood there twice, and its samples were of neither. */
TEST(a_library_of_both_graphs_is_one)
{
	struct graph *elf = graph_new(), *build = graph_new();
	uint32_t so, own, target;

	graph_node(elf, "prog");
	so = graph_node(elf, "libs1.so");
	elf->nodes[so].kind = GRAPH_LIBRARY;
	graph_own(elf, GRAPH_BY_MODULE, "libs1.so", so);
	graph_edge(elf, 0, so, NULL);
	graph_node(build, "prog");
	own = graph_node(build, "a");
	target = graph_node(build, "s1");
	build->nodes[target].kind = GRAPH_LIBRARY;
	graph_own(build, GRAPH_BY_MODULE, "libs1.so", target);
	graph_edge(build, 0, own, NULL);
	graph_edge(build, 0, target, NULL);
	graph_edge(build, target, own, NULL);
	CHECK_INT(graph_merge(elf, build, 0), 0);
	graph_settle(elf);
	CHECK_INT(elf->n_nodes, 3);
	CHECK_INT(elf->n_edges, 3);
	CHECK_INT(graph_owner(elf, GRAPH_BY_MODULE, "libs1.so", 8), so);
	graph_free(elf);
	graph_free(build);
}

int
main(void)
{
	RUN(a_name_of_two_programs_costs_each_its_own);
	RUN(two_programs_of_one_file_name_are_two);
	RUN(a_name_of_no_module_is_no_guess);
	RUN(both_have_a_std);
	RUN(a_library_of_both_graphs_is_one);
	return test_done();
}
