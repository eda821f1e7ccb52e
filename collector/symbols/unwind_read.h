/*
 * From an ELF file to the rows of the unwinder, of a region of its code or of
 * all.  Reads foreign bytes: runs in the symbols child, in tests and in the
 * fuzzer.
 *
 *	offset  base            base + (1 << shift)
 *	        │   region 0    │   region 1    │ ...   (n regions)
 *
 * A file with few rows is one region.
 */
#ifndef COLLECTOR_UNWIND_READ_H
#define COLLECTOR_UNWIND_READ_H

#include "collector/elf/ehframe.h"
#include "collector/elf/elf.h"

struct unwind_file {
	struct ehframe_rows rows;
	struct unwind_code code; /* n 0: the file has no .eh_frame */
	uint8_t id[ELF_BUILD_ID_MAX]; /* the same in files of the same code: */
	size_t id_len; /* the build id, which some give to several, and what
	                * of .eh_frame differs in those; 0: it has none */
};

#define UNWIND_READ_ALL UINT64_MAX /* instead of an offset */

/* The rows of the region that holds `offset`, or of all; of the nearest region
 * where it is in none.  Errors: those of elf_open(), ELF_TOO_BIG also for more
 * than max_rows: then out->code is right all the same.  Free
 * out->rows.rows. */
enum elf_status unwind_read(const struct elf_input *in, uint64_t offset,
    size_t max_rows, struct unwind_file *out);

#endif
