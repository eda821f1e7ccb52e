/*
 * Holds the rows of Go's code in a file against the tables for debuggers that
 * the linker has written beside it, as libdw reads them: region by region, as
 * the daemon gets them, and all at once.
 *
 *	go_rows_oracle FILE
 *
 * Prints "DIFFERENT rows differ of COMPARED; DEPTH of CODE bytes of code have a
 * depth, FRAME a frame".
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/symbols/unwind_read.h"

#define ROWS_MAX (64u << 20)

struct sums {
	uint64_t different, compared, depth, code, frame;
};

static bool
file_read(void *arg, uint64_t at, void *p, size_t n)
{
	memcpy(p, (const char *)arg + at, n);
	return true;
}

static GElf_Phdr
code_of(Elf *elf)
{
	GElf_Phdr ph = {0};
	size_t n = 0;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		gelf_getphdr(elf, (int)i, &ph);
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X) != 0)
			return ph;
	}
	return ph;
}

/* Where the row of libdw that holds there ends, and its depth; 0: none. */
static Dwarf_Addr
their_depth(Dwarf_CFI *cfi, Dwarf_Addr at, int64_t *depth)
{
	Dwarf_Addr start, end = 0;
	Dwarf_Frame *f;
	Dwarf_Op *o;
	size_t n;

	if (dwarf_cfi_addrframe(cfi, at, &f) != 0)
		return 0;
	dwarf_frame_info(f, &start, &end, NULL);
	*depth = -1;
	if (dwarf_frame_cfa(f, &o, &n) == 0 && n == 1) {
		if (o[0].atom == DW_OP_breg7)
			*depth = (int64_t)o[0].number;
		else if (o[0].atom == DW_OP_bregx && o[0].number == 7)
			*depth = (int64_t)o[0].number2;
	}
	free(f);
	return end;
}

/* What holds from one address to another, by one row of ours. */
static void
compare(Dwarf_CFI *cfi, const struct unwind_row *r, Dwarf_Addr at,
    Dwarf_Addr to, struct sums *sums)
{
	int64_t depth;
	Dwarf_Addr end;

	sums->code += to - at;
	if (r->cfa == 0)
		return;
	sums->depth += to - at;
	sums->frame += r->bp != 0 ? to - at : 0;
	for (; at < to; at = end) {
		end = their_depth(cfi, at, &depth);
		/* Bytes between functions are of none, or of the last one. */
		if (end <= at)
			return;
		sums->compared++;
		if (depth == 8 * (int64_t)r->cfa)
			continue;
		if (sums->different++ < 3)
			printf("# %llx: %u, theirs %lld\n",
			    (unsigned long long)at, 8u * r->cfa,
			    (long long)depth);
	}
}

/* Is runtime.asyncPreempt() among them, of these releases? */
static bool
has_pushed(const struct ehframe_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->rows[i].kind == UNWIND_PUSHED &&
		    rows->rows[i].bp != 0)
			return true;
	return false;
}

static void
compare_rows(Dwarf_CFI *cfi, const struct ehframe_rows *rows,
    const GElf_Phdr *code, struct sums *sums)
{
	for (size_t i = 0; i + 1 < rows->n; i++)
		if (rows->rows[i].kind == UNWIND_GO ||
		    rows->rows[i].kind == UNWIND_PUSHED)
			compare(cfi, &rows->rows[i], code->p_vaddr +
			    rows->rows[i].pc - code->p_offset,
			    code->p_vaddr + rows->rows[i + 1].pc -
			    code->p_offset, sums);
}

/* The rule at an offset by rows; NULL: none. */
static const struct unwind_row *
find(const struct ehframe_rows *rows, uint32_t pc)
{
	size_t low = 0, high = rows->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (rows->rows[mid].pc <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 ? &rows->rows[low - 1] : NULL;
}

/* Each row of a region is one of all, and what holds there without one of its
 * own is what holds at its beginning. */
static bool
same_by_regions(const struct elf_input *in, const struct unwind_file *all)
{
	const struct unwind_row *r, *a;
	struct unwind_file f;
	size_t rows = 0;

	for (uint32_t i = 0; i < all->code.n; i++) {
		if (unwind_read(in, all->code.base +
		    ((uint64_t)i << all->code.shift), 65536, &f) != ELF_OK)
			return false;
		for (size_t k = 0; k < f.rows.n; k++) {
			r = &f.rows.rows[k];
			a = find(&all->rows, r->pc);
			if (a == NULL || a->kind != r->kind ||
			    a->cfa != r->cfa || a->bp != r->bp)
				return false;
			rows += a->pc == r->pc;
		}
		free(f.rows.rows);
	}
	return rows == all->rows.n && all->code.n > 1;
}

int
main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct sums s = {0};
	struct unwind_file f;
	struct elf_input in;
	GElf_Phdr code;
	Dwarf_CFI *cfi;
	struct stat st;
	Dwarf *dw;

	elf_version(EV_CURRENT);
	if (fd < 0 || fstat(fd, &st) != 0)
		return 2;
	in = (struct elf_input){.read = file_read,
	    .size = (uint64_t)st.st_size, .arg = mmap(NULL,
	    (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)};
	dw = dwarf_begin(fd, DWARF_C_READ);
	if (in.arg == MAP_FAILED || dw == NULL ||
	    (cfi = dwarf_getcfi(dw)) == NULL ||
	    unwind_read(&in, UNWIND_READ_ALL, ROWS_MAX, &f) != ELF_OK)
		return 2;
	code = code_of(dwarf_getelf(dw));
	compare_rows(cfi, &f.rows, &code, &s);
	if (!same_by_regions(&in, &f)) {
		printf("# other rows by regions\n");
		s.different++;
	}
	if (!has_pushed(&f.rows)) {
		printf("# no rows of asyncPreempt\n");
		s.different++;
	}
	printf("%llu rows differ of %llu; %llu of %llu bytes of code have a "
	    "depth, %llu a frame\n", (unsigned long long)s.different,
	    (unsigned long long)s.compared, (unsigned long long)s.depth,
	    (unsigned long long)s.code, (unsigned long long)s.frame);
	free(f.rows.rows);
	dwarf_end(dw);
	return s.different != 0;
}
