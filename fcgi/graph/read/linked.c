/*
 * From what a linker is told to the file that is loaded.
 */
#include "fcgi/graph/read/linked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/graph/model/graph.h"
#include "fcgi/graph/read/debian.h"
#include "fcgi/graph/read/elf_deps.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/graph/read/read_file.h"
#include "store/base/array.h"

#define PATH_ROOM 4096
#define SCRIPT_MAX 4096

static const char *const folders[] = {"/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib",
    "/usr/lib64"};

static const char *
linked_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

bool
linked_is_library(const char *word)
{
	const char *base = linked_base(word), *so = strstr(base, ".so");
	size_t n = strlen(base);

	if (strncmp(word, "-l", 2) == 0)
		return word[2] != '\0';
	return *word == '/' && ((so != NULL && (so[3] == '\0' ||
	    so[3] == '.')) || (n > 2 && strcmp(base + n - 2, ".a") == 0));
}

static bool
linked_try(const char *folder, const char *name, char out[PATH_ROOM])
{
	static const char *const ends[] = {"so", "a"};

	for (size_t i = 0; folder != NULL && i < 2; i++)
		if (snprintf(out, PATH_ROOM, "%s/lib%s.%s", folder, name,
		        ends[i]) < PATH_ROOM && access(out, R_OK) == 0)
			return true;
	return false;
}

bool
linked_find(const char *name, const char *folder, char out[PATH_ROOM])
{
	if (strchr(name, '/') != NULL)
		return false;
	if (linked_try(folder, name, out))
		return true;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (linked_try(folders[i], name, out))
			return true;
	return false;
}

/* A library may be a text that names others for the linker: the first is the
 * one that it is called by. */
static bool
linked_script(const char *path, char out[PATH_ROOM])
{
	FILE *f = fopen(path, "re");
	char text[SCRIPT_MAX + 1];
	size_t n = f != NULL ? fread(text, 1, SCRIPT_MAX, f) : 0, len;
	const char *at;

	if (f != NULL)
		fclose(f);
	text[n] = '\0';
	at = strstr(text, "GROUP");
	at = at != NULL ? strpbrk(at, "/)") : NULL;
	len = at != NULL ? strcspn(at, " \t\n)") : 0;
	if (len < 2 || *at != '/' || len >= PATH_ROOM)
		return false;
	memcpy(out, at, len);
	out[len] = '\0';
	return access(out, R_OK) == 0;
}

void
linked_set(struct linked *l, uint32_t node, const char *path)
{
	char other[PATH_ROOM], *real;
	size_t before = l->cap;

	if (node == UINT32_MAX)
		return;
	if (!array_room(&l->paths, (size_t)node + 1, &l->cap)) {
		l->g->failed = true;
		return;
	}
	for (size_t i = before; i < l->cap; i++)
		l->paths[i] = NULL;
	if (l->paths[node] != NULL)
		return;
	l->paths[node] = realpath(path, NULL);
	if (l->paths[node] == NULL)
		return;
	if (graph_is_elf(path)) {
		graph_own(l->g, GRAPH_BY_MODULE,
		    linked_base(l->paths[node]), node);
	} else if (linked_script(path, other) &&
	    (real = realpath(other, NULL)) != NULL) {
		graph_own(l->g, GRAPH_BY_MODULE, linked_base(real), node);
		free(real);
	}
}

uint32_t
linked_node(struct linked *l, const char *word)
{
	char path[PATH_ROOM], name[GRAPH_NAME_MAX];
	size_t before = l->g->n_nodes;
	uint32_t node;
	bool found;

	if (!linked_is_library(word))
		return UINT32_MAX;
	if (*word == '-')
		found = linked_find(word + 2, NULL, path);
	else
		found = snprintf(path, sizeof(path), "%s", word) <
		    PATH_ROOM && access(path, R_OK) == 0;
	snprintf(name, sizeof(name), "%s%s", found || *word != '-'
	    ? linked_base(*word == '-' ? path : word) : word,
	    found ? "" : " (not found)");
	node = graph_node(l->g, name);
	if (node == UINT32_MAX || node < before)
		return node;
	l->g->nodes[node].kind = found ? GRAPH_LIBRARY : GRAPH_MISSING;
	if (found)
		linked_set(l, node, path);
	else
		l->g->cut = true;
	l->found += found;
	return node;
}

void
linked_built(struct linked *l, uint32_t node, const char *path,
    const char *root)
{
	struct graph *g = l->g;
	struct elf_deps d;

	if (elf_deps_read(&d, path) == NULL) {
		linked_set(l, node, path);
		g->nodes[node].bytes = d.code_bytes;
		if (root != NULL && strcmp(root, g->nodes[node].name) == 0) {
			graph_set(g, &g->origin.build_id, d.build_id);
			if (g->nodes[node].kind == GRAPH_PROGRAM)
				graph_set(g, &g->module, linked_base(path));
		}
	}
	elf_deps_fini(&d);
}

void
linked_fini(struct linked *l)
{
	size_t n = l->cap < l->g->n_nodes ? l->cap : l->g->n_nodes;

	if (n > 0 && l->found > 0)
		debian_packages(l->g, l->paths, n, DEBIAN_FOLDER);
	for (size_t i = 0; i < l->cap; i++)
		free(l->paths[i]);
	free(l->paths);
	*l = (struct linked){.g = l->g};
}
