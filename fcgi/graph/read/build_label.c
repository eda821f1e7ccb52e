/*
 * Labels, and patterns of paths.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/graph/read/build_private.h"

#define GLOB_FILES_MAX 200000u
#define GLOB_DEPTH_MAX 40u

/* ---- labels ---- */

static const char *
build_keep(struct build *b, const char *p, size_t n)
{
	return star_text(&b->star, p, n).text->p;
}

bool
build_label_read(struct build *b, const struct build_place *at,
    const char *text, struct build_label *out)
{
	const char *colon, *slash, *rest = text;
	size_t n;

	*out = (struct build_label){at->repo, at->package, NULL};
	if (*rest == '@') {
		rest += rest[1] == '@' ? 2 : 1;
		n = strcspn(rest, "/:");
		out->repo = build_keep(b, rest, n);
		if (strcmp(out->repo, b->workspace) == 0)
			out->repo = "";
		rest += n;
		out->package = "";
		if (*rest == '\0')
			out->name = out->repo;
	}
	if (rest[0] == '/' && rest[1] == '/') {
		rest += 2;
		n = strcspn(rest, ":");
		out->package = build_keep(b, rest, n);
		slash = strrchr(out->package, '/');
		if (rest[n] == '\0')
			out->name = slash != NULL ? slash + 1 : out->package;
		rest += n;
	}
	colon = *rest == ':' ? rest + 1 : rest;
	if (out->name == NULL)
		out->name = build_keep(b, colon, strlen(colon));
	return *out->name != '\0' && *out->name != '/' &&
	    strlen(text) < BUILD_PATH_MAX / 2;
}

struct star_value
build_label_text(struct star *s, const struct build_label *l)
{
	size_t n = strlen(l->repo) + strlen(l->package) + strlen(l->name) + 8;
	char *text = star_alloc(s, n);

	snprintf(text, n, "%s%s//%s:%s", *l->repo != '\0' ? "@" : "",
	    l->repo, l->package, l->name);
	return star_str(s, text);
}

const char *
build_join(struct star *s, const char *a, const char *b)
{
	size_t n = strlen(a) + strlen(b) + 2;
	char *path = star_alloc(s, n);

	snprintf(path, n, "%s%s%s", a, *a != '\0' && *b != '\0' ? "/" : "",
	    b);
	return path;
}

/* ---- glob ---- */

/* A file's name that begins like another repository's. */
static const char *
build_at_here(struct star *s, const char *name)
{
	size_t n = strlen(name) + 2;
	char *text = star_alloc(s, n);

	snprintf(text, n, ":%s", name);
	return text;
}

/* One part of a path by one of a pattern.  A dot that begins it has to be
 * named, but for "*" alone, as bazel has it. */
static bool
glob_match_part(const char *p, size_t np, const char *path, size_t n)
{
	size_t i = 0, k = 0, star = SIZE_MAX, from = 0;

	if (np == 1 && *p == '*')
		return true;
	if (n > 0 && *path == '.' && (np == 0 || *p != '.'))
		return false;
	while (k < n) {
		if (i < np && p[i] == '*') {
			star = i++;
			from = k;
		} else if (i < np && p[i] == path[k]) {
			i++;
			k++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			k = ++from;
		} else {
			return false;
		}
	}
	while (i < np && p[i] == '*')
		i++;
	return i == np;
}

bool
build_glob_match(struct star *s, const char *pattern, const char *path)
{
	for (;; pattern++, path++) {
		size_t np = strcspn(pattern, "/"), n = strcspn(path, "/");

		star_step(s, 1);
		if (strcmp(pattern, "**") == 0)
			return true;
		if (strncmp(pattern, "**/", 3) == 0) {
			while (!build_glob_match(s, pattern + 3, path)) {
				path += strcspn(path, "/");
				if (*path++ == '\0')
					return false;
			}
			return true;
		}
		if (!glob_match_part(pattern, np, path, n))
			return false;
		pattern += np;
		path += n;
		if (*pattern == '\0' || *path == '\0')
			return *pattern == *path;
	}
}

static bool
label_is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

bool
build_is_package(struct star *s, const char *folder)
{
	return label_is_file(build_join(s, folder, "BUILD")) ||
	    label_is_file(build_join(s, folder, "BUILD.bazel"));
}

static int
glob_order(const void *a, const void *b)
{
	const struct star_value *x = a, *y = b;

	return strcmp(x->text->p, y->text->p);
}

/* A folder that is walked, and the one that it was come to from. */
struct glob_folder {
	const char *path;
	dev_t device;
	ino_t inode;
	const struct glob_folder *up;
};

/* Does the link at the path lead back to where the walk came through? */
static bool
glob_is_back(const char *path, const struct stat *to,
    const struct glob_folder *from)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode))
		return false;
	while (from != NULL && (from->device != to->st_dev ||
	    from->inode != to->st_ino))
		from = from->up;
	return from != NULL;
}

static void
glob_stop(struct build *b, const char *path, const char *why)
{
	star_set(&b->star, &b->now->stops, star_str(&b->star, path),
	    star_str(&b->star, why));
}

static void glob_walk(struct build *b, const struct glob_folder *folder,
    const char *below, unsigned depth);

/* bazel-out and the like, which lead to what bazel has made. */
static bool
glob_is_made(struct star *s, const struct glob_folder *folder,
    const char *name)
{
	char to[BUILD_PATH_MAX];
	ssize_t n = readlink(build_join(s, folder->path, name), to,
	    sizeof(to) - 1);

	if (n < 0)
		return false;
	to[n] = '\0';
	return strstr(to, "/execroot") != NULL;
}

static void
glob_visit(struct build *b, const struct glob_folder *folder,
    const char *name, const char *below, unsigned depth)
{
	struct star *s = &b->star;
	const char *path = build_join(s, below, name),
	    *full = build_join(s, folder->path, name);
	struct stat st;

	if (stat(full, &st) < 0) {
		if (errno == ELOOP)
			glob_stop(b, path, "is a link to itself: bazel "
			    "refuses it");
	} else if (S_ISREG(st.st_mode)) {
		star_add(s, b->now->files.list, star_str(s, path));
	} else if (!S_ISDIR(st.st_mode)) {
		return;
	} else if (glob_is_back(full, &st, folder)) {
		glob_stop(b, path, "is a link to a folder above it: "
		    "bazel refuses it");
	} else if (!build_is_package(s, full) &&
	    star_field(s, &b->ignored, full) == NULL) {
		glob_walk(b, &(struct glob_folder){full, st.st_dev,
		    st.st_ino, folder}, path, depth + 1);
	}
}

/* Files below a folder that are of no other package. */
static void
glob_walk(struct build *b, const struct glob_folder *folder,
    const char *below, unsigned depth)
{
	struct dirent **names;
	int n = depth < GLOB_DEPTH_MAX ? scandir(folder->path, &names, NULL,
	    alphasort) : -1;

	if (n < 0)
		glob_stop(b, below, depth < GLOB_DEPTH_MAX
		    ? "cannot be read" : "is too deep");
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		    strcmp(name, ".git") != 0 &&
		    (depth != 0 || strncmp(name, "bazel-", 6) != 0 ||
		    !glob_is_made(&b->star, folder, name)) &&
		    b->now->files.list->n < GLOB_FILES_MAX)
			glob_visit(b, folder, name, below, depth);
	}
	for (int i = 0; i < n; i++)
		free(names[i]);
	if (n >= 0)
		free(names);
}

/* The walk from a package, as if it had come down to it from the root. */
static void
glob_walk_from(struct build *b, const char *path, size_t n,
    const struct glob_folder *up)
{
	struct glob_folder folder = {.up = up};
	struct stat st;

	n += strspn(path + n, "/");
	n += strcspn(path + n, "/");
	folder.path = star_text(&b->star, path, n).text->p;
	if (stat(folder.path, &st) < 0)
		return;
	folder.device = st.st_dev;
	folder.inode = st.st_ino;
	if (path[n] != '\0')
		glob_walk_from(b, path, n, &folder);
	else
		glob_walk(b, &folder, "", 0);
}

/* Does a pattern look at the path, on its way or at its end? */
static bool
glob_looks_at(struct star *s, const char *pattern, const char *path)
{
	for (size_t n = 0; pattern[n] != '\0';) {
		n += strspn(pattern + n, "/");
		n += strcspn(pattern + n, "/");
		if (build_glob_match(s, star_text(s, pattern, n).text->p,
		        path))
			return true;
	}
	return false;
}

/* Says what the walk did not go through, where it was asked for. */
static void
glob_say_stops(struct star *s, const struct star_call *c,
    const struct star_list *patterns)
{
	const struct star_dict *stops =
	    &((struct build *)s->owner)->now->stops;

	for (size_t i = 0; i < patterns->n; i++)
		for (size_t k = 0; k < stops->n; k++)
			if (patterns->items[i].kind == STAR_TEXT &&
			    glob_looks_at(s, patterns->items[i].text->p,
			        stops->pairs[k].key.text->p)) {
				star_say(s, c->module, c->line,
				    "glob() comes to %.200s, which %s",
				    *stops->pairs[k].key.text->p != '\0'
				    ? stops->pairs[k].key.text->p : ".",
				    stops->pairs[k].value.text->p);
				return;
			}
}

static bool
glob_is_one_of(struct star *s, const struct star_value *patterns,
    const char *path)
{
	const struct star_list *list = patterns != NULL &&
	    (patterns->kind == STAR_LIST || patterns->kind == STAR_TUPLE)
	    ? patterns->list : NULL;

	for (size_t i = 0; list != NULL && i < list->n; i++)
		if (list->items[i].kind == STAR_TEXT &&
		    build_glob_match(s, list->items[i].text->p, path))
			return true;
	return false;
}

struct star_value
build_glob(struct star *s, const struct star_call *c)
{
	struct build *b = s->owner;
	struct build_package *now = b->now;
	const struct star_value *include = star_arg(s, c, 0, "include"),
	    *exclude = star_arg(s, c, 1, "exclude"),
	    *files = star_arg(s, c, 2, "exclude_directories");
	struct star_value out = star_list(s, STAR_LIST), *all;

	if (now == NULL || now->folder == NULL || include == NULL ||
	    include->kind == STAR_UNKNOWN ||
	    (exclude != NULL && exclude->kind == STAR_UNKNOWN))
		return star_say(s, c->module, c->line,
		    "what glob() looks for is not known");
	if (files != NULL && files->kind != STAR_NONE && files->i == 0)
		star_say(s, c->module, c->line,
		    "folders that glob() finds are not read");
	if (now->files.kind == STAR_NONE) {
		now->files = star_list(s, STAR_LIST);
		glob_walk_from(b, now->folder, 0, NULL);
		if (now->files.list->n >= GLOB_FILES_MAX)
			star_say(s, c->module, c->line,
			    "glob() looks at too many files");
	}
	if (include->kind == STAR_LIST || include->kind == STAR_TUPLE)
		glob_say_stops(s, c, include->list);
	all = now->files.list->items;
	for (size_t i = 0; i < now->files.list->n; i++)
		if (glob_is_one_of(s, include, all[i].text->p) &&
		    !glob_is_one_of(s, exclude, all[i].text->p))
			star_add(s, out.list, *all[i].text->p == '@'
			    ? star_str(s, build_at_here(s, all[i].text->p))
			    : all[i]);
	if (out.list->n > 0)
		qsort(out.list->items, out.list->n, sizeof(*all), glob_order);
	return out;
}
