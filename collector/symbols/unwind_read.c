/*
 * Headers by elf.c, bytes by the input, rows by ehframe.c.
 *
 * Of a large file only the pages of .eh_frame are read that describe the
 * region's functions, which its index finds.
 */
#include "collector/symbols/unwind_read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collector/elf/callees.h"
#include "collector/elf/go_rows.h"
#include "collector/elf/prologue.h"
#include "collector/elf/roots.h"
#include "store/base/buf.h"

#define CODE_MAX 16      /* executable segments */
#define SMALL_BYTES 65536 /* of .eh_frame: one region */
#define ENTRIES_MAX 70000 /* of a region: one a byte, and some around */
#define PAGE 4096
#define HASHED 8 /* pages of .eh_frame, from all over it */

/* The section in memory, as far as it was needed. */
struct section {
	const struct elf_input *file;
	uint64_t offset, size; /* in the file */
	uint8_t *bytes;
	uint8_t *there; /* a byte for each page of it */
};

static bool
section_open(struct section *s, const struct elf_input *file,
    const struct elf_eh_frame *eh)
{
	*s = (struct section){.file = file, .offset = eh->offset,
	    .size = eh->size};
	s->there = calloc(eh->size / PAGE + 1, 1);
	s->bytes = mmap(NULL, eh->size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->bytes != MAP_FAILED && s->there != NULL)
		return true;
	if (s->bytes != MAP_FAILED)
		munmap(s->bytes, s->size);
	free(s->there);
	return false;
}

static void
section_close(struct section *s)
{
	munmap(s->bytes, s->size);
	free(s->there);
}

/* Pages in a row that are not there yet are read at once. */
static bool
section_need(void *arg, size_t at, size_t n)
{
	struct section *s = arg;
	size_t page = at / PAGE, end, first, size;

	if (n == 0)
		return true;
	for (end = (at + n - 1) / PAGE + 1; page < end; page++) {
		if (s->there[page])
			continue;
		first = page;
		while (page < end && !s->there[page])
			s->there[page++] = 1;
		size = page * PAGE < s->size ? (page - first) * PAGE :
		    s->size - first * PAGE;
		if (!s->file->read(s->file->arg, s->offset + first * PAGE,
		    s->bytes + first * PAGE, size))
			return false;
	}
	return true;
}

/* The file's code by regions. */
static void
unwind_set_code(struct unwind_code *c, const struct ehframe_input *in,
    bool go)
{
	uint64_t low = UINT64_MAX, high = 0, end;
	size_t i;

	for (i = 0; i < in->n_segments; i++) {
		end = in->segments[i].offset + in->segments[i].size;
		if (in->segments[i].offset < low)
			low = in->segments[i].offset;
		if (end > high)
			high = end;
	}
	*c = (struct unwind_code){0};
	if (high > UINT32_MAX)
		high = UINT32_MAX;
	if (low >= high)
		return;
	c->base = (uint32_t)low;
	c->shift = in->exact && in->size <= SMALL_BYTES && !go ? 31 :
	    UNWIND_REGION_SHIFT;
	while (c->shift < 31 && (high - low - 1) >> c->shift >=
	    UNWIND_REGIONS_FILE)
		c->shift++;
	c->n = (uint32_t)((high - low - 1) >> c->shift) + 1;
}

/* The region's part of the file, and its functions by the index. */
static size_t
unwind_set_region(struct ehframe_input *in, const struct unwind_code *c,
    uint64_t offset, const struct elf *e, uint32_t *entries)
{
	uint64_t *found = calloc(ENTRIES_MAX, sizeof(*found)), low, high;
	size_t i, k, n, all = 0;

	offset = offset > c->base ? (offset - c->base) >> c->shift : 0;
	offset = offset < c->n ? offset : c->n - 1;
	low = c->base + (offset << c->shift);
	high = low + (UINT64_C(1) << c->shift);
	in->low = (uint32_t)low;
	in->high = high < UINT32_MAX ? (uint32_t)high : UINT32_MAX;
	for (i = 0; i < in->n_segments && found != NULL; i++) {
		const struct ehframe_segment *s = &in->segments[i];
		uint64_t from = low > s->offset ? low : s->offset;
		uint64_t to = high < s->offset + s->size ? high :
		    s->offset + s->size;

		if (from >= to)
			continue;
		n = elf_function_entries(e, s->vaddr + (from - s->offset),
		    s->vaddr + (to - s->offset), found, ENTRIES_MAX - all);
		for (k = 0; k < n; k++)
			if (found[k] - in->vaddr < in->size)
				entries[all++] =
				    (uint32_t)(found[k] - in->vaddr);
	}
	free(found);
	return all;
}

static enum elf_status
unwind_status(enum ehframe_status status)
{
	return status == EHFRAME_OK ? ELF_OK : status == EHFRAME_TOO_BIG ?
	    ELF_TOO_BIG : ELF_NO_MEMORY;
}

static void
unwind_drop_rows(struct ehframe_rows *rows)
{
	free(rows->rows);
	*rows = (struct ehframe_rows){0};
}

static enum elf_status
unwind_read_section(struct ehframe_input *in, const struct elf_input *file,
    const struct elf *e, const struct elf_eh_frame *eh,
    struct ehframe_rows *out)
{
	enum ehframe_status status;
	struct section s;

	if (!section_open(&s, file, eh))
		return ELF_NO_MEMORY;
	in->bytes = s.bytes;
	in->need = section_need;
	in->arg = &s;
	status = ehframe_read(in, out);
	if (status == EHFRAME_OK)
		status = callees_add(e, in, out);
	if (status != EHFRAME_OK)
		unwind_drop_rows(out);
	section_close(&s);
	return unwind_status(status);
}

/* What .eh_frame does not tell. */
static enum elf_status
unwind_add_roots(const struct ehframe_input *in, const struct elf *e,
    size_t max_rows, struct unwind_file *out)
{
	uint64_t end = out->code.base +
	    ((uint64_t)out->code.n << out->code.shift);
	uint32_t low = in->high != 0 ? in->low : out->code.base, high;
	struct roots roots;
	enum ehframe_status status;

	if (in->high != 0)
		end = in->high;
	high = end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
	roots_find(e, low, high, max_rows, &roots);
	status = roots_merge(&roots, &out->rows, max_rows);
	free(roots.rows);
	if (status == EHFRAME_OK) {
		prologue_find(e, &out->rows, low, high, max_rows, &roots);
		status = roots_merge(&roots, &out->rows, max_rows);
		free(roots.rows);
	}
	if (status != EHFRAME_OK)
		unwind_drop_rows(&out->rows);
	return unwind_status(status);
}

static enum elf_status
unwind_read_rows(const struct elf_input *file, const struct elf *e,
    const struct elf_eh_frame *eh, uint64_t offset, struct unwind_file *out,
    size_t max_rows)
{
	struct ehframe_segment segments[CODE_MAX];
	struct elf_code code[CODE_MAX];
	struct ehframe_input in = {.size = eh->size, .vaddr = eh->vaddr,
	    .exact = eh->exact, .segments = segments, .max_rows = max_rows,
	    .n_segments = elf_code_segments(e, code, CODE_MAX)};
	uint32_t *entries = NULL;
	enum elf_status status;
	size_t i;

	if (eh->offset > file->size || eh->size > file->size - eh->offset)
		return ELF_DAMAGED;
	if (eh->size > EHFRAME_BYTES_MAX)
		return ELF_TOO_BIG;
	for (i = 0; i < in.n_segments; i++)
		segments[i] = (struct ehframe_segment){
		    .vaddr = code[i].vaddr, .offset = code[i].offset,
		    .size = code[i].size};
	unwind_set_code(&out->code, &in, go_has_depths(e));
	if (out->code.n == 0)
		return ELF_OK;
	if (offset != UNWIND_READ_ALL && out->code.n > 1) {
		entries = calloc(ENTRIES_MAX, sizeof(*entries));
		if (entries == NULL)
			return ELF_NO_MEMORY;
		in.n_entries = unwind_set_region(&in, &out->code, offset, e,
		    entries);
		if (in.n_entries > 0)
			in.entries = entries;
	}
	status = eh->size == 0 ? ELF_OK :
	    unwind_read_section(&in, file, e, eh, &out->rows);
	free(entries);
	return status == ELF_OK ? unwind_add_roots(&in, e, max_rows, out) :
	    status;
}

/* Where code lies, and parts of how its frames are found. */
static uint64_t
unwind_hash(const struct elf_input *in, const struct elf *e,
    const struct elf_eh_frame *eh)
{
	struct elf_code code[CODE_MAX];
	size_t n = elf_code_segments(e, code, CODE_MAX);
	uint64_t hash = hash64(eh->size, code, n * sizeof(code[0])), at;
	uint8_t page[PAGE];

	for (uint64_t i = 0; i < HASHED && eh->size > 0; i++) {
		at = eh->size / HASHED * i;
		n = eh->size - at < PAGE ? (size_t)(eh->size - at) : PAGE;
		if (in->read(in->arg, eh->offset + at, page, n))
			hash = hash64(hash, page, n);
	}
	return hash;
}

/* Files of one build id may have been changed since, or have been given it. */
static void
unwind_identify(const struct elf_input *in, const struct elf *e,
    const struct elf_eh_frame *eh, struct unwind_file *out)
{
	const uint8_t *id = elf_build_id(e, &out->id_len);
	uint64_t hash;

	if (out->id_len == 0 || out->id_len > sizeof(out->id) - sizeof(hash)) {
		out->id_len = 0;
		return;
	}
	hash = unwind_hash(in, e, eh);
	memcpy(out->id, id, out->id_len);
	memcpy(out->id + out->id_len, &hash, sizeof(hash));
	out->id_len += sizeof(hash);
}

enum elf_status
unwind_read(const struct elf_input *in, uint64_t offset, size_t max_rows,
    struct unwind_file *out)
{
	struct elf_eh_frame eh;
	struct elf *e;
	enum elf_status status = elf_open_headers(&e, in);

	memset(out, 0, sizeof(*out));
	if (status != ELF_OK)
		return status;
	if (!elf_find_eh_frame(e, &eh))
		eh = (struct elf_eh_frame){.exact = true};
	unwind_identify(in, e, &eh, out);
	status = unwind_read_rows(in, e, &eh, offset, out, max_rows);
	elf_close(e);
	/* One that describes nothing is none. */
	if (status == ELF_OK && out->code.n == 1 && out->rows.n == 0)
		out->code.n = 0;
	return status;
}
