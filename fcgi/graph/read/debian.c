/*
 * info/NAME.list or info/NAME:ARCH.list has a package's files, a line each;
 * status has its version.
 */
#include "fcgi/graph/read/debian.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/model/graph.h"
#include "store/base/intern.h"

#define PATH_ROOM 4096
#define STATUS_MAX (64 << 20)

struct debian_find {
	struct graph *g;
	struct map64 wanted; /* hash of a path -> its place in paths */
	uint32_t *first;     /* by node: the first of its path, or NONE */
	char **names;        /* by first node: the package's, or NULL */
};

static uint64_t
debian_hash(const char *path)
{
	/* lists may have a file below /lib that is found below /usr/lib */
	if (strncmp(path, "/usr/", 5) == 0)
		path += 4;
	return hash64(0, path, strlen(path));
}

static void
debian_read_list(struct debian_find *f, const char *path, const char *name)
{
	FILE *list = fopen(path, "re");
	char line[PATH_ROOM];
	int len = (int)strcspn(name, ":");

	if (list == NULL)
		return;
	if (len > (int)strlen(name) - 5)
		len = (int)strlen(name) - 5; /* ".list" */
	while (fgets(line, sizeof(line), list) != NULL) {
		uint32_t node;

		line[strcspn(line, "\n")] = '\0';
		node = map64_get(&f->wanted, debian_hash(line));
		if (node != INTERN_NONE && f->names[node] == NULL &&
		    asprintf(&f->names[node], "%.*s", len, name) < 0)
			f->names[node] = NULL;
	}
	fclose(list);
}

static void
debian_read_lists(struct debian_find *f, const char *folder)
{
	char path[PATH_ROOM];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/info", folder);
	dir = opendir(path);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		size_t n = strlen(d->d_name);

		if (n <= 5 || strcmp(d->d_name + n - 5, ".list") != 0 ||
		    snprintf(path, sizeof(path), "%s/info/%s", folder,
		        d->d_name) >= (int)sizeof(path))
			continue;
		debian_read_list(f, path, d->d_name);
	}
	if (dir != NULL)
		closedir(dir);
}

/* Appends the version to the nodes of a package. */
static void
debian_set(struct debian_find *f, size_t n, const char *name,
    const char *version)
{
	char text[PATH_ROOM];

	snprintf(text, sizeof(text), "%s %s", name, version);
	for (size_t i = 0; i < n; i++) {
		const char *of = f->first[i] != INTERN_NONE
		    ? f->names[f->first[i]] : NULL;

		if (of != NULL && strcmp(of, name) == 0)
			graph_set(f->g, &f->g->nodes[i].package, text);
	}
}

static void
debian_read_status(struct debian_find *f, size_t n, const char *folder)
{
	char path[PATH_ROOM], line[PATH_ROOM], name[256] = "";
	FILE *status;

	snprintf(path, sizeof(path), "%s/status", folder);
	status = fopen(path, "re");
	while (status != NULL && fgets(line, sizeof(line), status) != NULL &&
	    ftell(status) < STATUS_MAX) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "Package: ", 9) == 0)
			snprintf(name, sizeof(name), "%.255s", line + 9);
		else if (strncmp(line, "Version: ", 9) == 0)
			debian_set(f, n, name, line + 9);
	}
	if (status != NULL)
		fclose(status);
}

/* What is looked for; false when there is nothing or no memory. */
static bool
debian_want(struct debian_find *f, char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t hash;

		f->first[i] = INTERN_NONE;
		if (paths[i] == NULL)
			continue;
		hash = debian_hash(paths[i]);
		f->first[i] = map64_get(&f->wanted, hash);
		if (f->first[i] != INTERN_NONE)
			continue;
		f->first[i] = (uint32_t)i;
		if (!map64_add(&f->wanted, hash, (uint32_t)i))
			return false;
	}
	return f->wanted.n > 0;
}

void
debian_packages(struct graph *g, char *const *paths, size_t n,
    const char *folder)
{
	struct debian_find f = {.g = g,
	    .first = calloc(n + 1, sizeof(*f.first)),
	    .names = calloc(n + 1, sizeof(*f.names))};

	if (f.first == NULL || f.names == NULL) {
		g->failed = true;
	} else if (debian_want(&f, paths, n)) {
		debian_read_lists(&f, folder);
		debian_read_status(&f, n, folder);
	}
	for (size_t i = 0; f.names != NULL && i < n; i++)
		free(f.names[i]);
	free(f.names);
	free(f.first);
	map64_fini(&f.wanted);
}
