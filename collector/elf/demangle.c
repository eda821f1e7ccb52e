/*
 * Rust's schemes by libiberty, C++'s by its runtime.  A short name of Rust's
 * newer scheme may stand for one without end, so what comes out has a bound.
 */
#include "collector/elf/demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* From <cxxabi.h>, which C cannot include. */
char *__cxa_demangle(const char *mangled, char *buf, size_t *size,
    int *status);

struct demangle_text {
	char *text; /* with a NUL */
	size_t n, cap;
};

/* A piece of a name; what is beyond the bound would be cut anyway. */
static void
demangle_piece(const char *piece, size_t n, void *arg)
{
	struct demangle_text *t = arg;
	size_t cap = t->cap;
	char *more;

	if (n > DEMANGLE_MAX - 1 - t->n)
		n = DEMANGLE_MAX - 1 - t->n;
	while (cap < t->n + n + 1)
		cap = cap == 0 ? 256 : 2 * cap;
	if (cap > t->cap) {
		if ((more = realloc(t->text, cap)) == NULL)
			return;
		t->text = more;
		t->cap = cap;
	}
	memcpy(t->text + t->n, piece, n);
	t->n += n;
	t->text[t->n] = '\0';
}

static char *
demangle_rust(const char *raw)
{
	struct demangle_text t = {.text = NULL};

	if (rust_demangle_callback(raw, 0, demangle_piece, &t) && t.n > 0)
		return t.text;
	free(t.text);
	return NULL;
}

char *
demangle(const char *raw)
{
	/* "read@@GLIBC_2.2.5" carries its version */
	const char *version = raw[0] == '\0' ? NULL : strchr(raw + 1, '@');
	bool mangled = raw[0] == '_' && (raw[1] == 'Z' || raw[1] == 'R');
	char *bare = NULL, *plain;

	if (version != NULL) {
		bare = strndup(raw, (size_t)(version - raw));
		if (bare == NULL)
			return NULL;
		raw = bare;
	}
	if (!mangled || strlen(raw) > DEMANGLE_MAX)
		return bare;
	plain = demangle_rust(raw);
	if (plain == NULL && raw[1] == 'Z')
		plain = __cxa_demangle(raw, NULL, NULL, NULL);
	if (plain == NULL)
		return bare;
	free(bare);
	return plain;
}
