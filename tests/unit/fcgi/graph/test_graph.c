/*
 * Dependency graphs: the cut by depth, DOT of any names, the pipe encoding,
 * and both readers.
 */
#include <stdlib.h>

#include "fcgi/graph/elf_deps.h"
#include "fcgi/graph/graph.h"
#include "fcgi/graph/graph_read.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static struct graph *
diamond(void)
{
	struct graph *g = graph_new();
	uint32_t d = graph_node(g, "d"), a = graph_node(g, "a"),
		 b = graph_node(g, "b"), c = graph_node(g, "c"),
		 e = graph_node(g, "e");

	graph_edge(g, a, b, NULL);
	graph_edge(g, a, c, "if x");
	graph_edge(g, b, d, NULL);
	graph_edge(g, c, d, NULL);
	graph_edge(g, d, e, NULL);
	graph_edge(g, e, e, NULL);
	return g;
}

TEST(names_are_nodes_once)
{
	struct graph *g = diamond();

	CHECK_INT(graph_node(g, "c"), graph_find(g, "c"));
	CHECK_INT(graph_find(g, "zz"), UINT32_MAX);
	CHECK_INT(g->n_nodes, 5);
	CHECK_STR(g->nodes[graph_root(g)].name, "a");
	graph_free(g);
}

TEST(a_name_that_is_cut_is_one_node)
{
	struct graph *g = graph_new();
	char name[GRAPH_NAME_MAX + 10];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK_INT(graph_node(g, name), 0);
	CHECK_INT(graph_node(g, name), 0);
	CHECK_INT(graph_find(g, name), 0);
	CHECK_INT(g->n_nodes, 1);
	graph_free(g);
}

TEST(the_cut_is_breadth_first)
{
	struct graph *g = diamond(), *p;

	p = graph_cut(g, graph_root(g), 1);
	CHECK_INT(p->n_nodes, 3);
	CHECK_INT(p->n_edges, 2);
	CHECK_STR(p->nodes[0].name, "a");
	CHECK_STR(p->edges[1].label, "if x");
	graph_free(p);
	p = graph_cut(g, graph_root(g), 2);
	CHECK_INT(p->n_nodes, 4);
	CHECK_INT(p->n_edges, 4);
	CHECK_INT(p->nodes[graph_find(p, "d")].level, 2);
	graph_free(p);
	p = graph_cut(g, graph_root(g), 9);
	CHECK_INT(p->n_nodes, 5);
	CHECK_INT(p->n_edges, 6);
	graph_free(p);
	graph_free(g);
}

TEST(bounds_are_told)
{
	struct graph *g = graph_new();
	char name[32];

	for (int i = 0; i < 2100; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		graph_node(g, name);
	}
	CHECK_INT(g->n_nodes, GRAPH_NODES_MAX);
	CHECK(g->cut);
	graph_edge(g, 0, UINT32_MAX, NULL);
	CHECK_INT(g->n_edges, 0);
	graph_free(g);
}

TEST(dot_of_any_names)
{
	struct graph *g = graph_new();
	struct buf out = {0};

	graph_edge(g, graph_node(g, "a\"\\\n\x01\xff"), graph_node(g, "b"),
	    "l\"");
	graph_put_dot(&out, g);
	buf_put_u8(&out, 0);
	CHECK(strstr((char *)out.data,
	    "\t\"a\\\"\\\\\\n??\" -> \"b\" [label=\"l\\\"\"];\n") != NULL);
	buf_fini(&out);
	graph_free(g);
}

TEST(dot_names_are_no_entities)
{
	struct graph *g = graph_new();
	struct buf out = {0};

	graph_node(g, "R&D &#1; &eacute; \xef\xbf\xbf");
	graph_put_dot(&out, g);
	buf_put_u8(&out, 0);
	CHECK(strstr((char *)out.data,
	    "\t\"R&amp;D &amp;#1; &amp;eacute; ?\"") != NULL);
	buf_fini(&out);
	graph_free(g);
}

TEST(the_pipe_encoding)
{
	struct graph *g = diamond(), *back;
	struct buf out = {0}, again = {0};

	graph_encode(g, &out);
	CHECK_OK(graph_decode(out.data, out.len, &back));
	graph_encode(back, &again);
	CHECK(again.len == out.len &&
	    memcmp(again.data, out.data, out.len) == 0);
	graph_free(back);
	for (size_t n = 0; n < out.len; n++) {
		CHECK(graph_decode(out.data, n, &back) != NULL);
		CHECK(back == NULL);
	}
	for (size_t i = 0; i < out.len; i++) {
		out.data[i] ^= 0x55; /* any answer but a crash */
		graph_decode(out.data, out.len, &back);
		graph_free(back);
		out.data[i] ^= 0x55;
	}
	buf_fini(&out);
	buf_fini(&again);
	graph_free(g);
}

TEST(a_bazel_capture)
{
	struct graph *g, *p;

	CHECK_OK(graph_read_bazel("tests/data/kv_service-depth3.graph", &g));
	if (g == NULL)
		return;
	CHECK_STR(g->nodes[graph_root(g)].name, "//service/kv:kv_service");
	CHECK(g->n_nodes > 50 && !g->cut);
	p = graph_cut(g, graph_root(g), 2);
	CHECK(p->n_nodes > 20 && p->n_nodes < g->n_nodes);
	graph_free(p);
	CHECK(graph_find(g, "//chain/storage/setting:enable_leveldb_setting\n"
	    "//service/kv:kv_service.cpp") != UINT32_MAX);
	graph_free(g);
	CHECK_OK(graph_read_bazel("tests/data/kv_service-full.graph", &g));
	if (g == NULL)
		return;
	CHECK_INT(g->n_nodes, 235); /* as bazel itself counted them */
	CHECK_INT(g->n_edges, 386);
	graph_free(g);
	CHECK(graph_read_bazel("tests/data/none.graph", &g) != NULL);
	CHECK(graph_read_bazel("/proc/self/exe", &g) != NULL);
	CHECK(g == NULL);
}

/* What a page shows and what its command prints come from one function. */
TEST(a_graph_has_the_command_that_prints_it)
{
	struct graph_source s = {.path = "a b'c", .root = "//x:y"};
	struct buf out = {0};

	graph_put_command(&out, &s, 3);
	buf_put_u8(&out, '\0');
	CHECK_STR((const char *)out.data,
	    "memlens graph --depth 3 --root //x:y 'a b'\\''c'");
	buf_fini(&out);
}

TEST(libraries_of_a_program)
{
	struct graph *g;
	struct elf_deps d;

	CHECK_OK(graph_read_elf("/proc/self/exe", 2, &g));
	if (g == NULL)
		return;
	CHECK_STR(g->nodes[0].name, "exe");
	CHECK(graph_find(g, "libc.so.6") != UINT32_MAX);
	CHECK(graph_find(g, "libc.so.6 (not found)") == UINT32_MAX);
	CHECK(g->n_edges > 3);
	graph_free(g);
	CHECK(graph_read_elf("/etc/passwd", 2, &g) != NULL);
	CHECK(graph_read_elf("/nonexistent", 2, &g) != NULL);
	CHECK(elf_deps_read(&d, "/dev/zero") != NULL);
	elf_deps_fini(&d);
	CHECK(elf_deps_read(&d, "/") != NULL);
	elf_deps_fini(&d);
}

/* Any damage to a program's headers may give any answer but a crash. */
TEST(damaged_programs)
{
	static unsigned char bytes[200000];
	const char *path = "/tmp/memlens-test-graph.elf";
	FILE *f = fopen("/bin/true", "rb");
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
	struct elf_deps d;

	if (f != NULL)
		fclose(f);
	srand(3);
	for (int round = 0; round < 300 && n > 1024; round++) {
		size_t at = (size_t)rand() % (round % 2 ? 1024 : n);
		unsigned char old = bytes[at];

		bytes[at] = (unsigned char)rand();
		f = fopen(path, "wb");
		CHECK(f != NULL && fwrite(bytes, 1, n, f) == n);
		if (f != NULL)
			fclose(f);
		elf_deps_read(&d, path);
		elf_deps_fini(&d);
		bytes[at] = old;
	}
	remove(path);
}

int
main(void)
{
	RUN(names_are_nodes_once);
	RUN(a_name_that_is_cut_is_one_node);
	RUN(the_cut_is_breadth_first);
	RUN(bounds_are_told);
	RUN(dot_of_any_names);
	RUN(dot_names_are_no_entities);
	RUN(the_pipe_encoding);
	RUN(a_bazel_capture);
	RUN(a_graph_has_the_command_that_prints_it);
	RUN(libraries_of_a_program);
	RUN(damaged_programs);
	return test_done();
}
