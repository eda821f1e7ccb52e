/*
 * What builders leave behind: files of CMake, Meson, ninja, pkg-config, Cargo,
 * Go and of compilers' commands.  An input is files, each after its name, with
 * "\036" between all of them; the first name says by which reader.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/graph_read.h"

#define FILES_MAX 8
#define REPLY ".cmake/api/v1/reply"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const char *name; /* of the first file */
	graph_load_fn *load;
	bool folder;      /* it reads the folder, not the file */
} kinds[] = {
    {"index-1.json", graph_load_cmake, true},
    {"meson-info.json", graph_load_meson, true},
    {"build.ninja", graph_load_ninja, true},
    {"a.pc", graph_load_pkgconfig, false},
    {"compile_commands.json", graph_load_commands, false},
    {"list.json", graph_load_build, false},
    {"program", NULL, false},
};

static char folder[64];

static void
leave(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	if (system(command) != 0)
		abort();
}

static void
enter(void)
{
	static const char *const inner[] = {".cmake", ".cmake/api",
	    ".cmake/api/v1", REPLY, "meson-info"};
	char path[128];

	snprintf(folder, sizeof(folder), "/dev/shm/memlens-fuzz-XXXXXX");
	if (mkdtemp(folder) == NULL)
		abort();
	atexit(leave);
	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, inner[i]);
		if (mkdir(path, 0700) < 0)
			abort();
	}
}

/* Where a reader looks for a file of that name. */
static void
place(char path[PATH_MAX], const char *name, const char *first)
{
	const char *in = strcmp(first, "index-1.json") == 0 ? REPLY "/"
	    : strcmp(first, "meson-info.json") == 0 &&
	    strcmp(name, "build.ninja") != 0 ? "meson-info/" : "";

	snprintf(path, PATH_MAX, "%s/%s%s", folder, in, name);
}

static void
put(const char *path, const uint8_t *p, size_t n)
{
	FILE *f = fopen(path, "w");

	if (f != NULL) {
		fwrite(p, 1, n, f);
		fclose(f);
	}
}

/* Writes the files; their names, and how many. */
static size_t
unpack(const uint8_t *p, size_t size, char names[FILES_MAX][64])
{
	const uint8_t *end = p + size;
	char path[PATH_MAX];
	size_t n = 0;

	while (p < end && n < FILES_MAX) {
		const uint8_t *mark = memchr(p, 036, (size_t)(end - p)),
		    *next;

		if (mark == NULL || mark - p >= 64)
			break;
		snprintf(names[n], 64, "%.*s", (int)(mark - p),
		    (const char *)p);
		if (strchr(names[n], '/') != NULL || names[n][0] == '\0' ||
		    names[n][0] == '.')
			break;
		p = mark + 1;
		next = memchr(p, 036, (size_t)(end - p));
		place(path, names[n], names[0]);
		put(path, p, next != NULL ? (size_t)(next - p)
		    : (size_t)(end - p));
		n++;
		p = next != NULL ? next + 1 : end;
	}
	return n;
}

static void
read_one(const char *first)
{
	struct graph *g = graph_new();
	struct graph_source s = {.root = "shop"};
	char path[PATH_MAX];

	if (g == NULL)
		abort();
	place(path, first, first);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, first) != 0)
			continue;
		s.path = kinds[i].folder ? folder : path;
		if (kinds[i].load != NULL) {
			kinds[i].load(g, &s);
		} else {
			graph_node(g, "program");
			graph_load_goinfo(g, path);
		}
	}
	graph_settle(g);
	graph_free(g);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char names[FILES_MAX][64], path[PATH_MAX];
	size_t n;

	if (folder[0] == '\0')
		enter();
	n = unpack(data, size, names);
	if (n > 0)
		read_one(names[0]);
	for (size_t i = 0; i < n; i++) {
		place(path, names[i], names[0]);
		unlink(path);
	}
	return 0;
}
