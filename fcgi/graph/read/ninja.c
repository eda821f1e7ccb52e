/*
 * A reader of ninja's language: lines, words, variables.
 */
#include "fcgi/graph/read/ninja.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/read/read_file.h"
#include "store/base/array.h"

#define ARENA_MAX (512u << 20)
#define WORD_MAX 65536u
#define DEPTH_MAX 16
#define PARTS_MAX 64

struct ninja_binding {
	const char *name, *value;
};

struct ninja_scope {
	struct ninja_scope *parent;
	struct ninja_binding *items; /* the last of a name counts */
	size_t n, cap;
};

/* A place in the text. */
struct ninja_text {
	struct ninja *ninja;
	const char *p, *end;
	struct ninja_scope *scope;
};

/* ---- memory ---- */

static void *
ninja_alloc(struct ninja *n, size_t size)
{
	void *p = arena_alloc(&n->arena, size);

	if (p != NULL)
		memset(p, 0, size);
	else if (n->arena.over)
		n->cut = true;
	else
		n->failed = true;
	return p;
}

static char *
ninja_keep(struct ninja *n, const char *p, size_t len)
{
	char *copy = ninja_alloc(n, len + 1);

	if (copy != NULL && len > 0)
		memcpy(copy, p, len);
	return copy;
}

/* An array in the arena that has grown. */
static bool
ninja_push(struct ninja *n, char ***items, size_t *count, char *item)
{
	size_t i = *count;
	char **larger;

	if (item == NULL)
		return false;
	if ((i & (i - 1)) == 0) {
		larger = ninja_alloc(n, (i == 0 ? 1 : i * 2) *
		    sizeof(*larger));
		if (larger == NULL)
			return false;
		if (i > 0)
			memcpy(larger, *items, i * sizeof(*larger));
		*items = larger;
	}
	(*items)[(*count)++] = item;
	return true;
}

/* ---- variables ---- */

static const char *
scope_find(const struct ninja_scope *s, const char *name, size_t len)
{
	for (; s != NULL; s = s->parent)
		for (size_t i = s->n; i-- > 0;)
			if (strncmp(s->items[i].name, name, len) == 0 &&
			    s->items[i].name[len] == '\0')
				return s->items[i].value;
	return "";
}

const char *
ninja_variable(const struct ninja_build *b, const char *name)
{
	return scope_find(b->scope, name, strlen(name));
}

static void
scope_set(struct ninja *n, struct ninja_scope *s, const char *name,
    const char *value)
{
	struct ninja_binding *larger;

	if (name == NULL || value == NULL)
		return;
	if (s->n == s->cap) {
		larger = ninja_alloc(n, (s->cap * 2 + 4) * sizeof(*larger));
		if (larger == NULL)
			return;
		if (s->n > 0)
			memcpy(larger, s->items, s->n * sizeof(*larger));
		s->items = larger;
		s->cap = s->cap * 2 + 4;
	}
	s->items[s->n++] = (struct ninja_binding){name, value};
}

static struct ninja_scope *
scope_new(struct ninja *n, struct ninja_scope *parent)
{
	struct ninja_scope *s = ninja_alloc(n, sizeof(*s));

	if (s != NULL)
		s->parent = parent;
	return s;
}

/* ---- words ---- */

static bool
word_is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* A line goes on behind "$\n", and blanks that follow. */
static bool
text_goes_on(struct ninja_text *t)
{
	const char *p = t->p;

	if (p == t->end || *p != '$')
		return false;
	p++;
	p += p < t->end && *p == '\r';
	if (p == t->end || *p != '\n')
		return false;
	for (p++; p < t->end && *p == ' '; p++)
		;
	t->p = p;
	return true;
}

static void
text_blanks(struct ninja_text *t)
{
	while (text_goes_on(t) ||
	    (t->p < t->end && (*t->p == ' ' || *t->p == '\r')))
		if (t->p < t->end && (*t->p == ' ' || *t->p == '\r'))
			t->p++;
}

/* What stands behind a "$". */
static void
text_dollar(struct ninja_text *t, const struct ninja_scope *scope,
    struct buf *out)
{
	const char *name, *value;
	bool braces;

	if (t->p == t->end)
		return;
	braces = *t->p == '{';
	if (!braces && !word_is_name(*t->p)) {
		buf_put_u8(out, (uint8_t)*t->p++);
		return;
	}
	name = t->p += braces;
	/* only in braces a name may have dots */
	while (t->p < t->end && (word_is_name(*t->p) ||
	        (braces && *t->p == '.')))
		t->p++;
	value = scope_find(scope, name, (size_t)(t->p - name));
	buf_put(out, value, strlen(value));
	if (braces && t->p < t->end && *t->p == '}')
		t->p++;
}

/* A word with its variables; of a value, which ends with its line, all. */
static char *
text_word(struct ninja_text *t, const struct ninja_scope *scope, bool path)
{
	struct buf out = {0};
	char *word = NULL;

	while (t->p < t->end && *t->p != '\n' && out.len < WORD_MAX) {
		if (path && strchr(" :|\r", *t->p) != NULL)
			break;
		if (text_goes_on(t))
			continue;
		if (*t->p++ != '$')
			buf_put_u8(&out, (uint8_t)t->p[-1]);
		else
			text_dollar(t, scope, &out);
	}
	t->ninja->failed = t->ninja->failed || out.failed;
	if (!out.failed && (!path || out.len > 0))
		word = ninja_keep(t->ninja, (const char *)out.data, out.len);
	buf_fini(&out);
	return word;
}

static char *
text_name(struct ninja_text *t)
{
	const char *from = t->p;

	while (t->p < t->end && (word_is_name(*t->p) || *t->p == '.'))
		t->p++;
	return ninja_keep(t->ninja, from, (size_t)(t->p - from));
}

static void
text_skip_line(struct ninja_text *t)
{
	while (t->p < t->end && *t->p != '\n')
		if (!text_goes_on(t))
			t->p++;
	t->p += t->p < t->end;
}

/* "a/./b/../c" is "a/c", as ninja has it; what is very deep stays. */
static char *
path_plain(char *path)
{
	char *parts[PARTS_MAX], *to = path, *p = path;
	size_t n = 0, slashes = 0;
	bool rooted = *p == '/', last = *p == '\0';

	for (const char *at = path; (at = strchr(at, '/')) != NULL; at++)
		slashes++;
	if (slashes >= PARTS_MAX)
		return path;
	for (to += rooted, p += rooted; !last;) {
		size_t len = strcspn(p, "/");
		bool up = len == 2 && memcmp(p, "..", 2) == 0;

		last = p[len] == '\0';
		if (up && n > 0) {
			to = parts[--n];
		} else if (len > 1 || (len == 1 && *p != '.')) {
			if (!up)
				parts[n++] = to;
			memmove(to, p, len);
			to += len;
			*to++ = '/';
		}
		p += len + 1;
	}
	if (to > path + rooted)
		to--;
	else if (!rooted)
		*to++ = '.';
	*to = '\0';
	return path;
}

/* ---- statements ---- */

/* Indented "name = value" lines, each by the scope around. */
static struct ninja_scope *
text_bindings(struct ninja_text *t)
{
	struct ninja_scope *own = NULL;

	while (t->p < t->end && *t->p == ' ') {
		char *name;

		text_blanks(t);
		name = text_name(t);
		text_blanks(t);
		if (t->p < t->end && *t->p == '=') {
			t->p++;
			text_blanks(t);
			if (own == NULL)
				own = scope_new(t->ninja, t->scope);
			if (own == NULL)
				return NULL;
			scope_set(t->ninja, own, name,
			    text_word(t, t->scope, false));
		}
		text_skip_line(t);
	}
	return own != NULL ? own : t->scope;
}

static uint32_t
ninja_hash(const char *name)
{
	return (uint32_t)hash64(0, name, strlen(name));
}

static uint32_t
ninja_hash_at(const void *files, uint32_t i)
{
	return ninja_hash(((const struct ninja_file *)files)[i].name);
}

const struct ninja_file *
ninja_find_file(const struct ninja *n, const char *name)
{
	hashtable_each(i, &n->table, ninja_hash(name)) {
		if (strcmp(n->files[i].name, name) == 0)
			return &n->files[i];
	}
	return NULL;
}

const struct ninja_build *
ninja_find(const struct ninja *n, const char *output)
{
	const struct ninja_file *f = ninja_find_file(n, output);

	return f != NULL ? &n->builds[f->build] : NULL;
}

static void
ninja_add(struct ninja *n, const struct ninja_build *b)
{
	if (!array_room(&n->builds, n->n_builds + 1, &n->cap_builds)) {
		n->failed = true;
		return;
	}
	n->builds[n->n_builds] = *b;
	for (size_t i = 0; i < b->n_outputs; i++) {
		if (ninja_find_file(n, b->outputs[i]) != NULL)
			continue;
		if (!array_room(&n->files, n->n_files + 1, &n->cap_files) ||
		    !hashtable_room(&n->table, (uint32_t)n->n_files + 1,
		        ninja_hash_at, n->files)) {
			n->failed = true;
			return;
		}
		n->files[n->n_files] = (struct ninja_file){b->outputs[i],
		    (uint32_t)n->n_builds};
		hashtable_add(&n->table, ninja_hash(b->outputs[i]),
		    (uint32_t)n->n_files++);
	}
	n->n_builds++;
}

/* "build OUTPUT | more: dyndep | inputs", of a statement that is there. */
static void
ninja_add_found(struct ninja *n, const struct ninja_build *found)
{
	const struct ninja_file *f = found->n_outputs == 0 ? NULL
	    : ninja_find_file(n, found->outputs[0]);
	struct ninja_build *b;
	struct ninja_build more;

	if (f == NULL || strcmp(found->rule, "dyndep") != 0) {
		n->cut = true;
		return;
	}
	b = &n->builds[f->build];
	for (size_t i = 0; i < found->n_inputs; i++)
		ninja_push(n, &b->inputs, &b->n_inputs, found->inputs[i]);
	if (found->n_outputs < 2)
		return;
	more = *b;
	more.outputs = found->outputs + 1;
	more.n_outputs = found->n_outputs - 1;
	ninja_add(n, &more);
}

/* Paths up to what ends a list; false where none of its signs follows. */
static void
text_paths(struct ninja_text *t, const struct ninja_scope *scope,
    char ***items, size_t *n)
{
	char *word;

	for (;;) {
		text_blanks(t);
		if (t->p == t->end || strchr(":|\n", *t->p) != NULL)
			return;
		word = text_word(t, scope, true);
		if (word == NULL || !ninja_push(t->ninja, items, n,
		        path_plain(word)))
			return;
	}
}

/* "a b | c: rule d | e || f |@ g", and nothing of its variables yet. */
static void
text_build_line(struct ninja_text *t, struct ninja_build *b)
{
	text_paths(t, b->scope, &b->outputs, &b->n_outputs);
	if (t->p < t->end && *t->p == '|') {
		t->p++;
		text_paths(t, b->scope, &b->outputs, &b->n_outputs);
	}
	if (t->p == t->end || *t->p != ':') {
		t->ninja->cut = true;
		return;
	}
	t->p++;
	text_blanks(t);
	b->rule = text_name(t);
	text_paths(t, b->scope, &b->inputs, &b->n_inputs);
	while (t->p < t->end && *t->p == '|') {
		char kind = t->p + 1 < t->end ? t->p[1] : '\0';
		struct ninja_build dropped = {0};

		t->p += kind == '|' || kind == '@' ? 2 : 1;
		if (kind == '@')
			text_paths(t, b->scope, &dropped.inputs,
			    &dropped.n_inputs);
		else if (kind == '|')
			text_paths(t, b->scope, &b->before, &b->n_before);
		else
			text_paths(t, b->scope, &b->inputs, &b->n_inputs);
	}
}

/* Its variables follow the line in which they count. */
static void
text_build(struct ninja_text *t)
{
	struct ninja_build b = {.rule = ""};
	struct ninja_text line = *t;

	text_skip_line(t);
	b.scope = text_bindings(t);
	if (b.scope == NULL)
		return;
	text_build_line(&line, &b);
	if (b.rule == NULL || (b.n_outputs == 0 && !t->ninja->failed))
		t->ninja->cut = true;
	else if (t->ninja->finding)
		ninja_add_found(t->ninja, &b);
	else
		ninja_add(t->ninja, &b);
}

static bool ninja_file(struct ninja *n, const char *name,
    struct ninja_scope *scope);

/* "include" shares the scope, "subninja" has its own. */
static void
text_include(struct ninja_text *t, bool own)
{
	struct ninja *n = t->ninja;
	struct ninja_scope *scope = t->scope;
	char *name;

	text_blanks(t);
	name = text_word(t, t->scope, true);
	if (own)
		scope = scope_new(n, t->scope);
	if (name == NULL || scope == NULL || n->depth == DEPTH_MAX ||
	    !ninja_file(n, name, scope))
		n->cut = true;
}

static void
text_default(struct ninja_text *t)
{
	text_paths(t, t->scope, &t->ninja->defaults, &t->ninja->n_defaults);
}

/* "name = value" of the file. */
static void
text_assign(struct ninja_text *t, char *name)
{
	text_blanks(t);
	if (t->p == t->end || *t->p != '=') {
		t->ninja->cut = true;
		return;
	}
	t->p++;
	text_blanks(t);
	scope_set(t->ninja, t->scope, name, text_word(t, t->scope, false));
}

/* Its own variables count where nothing else says what a build finds out. */
static void
text_rule(struct ninja_text *t)
{
	struct ninja_scope *own = text_bindings(t);

	if (own == NULL || own == t->scope)
		return;
	for (size_t i = 0; i < own->n; i++)
		if (strcmp(own->items[i].name, "dyndep") == 0) {
			t->ninja->cut = true;
			buf_printf(&t->ninja->unknown, "; the files of a "
			    "rule's dyndep are not read");
		}
}

static void
text_statement(struct ninja_text *t)
{
	char *word;

	text_blanks(t);
	if (t->p == t->end || *t->p == '\n' || *t->p == '#') {
		text_skip_line(t);
		return;
	}
	word = text_name(t);
	if (word == NULL)
		return;
	if (strcmp(word, "build") == 0) {
		text_build(t);
		return;
	}
	if (strcmp(word, "rule") == 0 || strcmp(word, "pool") == 0) {
		text_skip_line(t);
		text_rule(t);
		return;
	}
	if (strcmp(word, "include") == 0 || strcmp(word, "subninja") == 0)
		text_include(t, *word == 's');
	else if (strcmp(word, "default") == 0)
		text_default(t);
	else
		text_assign(t, word);
	text_skip_line(t);
}

static bool
ninja_file(struct ninja *n, const char *name, struct ninja_scope *scope)
{
	char path[4096];
	struct buf text = {0};
	struct ninja_text t = {.ninja = n, .scope = scope};
	bool found;

	if (*name == '/')
		found = read_file(name, &text, &n->time_ns);
	else
		found = read_join(path, sizeof(path), n->folder, name) &&
		    read_file(path, &text, &n->time_ns);
	n->depth++;
	t.p = (const char *)text.data;
	t.end = found ? t.p + text.len : t.p;
	while (t.p < t.end && !n->failed && !n->arena.over)
		text_statement(&t);
	n->depth--;
	buf_fini(&text);
	return found;
}

/* ---- what a build has found out ---- */

/* A file of such statements. */
static void
ninja_read_found(struct ninja *n, const char *name)
{
	struct ninja_scope *scope = scope_new(n, NULL);

	n->finding = true;
	if (scope == NULL || !ninja_file(n, name, scope)) {
		n->cut = true;
		buf_printf(&n->unknown, "; %s (dyndep), which a build makes, "
		    "is not there", name);
	}
	n->finding = false;
}

/* Each of those files once. */
static void
ninja_find_out(struct ninja *n)
{
	struct ninja_scope read = {0};
	size_t n_builds = n->n_builds;

	for (size_t i = 0; i < n_builds && !n->failed; i++) {
		const char *name = ninja_variable(&n->builds[i], "dyndep");

		if (*name == '\0' || *scope_find(&read, name,
		        strlen(name)) != '\0')
			continue;
		scope_set(n, &read, name, "read");
		ninja_read_found(n, name);
	}
}

bool
ninja_read(struct ninja *n, const char *folder, const char *name)
{
	*n = (struct ninja){.folder = folder};
	arena_init(&n->arena, ARENA_MAX);
	n->top = scope_new(n, NULL);
	if (n->top == NULL || !ninja_file(n, name, n->top))
		return false;
	ninja_find_out(n);
	return true;
}

void
ninja_fini(struct ninja *n)
{
	arena_fini(&n->arena);
	buf_fini(&n->unknown);
	free(n->builds);
	free(n->files);
	hashtable_fini(&n->table);
}
