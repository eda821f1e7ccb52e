/*
 * Labels, and patterns of paths.
 */
#include <dirent.h>
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

/* Files below a folder that are of no other package. */
static void
glob_walk(struct build *b, const char *folder, const char *below,
    struct star_list *files, unsigned depth)
{
	struct star *s = &b->star;
	struct dirent **names;
	int n = depth < GLOB_DEPTH_MAX ? scandir(folder, &names, NULL,
	    alphasort) : 0;

	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name, *path, *full;
		struct stat st;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    strcmp(name, ".git") == 0 ||
		    (depth == 0 && strncmp(name, "bazel-", 6) == 0))
			continue;
		path = build_join(s, below, name);
		full = build_join(s, folder, name);
		if (stat(full, &st) < 0 || files->n >= GLOB_FILES_MAX)
			continue;
		if (S_ISDIR(st.st_mode) && !build_is_package(s, full))
			glob_walk(b, full, path, files, depth + 1);
		else if (S_ISREG(st.st_mode))
			star_add(s, files, star_str(s, path));
	}
	for (int i = 0; i < n; i++)
		free(names[i]);
	if (n > 0)
		free(names);
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
		glob_walk(b, now->folder, "", now->files.list, 0);
		if (now->files.list->n >= GLOB_FILES_MAX)
			star_say(s, c->module, c->line,
			    "glob() looks at too many files");
	}
	all = now->files.list->items;
	for (size_t i = 0; i < now->files.list->n; i++)
		if (glob_is_one_of(s, include, all[i].text->p) &&
		    !glob_is_one_of(s, exclude, all[i].text->p))
			star_add(s, out.list, all[i]);
	if (out.list->n > 0)
		qsort(out.list->items, out.list->n, sizeof(*all), glob_order);
	return out;
}
