/*
 * memlens graph: what a program, or a target of a build, is made of, as DOT:
 * what the page shows; or told to the store, so that the page shows it.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fcgi/child/sandbox.h"
#include "fcgi/graph/read/debian.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/memlens/cmake_ask.h"
#include "fcgi/memlens/cmd.h"
#include "fcgi/memlens/program_parts.h"
#include "fcgi/server/settings.h"
#include "fcgi/server/timespec.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/batch/batch_client.h"

#define SOCKET "/run/memlens/memlensd.sock"
#define TELL_EACH_NS (24 * 3600 * NS_PER_S)
#define RETRY_NS (5 * NS_PER_S)

enum { OPT_MAP = 256, OPT_FOLDERS, OPT_COLLAPSE, OPT_TELL, OPT_SOCKET,
	OPT_EVERY, OPT_SLOT, OPT_ASK, OPT_BUILD };

static const struct option options[] = {
    {"depth", required_argument, NULL, 'd'},
    {"root", required_argument, NULL, 'r'},
    {"map", required_argument, NULL, OPT_MAP},
    {"build", required_argument, NULL, OPT_BUILD},
    {"folders", no_argument, NULL, OPT_FOLDERS},
    {"collapse", no_argument, NULL, OPT_COLLAPSE},
    {"tell", required_argument, NULL, OPT_TELL},
    {"socket", required_argument, NULL, OPT_SOCKET},
    {"every", required_argument, NULL, OPT_EVERY},
    {"slot", required_argument, NULL, OPT_SLOT},
    {"ask", no_argument, NULL, OPT_ASK},
    {NULL, 0, NULL, 0},
};

struct graph_ask {
	struct graph_source source; /* the first: parts are found by it */
	const char *map;            /* or NULL */
	const char *build, *target; /* of the program, and its root there */
	bool folders, collapse;
	bool ask;                   /* of CMake, and no more */
	unsigned depth;
	const char *tell, *socket;  /* the name that the store is told */
	int64_t every_ns;           /* 0: once */
	int64_t slot_ns;            /* of the store */
	uint64_t told;              /* a number for the graph that was told */
	int64_t told_ns;            /* when; 0: not yet */
	struct buf command, what;
};

static int
usage(void)
{
	fprintf(stderr, "usage: memlens graph [--depth N|all] [--root NAME] "
	    "[--map FILE | --build FILE | --folders]\n"
	    "           [--collapse | --tell NAME [--socket PATH] "
	    "[--slot TIME] [--every TIME]] FILE\n"
	    "       memlens graph --ask BUILD-FOLDER\n");
	return 2;
}

/* ---- reading ---- */

static bool
ask_parts(const struct graph_source *source, struct graph *g)
{
	const struct graph_ask *a = (const struct graph_ask *)source;
	struct program_symbols symbols;
	struct program_files files = {0};
	bool found = program_symbols_read(&symbols, source->path) &&
	    (a->map != NULL ? program_map_load(g, a->map,
	    source->path, &symbols, &files)
	    : a->build != NULL ? program_build_load(g, a->build, a->target,
	    source->path, &symbols)
	    : program_folders_load(g, source->path, &symbols, &files));

	if (found)
		debian_packages(g, files.paths, files.cap < g->n_nodes
		    ? files.cap : g->n_nodes, DEBIAN_FOLDER);
	program_symbols_fini(&symbols);
	program_files_fini(&files);
	return found && !g->failed;
}

static const struct err *
ask_read(struct graph_ask *a, struct graph **g, uint32_t *root)
{
	buf_fini(&a->command);
	buf_fini(&a->what);
	if (a->map != NULL) {
		buf_printf(&a->command, " --map");
		graph_put_path(&a->command, a->map);
		buf_printf(&a->what, ", and the parts that it was linked "
		    "from, by the linker's map %s", a->map);
	} else if (a->build != NULL) {
		buf_printf(&a->command, " --build");
		graph_put_path(&a->command, a->build);
		if (a->target != NULL) {
			buf_printf(&a->command, " --root");
			graph_put_word(&a->command, a->target);
		}
		buf_printf(&a->what, ", and what it was built from, by %s",
		    a->build);
	} else if (a->folders) {
		buf_printf(&a->command, " --folders");
		buf_printf(&a->what, ", and the folders of its sources, by "
		    "its debug information (DWARF)");
	}
	if (a->command.len > 0) {
		buf_put_u8(&a->command, 0);
		buf_put_u8(&a->what, 0);
		if (a->command.failed || a->what.failed)
			return err_nomem();
		a->source.options = (const char *)a->command.data;
		a->source.what = (const char *)a->what.data;
		a->source.parts = ask_parts;
	}
	return graph_read(&a->source, g, root);
}

/* ---- printing ---- */

static const struct err *
ask_print_part(const struct graph *g, uint32_t root, unsigned depth)
{
	struct graph *part = graph_cut(g, root, depth);
	const struct err *e = NULL;
	struct buf out = {0};

	if (part == NULL)
		return err_nomem();
	graph_put_dot(&out, part);
	if (out.failed)
		e = err_nomem();
	else if (fwrite(out.data, 1, out.len, stdout) != out.len ||
	    fflush(stdout) != 0)
		e = err_errno("standard output");
	buf_fini(&out);
	graph_free(part);
	return e;
}

static const struct err *
ask_print(const struct graph_ask *a, const struct graph *g, uint32_t root)
{
	const struct graph_node *n = &g->nodes[root];
	struct graph *packages;
	const struct err *e;

	if (!a->collapse)
		return ask_print_part(g, root, a->depth);
	packages = graph_collapse(g);
	if (packages == NULL)
		return err_nomem();
	e = ask_print_part(packages, graph_find(packages, n->package != NULL
	    ? n->package : n->name), a->depth);
	graph_free(packages);
	return e;
}

/* ---- telling ---- */

/* The root has to be the first node: facts say no other. */
static const struct err *
ask_encode(const struct graph *g, uint32_t root, struct buf *out)
{
	struct graph *whole;

	if (root == 0) {
		graph_encode(g, out);
		return out->failed ? err_nomem() : NULL;
	}
	whole = graph_cut(g, root, GRAPH_ALL);
	if (whole == NULL)
		return err_nomem();
	graph_encode(whole, out);
	graph_free(whole);
	return out->failed ? err_nomem() : NULL;
}

static const struct err *
ask_send(const struct graph_ask *a, const struct buf *code)
{
	struct batch *b = batch_new((uint64_t)a->slot_ns);
	struct batch_client *to = NULL;
	const struct err *e;

	if (b == NULL)
		return err_nomem();
	batch_add_fact(b, clock_wall_ns(), FACT_GRAPH, a->tell, code->data,
	    code->len);
	if (b->failed)
		e = err_nomem();
	else if ((e = batch_client_open(&to, a->socket, 60000)) == NULL)
		e = batch_client_batch(to, b);
	batch_client_close(to);
	batch_free(b);
	return e;
}

/* The same graph is told once a day. */
static const struct err *
ask_tell(struct graph_ask *a, const struct graph *g, uint32_t root)
{
	struct buf code = {0};
	const struct err *e = ask_encode(g, root, &code);
	int64_t now_ns = clock_mono_ns();
	uint64_t stamp = hash64(0, code.data, code.len);

	if (e == NULL && (a->told_ns == 0 || stamp != a->told ||
	        now_ns - a->told_ns >= TELL_EACH_NS) &&
	    (e = ask_send(a, &code)) == NULL) {
		a->told = stamp;
		a->told_ns = now_ns;
	}
	buf_fini(&code);
	return e;
}

/* ---- the command ---- */

/* The question is put where CMake looks for it. */
static int
ask_cmake(const struct graph_ask *a)
{
	const struct err *e = cmake_ask(a->source.path);

	if (e != NULL)
		fprintf(stderr, "memlens graph: %s\n", e->text);
	else
		fprintf(stderr, "CMake answers at its next run: cmake %s\n",
		    a->source.path);
	return e == NULL ? 0 : 1;
}

static void
ask_say_cut(const struct graph_ask *a, const struct graph *g)
{
	struct buf bounds = {0};

	graph_put_bounds(&bounds, g);
	fprintf(stderr, "memlens graph: %s: not all of it is known: %s%.*s\n",
	    a->source.path, g->origin.source, (int)bounds.len,
	    bounds.len > 0 ? (const char *)bounds.data : "");
	buf_fini(&bounds);
}

static int
ask_once(struct graph_ask *a)
{
	struct graph *g = NULL;
	uint32_t root;
	const struct err *e = ask_read(a, &g, &root);

	if (e == NULL)
		e = a->tell != NULL ? ask_tell(a, g, root)
				    : ask_print(a, g, root);
	if (e != NULL)
		fprintf(stderr, "memlens graph: %s\n", e->text);
	else if (g->cut)
		ask_say_cut(a, g);
	graph_free(g);
	return e == NULL ? 0 : 1;
}

/* What tells one build of a file from another, 0 where there is none; of a
 * folder only reading it does, so that each look is another. */
static uint64_t
ask_stamp_file(const char *path)
{
	struct stat st;

	if (path == NULL || stat(path, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return (uint64_t)clock_mono_ns();
	return hash64_u64(hash64_u64(hash64_u64((uint64_t)st.st_ino,
	    (uint64_t)st.st_size), (uint64_t)st.st_mtim.tv_sec),
	    (uint64_t)st.st_mtim.tv_nsec);
}

/* The program may be there before what tells its parts. */
static uint64_t
ask_stamp(const struct graph_ask *a)
{
	uint64_t program = ask_stamp_file(a->source.path);

	return program == 0 ? 0 : hash64_u64(hash64_u64(program,
	    ask_stamp_file(a->map)), ask_stamp_file(a->build));
}

/* Tells of each build, and of one that stays once a day; again soon what
 * could not be told. */
static int
ask_again(struct graph_ask *a)
{
	uint64_t read = 0;
	int64_t pause_ns;

	for (;;) {
		uint64_t stamp = ask_stamp(a);

		pause_ns = a->every_ns;
		if (stamp != 0 && (stamp != read || clock_mono_ns() -
		        a->told_ns >= TELL_EACH_NS)) {
			a->source.elf = graph_is_elf(a->source.path);
			if (ask_once(a) == 0)
				read = stamp;
			else if (pause_ns > RETRY_NS)
				pause_ns = RETRY_NS;
		}
		nanosleep(&(struct timespec){pause_ns / NS_PER_S,
		    pause_ns % NS_PER_S}, NULL);
	}
	return 0;
}

static bool
ask_option(struct graph_ask *a, int c)
{
	switch (c) {
	case 'd':
		return graph_depth_parse(optarg, &a->depth);
	case 'r':
		a->source.root = optarg;
		break;
	case OPT_MAP:
		a->map = optarg;
		break;
	case OPT_BUILD:
		a->build = optarg;
		break;
	case OPT_FOLDERS:
		a->folders = true;
		break;
	case OPT_ASK:
		a->ask = true;
		break;
	case OPT_COLLAPSE:
		a->collapse = true;
		break;
	case OPT_TELL:
		a->tell = optarg;
		break;
	case OPT_SOCKET:
		a->socket = optarg;
		break;
	case OPT_EVERY:
		return timespec_parse_duration(optarg, &a->every_ns) == NULL &&
		    a->every_ns > 0;
	case OPT_SLOT:
		return timespec_parse_duration(optarg, &a->slot_ns) == NULL &&
		    a->slot_ns > 0;
	default:
		return false;
	}
	return true;
}

/* Options that do not go together. */
static bool
ask_check(const struct graph_ask *a)
{
	return (a->map != NULL) + (a->build != NULL) + a->folders <= 1 &&
	    !(a->tell != NULL && a->collapse) &&
	    (a->tell != NULL || a->every_ns == 0) &&
	    (a->tell == NULL || *a->tell != '\0');
}

/* A longer name could not be asked for. */
static bool
ask_check_name(const struct graph_ask *a)
{
	if (a->tell == NULL || strlen(a->tell) <= SETTINGS_GRAPH_NAME_MAX)
		return true;
	fprintf(stderr, "memlens graph: a target's name has at most %d "
	    "bytes\n", SETTINGS_GRAPH_NAME_MAX);
	return false;
}

int
cmd_graph(int argc, char **argv)
{
	struct graph_ask a = {.depth = 2, .socket = SOCKET,
	    .slot_ns = 10 * NS_PER_S};
	int c, status;

	optind = 0;
	while ((c = getopt_long(argc, argv, "d:r:", options, NULL)) != -1)
		if (!ask_option(&a, c))
			return usage();
	if (optind != argc - 1 || !ask_check(&a))
		return usage();
	if (!ask_check_name(&a))
		return 2;
	a.source.path = argv[optind];
	if (a.ask)
		return ask_cmake(&a);
	a.source.elf = graph_is_elf(a.source.path);
	if (a.build != NULL) {
		a.target = a.source.root;
		a.source.root = NULL;
	}
	if (a.source.elf && a.source.root != NULL) {
		fprintf(stderr, "memlens graph: --root is for builds; "
		    "%s is a program\n", a.source.path);
		return 2;
	}
	/* strangers' bytes: nothing is written, started or connected to but
	 * a socket of this host */
	sandbox_enter(0, NULL);
	status = a.every_ns != 0 ? ask_again(&a) : ask_once(&a);
	buf_fini(&a.command);
	buf_fini(&a.what);
	return status;
}
