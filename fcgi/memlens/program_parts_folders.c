/*
 * A function is of the folder of the file in which its first line is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/model/graph.h"
#include "fcgi/memlens/program_parts.h"
#include "fcgi/symbolize/symbolize.h"
#include "store/base/err.h"

/* "/a/b/../c//x.c" without what leads back; in place. */
static void
folders_normalise(char *path)
{
	char *to = path, *from = path;

	while (*from != '\0') {
		size_t n = strcspn(from, "/");

		if (n == 2 && strncmp(from, "..", 2) == 0 && to > path + 1) {
			to--;
			while (to > path && to[-1] != '/')
				to--;
		} else if (n > 0 && !(n == 1 && *from == '.')) {
			memmove(to, from, n);
			to += n;
			if (from[n] == '/')
				*to++ = '/';
		} else if (n == 0 && to == path) {
			*to++ = '/';
		}
		from += n;
		from += *from == '/';
	}
	*to = '\0';
}

static uint32_t
folders_node(struct graph *g, const char *file, struct program_files *files)
{
	char *path = strdup(file), *slash;
	size_t before = g->n_nodes;
	uint32_t node = UINT32_MAX;

	if (path == NULL)
		return node;
	folders_normalise(path);
	slash = strrchr(path, '/');
	if (slash != NULL) {
		char after = slash[1];

		slash[1] = '\0';
		node = graph_node(g, path);
		slash[1] = after;
	}
	if (node != UINT32_MAX && g->n_nodes > before) {
		g->nodes[node].kind = GRAPH_FOLDER;
		g->nodes[node].bytes = 0;
		graph_edge_of(g, 0, node, GRAPH_HOLDS, NULL);
	}
	if (!program_files_set(files, node, path))
		g->failed = true;
	free(path);
	return node;
}

bool
program_folders_load(struct graph *g, const char *program,
    const struct program_symbols *s, struct program_files *files)
{
	struct symbolized *frames = calloc(SYMBOLIZED_MAX, sizeof(*frames));
	struct symbolizer *names = NULL;
	uint64_t end = 0;
	bool found = false;

	if (frames == NULL || symbolizer_open(&names, program) != NULL) {
		free(frames);
		return false;
	}
	for (size_t i = 0; i < s->n && !g->failed; i++) {
		const struct program_symbol *y = &s->items[i];
		size_t n = y->function ? symbolizer_find(names, y->address,
		    frames) : 0;
		uint32_t node;

		if (n == 0 || frames[0].file == NULL)
			continue;
		found = true;
		node = folders_node(g, frames[0].file, files);
		graph_own(g, GRAPH_BY_FUNCTION, y->name, node);
		if (node == UINT32_MAX || y->address < end)
			continue; /* a second name of one function */
		end = y->address + y->size;
		g->nodes[node].bytes += (int64_t)y->size;
		if (g->nodes[0].bytes >= (int64_t)y->size)
			g->nodes[0].bytes -= (int64_t)y->size;
	}
	symbolizer_close(names);
	free(frames);
	return found;
}
