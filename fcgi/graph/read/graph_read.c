/*
 * From a file to its graph, and the command line that prints it: one rule for
 * the page and for memlens graph.
 */
#include "fcgi/graph/read/graph_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/child/child.h"
#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/read_file.h"
#include "store/base/clock.h"
#include "store/base/err.h"

static const struct child_limits limits = {30 * NS_PER_S, 1024u << 20,
    32u << 20};

bool
graph_is_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[4];
	bool is;

	if (fd < 0)
		return false;
	is = read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	    memcmp(magic, "\177ELF", sizeof(magic)) == 0;
	close(fd);
	return is;
}

/* Of builders only those of Go and Rust tell JSON. */
static bool
graph_is_json(const char *path)
{
	FILE *f = fopen(path, "re");
	int c = f != NULL ? getc(f) : EOF;

	if (f != NULL)
		fclose(f);
	return c == '{';
}

static bool
graph_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* No pipe, which would be waited for, nor a device, which has no end. */
static bool
graph_is_plain(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 &&
	    (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static bool
graph_is_any(const char *path)
{
	(void)path;
	return true;
}

/* Sources of graphs; the first that knows a file reads it. */
static const struct graph_reader readers[] = {
    {graph_is_elf, graph_load_elf, "the libraries that %s and they "
        "themselves ask for (DT_NEEDED)", false},
    {graph_is_pkgconfig, graph_load_pkgconfig, "the packages that %s and "
        "they themselves require, of pkg-config", false},
    {graph_is_json, graph_load_build, "the packages that %s names, of go list "
        "or cargo metadata", false},
    {graph_is_commands, graph_load_commands, "the files that %s compiles, by "
        "target or folder; it does not say what they need of each other",
        false},
    {graph_is_cmake, graph_load_cmake, "the answer of CMake's file API in %s",
        false},
    {graph_is_meson, graph_load_meson, "what Meson tells in %s", false},
    {graph_is_ninja, graph_load_ninja, "the build statements of ninja in %s, "
        "file by file, without the headers that it learns", false},
    {graph_is_folder, graph_load_workspace, "the BUILD files of %s", true},
    {graph_is_any, graph_load_bazel, "a graph of bazel in %s", false},
};

static const struct graph_reader *
graph_reader_of(const struct graph_source *s)
{
	const struct graph_reader *r = &readers[!s->elf];

	while (!s->elf && !r->is(s->path))
		r++;
	return r;
}

/* ---- the command ---- */

bool
graph_depth_parse(const char *text, unsigned *depth)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*depth = (unsigned)n;
	if (strcmp(text, "all") == 0)
		*depth = GRAPH_ALL;
	else if (*text < '1' || *text > '9' || *end != '\0' ||
	    n > GRAPH_NODES_MAX)
		return false;
	return true;
}

void
graph_depth_put(struct buf *out, unsigned depth)
{
	if (depth == GRAPH_ALL)
		buf_printf(out, "all");
	else
		buf_printf(out, "%u", depth);
}

void
graph_put_word(struct buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.:+,@%=-";

	if (*word != '\0' && word[strspn(word, plain)] == '\0') {
		buf_printf(out, " %s", word);
		return;
	}
	buf_printf(out, " '");
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			buf_printf(out, "'\\''");
		else
			buf_put_u8(out, (uint8_t)*word);
	}
	buf_put_u8(out, '\'');
}

void
graph_put_path(struct buf *out, const char *path)
{
	char *folder = *path != '/' ? getcwd(NULL, 0) : NULL;
	struct buf whole = {0};

	buf_printf(&whole, "%s%s%s", folder != NULL ? folder : "",
	    folder != NULL ? "/" : "", path);
	buf_put_u8(&whole, '\0');
	if (whole.failed)
		out->failed = true;
	else
		graph_put_word(out, (const char *)whole.data);
	buf_fini(&whole);
	free(folder);
}

void
graph_put_command(struct buf *out, const struct graph *g, unsigned depth,
    bool collapse)
{
	buf_printf(out, "memlens graph --depth ");
	graph_depth_put(out, depth);
	if (collapse)
		buf_printf(out, " --collapse");
	if (g->origin.command != NULL)
		buf_put(out, g->origin.command, strlen(g->origin.command));
}

/* ---- reading ---- */

static void
graph_set_buf(struct graph *g, char **field, struct buf *text)
{
	buf_put_u8(text, 0);
	if (text->failed)
		g->failed = true;
	else
		graph_set(g, field, (const char *)text->data);
	buf_fini(text);
}

/* "%s" of a row of the table. */
static void
graph_put_what(struct buf *out, const char *what, const char *path)
{
	const char *at = strstr(what, "%s");

	buf_printf(out, "%.*s%s%s", (int)(at - what), what, path, at + 2);
}

static void
graph_describe(struct graph *g, const struct graph_source *s)
{
	struct buf command = {0}, source = {0};
	const struct graph_reader *r = graph_reader_of(s);
	struct stat st;

	if (g->origin.time_ns == 0 && stat(s->path, &st) == 0)
		g->origin.time_ns = st.st_mtim.tv_sec * NS_PER_S +
		    st.st_mtim.tv_nsec;
	if (s->options != NULL)
		buf_put(&command, s->options, strlen(s->options));
	if (s->root != NULL) {
		buf_printf(&command, " --root");
		graph_put_word(&command, s->root);
	}
	graph_put_path(&command, s->path);
	if (g->origin.source != NULL)
		buf_put(&source, g->origin.source, strlen(g->origin.source));
	else
		graph_put_what(&source, r->what, s->path);
	if (s->what != NULL)
		buf_put(&source, s->what, strlen(s->what));
	if (r->load == graph_load_elf && g->origin.build_id == NULL)
		buf_printf(&source, "; no build id: another build of this "
		    "name is not noticed");
	graph_set_buf(g, &g->origin.command, &command);
	graph_set_buf(g, &g->origin.source, &source);
	if (g->cut)
		g->origin.complete = GRAPH_PARTLY;
	else if (s->whole)
		g->origin.complete = GRAPH_WHOLE;
}

bool
graph_load_file(struct graph *g, const char *path, const char *root)
{
	const struct graph_source s = {.path = path, .root = root};
	const struct graph_reader *r;

	if (!graph_is_plain(path))
		return false;
	r = graph_reader_of(&s);
	return (!r->rooted || root != NULL) && r->load(g, &s);
}

/* Appends nothing of a file of another kind. */
static bool
graph_load(void *arg, struct buf *out)
{
	const struct graph_source *s = arg;
	struct graph *g = graph_new();

	if (g == NULL || !graph_reader_of(s)->load(g, s))
		return false;
	if (g->n_nodes > 0 && s->parts != NULL) {
		/* whether all parts are known is theirs to say */
		g->origin.complete = GRAPH_NOT_SAID;
		if (!s->parts(s, g))
			return !g->failed;
	}
	graph_settle(g);
	if (g->begin != 0 && s->root == NULL)
		g = graph_cut(g, g->begin, GRAPH_ALL);
	if (g == NULL)
		return false;
	graph_describe(g, s);
	if (g->n_nodes > 0)
		graph_encode(g, out);
	return !g->failed;
}

/* A folder that no builder has left anything in. */
static const struct err *
graph_ask_root(const char *path)
{
	char cache[4096];

	if (read_join(cache, sizeof(cache), path, "CMakeCache.txt") &&
	    access(cache, F_OK) == 0)
		return err_field(ERR_REQUEST, 422, "target", "%.200s is a "
		    "build folder of CMake that was not asked: memlens graph "
		    "--ask %.200s, then cmake %.200s, answers", path, path,
		    path);
	return err_field(ERR_REQUEST, 422, "root", "%.200s is a workspace: "
	    "which target of it, as //app:server?", path);
}

static const struct err *
graph_read_file(const struct graph_source *s, struct graph **out)
{
	struct buf data = {0};
	const struct err *e;

	if (access(s->path, R_OK) < 0)
		return err_errno("%s", s->path);
	if (!graph_is_plain(s->path))
		return err_field(ERR_REQUEST, 422, "target", "%.200s is "
		    "neither a file nor a folder", s->path);
	if (graph_reader_of(s)->rooted && s->root == NULL)
		return graph_ask_root(s->path);
	e = child_run("reading the graph", &limits, graph_load,
	    (void *)(uintptr_t)s, &data);
	if (e == NULL && data.len == 0)
		e = err_field(ERR_REQUEST, 422, "target", "%.200s is no %s%s",
		    s->path, s->elf ? "ELF file of a program or library"
		    : "graph of bazel's, of at most 8 MiB, nor anything of "
		    "go list, cargo, CMake, Meson, ninja or pkg-config",
		    s->parts != NULL ? " with its names, and what was "
		    "asked for of this very build" : "");
	if (e == NULL)
		e = graph_decode(data.data, data.len, out);
	buf_fini(&data);
	return e;
}

const struct err *
graph_read(const struct graph_source *s, struct graph **out, uint32_t *root)
{
	const struct err *e;

	*out = NULL;
	*root = 0;
	if ((e = graph_read_file(s, out)) != NULL)
		return e->domain == ERR_REQUEST ? e
		    : err_new(ERR_REQUEST, 503, "%s", e->text);
	if (!s->elf && !graph_reader_of(s)->rooted)
		*root = s->root != NULL ? graph_find(*out, s->root)
					: graph_root(*out);
	if (*root != UINT32_MAX)
		return NULL;
	graph_free(*out);
	*out = NULL;
	return err_new(ERR_REQUEST, 422, "%.200s has no node \"%.200s\"",
	    s->path, s->root);
}
