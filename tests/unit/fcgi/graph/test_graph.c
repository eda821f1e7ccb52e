/*
 * Dependency graphs: the cut by depth, DOT of any names, the pipe encoding,
 * and both readers.
 */
#include <elf.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/graph/model/graph.h"
#include "fcgi/graph/read/debian.h"
#include "fcgi/graph/read/elf_deps.h"
#include "fcgi/graph/read/graph_read.h"
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

static void
check_bounds(const struct graph *g)
{
	struct buf out = {0};

	CHECK(g->cut);
	graph_put_bounds(&out, g);
	buf_put_u8(&out, 0);
	CHECK_STR((const char *)out.data, "; there are more nodes than the "
	    "8192 that are kept; there are more edges than the 65536 that "
	    "are kept");
	buf_fini(&out);
}

TEST(bounds_are_told)
{
	struct graph *g = graph_new(), *back, *part;
	struct buf out = {0};
	char name[32];

	for (int i = 0; i < 8300; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		graph_node(g, name);
	}
	CHECK_INT(g->n_nodes, GRAPH_NODES_MAX);
	CHECK(g->cut);
	CHECK_INT(g->over, GRAPH_OVER_NODES);
	graph_edge(g, 0, UINT32_MAX, NULL);
	CHECK_INT(g->n_edges, 0);
	for (unsigned i = 0; i <= GRAPH_EDGES_MAX; i++)
		graph_edge(g, i & 1023, i >> 10, NULL);
	graph_own(g, GRAPH_BY_FILE, "a", 0);
	CHECK_INT(g->over, GRAPH_OVER_NODES | GRAPH_OVER_EDGES);
	check_bounds(g);
	graph_encode(g, &out);
	CHECK_OK(graph_decode(out.data, out.len, &back));
	check_bounds(back);
	part = graph_cut(back, 0, 2);
	check_bounds(part);
	graph_free(part);
	graph_free(back);
	buf_fini(&out);
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
	    "\t\"a\\\"\\\\\\n??\" -> \"b\" "
	    "[class=\"condition\", style=dashed, label=\"l\\\"\"];\n") != NULL);
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

static const struct err *
read_bazel(const char *path, struct graph **g, uint32_t *root)
{
	return graph_read(&(struct graph_source){.path = path}, g, root);
}

TEST(a_bazel_capture)
{
	struct graph *g, *p;
	uint32_t root;

	CHECK_OK(read_bazel("tests/data/kv_service-depth3.graph", &g, &root));
	if (g == NULL)
		return;
	CHECK_STR(g->nodes[root].name, "//service/kv:kv_service");
	CHECK(g->n_nodes > 50 && !g->cut);
	CHECK_INT(g->origin.complete, GRAPH_NOT_SAID);
	CHECK_STR(g->nodes[root].package, "//service/kv");
	CHECK(g->nodes[graph_find(g, "//chain/storage/setting:"
	    "enable_leveldb_setting\n//service/kv:kv_service.cpp")].package ==
	    NULL); /* of two */
	p = graph_cut(g, root, 2);
	CHECK(p->n_nodes > 20 && p->n_nodes < g->n_nodes);
	graph_free(p);
	CHECK(graph_find(g, "//chain/storage/setting:enable_leveldb_setting\n"
	    "//service/kv:kv_service.cpp") != UINT32_MAX);
	graph_free(g);
	CHECK(read_bazel("tests/data/none.graph", &g, &root) != NULL);
	CHECK(read_bazel("/proc/self/exe", &g, &root) != NULL);
	CHECK(g == NULL);
}

/* Each edge that bazel itself printed at depth 3, in factored nodes, is there
 * and is not marked; what it wrote as two more items is counted as two. */
static void
check_bazels_third_level(const struct graph *g, uint32_t root)
{
	struct graph *part = graph_cut(g, root, 3), *bazel;
	size_t printed = 0, unmarked = 0;
	uint32_t begin;

	CHECK_OK(read_bazel("tests/data/kv_service-depth3.graph", &bazel,
	    &begin));
	for (size_t i = 0; i < part->n_edges; i++)
		unmarked += !part->edges[i].last;
	for (size_t i = 0; i < bazel->n_edges; i++) {
		const struct graph_edge *e = &bazel->edges[i];
		size_t from = 1, to = 1;

		for (const char *p = bazel->nodes[e->from].name; *p; p++)
			from += *p == '\n';
		for (const char *p = bazel->nodes[e->to].name; *p; p++)
			to += *p == '\n';
		if (strstr(bazel->nodes[e->to].name, "...and 2 more") != NULL)
			to++;
		printed += from * to;
	}
	CHECK_INT(printed, 115);
	CHECK_INT(unmarked, printed);
	graph_free(part);
	graph_free(bazel);
}

/* A walk of three levels finds 162 edges.  bazel query 'deps(..., 3)' prints
 * 115 of them, as 114 and "...and 2 more items": none from nodes of the last
 * level, wherever they lead; those are marked. */
TEST(edges_of_the_last_level_are_marked)
{
	static const size_t nodes[] = {41, 94, 168}, edges[] = {60, 162, 294},
	    lasts[] = {9, 47, 42};
	struct graph *g, *p;
	uint32_t root;

	CHECK_OK(read_bazel("tests/data/kv_service-full.graph", &g, &root));
	if (g == NULL)
		return;
	CHECK_INT(g->n_nodes, 235); /* as bazel itself counted them */
	CHECK_INT(g->n_edges, 386);
	for (unsigned depth = 2; depth <= 4; depth++) {
		size_t last = 0;

		p = graph_cut(g, root, depth);
		for (size_t i = 0; i < p->n_edges; i++)
			last += p->edges[i].last;
		CHECK_INT(p->n_nodes, nodes[depth - 2]);
		CHECK_INT(p->n_edges, edges[depth - 2]);
		CHECK_INT(last, lasts[depth - 2]);
		graph_free(p);
	}
	check_bazels_third_level(g, root);
	p = graph_cut(g, root, GRAPH_ALL);
	CHECK_INT(p->n_nodes, 235);
	CHECK_INT(p->n_edges, 386);
	for (size_t i = 0; i < p->n_edges; i++)
		CHECK(!p->edges[i].last);
	graph_free(p);
	graph_free(g);
}

/* What a page shows and what its command prints come from one function. */
TEST(a_graph_has_the_command_that_prints_it)
{
	struct graph *g = graph_new();
	struct buf out = {0};

	graph_set(g, &g->origin.command, " --root //x:y file");
	graph_put_command(&out, g, 3, true);
	graph_put_word(&out, "a b'c");
	buf_put_u8(&out, '\0');
	CHECK_STR((const char *)out.data, "memlens graph --depth 3 "
	    "--collapse --root //x:y file 'a b'\\''c'");
	buf_clear(&out);
	graph_put_command(&out, g, GRAPH_ALL, false);
	buf_put_u8(&out, '\0');
	CHECK_STR((const char *)out.data,
	    "memlens graph --depth all --root //x:y file");
	buf_fini(&out);
	graph_free(g);
}

TEST(packages_are_nodes_that_hold_their_parts)
{
	struct graph *g = diamond(), *p;
	static const char *const of[] = {"p 1", NULL, "p 1", "q", "q"};

	for (uint32_t i = 0; i < 5; i++) { /* d, a, b, c, e */
		graph_set(g, &g->nodes[i].package, of[i]);
		g->nodes[i].bytes = i == 4 ? -1 : 10 * (int64_t)i;
		graph_own(g, GRAPH_BY_FUNCTION, g->nodes[i].name, i);
	}
	graph_settle(g);
	p = graph_collapse(g);
	CHECK_INT(p->n_nodes, 3); /* p 1, a, q */
	CHECK_STR(p->nodes[0].name, "p 1");
	CHECK_INT(p->nodes[0].kind, GRAPH_PACKAGE);
	CHECK_INT(p->nodes[0].bytes, 20);
	CHECK_INT(p->nodes[2].bytes, 30);
	/* a to p, a to q under its condition, q to p, p to q */
	CHECK_INT(p->n_edges, 4);
	CHECK_INT(graph_owner(p, GRAPH_BY_FUNCTION, "b", 1), 0);
	CHECK_INT(graph_owner(p, GRAPH_BY_FUNCTION, "e", 1), 2);
	graph_free(p);
	graph_free(g);
}

static bool
has_edge(const struct graph *g, const char *from, const char *to)
{
	for (size_t i = 0; i < g->n_edges; i++)
		if (strcmp(g->nodes[g->edges[i].from].name, from) == 0 &&
		    strcmp(g->nodes[g->edges[i].to].name, to) == 0)
			return true;
	return false;
}

TEST(two_graphs_become_one_by_names)
{
	struct graph *g = graph_new(), *other = diamond();
	uint32_t prog = graph_node(g, "prog"), e = graph_node(g, "e");

	graph_edge(g, prog, e, NULL);
	g->nodes[e].bytes = 7;
	other->nodes[graph_find(other, "e")].bytes = 9;
	other->nodes[graph_find(other, "d")].bytes = 3;
	graph_own(other, GRAPH_BY_MODULE, "d.so", graph_find(other, "d"));
	graph_own(g, GRAPH_BY_MODULE, "e.so", e);
	CHECK_INT(graph_merge(g, other, graph_root(other)),
	    graph_find(g, "a"));
	graph_settle(g);
	CHECK_INT(g->n_nodes, 6);
	CHECK_INT(g->n_edges, 7);
	CHECK_INT(graph_root(g), 0);
	CHECK_INT(g->nodes[e].bytes, 7);
	CHECK_INT(g->nodes[graph_find(g, "d")].bytes, 3);
	CHECK(has_edge(g, "prog", "e") && has_edge(g, "d", "e") &&
	    has_edge(g, "a", "c") && !has_edge(g, "prog", "a"));
	CHECK_INT(graph_owner(g, GRAPH_BY_MODULE, "d.so", 4),
	    graph_find(g, "d"));
	CHECK_INT(graph_owner(g, GRAPH_BY_MODULE, "e.so", 4), e);
	CHECK_INT(graph_merge(g, other, UINT32_MAX), UINT32_MAX);
	graph_free(g);
	graph_free(other);
}

/* No data is no share, and of two both are told. */
TEST(dot_of_costs)
{
	struct graph *g = diamond();
	struct graph_node *d = &g->nodes[graph_find(g, "d")];
	struct buf out = {0};
	uint64_t hash[2];

	d->total[0] = 100;
	d->self[0] = 30;
	d->total[1] = 300;
	graph_put_dot_cost(&out, g, &(struct graph_shares){.sides = 2,
	    .total = {1000, 1000}});
	buf_put_u8(&out, 0);
	CHECK(strstr((char *)out.data, "\"d\" [class=\"target\", "
	    "label=\"d\\n10.0 % → 30.0 % (self 3.0 % → 0.0 %)\", "
	    "fillcolor=\"#ffc997\", fontsize=13]") != NULL);
	buf_clear(&out);
	graph_put_dot_cost(&out, g, &(struct graph_shares){.sides = 2,
	    .total = {1000, 0}});
	buf_put_u8(&out, 0);
	CHECK(strstr((char *)out.data,
	    "10.0 % → no data (self 3.0 % → no data)\"") != NULL);
	CHECK(strstr((char *)out.data, "#ffc997") == NULL);
	/* a layout is the same whatever it costs */
	for (int i = 0; i < 2; i++) {
		buf_clear(&out);
		graph_put_dot_cost(&out, g, &(struct graph_shares){.sides = 2,
		    .total = {1000 + 500 * i, 1000}, .room = true});
		hash[i] = hash64(0, out.data, out.len);
		d->self[0] = 700;
	}
	CHECK(hash[0] == hash[1]);
	buf_fini(&out);
	graph_free(g);
}

TEST(what_two_nodes_claim_is_nobodys)
{
	struct graph *g = diamond();

	graph_own(g, GRAPH_BY_FUNCTION, "init", 1);
	graph_own(g, GRAPH_BY_FUNCTION, "init", 1);
	graph_own(g, GRAPH_BY_FUNCTION, "stop", 1);
	graph_own(g, GRAPH_BY_FUNCTION, "stop", 2);
	graph_own(g, GRAPH_BY_MODULE, "init", 3);
	graph_settle(g);
	CHECK_INT(graph_owner(g, GRAPH_BY_FUNCTION, "init", 4), 1);
	CHECK_INT(graph_owner(g, GRAPH_BY_FUNCTION, "stop", 4), GRAPH_BOTH);
	CHECK_INT(graph_owner(g, GRAPH_BY_MODULE, "init", 4), 3);
	CHECK_INT(graph_owner(g, GRAPH_BY_FILE, "init", 4), UINT32_MAX);
	graph_free(g);
}

TEST(libraries_of_a_program)
{
	struct graph_source s = {.path = "/proc/self/exe", .elf = true};
	struct graph *g;
	struct elf_deps d;
	uint32_t root;

	CHECK_OK(graph_read(&s, &g, &root));
	if (g == NULL)
		return;
	CHECK_STR(g->nodes[0].name, "exe");
	CHECK_STR(g->module, "test_graph");
	CHECK_INT(g->nodes[0].kind, GRAPH_PROGRAM);
	CHECK(g->nodes[0].bytes > 10000);
	CHECK(graph_find(g, "libc.so.6") != UINT32_MAX);
	CHECK(graph_find(g, "libc.so.6 (not found)") == UINT32_MAX);
	CHECK(graph_owner(g, GRAPH_BY_MODULE, "libc.so.6", 9) ==
	    graph_find(g, "libc.so.6"));
	CHECK(g->n_edges > 3);
	graph_free(g);
	s.path = "/etc/passwd";
	CHECK(graph_read(&s, &g, &root) != NULL);
	s.path = "/nonexistent";
	CHECK(graph_read(&s, &g, &root) != NULL);
	CHECK(elf_deps_read(&d, "/dev/zero") != NULL);
	elf_deps_fini(&d);
	CHECK(elf_deps_read(&d, "/") != NULL);
	elf_deps_fini(&d);
}

/* Copies the file; its note of a build id, if it has one, is of another type
 * there, or in no segment. */
static void
copy_without_build_id(const char *from, const char *to, bool section)
{
	static const unsigned char note[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0,
	    0, 'G', 'N', 'U', 0};
	static unsigned char bytes[32 << 20];
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	size_t n = in != NULL ? fread(bytes, 1, sizeof(bytes), in) : 0;
	unsigned char *at = memmem(bytes, n, note, sizeof(note));
	Elf64_Ehdr *head = (Elf64_Ehdr *)(void *)bytes;
	Elf64_Phdr *segments = (Elf64_Phdr *)(void *)(bytes + head->e_phoff);

	if (at != NULL && !section)
		at[8] = 99;
	for (unsigned i = 0; section && i < head->e_phnum; i++)
		if (segments[i].p_type == PT_NOTE)
			segments[i].p_type = PT_NULL;
	CHECK(n > 0 && n < sizeof(bytes));
	CHECK(out != NULL && fwrite(bytes, 1, n, out) == n);
	if (in != NULL)
		fclose(in);
	if (out != NULL)
		fclose(out);
}

/* Another program of its path would be taken for it, which is said. */
TEST(a_program_without_a_build_id)
{
	char path[64];
	struct graph_source s = {.path = "/bin/true", .elf = true};
	struct graph *with, *without;
	uint32_t root;

	snprintf(path, sizeof(path), "/tmp/memlens-test-graph-%d", getpid());
	copy_without_build_id("/bin/true", path, false);
	CHECK_OK(graph_read(&s, &with, &root));
	s.path = path;
	CHECK_OK(graph_read(&s, &without, &root));
	remove(path);
	if (with != NULL && without != NULL) {
		CHECK(with->origin.build_id != NULL);
		CHECK(strstr(with->origin.source, "build id") == NULL);
		CHECK(without->origin.build_id == NULL);
		CHECK(strstr(without->origin.source, "; no build id: another "
		    "build of this name is not noticed") != NULL);
		CHECK_INT(without->origin.complete, with->origin.complete);
	}
	graph_free(with);
	graph_free(without);
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL && fputs(text, f) >= 0);
	if (f != NULL)
		fclose(f);
}

TEST(a_build_id_in_a_section_alone)
{
	struct elf_deps whole, d;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/memlens-test-graph-%d", getpid());
	copy_without_build_id("/bin/true", path, true);
	CHECK_OK(elf_deps_read(&whole, "/bin/true"));
	CHECK_OK(elf_deps_read(&d, path));
	CHECK(whole.build_id[0] != '\0');
	CHECK_STR(d.build_id, whole.build_id);
	elf_deps_fini(&whole);
	elf_deps_fini(&d);
	unlink(path);
}

TEST(debian_packages_of_files)
{
	char folder[] = "/tmp/memlens-test-dpkg-XXXXXX", path[128];
	char *paths[] = {NULL, strdup("/usr/lib/x/liba.so.1.2"),
	    strdup("/lib/x/libb.so"), strdup("/opt/own"),
	    strdup("/usr/lib/x/liba.so.1.2")};
	struct graph *g = diamond();

	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/info", folder);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/info/liba1:amd64.list", folder);
	write_file(path, "/.\n/lib\n/lib/x/liba.so.1.2\n");
	snprintf(path, sizeof(path), "%s/info/libb.list", folder);
	write_file(path, "/usr/lib/x/libb.so\n/lib/x\n");
	snprintf(path, sizeof(path), "%s/status", folder);
	write_file(path, "Package: liba\nVersion: 9\n\nPackage: liba1\n"
	    "Status: install ok installed\nVersion: 1.2-3\n\n"
	    "Package: libb\nVersion: 2:7\n");
	debian_packages(g, paths, 5, folder);
	CHECK(g->nodes[0].package == NULL && g->nodes[3].package == NULL);
	CHECK_STR(g->nodes[1].package, "liba1 1.2-3");
	CHECK_STR(g->nodes[2].package, "libb 2:7");
	CHECK_STR(g->nodes[4].package, "liba1 1.2-3");
	debian_packages(g, paths, 5, "/nonexistent"); /* nothing is known */
	for (int i = 0; i < 5; i++)
		free(paths[i]);
	graph_free(g);
	snprintf(path, sizeof(path), "rm -r %s", folder);
	CHECK_INT(system(path), 0);
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

/* The node of a function's package, by name; "" where it is nobody's. */
static const char *
package_owner(const struct graph *g, const char *name)
{
	uint32_t node = graph_package_owner(g, name, strlen(name));

	return node < g->n_nodes ? g->nodes[node].name : "";
}

TEST(packages_of_go_are_their_modules)
{
	struct graph *g = graph_new();

	graph_own(g, GRAPH_BY_PREFIX, "a.org/m", graph_node(g, "m"));
	graph_own(g, GRAPH_BY_PREFIX, "a.org/m/in", graph_node(g, "inner"));
	graph_own(g, GRAPH_BY_PREFIX, GRAPH_GO, graph_node(g, "go"));
	graph_settle(g);
	CHECK_STR(package_owner(g, "a.org/m"), "m");
	CHECK_STR(package_owner(g, "a.org/m/x/y"), "m");
	CHECK_STR(package_owner(g, "a.org/m/in/x"), "inner");
	CHECK_STR(package_owner(g, "a.org/other"), "");
	CHECK_STR(package_owner(g, "a.org/m2"), "");
	CHECK_STR(package_owner(g, "net/http"), "go");
	CHECK_STR(package_owner(g, "runtime"), "go");
	CHECK_STR(package_owner(g, "foo"), "");
	CHECK_STR(package_owner(g, ""), "");
	graph_free(g);
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
	RUN(edges_of_the_last_level_are_marked);
	RUN(packages_are_nodes_that_hold_their_parts);
	RUN(two_graphs_become_one_by_names);
	RUN(dot_of_costs);
	RUN(what_two_nodes_claim_is_nobodys);
	RUN(packages_of_go_are_their_modules);
	RUN(a_build_id_in_a_section_alone);
	RUN(debian_packages_of_files);
	RUN(a_graph_has_the_command_that_prints_it);
	RUN(libraries_of_a_program);
	RUN(a_program_without_a_build_id);
	RUN(damaged_programs);
	return test_done();
}
