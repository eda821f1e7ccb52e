/*
 * A file in memory, as the ELF reader's input: that nothing outside of it is
 * ever asked for is checked.
 */
#ifndef TESTS_ELF_BYTES_H
#define TESTS_ELF_BYTES_H

#include "collector/elf/elf.h"
#include "tests/unit/test.h"

struct bytes {
	uint8_t *p;
	uint64_t size;
};

static bool
bytes_read(void *arg, uint64_t at, void *p, size_t n)
{
	const struct bytes *b = arg;

	CHECK(at <= b->size && n <= b->size - at);
	if (at > b->size || n > b->size - at)
		return false;
	memcpy(p, b->p + at, n);
	return true;
}

static enum elf_status
open_bytes(struct elf **e, struct bytes *b)
{
	struct elf_input in = {bytes_read, b, b->size};

	return elf_open(e, &in);
}

#endif
