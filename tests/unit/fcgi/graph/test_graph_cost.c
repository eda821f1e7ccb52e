/*
 * What nodes cost, against a model that looks at each stack by itself.
 */
#include <stdlib.h>

#include "fcgi/graph/graph_cost.h"
#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define FUNCTIONS 12
#define NODES_MAX 3000

/* a: f0 f1 f2; b: f3 f4 f5; c: f6 f7; "both" says f8 of a and of b; f9 to f11
 * are nobody's.  a needs b. */
static struct graph *
owners(void)
{
	struct graph *g = graph_new();
	uint32_t a = graph_node(g, "a"), b = graph_node(g, "b");
	char name[8];

	graph_set(g, &g->module, "prog");
	graph_node(g, "c");
	graph_edge(g, a, b, NULL);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		graph_own(g, GRAPH_BY_FUNCTION, name, (uint32_t)i / 3);
	}
	graph_own(g, GRAPH_BY_FUNCTION, "f8", a);
	graph_own(g, GRAPH_BY_FUNCTION, "f8", b);
	graph_own(g, GRAPH_BY_MODULE, "libc.so", graph_node(g, "libc"));
	graph_settle(g);
	return g;
}

/* Whose frame it is, said in another way. */
static const char *
owner_of(const struct profile_node *f)
{
	int k = atoi(f->name + 1);

	if (f->kind == FRAME_KERNEL)
		return "[kernel]";
	if (strcmp(f->module, "libc.so") == 0)
		return "libc";
	if (strcmp(f->module, "gone.so") == 0)
		return "gone.so";
	return k < 3 ? "a" : k < 6 ? "b" : k < 8 ? "c"
	    : strcmp(f->module, "prog") == 0 ? "prog" : "";
}

static void
grow(struct profile *p, uint32_t parent)
{
	static char names[FUNCTIONS][8];
	static const char *const modules[] = {"prog", "prog", "", "libc.so",
	    "gone.so"};

	for (int n = rand() % 4; n > 0 && p->n_nodes < NODES_MAX &&
	    p->nodes[parent].depth < 12; n--) {
		struct profile_node *f = &p->nodes[p->n_nodes++];
		int k = rand() % FUNCTIONS;

		snprintf(names[k], sizeof(names[k]), "f%d", k);
		*f = (struct profile_node){.name = names[k],
		    .module = modules[rand() % 5], .kind = FRAME_NATIVE,
		    .depth = p->nodes[parent].depth + 1, .parent = parent,
		    .self = rand() % 3};
		if (rand() % 9 == 0) {
			f->kind = FRAME_KERNEL;
			f->module = "[kernel]";
		}
		grow(p, (uint32_t)p->n_nodes - 1);
	}
}

static void
add_totals(struct profile *p)
{
	for (size_t i = p->n_nodes; i-- > 0;) {
		p->nodes[i].total += p->nodes[i].self;
		if (i > 0)
			p->nodes[p->nodes[i].parent].total +=
			    p->nodes[i].total;
	}
}

/* The amounts of stacks in which `to` is, called by `from` where that is
 * given; at their ends alone where `self`. */
static int128
by_stacks(const struct profile *p, const char *from, const char *to,
    bool self)
{
	int128 sum = 0;

	for (size_t i = 1; i < p->n_nodes; i++) {
		bool there = false;

		for (uint32_t k = (uint32_t)i; k != 0 && !there &&
		    (!self || k == i); k = p->nodes[k].parent) {
			uint32_t up = p->nodes[k].parent;

			there = strcmp(owner_of(&p->nodes[k]), to) == 0 &&
			    (from == NULL || (up != 0 &&
			    strcmp(owner_of(&p->nodes[up]), from) == 0));
		}
		if (there)
			sum += p->nodes[i].self;
	}
	return sum;
}

/* Of stacks in which that function is and is the node's ("": of none). */
static int128
by_function(const struct profile *p, const char *name, const char *node)
{
	int128 sum = 0;

	for (size_t i = 1; i < p->n_nodes; i++) {
		bool there = false;

		for (uint32_t k = (uint32_t)i; k != 0; k = p->nodes[k].parent)
			there = there ||
			    (strcmp(p->nodes[k].name, name) == 0 &&
			    strcmp(owner_of(&p->nodes[k]), node) == 0);
		if (there)
			sum += p->nodes[i].self;
	}
	return sum;
}

/* Each node that has the function is told once, the most first. */
static void
check_homes(const struct profile *p, const struct graph *g,
    const struct graph_cost *cost)
{
	int128 last = -1;
	size_t found = 0;

	for (size_t i = 0; i < cost->n_homes; i++) {
		const struct graph_home *h = &cost->homes[i];

		CHECK(h->total == by_function(p, cost->function,
		    h->node != NULL ? h->node : ""));
		CHECK(last < 0 || h->total <= last);
		last = h->total;
	}
	for (size_t i = 0; i < g->n_nodes; i++)
		found += by_function(p, cost->function, g->nodes[i].name) > 0;
	found += by_function(p, cost->function, "") > 0;
	CHECK(found <= cost->n_homes);
}

static void
check_cost(const struct profile *p)
{
	struct graph *g = owners();
	struct graph_cost cost = {.one_service = true, .function = "f4"};
	int128 sum;

	CHECK_OK(graph_cost_add(g, p, NULL, 1, &cost));
	sum = cost.unknown;
	for (size_t i = 0; i < g->n_nodes; i++) {
		const struct graph_node *n = &g->nodes[i];

		CHECK(n->self[1] == by_stacks(p, NULL, n->name, true));
		CHECK(n->total[1] == by_stacks(p, NULL, n->name, false));
		CHECK(n->self[0] == 0 && n->total[0] == 0);
		sum += n->self[1];
	}
	CHECK(sum == p->nodes[0].total && cost.total == sum);
	for (size_t i = 0; i < g->n_edges; i++) {
		const struct graph_edge *e = &g->edges[i];

		CHECK((e->kind == GRAPH_CALLS) == (i > 0));
		CHECK(e->calls[1] == by_stacks(p, g->nodes[e->from].name,
		    g->nodes[e->to].name, false));
	}
	check_homes(p, g, &cost);
	graph_cost_fini(&cost);
	graph_free(g);
}

TEST(amounts_are_those_of_each_stack)
{
	struct profile_node *nodes = calloc(NODES_MAX, sizeof(*nodes));

	srand(7);
	for (int round = 0; round < 40; round++) {
		struct profile p = {.nodes = nodes, .n_nodes = 1};

		nodes[0] = (struct profile_node){.name = "", .module = ""};
		while (p.n_nodes < (size_t)(round + 1))
			grow(&p, 0);
		add_totals(&p);
		check_cost(&p);
	}
	free(nodes);
}

TEST(nothing_costs_nothing)
{
	struct profile p = {.n_nodes = 0};
	struct graph *g = owners();
	struct graph_cost cost = {.one_service = true};

	CHECK_OK(graph_cost_add(g, &p, NULL, 0, &cost));
	CHECK(cost.total == 0 && cost.unknown == 0);
	CHECK_INT(g->n_nodes, 4);
	graph_free(g);
}

/* What is inlined is in its caller's object, whatever its name. */
TEST(inlined_code_is_its_callers)
{
	struct profile_node nodes[] = {
	    {.name = "", .module = "", .total = 5},
	    {.name = "f0", .module = "prog", .kind = FRAME_NATIVE,
	        .depth = 1, .total = 5},
	    {.name = "std::min", .module = "prog", .kind = FRAME_INLINED,
	        .depth = 2, .parent = 1, .self = 5, .total = 5}};
	struct profile p = {.nodes = nodes, .n_nodes = 3};
	struct graph *g = owners();
	struct graph_cost cost = {.one_service = true};

	CHECK_OK(graph_cost_add(g, &p, NULL, 0, &cost));
	CHECK(g->nodes[0].self[0] == 5 && g->nodes[0].total[0] == 5);
	CHECK_INT(g->n_edges, 1);
	graph_free(g);
}

/* What was asked for, and how much: the amount is its caller's, the mark no
 * function; one that nobody calls is of no node. */
TEST(marks_are_their_callers)
{
	struct profile_node nodes[] = {
	    {.name = "", .module = "", .total = 12},
	    {.name = "[below]", .module = "", .kind = FRAME_MARK, .depth = 1,
	        .self = 7, .total = 7},
	    {.name = "f0", .module = "prog", .kind = FRAME_NATIVE,
	        .depth = 1, .total = 5},
	    {.name = "[malloc of 4 KiB]", .module = "", .kind = FRAME_MARK,
	        .depth = 2, .parent = 2, .self = 5, .total = 5}};
	struct profile p = {.nodes = nodes, .n_nodes = 4};
	struct graph *g = owners();
	struct graph_cost cost = {.one_service = true, .node = "a"};

	CHECK_OK(graph_cost_add(g, &p, NULL, 0, &cost));
	CHECK(g->nodes[0].self[0] == 5 && g->nodes[0].total[0] == 5);
	CHECK(cost.unknown == 7 && cost.total == 12);
	CHECK_INT(cost.n_functions, 1);
	CHECK_STR(cost.functions[0].name, "f0");
	graph_cost_fini(&cost);
	graph_free(g);
}

/* Two builds of a library, and what is not known of it; another one has one. */
TEST(libraries_of_one_name_are_apart)
{
	static const char ids[] = "0123456789abcdef\0fedcba9876543210\0"
	    "0123456789abcdef";
	static const struct {
		const char *module;
		uint32_t build;
	} of[] = {{"gone.so", 1}, {"gone.so", 18}, {"gone.so", 35},
	    {"gone.so", 0}, {"one.so", 1}, {"one.so", 35}, {"one.so", 0}};
	static const struct {
		const char *name;
		int self;
	} want[] = {{"gone.so (build 0123456789ab)", 101},
	    {"gone.so (build fedcba987654)", 10},
	    {"gone.so (build not known)", 1000}, {"one.so", 1110000}};
	struct profile_node nodes[8] = {{.name = "", .module = ""}};
	struct profile p = {.nodes = nodes, .n_nodes = 8,
	    .strings = {.data = (uint8_t *)(uintptr_t)ids,
	        .len = sizeof(ids)}};
	struct graph *g = owners();
	struct graph_cost cost = {.one_service = true};
	int128 self = 1;

	for (size_t i = 0; i < 7; i++, self *= 10)
		nodes[i + 1] = (struct profile_node){.name = "f",
		    .module = of[i].module, .build = of[i].build,
		    .kind = FRAME_NATIVE, .depth = 1, .self = self,
		    .total = self};
	CHECK_OK(graph_cost_add(g, &p, NULL, 0, &cost));
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		uint32_t node = graph_find(g, want[i].name);

		CHECK(node != UINT32_MAX);
		if (node != UINT32_MAX)
			CHECK_INT((int)g->nodes[node].self[0], want[i].self);
	}
	CHECK_INT(graph_find(g, "gone.so"), UINT32_MAX);
	graph_cost_fini(&cost);
	graph_free(g);
}

/* "f9(int)" calls "f9(char) const", and that the first again. */
TEST(functions_are_found_without_their_parameters)
{
	struct profile_node nodes[] = {
	    {.name = "", .module = "", .total = 12},
	    {.name = "f9(int)", .module = "prog", .kind = FRAME_NATIVE,
	        .depth = 1, .total = 12, .self = 2},
	    {.name = "f9(char) const", .module = "prog",
	        .kind = FRAME_NATIVE, .depth = 2, .parent = 1, .total = 10,
	        .self = 3},
	    {.name = "f9(int)", .module = "prog", .kind = FRAME_NATIVE,
	        .depth = 3, .parent = 2, .total = 7, .self = 6},
	    {.name = "f99(int)", .module = "prog", .kind = FRAME_NATIVE,
	        .depth = 4, .parent = 3, .total = 1, .self = 1}};
	struct profile p = {.nodes = nodes, .n_nodes = 5};
	struct graph *g = owners();
	struct graph_cost cost = {.one_service = true, .function = "f9"};

	CHECK_OK(graph_cost_add(g, &p, NULL, 0, &cost));
	CHECK_INT(cost.n_homes, 2);
	CHECK_STR(cost.homes[0].function, "f9(int)");
	CHECK(cost.homes[0].self == 8 && cost.homes[0].total == 12);
	CHECK_STR(cost.homes[1].function, "f9(char) const");
	CHECK(cost.homes[1].self == 3 && cost.homes[1].total == 10);
	graph_cost_fini(&cost);
	graph_free(g);
}

TEST(names_without_parameters)
{
	static const struct {
		const char *name, *bare;
	} cases[] = {
	    {"", ""}, {"main", "main"}, {"ns::f(int)", "ns::f"},
	    {"ns::f(int) const", "ns::f"}, {"ns::f() const &", "ns::f"},
	    {"f(void (*)(int), char) [clone .cold]", "f"},
	    {"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
	    {"ns::(anonymous namespace)::f", "ns::(anonymous namespace)::f"},
	    {"A::operator()(int) const", "A::operator()"},
	    {"A::operator()", "A::operator()"},
	    {"f(int)::{lambda(char)#1}::operator()(char) const",
	        "f(int)::{lambda(char)#1}::operator()"},
	    {"operator new(unsigned long)", "operator new"},
	    {"main.(*T).Get", "main.(*T).Get"}, {"(other)", "(other)"},
	    {"std::fs::read", "std::fs::read"}, {"f)", "f)"},
	    {"load (a.js)", "load (a.js)"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *name = cases[i].name;
		char text[128];

		snprintf(text, sizeof(text), "%.*s", (int)graph_bare(name),
		    name);
		CHECK_STR(text, cases[i].bare);
	}
}

int
main(void)
{
	RUN(functions_are_found_without_their_parameters);
	RUN(names_without_parameters);
	RUN(marks_are_their_callers);
	RUN(libraries_of_one_name_are_apart);
	RUN(amounts_are_those_of_each_stack);
	RUN(nothing_costs_nothing);
	RUN(inlined_code_is_its_callers);
	return test_done();
}
