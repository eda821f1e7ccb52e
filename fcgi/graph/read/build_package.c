/*
 * Repositories, packages and the files that they load, each run once.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/graph/read/build_private.h"
#include "store/base/clock.h"

/* A number in place of a pointer, which values have no kind for. */
static struct star_value
package_pointer(void *p)
{
	return star_int((int64_t)(uintptr_t)p);
}

static void *
package_at(const struct star_value *v)
{
	return v != NULL ? (void *)(uintptr_t)v->i : NULL;
}

/* ---- files ---- */

bool
build_read_file(struct build *b, const char *path, const char **p, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *text = NULL;
	ssize_t got = -1;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size <= BUILD_FILE_MAX)
		text = arena_alloc(&b->star.arena, (size_t)st.st_size + 1);
	if (text != NULL)
		got = read(fd, text, (size_t)st.st_size);
	close(fd);
	if (got < 0)
		return false;
	if (st.st_mtim.tv_sec * NS_PER_S > b->time_ns)
		b->time_ns = st.st_mtim.tv_sec * NS_PER_S;
	*p = text;
	*n = (size_t)got;
	return true;
}

/* Says each place once, and not all of them. */
static void
package_report(struct star *s, const char *path, int line, const char *text)
{
	struct build *b = s->owner;

	char place[300];
	struct star_value key;

	if (path == NULL)
		return;
	snprintf(place, sizeof(place), "%.280s:%d", path, line);
	key = star_str(s, place);
	if (star_get(s, &b->places, key) != NULL)
		return;
	star_set(s, &b->places, key, star_none());
	if (b->said++ < BUILD_SAID_MAX)
		buf_printf(&b->reports, "%s%s: %s", b->said > 1 ? "; " : "",
		    place, text);
}

void
build_note(struct build *b, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (b->said++ < BUILD_SAID_MAX)
		buf_printf(&b->reports, "%s%s", b->said > 1 ? "; " : "", text);
}

/* ---- repositories ---- */

/* Where it is: as the workspace says, or where bazel has fetched it; NULL
 * where it is not here. */
static const char *
package_repository(struct build *b, const char *repo)
{
	const struct star_value *v;
	const char *base;
	char *path;
	size_t n;

	if (*repo == '\0')
		return b->root;
	v = star_field(&b->star, &b->repositories, repo);
	if (v != NULL)
		return v->kind == STAR_TEXT ? v->text->p
		    : v->list->items[0].text->p;
	if (strchr(repo, '/') != NULL || strcmp(repo, "..") == 0)
		return NULL;
	base = strrchr(b->root, '/');
	base = base != NULL ? base + 1 : b->root;
	n = strlen(b->root) + strlen(base) + strlen(repo) + 32;
	path = star_alloc(&b->star, n);
	snprintf(path, n, "%s/bazel-%s/external/%s", b->root, base, repo);
	return access(path, R_OK | X_OK) == 0 ? path : NULL;
}

static struct star_value
package_workspace_name(struct star *s, const struct star_call *c)
{
	const char *name = star_cstr(star_arg(s, c, 0, "name"));
	struct build *b = s->owner;

	if (name != NULL)
		b->workspace = name;
	return star_none();
}

/* The BUILD file that a repository is given: a label of this workspace, or a
 * path; NULL where it cannot be read. */
static struct star_value *
package_build_file(struct star *s, struct star_dict *named)
{
	const struct build_place here = {"", "", false};
	struct star_value *text = star_field(s, named, "build_file");
	const char *path = text != NULL ? star_cstr(text) : NULL, *p;
	struct build *b = s->owner;
	struct build_label label;
	size_t n;

	if (path == NULL)
		return star_field(s, named, "build_file_content");
	if (*path == '@' || *path == ':' || strncmp(path, "//", 2) == 0) {
		if (!build_label_read(b, &here, path, &label) ||
		    *label.repo != '\0')
			return NULL;
		path = build_join(s, label.package, label.name);
	}
	if (*path != '/')
		path = build_join(s, b->root, path);
	if (!build_read_file(b, path, &p, &n))
		return NULL;
	star_set(s, named, star_str(s, "build_file_content"),
	    star_text(s, p, n));
	return star_field(s, named, "build_file_content");
}

/* local_repository(), new_local_repository() */
static struct star_value
package_local(struct star *s, const struct star_call *c)
{
	const char *name = star_cstr(star_field(s, &c->named, "name")),
	    *path = star_cstr(star_field(s, &c->named, "path"));
	struct star_dict named = c->named;
	struct star_value *text = package_build_file(s, &named), v;
	struct build *b = s->owner;

	if (name == NULL || path == NULL)
		return star_none();
	if (star_field(s, &named, "repo_mapping") != NULL)
		build_note(b, "repo_mapping of @%.100s is not read", name);
	v = star_str(s, *path == '/' ? path : build_join(s, b->root, path));
	if (text != NULL && star_cstr(text) != NULL) {
		struct star_value both = star_list(s, STAR_LIST);

		star_add(s, both.list, v);
		star_add(s, both.list, *text);
		v = both;
	}
	star_set(s, &b->repositories, star_str(s, name), v);
	return star_none();
}

static struct star_value
package_bind(struct star *s, const struct star_call *c)
{
	struct star_value *name = star_field(s, &c->named, "name"),
	    *actual = star_field(s, &c->named, "actual");
	struct build *b = s->owner;

	if (star_cstr(name) != NULL && star_cstr(actual) != NULL)
		star_set(s, &b->bound, *name, *actual);
	return star_none();
}

/* What else a workspace calls fetches something, or comes from there. */
static struct star_value
package_ignore(struct star *s, const struct star_call *c)
{
	(void)s;
	(void)c;
	return star_none();
}

static struct star_value
package_workspace_word(struct star *s, const struct star_module *m,
    const char *name)
{
	static const struct {
		const char *name;
		star_fn *fn;
	} words[] = {{"workspace", package_workspace_name},
	    {"local_repository", package_local},
	    {"new_local_repository", package_local},
	    {"bind", package_bind}};

	(void)m;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].name, name) == 0)
			return star_host(s, name, words[i].fn, star_none());
	return star_host(s, "ignore", package_ignore, star_none());
}

static struct star_module *
package_workspace_load(struct star *s, const struct star_module *m, int line,
    const char *label)
{
	(void)s;
	(void)m;
	(void)line;
	(void)label;
	return NULL;
}

static struct star_value
package_workspace_missing(struct star *s, const char *label,
    const char *name)
{
	(void)label;
	(void)name;
	return star_host(s, "ignore", package_ignore, star_none());
}

static void
package_workspace(struct build *b)
{
	static const struct star_ops words = {package_report,
	    package_workspace_word, package_workspace_load,
	    package_workspace_missing};
	static const char *const names[] = {"WORKSPACE.bazel", "WORKSPACE"};
	const struct star_ops *before = b->star.ops;
	struct star_module m = {.path = NULL};
	const char *text;
	size_t n;

	b->star.ops = &words;
	for (size_t i = 0; i < 2; i++)
		if (build_read_file(b, build_join(&b->star, b->root,
		        names[i]), &text, &n)) {
			star_run(&b->star, &m, text, n);
			break;
		}
	b->star.ops = before;
}

/* Folders that no glob goes into, a line each, from the root. */
static void
package_ignored(struct build *b)
{
	struct star *s = &b->star;
	const char *text;
	size_t n, line;

	if (!build_read_file(b, build_join(s, b->root, ".bazelignore"),
	    &text, &n))
		return;
	for (const char *end = text + n; text < end; text += line + 1) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		line = (size_t)((stop != NULL ? stop : end) - text);
		for (n = line; n > 0 && strchr(" \r/", text[n - 1]) != NULL;)
			n--;
		if (n > 0 && *text != '#')
			star_set(s, &b->ignored, star_str(s, build_join(s,
			    b->root, star_text(s, text, n).text->p)),
			    star_none());
	}
}

/* ---- packages ---- */

static bool
package_find_file(struct build *b, struct build_package *p,
    const char **text, size_t *n)
{
	static const char *const names[] = {"BUILD.bazel", "BUILD"};
	const struct star_value *v = star_field(&b->star, &b->repositories,
	    p->place.repo);

	if (v != NULL && v->kind == STAR_LIST && *p->place.package == '\0') {
		*text = v->list->items[1].text->p;
		*n = v->list->items[1].text->n;
		p->module.path = "BUILD of WORKSPACE";
		return true;
	}
	for (size_t i = 0; i < 2; i++) {
		const char *path = build_join(&b->star, p->folder, names[i]);

		if (!build_read_file(b, path, text, n))
			continue;
		p->module.path = build_join(&b->star, p->place.package,
		    names[i]);
		if (*p->place.repo != '\0')
			p->module.path = path;
		return true;
	}
	return false;
}

/* Is a BUILD file there that is longer than what is read? */
static bool
package_is_long(struct star *s, const char *folder)
{
	struct stat st;

	return (stat(build_join(s, folder, "BUILD.bazel"), &st) == 0 ||
	    stat(build_join(s, folder, "BUILD"), &st) == 0) &&
	    st.st_size > BUILD_FILE_MAX;
}

/* Why it has none. */
static void
package_say_none(struct build *b, const struct build_package *p)
{
	struct star *s = &b->star;
	const char *name = build_label_text(s, &(struct build_label){
	    p->place.repo, p->place.package, ""}).text->p;

	build_note(b, package_is_long(s, p->folder)
	    ? "the BUILD file of %.*s is longer than 1 MiB, and is not read"
	    : build_is_package(s, p->folder)
	    ? "the BUILD file of %.*s cannot be read"
	    : "%.*s has no BUILD file", (int)strlen(name) - 1, name);
}

/* One that has no end is none of the others' concern. */
static void
package_run(struct build *b, struct build_package *p, const char *text,
    size_t n)
{
	const char *why;

	b->now = p;
	why = star_run_apart(&b->star, &p->module, text, n);
	p->partly = why != NULL;
	if (why != NULL && *why != '\0')
		build_note(b, "%s is not read to its end: %s, at %s:%d",
		    p->module.path, why, b->star.path, b->star.line);
	build_rules_end(b, p);
	b->now = NULL;
}

static bool
package_is_path(const char *path)
{
	return *path != '/' && strstr(path, "..") == NULL;
}

struct build_package *
build_package(struct build *b, const char *repo, const char *package)
{
	struct star *s = &b->star;
	struct star_value key = build_label_text(s, &(struct build_label){
	    repo, package, ""});
	struct build_package *p = package_at(star_get(s, &b->packages, key));
	const char *text;
	size_t n;

	if (p != NULL)
		return p;
	p = star_alloc(s, sizeof(*p));
	star_set(s, &b->packages, key, package_pointer(p));
	p->place = (struct build_place){repo, package, true};
	p->module.owner = &p->place;
	p->folder = package_repository(b, repo);
	if (p->folder == NULL || !package_is_path(package))
		return p;
	p->folder = build_join(s, p->folder, package);
	p->found = package_find_file(b, p, &text, &n);
	if (p->found) {
		package_run(b, p, text, n);
	} else {
		package_say_none(b, p);
	}
	return p;
}

/* ---- files that are loaded ---- */

static struct star_module *
package_load(struct star *s, const struct star_module *m, int line,
    const char *text)
{
	struct build *b = s->owner;
	const struct star_value *known;
	struct build_label label;
	struct star_module *out;
	struct build_place *place;
	const char *folder, *p;
	struct star_value key;
	size_t n;

	if (!build_label_read(b, m->owner, text, &label) ||
	    (folder = package_repository(b, label.repo)) == NULL)
		return NULL;
	key = build_label_text(s, &label);
	if ((known = star_get(s, &b->modules, key)) != NULL)
		return package_at(known);
	out = star_alloc(s, sizeof(*out));
	place = star_alloc(s, sizeof(*place));
	*place = (struct build_place){label.repo, label.package, false};
	out->owner = place;
	out->path = build_join(s, label.package, label.name);
	star_set(s, &b->modules, key, package_pointer(NULL));
	if (!package_is_path(out->path) || !build_read_file(b,
	        build_join(s, folder, out->path), &p, &n)) {
		star_say(s, m, line, "%.100s cannot be read", text);
		return NULL;
	}
	if (++s->depth > STAR_DEPTH_MAX) {
		star_say(s, m, line, "files load each other too deeply");
		return NULL;
	}
	star_run(s, out, p, n);
	s->depth--;
	star_set(s, &b->modules, key, package_pointer(out));
	return out;
}

/* ---- all ---- */

static const struct star_ops package_ops = {package_report, build_name,
    package_load, build_missing};

void
build_init(struct build *b, const char *root)
{
	*b = (struct build){.root = root, .workspace = ""};
	star_init(&b->star, &package_ops, b);
}

void
build_begin(struct build *b)
{
	build_rules(b);
	package_workspace(b);
	package_ignored(b);
}

void
build_fini(struct build *b)
{
	star_fini(&b->star);
	buf_fini(&b->reports);
}
