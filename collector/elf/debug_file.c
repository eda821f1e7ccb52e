/*
 * By build id, as all distributions lay them out; by libelf.
 */
#include "collector/elf/debug_file.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>

void
debug_file_id(const uint8_t *id, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[id[i] >> 4];
		*out++ = digits[id[i] & 15];
	}
	*out = '\0';
}

bool
debug_file_path(const char *folder, const char *id, char *out, size_t size)
{
	return strlen(id) >= 4 && (size_t)snprintf(out, size,
	    "%s/%.2s/%s.debug", folder, id, id + 2) < size;
}

bool
debug_file_mirrored(const char *folder, const char *id, unsigned n,
    char *out, size_t size)
{
	char below[512];

	if (n == 0)
		return (size_t)snprintf(below, sizeof(below), "%s/.build-id",
		    folder) < sizeof(below) &&
		    debug_file_path(below, id, out, size);
	return n == 1 && strlen(id) >= 4 && (size_t)snprintf(out, size,
	    "%s/%s/debuginfo", folder, id) < size;
}

Elf_Scn *
debug_file_section(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr head;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		const char *s = gelf_getshdr(scn, &head) == NULL ? NULL
		    : elf_strptr(elf, names, head.sh_name);

		if (s != NULL && strcmp(s, name) == 0)
			return scn;
	}
	return NULL;
}
