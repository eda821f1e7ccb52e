/*
 * Unwind tables of crafted files.  First byte: what the rest is.
 *	0  a whole ELF file, as the symbols child gets it
 *	1  the bytes of .eh_frame, with code at 0x1000 to 0x9000
 *	2  the same without a known end
 * Whatever they are, rows come out in order, and the index that the daemon
 * makes of them finds each.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/symbols/unwind_read.h"
#include "collector/unwind/unwind_rows.h"

#define ROWS_MAX 4096

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
check_order(const struct ehframe_rows *r)
{
	size_t i;

	if (r->n > ROWS_MAX)
		abort();
	for (i = 0; i < r->n; i++)
		if (r->rows[i].kind >= UNWIND_KINDS ||
		    (i > 0 && r->rows[i].pc <= r->rows[i - 1].pc))
			abort();
}

/* Each row lies where its bucket says. */
static void
check_index(const struct unwind_rows *u)
{
	const struct unwind_region *t = &u->place;
	uint32_t i, bucket;

	for (i = 0; i < t->rows; i++) {
		bucket = (u->rows[i].pc - u->low) >> t->shift;
		if (bucket >= t->buckets ||
		    (uint32_t)u->index[bucket] > i + 1 ||
		    u->index[bucket] >> 32 <= i)
			abort();
	}
}

static void
check_rows(const struct ehframe_rows *r, struct unwind_code code,
    uint32_t at)
{
	struct unwind_rows u;
	size_t bytes = r->n * sizeof(r->rows[0]);
	int fd;

	check_order(r);
	if (r->n == 0)
		return;
	fd = memfd_create("rows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || write(fd, r->rows, bytes) != (ssize_t)bytes ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
	    F_SEAL_WRITE) != 0 ||
	    !unwind_rows_open(&u, fd, (uint32_t)r->n, &code, at))
		abort();
	check_index(&u);
	unwind_rows_close(&u);
	close(fd);
}

static void
try_elf(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};
	struct elf_input in = {bytes_read, &b, size};
	struct unwind_file f;
	uint32_t at;
	uint64_t offset = size >= 4 ? data[size - 4] << 16 : 0;

	if (unwind_read(&in, UNWIND_READ_ALL, ROWS_MAX, &f) == ELF_OK)
		check_order(&f.rows);
	free(f.rows.rows);
	if (unwind_read(&in, offset, ROWS_MAX, &f) == ELF_OK) {
		if (f.code.n > UNWIND_REGIONS_FILE || f.code.shift > 31)
			abort();
		at = offset > f.code.base ? (uint32_t)(offset - f.code.base) >>
		    f.code.shift : 0;
		check_rows(&f.rows, f.code, at < f.code.n ? at : f.code.n - 1);
	}
	free(f.rows.rows);
}

static void
try_section(const uint8_t *data, size_t size, bool exact)
{
	static const struct ehframe_segment code = {0x1000, 0x1000, 0x8000};
	struct ehframe_input in = {.bytes = data, .size = size,
	    .vaddr = 0xa000, .exact = exact, .segments = &code,
	    .n_segments = 1, .max_rows = ROWS_MAX};
	struct ehframe_rows rows;

	ehframe_read(&in, &rows);
	check_rows(&rows, (struct unwind_code){0, 1, 31}, 0);
	free(rows.rows);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] == 0)
		try_elf(data + 1, size - 1);
	else
		try_section(data + 1, size - 1, data[0] == 1);
	return 0;
}
