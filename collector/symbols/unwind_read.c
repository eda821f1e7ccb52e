/*
 * Headers by elf.c, bytes by the input, rows by ehframe.c.
 */
#include "collector/symbols/unwind_read.h"

#include <stdlib.h>
#include <string.h>

#define CODE_MAX 16 /* executable segments */

static enum elf_status
unwind_read_rows(const struct elf_input *file, const struct elf *e,
    const struct elf_eh_frame *eh, size_t max_rows, struct ehframe_rows *out)
{
	struct ehframe_segment segments[CODE_MAX];
	struct elf_code code[CODE_MAX];
	struct ehframe_input in = {.size = eh->size, .vaddr = eh->vaddr,
	    .exact = eh->exact, .segments = segments, .max_rows = max_rows,
	    .n_segments = elf_code_segments(e, code, CODE_MAX)};
	enum ehframe_status status;
	uint8_t *bytes;
	size_t i;

	if (eh->offset > file->size || eh->size > file->size - eh->offset)
		return ELF_DAMAGED;
	if (eh->size > EHFRAME_BYTES_MAX)
		return ELF_TOO_BIG;
	for (i = 0; i < in.n_segments; i++)
		segments[i] = (struct ehframe_segment){
		    .vaddr = code[i].vaddr, .offset = code[i].offset,
		    .size = code[i].size};
	bytes = malloc(eh->size);
	if (bytes == NULL)
		return ELF_NO_MEMORY;
	in.bytes = bytes;
	if (!file->read(file->arg, eh->offset, bytes, eh->size)) {
		free(bytes);
		return ELF_DAMAGED;
	}
	status = ehframe_read(&in, out);
	free(bytes);
	return status == EHFRAME_OK ? ELF_OK : status == EHFRAME_TOO_BIG ?
	    ELF_TOO_BIG : ELF_NO_MEMORY;
}

enum elf_status
unwind_read(const struct elf_input *in, size_t max_rows,
    struct unwind_file *out)
{
	struct elf_eh_frame eh;
	const uint8_t *id;
	struct elf *e;
	enum elf_status status = elf_open_headers(&e, in);

	memset(out, 0, sizeof(*out));
	if (status != ELF_OK)
		return status;
	id = elf_build_id(e, &out->build_id_len);
	memcpy(out->build_id, id, out->build_id_len);
	if (elf_find_eh_frame(e, &eh))
		status = unwind_read_rows(in, e, &eh, max_rows, &out->rows);
	elf_close(e);
	return status;
}
