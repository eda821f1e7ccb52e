/*
 * What the unwinder needs of an ELF file: the bytes of .eh_frame and where
 * code lies.
 */
#include <string.h>

#include "elf_private.h"

#define SECTIONS_MAX 65536u

static bool
section_is_eh_frame(const struct elf *e, const Elf64_Shdr *names,
    const Elf64_Shdr *s)
{
	static const char want[] = ".eh_frame";
	char name[sizeof(want)];

	return s->sh_type != SHT_NOBITS && (s->sh_flags & SHF_ALLOC) != 0 &&
	    s->sh_size > 0 && s->sh_name <= names->sh_size &&
	    elf_read(e, names->sh_offset + s->sh_name, name, sizeof(name)) &&
	    memcmp(name, want, sizeof(want)) == 0;
}

static bool
eh_frame_by_section(const struct elf *e, struct elf_eh_frame *out)
{
	uint64_t i, n = elf_sections(e);
	Elf64_Shdr names, s;

	if (e->head.e_shstrndx >= n ||
	    !elf_section(e, e->head.e_shstrndx, &names))
		return false;
	for (i = 1; i < n && i < SECTIONS_MAX; i++) {
		if (!elf_section(e, i, &s))
			return false;
		if (!section_is_eh_frame(e, &names, &s))
			continue;
		*out = (struct elf_eh_frame){.offset = s.sh_offset,
		    .size = s.sh_size, .vaddr = s.sh_addr, .exact = true};
		return true;
	}
	return false;
}

/* The header (see elf_function.c) says where the section begins, not where
 * it ends. */
static bool
eh_frame_by_header(const struct elf *e, struct elf_eh_frame *out)
{
	struct {
		uint8_t version, ptr, count, table;
		int32_t frame;
	} head;
	const struct segment *s;
	uint64_t at;

	if (e->hdr_size < sizeof(head) ||
	    !elf_offset(e, e->hdr_vaddr, &at) ||
	    !elf_read(e, at, &head, sizeof(head)) || head.version != 1 ||
	    head.ptr != 0x1b)
		return false;
	out->vaddr = e->hdr_vaddr + 4 + (uint64_t)(int64_t)head.frame;
	for (s = e->segments; s < e->segments + e->n_segments; s++) {
		if (out->vaddr < s->vaddr || out->vaddr - s->vaddr >= s->size)
			continue;
		out->offset = s->offset + (out->vaddr - s->vaddr);
		out->size = s->size - (out->vaddr - s->vaddr);
		out->exact = false;
		return true;
	}
	return false;
}

bool
elf_find_eh_frame(const struct elf *e, struct elf_eh_frame *out)
{
	return eh_frame_by_section(e, out) || eh_frame_by_header(e, out);
}

size_t
elf_code_segments(const struct elf *e, struct elf_code *out, size_t max)
{
	const struct segment *s;
	size_t n = 0;

	for (s = e->segments; s < e->segments + e->n_segments; s++)
		if (s->executable && s->size > 0 && n < max)
			out[n++] = (struct elf_code){.vaddr = s->vaddr,
			    .offset = s->offset, .size = s->size};
	return n;
}
