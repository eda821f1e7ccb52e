/*
 * ELF headers: what the file is, where its segments lie, its build id.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/elf/elf_private.h"

#define NOTES_MAX (64u << 10) /* bytes of one note segment that are read */

bool
elf_read(const struct elf *e, uint64_t at, void *p, size_t n)
{
	if (at > e->in.size || n > e->in.size - at)
		return false;
	return e->in.read(e->in.arg, at, p, n);
}

static enum elf_status
elf_read_head(struct elf *e)
{
	const unsigned char *id = e->head.e_ident;

	if (!elf_read(e, 0, &e->head, sizeof(e->head)) ||
	    memcmp(id, ELFMAG, SELFMAG) != 0)
		return ELF_NOT_ELF;
	if (id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB ||
	    e->head.e_machine != EM_X86_64 ||
	    (e->head.e_type != ET_EXEC && e->head.e_type != ET_DYN))
		return ELF_UNSUPPORTED;
	if (e->head.e_phentsize != sizeof(Elf64_Phdr) ||
	    e->head.e_phnum == 0)
		return ELF_DAMAGED;
	return ELF_OK;
}

static uint64_t
align4(uint64_t n)
{
	return (n + 3) & ~(uint64_t)3;
}

/* Finds the build id among notes: (name size, desc size, type, name, desc),
 * both padded to 4 bytes. */
static void
elf_scan_notes(struct elf *e, const uint8_t *p, size_t n)
{
	Elf64_Nhdr note;
	uint64_t name, desc;

	while (n >= sizeof(note) && e->n_build_id == 0) {
		memcpy(&note, p, sizeof(note));
		name = sizeof(note);
		desc = name + align4(note.n_namesz);
		if (desc > n || note.n_descsz > n - desc)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(p + name, "GNU", 4) == 0 &&
		    note.n_descsz <= ELF_BUILD_ID_MAX) {
			memcpy(e->build_id, p + desc, note.n_descsz);
			e->n_build_id = note.n_descsz;
		}
		desc += align4(note.n_descsz);
		if (desc > n)
			return;
		p += desc;
		n -= desc;
	}
}

static void
elf_read_notes(struct elf *e, uint64_t at, uint64_t size)
{
	size_t n = size < NOTES_MAX ? size : NOTES_MAX;
	uint8_t *p = n > 0 ? malloc(n) : NULL;

	if (p != NULL && elf_read(e, at, p, n))
		elf_scan_notes(e, p, n);
	free(p);
}

/* Linkers' scripts of one's own have a section for it, and no segment. */
static void
elf_read_note_sections(struct elf *e)
{
	Elf64_Shdr sh;

	for (unsigned i = 0; e->n_build_id == 0 && i < e->head.e_shnum &&
	    e->head.e_shentsize == sizeof(sh); i++) {
		if (!elf_read(e, e->head.e_shoff + i * sizeof(sh), &sh,
		    sizeof(sh)))
			return;
		if (sh.sh_type == SHT_NOTE)
			elf_read_notes(e, sh.sh_offset, sh.sh_size);
	}
}

static void
elf_add_segment(struct elf *e, const Elf64_Phdr *ph)
{
	struct segment *s;

	if (e->n_segments == SEGMENTS_MAX ||
	    ph->p_offset + ph->p_filesz < ph->p_offset ||
	    ph->p_vaddr + ph->p_filesz < ph->p_vaddr)
		return;
	s = &e->segments[e->n_segments++];
	s->offset = ph->p_offset;
	s->vaddr = ph->p_vaddr;
	s->size = ph->p_filesz;
	s->executable = (ph->p_flags & PF_X) != 0;
}

static enum elf_status
elf_read_segments(struct elf *e)
{
	Elf64_Phdr ph;
	uint64_t at = e->head.e_phoff;
	unsigned i;

	for (i = 0; i < e->head.e_phnum && i < 4 * SEGMENTS_MAX; i++) {
		if (!elf_read(e, at + i * sizeof(ph), &ph, sizeof(ph)))
			return ELF_DAMAGED;
		if (ph.p_type == PT_LOAD)
			elf_add_segment(e, &ph);
		if (ph.p_type == PT_NOTE)
			elf_read_notes(e, ph.p_offset, ph.p_filesz);
		if (ph.p_type == PT_GNU_EH_FRAME) {
			e->hdr_vaddr = ph.p_vaddr;
			e->hdr_size = ph.p_filesz;
		}
	}
	elf_read_note_sections(e);
	return ELF_OK;
}

enum elf_status
elf_open_headers(struct elf **out, const struct elf_input *in)
{
	struct elf *e = calloc(1, sizeof(*e));
	enum elf_status status;

	*out = NULL;
	if (e == NULL)
		return ELF_NO_MEMORY;
	e->in = *in;
	status = elf_read_head(e);
	if (status == ELF_OK)
		status = elf_read_segments(e);
	if (status != ELF_OK) {
		elf_close(e);
		return status;
	}
	*out = e;
	return ELF_OK;
}

enum elf_status
elf_open(struct elf **out, const struct elf_input *in)
{
	struct elf *e;
	enum elf_status status = elf_open_headers(&e, in);

	*out = NULL;
	if (status != ELF_OK)
		return status;
	status = elf_read_symbols(e);
	if (status == ELF_OK && !e->symtab)
		status = elf_read_go(e);
	if (status != ELF_OK) {
		elf_close(e);
		return status;
	}
	*out = e;
	return ELF_OK;
}

void
elf_close(struct elf *e)
{
	if (e == NULL)
		return;
	free(e->symbols);
	if (e->plain != NULL)
		buf_fini(e->plain);
	free(e->plain);
	free(e);
}

const uint8_t *
elf_build_id(const struct elf *e, size_t *n)
{
	*n = e->n_build_id;
	return e->build_id;
}

bool
elf_has_symtab(const struct elf *e)
{
	return e->symtab;
}

size_t
elf_symbols(const struct elf *e)
{
	return e->n_symbols;
}

/* Segments may share a page of the file: code is asked for, so an
 * executable one is the better answer. */
bool
elf_vaddr(const struct elf *e, uint64_t offset, uint64_t *vaddr)
{
	const struct segment *best = NULL, *s;

	for (s = e->segments; s < e->segments + e->n_segments; s++)
		if (offset >= s->offset && offset - s->offset < s->size &&
		    (best == NULL || s->executable))
			best = s;
	if (best == NULL)
		return false;
	*vaddr = best->vaddr + (offset - best->offset);
	return true;
}

bool
elf_offset(const struct elf *e, uint64_t vaddr, uint64_t *offset)
{
	const struct segment *s;

	for (s = e->segments; s < e->segments + e->n_segments; s++) {
		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->size) {
			*offset = s->offset + (vaddr - s->vaddr);
			return true;
		}
	}
	return false;
}
