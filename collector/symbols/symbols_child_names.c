/*
 * From linker symbols to names: the C++ runtime's demangler, then the
 * escapes of Rust's legacy scheme; libiberty's for Rust's newer one.  Runs in
 * the symbols child: names are foreign and a demangler is a parser.
 */
#include "collector/symbols/symbols_child.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/elf/elf.h"
#include "store/base/text.h"

/* From <cxxabi.h>, which C cannot include. */
char *__cxa_demangle(const char *mangled, char *buf, size_t *size,
    int *status);

#define RUST_HASH 19 /* "::h" and 16 hexadecimal digits */

static const struct {
	const char *escape;
	char plain;
} rust_escapes[] = {
    {"$SP$", '@'}, {"$BP$", '*'}, {"$RF$", '&'}, {"$LT$", '<'},
    {"$GT$", '>'}, {"$LP$", '('}, {"$RP$", ')'}, {"$C$", ','},
    {"$u7e$", '~'}, {"$u20$", ' '}, {"$u27$", '\''}, {"$u5b$", '['},
    {"$u5d$", ']'}, {"$u7b$", '{'}, {"$u7d$", '}'}, {"$u3b$", ';'},
    {"$u2b$", '+'}, {"$u22$", '"'}};

/* Does the name end in the hash that Rust adds?  *n: length without it. */
static bool
rust_is_legacy(const char *name, size_t *n)
{
	size_t len = strlen(name), i;

	if (len <= RUST_HASH ||
	    strncmp(name + len - RUST_HASH, "::h", 3) != 0)
		return false;
	for (i = len - 16; i < len; i++)
		if (!isxdigit((unsigned char)name[i]))
			return false;
	*n = len - RUST_HASH;
	return true;
}

/* The escape that begins at p: its length, or 0. */
static size_t
rust_escape(const char *p, char *plain)
{
	size_t i, n;

	for (i = 0; i < sizeof(rust_escapes) / sizeof(rust_escapes[0]); i++) {
		n = strlen(rust_escapes[i].escape);
		if (strncmp(p, rust_escapes[i].escape, n) == 0) {
			*plain = rust_escapes[i].plain;
			return n;
		}
	}
	return 0;
}

/* Rewrites in place: it only gets shorter. */
static void
rust_unescape(char *name, size_t len)
{
	char *to = name, *end = name + len, *p = name;
	size_t n;

	*end = '\0';
	while (p < end) {
		n = *p == '$' ? rust_escape(p, to) : 0;
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

/* Copies; what is too long ends in "..." behind a whole character. */
static void
name_copy(const char *name, char *out, size_t size)
{
	size_t n = strlen(name);

	if (n < size) {
		memcpy(out, name, n + 1);
		return;
	}
	n = size - 4;
	while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80)
		n--;
	memcpy(out, name, n);
	memcpy(out + n, "...", 4);
}

struct piece_buffer {
	char text[ELF_NAME_MAX];
	size_t n;
};

/* A piece of a name; what is beyond the bound would be cut anyway. */
static void
rust_piece(const char *piece, size_t n, void *arg)
{
	struct piece_buffer *b = arg;

	if (n > sizeof(b->text) - 1 - b->n)
		n = sizeof(b->text) - 1 - b->n;
	memcpy(b->text + b->n, piece, n);
	b->n += n;
}

/* Rust's own scheme ("v0"): _R...; a copy, or NULL. */
static char *
rust_plain(const char *raw)
{
	struct piece_buffer b = {.n = 0};

	if (raw[0] != '_' || raw[1] != 'R' ||
	    !rust_demangle_callback(raw, 0, rust_piece, &b) || b.n == 0)
		return NULL;
	b.text[b.n] = '\0';
	return strdup(b.text);
}

void
symbols_child_copy(const char *raw, char *out, size_t size)
{
	name_copy(raw[0] != '\0' ? raw : "?", out, size);
	text_clean(out);
}

void
symbols_child_name(const char *raw, char *out, size_t size)
{
	char *plain = NULL;
	char bare[ELF_NAME_MAX];
	size_t n;

	/* "read@@GLIBC_2.2.5" carries its version. */
	if (raw[0] == '\0')
		raw = "?";
	snprintf(bare, sizeof(bare), "%.*s", (int)(1 + strcspn(raw + 1, "@")),
	    raw);
	raw = bare;
	if (raw[0] == '_' && raw[1] == 'Z')
		plain = __cxa_demangle(raw, NULL, NULL, NULL);
	else
		plain = rust_plain(raw);
	if (plain != NULL && rust_is_legacy(plain, &n))
		rust_unescape(plain, n);
	name_copy(plain != NULL ? plain : raw, out, size);
	free(plain);
	text_clean(out);
}
