/*
 * What lies in sections by name: the bytes of .eh_frame for the unwinder and
 * where code lies; the file that shares its debug information.
 */
#include <string.h>

#include "collector/elf/elf_private.h"

static bool
eh_frame_by_section(const struct elf *e, struct elf_eh_frame *out)
{
	Elf64_Shdr s;

	if (!elf_section_named(e, ".eh_frame", &s) ||
	    (s.sh_flags & SHF_ALLOC) == 0)
		return false;
	*out = (struct elf_eh_frame){.offset = s.sh_offset,
	    .size = s.sh_size, .vaddr = s.sh_addr, .exact = true};
	return true;
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

bool
elf_debug_alt(const struct elf *e, struct elf_debug_alt *out)
{
	char bytes[ELF_PATH_MAX + ELF_BUILD_ID_MAX];
	size_t n, name;
	Elf64_Shdr s;

	memset(out, 0, sizeof(*out));
	if (!elf_section_named(e, ".gnu_debugaltlink", &s) ||
	    s.sh_size > sizeof(bytes) ||
	    !elf_read(e, s.sh_offset, bytes, s.sh_size))
		return false;
	n = (size_t)s.sh_size;
	name = strnlen(bytes, n);
	if (name >= ELF_PATH_MAX || name + 1 >= n ||
	    n - name - 1 > ELF_BUILD_ID_MAX)
		return false;
	memcpy(out->path, bytes, name);
	out->n_build_id = n - name - 1;
	memcpy(out->build_id, bytes + name + 1, out->n_build_id);
	return true;
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
