/*
 * From linkers' names to those of people: the C++ runtime's demangler, and
 * the escapes of Rust's older scheme.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize_private.h"

/* From <cxxabi.h>, which C cannot include. */
char *__cxa_demangle(const char *mangled, char *buf, size_t *size,
    int *status);

static const struct {
	const char *escape;
	char plain;
} rust_escapes[] = {
    {"$SP$", '@'}, {"$BP$", '*'}, {"$RF$", '&'}, {"$LT$", '<'},
    {"$GT$", '>'}, {"$LP$", '('}, {"$RP$", ')'}, {"$C$", ','},
    {"$u7e$", '~'}, {"$u20$", ' '}, {"$u27$", '\''}, {"$u5b$", '['},
    {"$u5d$", ']'}, {"$u7b$", '{'}, {"$u7d$", '}'}, {"$u3b$", ';'},
    {"$u2b$", '+'}, {"$u22$", '"'}};

/* Takes off the "::h" and 16 digits that Rust adds; false without them. */
static bool
rust_cut(char *name)
{
	size_t n = strlen(name);
	char *hash = name + n - 19;

	if (n <= 19 || memcmp(hash, "::h", 3) != 0)
		return false;
	for (unsigned i = 3; i < 19; i++) {
		if (!isxdigit((unsigned char)hash[i]))
			return false;
	}
	*hash = '\0';
	return true;
}

static size_t
rust_escape(const char *p, char *plain)
{
	for (size_t i = 0;
	    i < sizeof(rust_escapes) / sizeof(rust_escapes[0]); i++) {
		size_t n = strlen(rust_escapes[i].escape);

		if (strncmp(p, rust_escapes[i].escape, n) == 0) {
			*plain = rust_escapes[i].plain;
			return n;
		}
	}
	return 0;
}

/* In place: it only gets shorter. */
static void
rust_unescape(char *name)
{
	char *to = name, *p = name;

	while (*p != '\0') {
		size_t n = *p == '$' ? rust_escape(p, to) : 0;

		if (n > 0) {
			p += n;
			to++;
		} else if (p[0] == '.' && p[1] == '.') {
			*to++ = ':';
			*to++ = ':';
			p += 2;
		} else if (p[0] == '_' && p[1] == '$' &&
		    (p == name || p[-1] == ':')) {
			p++;
		} else {
			*to++ = *p++;
		}
	}
	*to = '\0';
}

char *
symbolize_demangle(const char *raw)
{
	const char *version = strchr(raw, '@');
	char *bare, *plain = NULL;

	if (raw[0] != '_' || raw[1] != 'Z') {
		/* "read@@GLIBC_2.2.5" carries its version */
		return version == NULL || version == raw ? NULL
		    : strndup(raw, (size_t)(version - raw));
	}
	bare = version == NULL ? NULL
	    : strndup(raw, (size_t)(version - raw));
	if (strlen(raw) < 65536)
		plain = __cxa_demangle(bare != NULL ? bare : raw, NULL, NULL,
		    NULL);
	free(bare);
	if (plain != NULL && rust_cut(plain))
		rust_unescape(plain);
	return plain;
}
