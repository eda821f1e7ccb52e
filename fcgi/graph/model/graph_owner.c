/*
 * Whose code it is: keys by hash, ends of paths, beginnings of names.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/graph/model/graph.h"
#include "store/base/array.h"

#define NONE UINT32_MAX

void
graph_own(struct graph *g, enum graph_key_kind kind, const char *name,
    uint32_t node)
{
	if (node == NONE)
		return;
	if (g->n_keys == GRAPH_KEYS_MAX) {
		g->cut = true;
		g->over |= GRAPH_OVER_KEYS;
		return;
	}
	if (!array_room(&g->keys, g->n_keys + 1, &g->cap_keys)) {
		g->failed = true;
		return;
	}
	g->keys[g->n_keys++] = (struct graph_key){
	    hash64(kind + 1u, name, strlen(name)), node};
}

static int
graph_key_order(const void *a, const void *b)
{
	const struct graph_key *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

void
graph_settle(struct graph *g)
{
	size_t n = 0;

	if (g->n_keys == 0)
		return;
	qsort(g->keys, g->n_keys, sizeof(*g->keys), graph_key_order);
	for (size_t i = 1; i < g->n_keys; i++) {
		if (g->keys[i].hash != g->keys[n].hash)
			g->keys[++n] = g->keys[i];
		else if (g->keys[i].node != g->keys[n].node)
			g->keys[n].node = GRAPH_BOTH;
	}
	g->n_keys = n + 1;
}

uint32_t
graph_owner(const struct graph *g, enum graph_key_kind kind,
    const char *name, size_t n)
{
	uint64_t hash = hash64(kind + 1u, name, n);
	size_t i = array_upto(g->keys, g->n_keys, hash, hash);

	return i > 0 && g->keys[i - 1].hash == hash ? g->keys[i - 1].node
						    : NONE;
}

/* Folders of Go's own packages, and what its compiler makes. */
static const char *const go_own[] = {"archive", "bufio", "builtin", "bytes",
    "cmp", "compress", "container", "context", "crypto", "database", "debug",
    "embed", "encoding", "errors", "expvar", "flag", "fmt", "go", "hash",
    "html", "image", "index", "internal", "io", "iter", "log", "maps", "math",
    "mime", "net", "os", "path", "plugin", "reflect", "regexp", "runtime",
    "slices", "sort", "strconv", "strings", "structs", "sync", "syscall",
    "testing", "text", "time", "type", "type:", "unicode", "unique", "unsafe",
    "vendor", "weak"};

static bool
graph_is_go_own(const char *name, size_t n)
{
	const char *slash = memchr(name, '/', n);

	if (slash != NULL)
		n = (size_t)(slash - name);
	for (size_t i = 0; i < sizeof(go_own) / sizeof(go_own[0]); i++)
		if (strlen(go_own[i]) == n && memcmp(go_own[i], name, n) == 0)
			return true;
	return false;
}

uint32_t
graph_package_owner(const struct graph *g, const char *name, size_t n)
{
	for (size_t len = n; len > 0;) {
		uint32_t node = graph_owner(g, GRAPH_BY_PREFIX, name, len);

		if (node != NONE)
			return node;
		while (len > 0 && name[len - 1] != '/')
			len--;
		len -= len > 0;
	}
	return graph_is_go_own(name, n) ? graph_owner(g, GRAPH_BY_PREFIX,
	    GRAPH_GO, strlen(GRAPH_GO)) : NONE;
}

uint32_t
graph_of_file(const struct graph *g, const char *file, size_t n)
{
	for (;;) {
		uint32_t node = graph_owner(g, GRAPH_BY_FILE, file, n);
		const char *slash;

		if (node < g->n_nodes)
			return node;
		slash = memchr(file, '/', n);
		if (slash == NULL)
			return NONE;
		n -= (size_t)(slash + 1 - file);
		file = slash + 1;
	}
}

static const char *
graph_prefix(const char *name, size_t *n)
{
	size_t end = strcspn(name, "([ "), slash = end, len;
	const char *at = name + strspn(name, "<&*");

	len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	if (len > 0 && at[len] == ':' && at[len + 1] == ':') {
		*n = len;
		return at;
	}
	while (slash > 0 && name[slash - 1] != '/')
		slash--;
	len = strcspn(name + slash, ".");
	*n = slash + len < end ? slash + len : 0;
	return name;
}

uint32_t
graph_of_name(const struct graph *g, const char *function)
{
	size_t n;
	const char *name = graph_prefix(function, &n);

	return n > 0 ? graph_package_owner(g, name, n) : NONE;
}

/* What may stand behind a function's parameters. */
static bool
graph_is_behind(const char *s)
{
	static const char *const tails[] = {"[", " [", " const", " volatile",
	    " &"};

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
		if (strncmp(s, tails[i], strlen(tails[i])) == 0)
			return true;
	return *s == '\0';
}

size_t
graph_bare(const char *function)
{
	static const char call[] = "operator";
	const char *end = strrchr(function, ')'), *p = end;
	size_t depth = 0, n;

	if (end == NULL || !graph_is_behind(end + 1))
		return strlen(function);
	for (; p > function; p--) {
		depth += *p == ')';
		if (*p == '(' && --depth == 0)
			break;
	}
	n = (size_t)(p - function);
	if (n == 0 || p[-1] == ':' || p[-1] == ' ' ||
	    (n >= strlen(call) &&
	    memcmp(p - strlen(call), call, strlen(call)) == 0))
		return strlen(function);
	return n;
}

/* C++'s names end with their parameters; Rust's have none.  Both have a std. */
static bool
graph_has_parameters(const char *function)
{
	return function[graph_bare(function)] != '\0';
}

bool
graph_is_rust_own(const struct graph *g, const char *function)
{
	static const char *const own[] = {"core", "alloc", "std"};
	size_t n;
	const char *name = graph_prefix(function, &n);

	if (graph_owner(g, GRAPH_BY_PREFIX, GRAPH_RUST,
	    strlen(GRAPH_RUST)) >= g->n_nodes ||
	    graph_has_parameters(function))
		return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strlen(own[i]) == n && memcmp(name, own[i], n) == 0)
			return true;
	return false;
}
