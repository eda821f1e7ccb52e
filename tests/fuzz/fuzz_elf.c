/*
 * ELF files of profiled processes, and the demangling of what is in them:
 * everything that the symbols child does with one.  Input: a file.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/elf/elf.h"
#include "collector/symbols/symbols_child.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
	const uint8_t *data;
	size_t size;
};

static bool
bytes_read(void *arg, uint64_t at, void *p, size_t n)
{
	const struct bytes *b = arg;

	if (at > b->size || n > b->size - at)
		abort(); /* asked for what is not there */
	memcpy(p, b->data + at, n);
	return true;
}

static void
ask(const struct elf *e, uint64_t vaddr)
{
	char raw[ELF_NAME_MAX], name[513];
	struct elf_symbol s;

	if (elf_lookup(e, vaddr, &s, raw)) {
		if (s.entry > vaddr || vaddr - s.entry > s.size)
			abort();
		symbols_child_name(raw, name, sizeof(name));
	}
	if (elf_function(e, vaddr, &s) && vaddr - s.entry >= s.size)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};
	struct elf_input in = {bytes_read, &b, size};
	struct elf_debug_alt alt;
	struct elf_symbol s;
	uint64_t offset, vaddr;
	struct elf *e;

	if (elf_open(&e, &in) != ELF_OK)
		return 0;
	if (elf_debug_alt(e, &alt) && (alt.n_build_id == 0 ||
	    alt.n_build_id > ELF_BUILD_ID_MAX ||
	    strlen(alt.path) >= ELF_PATH_MAX))
		abort(); /* what the daemon would copy */
	for (offset = 0; offset < size; offset += 61)
		if (elf_vaddr(e, offset, &vaddr))
			ask(e, vaddr);
	ask(e, 0);
	ask(e, UINT64_MAX);
	if (elf_find_named(e, "main", &s) && elf_offset(e, s.entry, &offset) &&
	    offset >= size)
		abort(); /* where a probe would be put */
	elf_close(e);
	return 0;
}
