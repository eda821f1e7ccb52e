/*
 * Program files with debug information, as the operator's command reads
 * them.  Input: a file.  libdw is not instrumented and a header hides the
 * rest, so three inputs of four keep their layout and change in one section.
 */
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fcgi/symbolize/symbolize.h"
#include "store/base/err.h"

#define ASKED 512 /* addresses of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most,
    unsigned seed);

static size_t
length(const char *text)
{
	return text == NULL ? 0 : strlen(text);
}

/* Strings are read to their ends, and only the outermost is no inlined. */
static size_t
ask(struct symbolizer *s, uint64_t address)
{
	struct symbolized frames[SYMBOLIZED_MAX];
	size_t n = symbolizer_find(s, address, frames), sum = 0;

	if (n > SYMBOLIZED_MAX)
		abort();
	for (size_t i = 0; i < n; i++) {
		if (frames[i].inlined != (i > 0))
			abort();
		sum += length(frames[i].name) + length(frames[i].file);
	}
	return sum;
}

static void
ask_all(struct symbolizer *s, size_t n)
{
	size_t step = n / ASKED + 1;
	uint64_t address;

	(void)length(symbolizer_build_id(s));
	for (size_t at = 0; at < n; at += step)
		if (symbolizer_address(s, at, &address))
			(void)ask(s, address);
	for (uint64_t at = 0; at < 64; at++)
		(void)ask(s, at);
	(void)ask(s, UINT64_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	struct symbolizer *s;
	char path[32];

	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (symbolizer_open(&s, path) == NULL) {
		ask_all(s, n);
		symbolizer_close(s);
	}
	close(fd);
	return 0;
}

/* Where section `which` (of those that hold bytes, round and round) lies. */
static size_t
section(uint8_t *data, size_t n, unsigned which, uint8_t **begin)
{
	Elf64_Ehdr e;
	Elf64_Shdr h;

	if (n < sizeof(e))
		return 0;
	memcpy(&e, data, sizeof(e));
	if (e.e_shnum == 0 || e.e_shoff > n ||
	    e.e_shnum > (n - e.e_shoff) / sizeof(h))
		return 0;
	memcpy(&h, data + e.e_shoff + which % e.e_shnum * sizeof(h),
	    sizeof(h));
	if (h.sh_type == SHT_NOBITS || h.sh_offset > n ||
	    h.sh_size > n - h.sh_offset)
		return 0;
	*begin = data + h.sh_offset;
	return h.sh_size;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
	uint8_t *begin;
	size_t held = seed % 4 == 0 ? 0 : section(data, n, seed / 4, &begin);
	size_t kept;

	if (held == 0)
		return LLVMFuzzerMutate(data, n, most);
	kept = LLVMFuzzerMutate(begin, held, held);
	memset(begin + kept, 0, held - kept);
	return n;
}
