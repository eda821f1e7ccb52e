/*
 * Functions of a program by its table of symbols.
 */
#include "fcgi/memlens/program_parts.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/elf/demangle.h"
#include "store/base/array.h"

#define SYMBOLS_MAX 2000000

static Elf_Scn *
symbols_section(Elf *elf, GElf_Word type)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr head;

	while ((scn = elf_nextscn(elf, scn)) != NULL)
		if (gelf_getshdr(scn, &head) != NULL && head.sh_type == type)
			return scn;
	return NULL;
}

static bool
symbols_take(struct program_symbols *s, const GElf_Sym *y, const char *name,
    size_t *cap)
{
	unsigned type = GELF_ST_TYPE(y->st_info);
	unsigned bind = GELF_ST_BIND(y->st_info);
	bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
	bool weak = bind != STB_GLOBAL && bind != STB_LOCAL;
	char *plain;

	/* what has no size is the linker's own, like the table of offsets */
	if ((!function && y->st_size == 0) || name == NULL ||
	    *name == '\0' || y->st_shndx == SHN_UNDEF)
		return true;
	plain = demangle(name);
	if (plain == NULL)
		plain = strdup(name);
	if (plain == NULL || !array_room(&s->items, s->n + 1, cap)) {
		free(plain);
		return false;
	}
	s->items[s->n++] = (struct program_symbol){y->st_value, y->st_size,
	    plain, function, weak};
	return true;
}

static int
symbols_order(const void *a, const void *b)
{
	const struct program_symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static bool
symbols_table(struct program_symbols *s, Elf *elf)
{
	Elf_Scn *scn = symbols_section(elf, SHT_SYMTAB);
	Elf_Data *data;
	GElf_Shdr head;
	GElf_Sym y;
	size_t cap = 0;

	if (scn == NULL)
		scn = symbols_section(elf, SHT_DYNSYM);
	data = scn != NULL ? elf_getdata(scn, NULL) : NULL;
	if (data == NULL || gelf_getshdr(scn, &head) == NULL)
		return false;
	for (int i = 0; i < SYMBOLS_MAX && gelf_getsym(data, i, &y) != NULL;
	     i++)
		if (!symbols_take(s, &y,
		        elf_strptr(elf, head.sh_link, y.st_name), &cap))
			return false;
	if (s->n > 0)
		qsort(s->items, s->n, sizeof(*s->items), symbols_order);
	return s->n > 0;
}

static bool
symbols_code(struct program_symbols *s, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr head;
	size_t cap = 0;

	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		if (gelf_getshdr(scn, &head) == NULL ||
		    (head.sh_flags & SHF_EXECINSTR) == 0)
			continue;
		if (!array_room(&s->code, s->n_code + 1, &cap))
			return false;
		s->code[s->n_code++] = (struct program_range){head.sh_addr,
		    head.sh_addr + head.sh_size};
	}
	return true;
}

bool
program_symbols_read(struct program_symbols *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;
	bool fine;

	*s = (struct program_symbols){0};
	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	fine = elf != NULL && elf_kind(elf) == ELF_K_ELF &&
	    symbols_code(s, elf) && symbols_table(s, elf);
	elf_end(elf);
	close(fd);
	return fine;
}

void
program_symbols_fini(struct program_symbols *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->items[i].name);
	free(s->items);
	free(s->code);
	*s = (struct program_symbols){0};
}

bool
program_files_set(struct program_files *f, uint32_t node, const char *path)
{
	size_t before = f->cap;

	if (node == UINT32_MAX)
		return true;
	if (!array_room(&f->paths, (size_t)node + 1, &f->cap))
		return false;
	for (size_t i = before; i < f->cap; i++)
		f->paths[i] = NULL;
	if (f->paths[node] == NULL && path[0] == '/')
		f->paths[node] = realpath(path, NULL);
	return true;
}

void
program_files_fini(struct program_files *f)
{
	for (size_t i = 0; i < f->cap; i++)
		free(f->paths[i]);
	free(f->paths);
	*f = (struct program_files){0};
}
