/*
 * The maps of JITs.  Input: the text of one.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/symbols/perfmap.h"

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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};
	struct elf_input in = {bytes_read, &b, size};
	char name[ELF_NAME_MAX];
	struct elf_symbol s;
	struct perfmap *m;
	uint64_t addr;

	if (perfmap_open(&m, &in) != ELF_OK)
		return 0;
	for (addr = 0; addr < 0x10000; addr += 251)
		if (perfmap_lookup(m, addr, &s, name) &&
		    (s.entry > addr || addr - s.entry >= s.size))
			abort();
	perfmap_lookup(m, UINT64_MAX, &s, name);
	perfmap_close(m);
	return 0;
}
