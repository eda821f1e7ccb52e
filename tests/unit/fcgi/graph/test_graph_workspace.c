/*
 * BUILD files read without bazel, against what bazel itself printed of the
 * same projects (tests/data/bazel/record.sh); and what is not understood.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/graph/model/graph.h"
#include "fcgi/graph/read/graph_read.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static struct graph *
read_graph(const char *path, const char *root)
{
	struct graph *g;
	uint32_t begin;

	CHECK_OK(graph_read(&(struct graph_source){.path = path,
	    .root = root}, &g, &begin));
	return g;
}

/* The edge between the nodes of those names, or NULL. */
static const struct graph_edge *
find_edge(const struct graph *g, const char *from, const char *to)
{
	for (size_t i = 0; i < g->n_edges; i++)
		if (strcmp(g->nodes[g->edges[i].from].name, from) == 0 &&
		    strcmp(g->nodes[g->edges[i].to].name, to) == 0)
			return &g->edges[i];
	return NULL;
}

/* Nodes, edges and conditions are bazel's, all of them and no others. */
static void
compare(const char *project, const char *root)
{
	char folder[64], recorded[80];
	struct graph *ours, *bazel;

	snprintf(folder, sizeof(folder), "tests/data/bazel/%s", project);
	snprintf(recorded, sizeof(recorded), "%s.graph", folder);
	ours = read_graph(folder, root);
	bazel = read_graph(recorded, root);
	if (ours == NULL || bazel == NULL)
		return;
	CHECK_STR(ours->nodes[0].name, root);
	CHECK_INT(ours->n_nodes, bazel->n_nodes);
	CHECK_INT(ours->n_edges, bazel->n_edges);
	for (size_t i = 0; i < bazel->n_nodes; i++)
		CHECK(graph_find(ours, bazel->nodes[i].name) != UINT32_MAX);
	for (size_t i = 0; i < bazel->n_edges; i++) {
		const struct graph_edge *e = &bazel->edges[i],
		    *own = find_edge(ours, bazel->nodes[e->from].name,
		        bazel->nodes[e->to].name);

		CHECK(own != NULL);
		CHECK_STR(own == NULL || own->label == NULL ? "" : own->label,
		    e->label == NULL ? "" : e->label);
	}
	CHECK_INT(ours->origin.complete, GRAPH_WHOLE);
	graph_free(ours);
	graph_free(bazel);
}

TEST(globs_conditions_and_generated_files)
{
	compare("shop", "//app:shop");
}

TEST(macros_and_rules_of_the_repository)
{
	compare("macros", "//server:server");
}

TEST(repositories_and_bound_names)
{
	compare("repos", "//:all_of_it");
}

TEST(dots_suites_and_files_without_a_word)
{
	compare("odd", "//:all_of_it");
}

TEST(groups_toolchains_and_constraints)
{
	compare("any", "//:all_of_it");
}

/* Transitions, choices of what only builds, folders that no glob goes into,
 * a BUILD file that a repository is given, a file's name that begins with @. */
TEST(what_leads_elsewhere_and_what_does_not)
{
	compare("ways", "//:all_of_it");
}

/* ---- what is not understood ---- */

static void
write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	CHECK(f != NULL && fputs(text, f) >= 0);
	if (f != NULL)
		fclose(f);
}

/* The graph of one BUILD file, beside a file of modules or NULL. */
static struct graph *
read_text(const char *text, const char *module)
{
	char folder[] = "/tmp/memlens-test-build-XXXXXX", command[64];
	struct graph *g;

	CHECK(mkdtemp(folder) != NULL);
	write_file(folder, "WORKSPACE", "");
	write_file(folder, "BUILD", text);
	if (module != NULL)
		write_file(folder, "MODULE.bazel", module);
	g = read_graph(folder, "//:a");
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_INT(system(command), 0);
	return g;
}

static void
check_says(const char *text, size_t edges, const char *what)
{
	struct graph *g = read_text(text, NULL);

	if (g == NULL)
		return;
	CHECK_INT(g->n_edges, edges);
	CHECK_INT(g->origin.complete, GRAPH_PARTLY);
	CHECK(g->cut);
	CHECK(strstr(g->origin.source, what) != NULL);
	graph_free(g);
}

TEST(what_is_not_known_is_said_by_file_and_line)
{
	check_says("cc_library(\n    name = 'a',\n    srcs = ['b.c'] + X,\n)\n",
	    1, "BUILD:3: \"X\" is not known");
	check_says("cc_library(name = 'a', srcs = ['b.c'])\n\nx = = 1\n",
	    0, "BUILD:3: ");
	check_says("cc_library(name = 'a', deps = ['@far//:b'])\n", 1,
	    "1 repositories are not here, nor what they need: @far");
	check_says("load('@far//:b.bzl', 'lib')\nlib(name = 'a', "
	    "deps = [':b'])\n", 1,
	    "BUILD:2: lib is of a repository that is not here");
	check_says("load(':gone.bzl', 'lib')\nlib(name = 'a')\n", 0,
	    "BUILD:1: :gone.bzl cannot be read");
}

/* Each of these was called complete without a word. */
TEST(what_is_missing_is_said_by_name)
{
	static const char rule[] = "r = rule(implementation = f, attrs = "
	    "{'s': attr.label()}, outputs = %s)\nr(name = 'a', s = 'b')\n";
	char text[300];

	check_says("filegroup(name = 'a', srcs = ['jar.jar'])\n", 1,
	    "//:jar.jar is neither declared nor a file");
	check_says("filegroup(name = 'a', srcs = ['//far:b'])\n", 1,
	    "//far has no BUILD file");
	check_says("filegroup(name = 'a', srcs = glob(['*'], "
	    "exclude_directories = 0))\n", 2,
	    "BUILD:1: folders that glob() finds are not read");
	snprintf(text, sizeof(text), rule, "{'x': '%{s}.x'}");
	check_says(text, 1, "BUILD:2: a file that \"a\" makes is not known");
	snprintf(text, sizeof(text), rule, "f");
	check_says(text, 1, "BUILD:2: which files \"a\" makes is not known");
}

/* A tree of BUILD files, in a new folder. */
static void
check_tree(const char *commands, size_t edges, const char *what)
{
	char folder[] = "/tmp/memlens-test-build-XXXXXX", command[900];
	struct graph *g;

	CHECK(mkdtemp(folder) != NULL);
	snprintf(command, sizeof(command), "cd %s && touch WORKSPACE && %s",
	    folder, commands);
	CHECK_INT(system(command), 0);
	g = read_graph(folder, "//:a");
	if (g != NULL) {
		CHECK_INT(g->n_edges, edges);
		CHECK_INT(g->origin.complete, GRAPH_PARTLY);
		CHECK(strstr(g->origin.source, what) != NULL);
		if (strstr(g->origin.source, what) == NULL)
			printf("# %s\n", g->origin.source);
	}
	graph_free(g);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_INT(system(command), 0);
}

TEST(a_file_of_a_package_below_is_refused)
{
	check_tree("mkdir -p in/side && touch in/BUILD in/side/x && "
	    "echo 'filegroup(name = \"a\", srcs = [\"in/side/x\"])' >BUILD", 1,
	    "//:in/side/x is below the package in, and bazel refuses it");
}

/* bazel refuses the first three, with "Infinite symlink expansion" and "Symlink
 * cycle"; it follows links that lead elsewhere. */
TEST(links_that_lead_back_are_said)
{
	static const char rule[] = "touch f && echo 'filegroup(name = \"a\", "
	    "srcs = glob([\"%s\"], exclude = [\"B*\", \"W*\"]))' >BUILD && "
	    "%s";
	char text[400];

	snprintf(text, sizeof(text), rule, "**", "ln -s . self");
	check_tree(text, 1, "BUILD:1: glob() comes to self, which is a link "
	    "to a folder above it");
	snprintf(text, sizeof(text), rule, "d/**", "mkdir -p d/e && "
	    "touch d/g && ln -s ../../.. d/e/up");
	check_tree(text, 1, "BUILD:1: glob() comes to d/e/up, which is a link "
	    "to a folder above it");
	snprintf(text, sizeof(text), rule, "*", "ln -s two one && "
	    "ln -s one two");
	check_tree(text, 1, "BUILD:1: glob() comes to one, which is a link to "
	    "itself");
	snprintf(text, sizeof(text), rule, "d/*\", \"l*/*\"]) + "
	    "[\":gone\"] + glob([\"none",
	    "mkdir d && touch d/g && ln -s d link && ln -s . self");
	check_tree(text, 3, "not understood: //:gone is neither");
}

TEST(a_build_file_that_cannot_be_read_is_named)
{
	check_tree("mkdir far && head -c 2000000 /dev/zero >far/BUILD && "
	    "echo 'filegroup(name = \"a\", srcs = [\"//far\"])' >BUILD", 1,
	    "the BUILD file of //far is longer than 1 MiB, and is not read");
}

/* A target that needs nothing is one all the same. */
TEST(a_target_alone_is_not_missing)
{
	struct graph *alone = read_text("filegroup(name = 'a')\n", NULL),
	    *other = read_text("filegroup(name = 'b')\n", NULL);

	if (alone != NULL && other != NULL) {
		CHECK_INT(alone->n_nodes, 1);
		CHECK_INT(alone->nodes[0].kind, GRAPH_TARGET);
		CHECK_INT(alone->origin.complete, GRAPH_WHOLE);
		CHECK_INT(other->nodes[0].kind, GRAPH_MISSING);
		CHECK_INT(other->origin.complete, GRAPH_PARTLY);
		CHECK(strstr(other->origin.source,
		    "//:a is neither declared nor a file") != NULL);
	}
	graph_free(alone);
	graph_free(other);
}

TEST(a_module_file_is_said_not_to_be_read)
{
	static const char text[] = "cc_library(name = 'a', srcs = ['b.c'])\n";
	struct graph *with = read_text(text, "module(name = 'm')\n"),
	    *without = read_text(text, NULL);

	if (with != NULL && without != NULL) {
		CHECK(strstr(with->origin.source,
		    "; its MODULE.bazel is not read") != NULL);
		CHECK(strstr(without->origin.source, "MODULE.bazel") == NULL);
	}
	graph_free(with);
	graph_free(without);
}

TEST(what_has_no_end_ends)
{
	check_says("[x for x in range(1 << 40)]\n", 0, "too much");
	check_says("def f(n):\n    return f(n)\n\nf(1)\n", 0, "BUILD is not "
	    "read to its end: calls are too deep, at BUILD:2");
	check_says("x = ['a']\ny = [x.append(z) for z in range(9)]\n"
	    "a = 'x' * (1 << 50)\n", 0, "not read to its end");
	check_says("l = []\nl.append(l)\ns = str(l)\n", 0,
	    "not read to its end");
}

/* One package without an end, by a macro that it loads: the others are read. */
TEST(a_package_without_an_end_is_alone)
{
	check_tree("mkdir bad worse && cat >bad/f.bzl <<E\n"
	    "def f(n):\n    return f(n)\nE\n"
	    "cat >bad/BUILD <<E\nload(\":f.bzl\", \"f\")\n"
	    "filegroup(name = \"bad\")\n\nf(1)\nE\n"
	    "cat >worse/BUILD <<E\nr = range(9999)\n"
	    "[0 for x in r for y in r if x == -1]\nE\n"
	    "cat >BUILD <<E\nfilegroup(name = \"a\", srcs = [\"//bad\", "
	    "\"//worse\", \":b\"])\nfilegroup(name = \"b\", srcs = [\":c\"])\n"
	    "filegroup(name = \"c\")\nE\n", 4,
	    "not understood: bad/BUILD is not read to its end: calls are too "
	    "deep, at bad/f.bzl:2; worse/BUILD is not read to its end: it "
	    "takes too many steps, at worse/BUILD:2");
}

/* Ten thousand targets are nothing unusual. */
TEST(a_long_build_file_is_read)
{
	struct buf text = {0};
	struct graph *g;

	buf_printf(&text, "filegroup(name = \"a\", srcs = [\"t%%d\" %% i "
	    "for i in range(8000)])\n");
	for (int i = 0; i < 10000; i++)
		buf_printf(&text, "filegroup(name = \"t%d\")\n", i);
	buf_put_u8(&text, '\0');
	g = read_text((const char *)text.data, NULL);
	if (g != NULL) {
		CHECK_INT(g->n_nodes, 8001);
		CHECK_INT(g->n_edges, 8000);
		CHECK_INT(g->origin.complete, GRAPH_WHOLE);
	}
	graph_free(g);
	buf_fini(&text);
}

TEST(a_pipe_is_refused)
{
	char path[] = "/tmp/memlens-test-pipe-XXXXXX/pipe";
	struct graph_source s = {.path = path};
	const struct err *e;
	struct graph *g;
	uint32_t root;

	*strrchr(path, '/') = '\0';
	CHECK(mkdtemp(path) != NULL);
	path[strlen(path)] = '/';
	CHECK_INT(mkfifo(path, 0600), 0);
	alarm(20);
	e = graph_read(&s, &g, &root);
	alarm(0);
	CHECK(e != NULL && e->code == 422);
	CHECK(e != NULL && strstr(e->text, "neither a file nor a folder"));
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

TEST(a_workspace_needs_a_target)
{
	struct graph_source s = {.path = "tests/data/bazel/shop"};
	const struct err *e;
	struct graph *g;
	uint32_t root;

	e = graph_read(&s, &g, &root);
	CHECK(e != NULL && e->code == 422);
	CHECK(g == NULL);
}

int
main(void)
{
	RUN(globs_conditions_and_generated_files);
	RUN(macros_and_rules_of_the_repository);
	RUN(repositories_and_bound_names);
	RUN(what_is_not_known_is_said_by_file_and_line);
	RUN(dots_suites_and_files_without_a_word);
	RUN(groups_toolchains_and_constraints);
	RUN(what_leads_elsewhere_and_what_does_not);
	RUN(what_is_missing_is_said_by_name);
	RUN(a_file_of_a_package_below_is_refused);
	RUN(links_that_lead_back_are_said);
	RUN(a_build_file_that_cannot_be_read_is_named);
	RUN(a_target_alone_is_not_missing);
	RUN(a_module_file_is_said_not_to_be_read);
	RUN(what_has_no_end_ends);
	RUN(a_package_without_an_end_is_alone);
	RUN(a_long_build_file_is_read);
	RUN(a_pipe_is_refused);
	RUN(a_workspace_needs_a_target);
	return test_done();
}
