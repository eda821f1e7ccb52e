/*
 * What the files elf*.c share.
 */
#ifndef COLLECTOR_ELF_PRIVATE_H
#define COLLECTOR_ELF_PRIVATE_H

#include <elf.h>

#include "collector/elf/elf.h"
#include "store/base/buf.h"

#define SEGMENTS_MAX 64

struct segment {
	uint64_t offset, vaddr, size; /* what the file holds of it */
	bool executable;
};

/* Sorted by address, then best name first. */
struct symbol {
	uint64_t addr;
	uint32_t size : 30, rank : 2;
	uint32_t name; /* offset in the string table */
};

struct elf {
	struct elf_input in;
	Elf64_Ehdr head;
	struct segment segments[SEGMENTS_MAX];
	size_t n_segments;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t n_build_id;
	uint64_t hdr_vaddr, hdr_size; /* .eh_frame_hdr; size 0: none */
	struct symbol *symbols;
	size_t n_symbols;
	uint64_t strings, strings_size; /* the string table in the file */
	bool symtab;
	struct buf *plain; /* ours, where the bytes come from; NULL: others' */
};

/* Reads n bytes or returns false; refuses what lies outside of the file. */
bool elf_read(const struct elf *e, uint64_t at, void *p, size_t n);

/* The number of sections, and one of them by number. */
uint64_t elf_sections(const struct elf *e);
bool elf_section(const struct elf *e, uint64_t i, Elf64_Shdr *out);

/* The first section of that name (below 32 bytes) that has bytes in the
 * file. */
bool elf_section_named(const struct elf *e, const char *name,
    Elf64_Shdr *out);

/* Fills the symbol table from .symtab, else .dynsym. */
enum elf_status elf_read_symbols(struct elf *e);
/* From Go's own table instead, where there is one. */
enum elf_status elf_read_go(struct elf *e);

#endif
