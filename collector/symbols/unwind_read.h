/*
 * From an ELF file to the rows of the unwinder.  Reads foreign bytes: runs
 * in the symbols child, in tests and in the fuzzer.
 */
#ifndef COLLECTOR_UNWIND_READ_H
#define COLLECTOR_UNWIND_READ_H

#include "collector/elf/ehframe.h"
#include "collector/elf/elf.h"

struct unwind_file {
	struct ehframe_rows rows; /* none: the file has no .eh_frame */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_len;
};

/* Errors: those of elf_open(), ELF_TOO_BIG also for more than max_rows.  Free
 * out->rows.rows. */
enum elf_status unwind_read(const struct elf_input *in, size_t max_rows,
    struct unwind_file *out);

#endif
