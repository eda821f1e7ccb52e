/*
 * Names as the daemon takes them: plain, of bounded length, fit to be shown.
 * Runs in the symbols child: names are foreign and a demangler is a parser.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/elf/demangle.h"
#include "collector/elf/elf.h"
#include "collector/symbols/symbols_child.h"
#include "store/base/text.h"

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

void
symbols_child_copy(const char *raw, char *out, size_t size)
{
	name_copy(raw[0] != '\0' ? raw : "?", out, size);
	text_clean(out);
}

/* The GNU C library's aliases for its own use: __GI___clone3 is clone3. */
static const char *
name_public(const char *raw)
{
	const char *name = raw + 5;

	if (strncmp(raw, "__GI_", 5) != 0 || name[0] == '\0')
		return raw;
	return strncmp(name, "__", 2) == 0 && name[2] >= 'a' &&
	    name[2] <= 'z' && strncmp(name, "__libc_", 7) != 0 ?
	    name + 2 : name;
}

void
symbols_child_name(const char *raw, char *out, size_t size)
{
	char bounded[ELF_NAME_MAX], *plain;

	snprintf(bounded, sizeof(bounded), "%s", name_public(raw));
	plain = demangle(bounded);
	symbols_child_copy(plain != NULL ? plain : bounded, out, size);
	free(plain);
}
