/*
 * memlens graph: the dependency graph of a program, or a part of one that
 * bazel has written, as DOT: what the page shows.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/graph_read.h"
#include "fcgi/memlens/cmd.h"
#include "store/base/buf.h"
#include "store/base/err.h"

static const struct option options[] = {
    {"depth", required_argument, NULL, 'd'},
    {"root", required_argument, NULL, 'r'},
    {NULL, 0, NULL, 0},
};

static int
usage(void)
{
	fprintf(stderr, "usage: memlens graph [--depth N] [--root NAME] "
	    "FILE\n");
	return 2;
}

static int
graph_print(const struct graph_source *s, unsigned depth)
{
	struct buf out = {0};
	struct graph *g = NULL;
	const struct err *e = graph_read(s, depth, &g);

	if (e == NULL) {
		graph_put_dot(&out, g);
		if (out.failed)
			e = err_nomem();
		else if (fwrite(out.data, 1, out.len, stdout) != out.len ||
		    fflush(stdout) != 0)
			e = err_errno("standard output");
	}
	if (e != NULL)
		fprintf(stderr, "memlens graph: %s\n", e->text);
	else if (g->cut)
		fprintf(stderr, "memlens graph: %s: not all of it is known\n",
		    s->path);
	graph_free(g);
	buf_fini(&out);
	return e == NULL ? 0 : 1;
}

int
cmd_graph(int argc, char **argv)
{
	struct graph_source s = {0};
	unsigned long depth = 2;
	char *end = argv[0];
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "d:r:", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			depth = strtoul(optarg, &end, 10);
			if (end == optarg || *end != '\0' || depth < 1 ||
			    depth > GRAPH_NODES_MAX)
				return usage();
			break;
		case 'r':
			s.root = optarg;
			break;
		default:
			return usage();
		}
	}
	if (optind != argc - 1)
		return usage();
	s.path = argv[optind];
	s.elf = graph_is_elf(s.path);
	if (s.elf && s.root != NULL) {
		fprintf(stderr, "memlens graph: --root is for files of bazel; "
		    "%s is a program\n", s.path);
		return 2;
	}
	return graph_print(&s, (unsigned)depth);
}
