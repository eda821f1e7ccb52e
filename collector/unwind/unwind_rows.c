/*
 * Checks, index, copy.  The layout is drawn in unwind.h.
 */
#include "collector/unwind/unwind_rows.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define ROWS_EACH 8 /* of a bucket, on average; at least */
#define SHIFT_MIN 5

static bool
rows_in_order(const struct unwind_row *r, uint32_t n, uint32_t low,
    uint64_t high)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (r[i].kind >= UNWIND_KINDS || r[i].pc < low ||
		    r[i].pc >= high || (i > 0 && r[i].pc <= r[i - 1].pc))
			return false;
	return true;
}

/* Buckets as small as the number of rows is worth.  Where there are other
 * regions, the last row serves up to the region's end. */
static void
rows_set_shift(struct unwind_rows *u, uint32_t n,
    const struct unwind_code *code)
{
	struct unwind_region *t = &u->place;
	uint32_t span = code->n > 1 ? (1u << code->shift) - 1 :
	    u->rows[n - 1].pc - u->low;

	t->rows = n;
	t->shift = SHIFT_MIN;
	while (t->shift < UNWIND_SHIFT_MAX &&
	    (span >> t->shift) > n / ROWS_EACH)
		t->shift++;
	t->buckets = (uint16_t)((span >> t->shift) + 1);
}

/* For each bucket: (first row above its first offset, first row behind it),
 * 32 bits each, low half first. */
static void
rows_fill_index(struct unwind_rows *u)
{
	const struct unwind_region *t = &u->place;
	uint32_t b, low = 0, high = 0;
	uint64_t begin, end;

	for (b = 0; b < t->buckets; b++) {
		begin = u->low + ((uint64_t)b << t->shift);
		end = begin + (UINT64_C(1) << t->shift);
		while (low < t->rows && u->rows[low].pc <= begin)
			low++;
		while (high < t->rows && u->rows[high].pc < end)
			high++;
		/* The bucket's first offset has a row: search above it. */
		u->index[b] = (uint64_t)high << 32 | low;
	}
}

/* Mostly they are a page or two: less work to copy than to map. */
static bool
rows_read(struct unwind_rows *u, int fd, uint32_t n)
{
	size_t bytes = (size_t)n * sizeof(struct unwind_row);
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) != 0 ||
	    st.st_size < 0 || (uint64_t)st.st_size != bytes)
		return false;
	u->rows = malloc(bytes);
	return u->rows != NULL &&
	    pread(fd, u->rows, bytes, 0) == (ssize_t)bytes;
}

bool
unwind_rows_open(struct unwind_rows *u, int fd, uint32_t n,
    const struct unwind_code *code, uint32_t at)
{
	memset(u, 0, sizeof(*u));
	u->low = code->base + (at << code->shift);
	if (n == 0 || n > UNWIND_ROWS_MAX)
		return false;
	if (rows_read(u, fd, n) && rows_in_order(u->rows, n, u->low, u->low +
	    (UINT64_C(1) << code->shift))) {
		rows_set_shift(u, n, code);
		u->index = malloc(u->place.buckets * sizeof(*u->index));
	}
	if (u->index == NULL) {
		unwind_rows_close(u);
		return false;
	}
	rows_fill_index(u);
	return true;
}

void
unwind_rows_close(struct unwind_rows *u)
{
	free(u->rows);
	free(u->index);
	u->rows = NULL;
	u->index = NULL;
}

bool
unwind_rows_write(const struct unwind_rows *u, const struct unwind_kernel *k)
{
	const struct unwind_region *t = &u->place;

	return k->write(k->arg, UNWIND_ARRAY_CELLS, t->first, u->index,
	    t->buckets) && k->write(k->arg, UNWIND_ARRAY_CELLS,
	    t->first + t->buckets, u->rows, t->rows);
}
