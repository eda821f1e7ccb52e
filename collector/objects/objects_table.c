/*
 * Reading of the library's file, which is ours, and of its table, which is
 * anybody's.
 */
#include "collector/objects/objects_table.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/alloc/alloc.h"
#include "collector/objects/objects.h"
#include "store/base/err.h"

static const uint32_t level_cells[ALLOC_LEVELS] = {
    ALLOC_BUCKET * ALLOC_BUCKETS_0, ALLOC_BUCKET * ALLOC_BUCKETS_1,
    ALLOC_BUCKET * ALLOC_BUCKETS_2};

/* The segment of code. */
static bool
library_code(Elf *elf, GElf_Phdr *out)
{
	size_t n, i;

	if (elf_getphdrnum(elf, &n) != 0)
		return false;
	for (i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, out) != NULL &&
		    out->p_type == PT_LOAD && (out->p_flags & PF_X) != 0)
			return true;
	return false;
}

/* What is looked for, by name; 0: not found so far. */
struct library_symbols {
	uint64_t took, gave, table;
};

static void
library_symbol(struct library_symbols *out, const char *name,
    const GElf_Sym *sym)
{
	const struct {
		const char *name;
		uint64_t size, *value;
	} wanted[] = {{"memlens_alloc1_took", 0, &out->took},
	    {"memlens_alloc1_gave", 0, &out->gave},
	    {"memlens_alloc1_table", sizeof(struct alloc_table),
	        &out->table}};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (name != NULL && strcmp(name, wanted[i].name) == 0 &&
		    sym->st_size >= wanted[i].size)
			*wanted[i].value = sym->st_value;
}

static void
library_symbols(Elf *elf, Elf_Scn *scn, struct library_symbols *out)
{
	GElf_Shdr shdr;
	Elf_Data *data;
	GElf_Sym sym;
	size_t i;

	if (gelf_getshdr(scn, &shdr) == NULL || shdr.sh_type != SHT_DYNSYM ||
	    (data = elf_getdata(scn, NULL)) == NULL || shdr.sh_entsize == 0)
		return;
	for (i = 0; i < shdr.sh_size / shdr.sh_entsize; i++)
		if (gelf_getsym(data, (int)i, &sym) != NULL)
			library_symbol(out, elf_strptr(elf, shdr.sh_link,
			    sym.st_name), &sym);
}

static bool
library_find(int fd, struct objects_library *out)
{
	struct library_symbols found = {0};
	Elf_Scn *scn = NULL;
	GElf_Phdr code;
	bool done;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf == NULL)
		return false;
	while ((scn = elf_nextscn(elf, scn)) != NULL)
		library_symbols(elf, scn, &found);
	done = found.took != 0 && found.gave != 0 && found.table != 0 &&
	    library_code(elf, &code);
	elf_end(elf);
	if (!done)
		return false;
	out->took = found.took - code.p_vaddr + code.p_offset;
	out->gave = found.gave - code.p_vaddr + code.p_offset;
	out->code = code.p_offset & ~UINT64_C(4095);
	out->table = (int64_t)(found.table -
	    (code.p_vaddr & ~UINT64_C(4095)));
	return true;
}

const struct err *
objects_library_read(const char *path, struct objects_library *out)
{
	const struct err *e = NULL;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) != 0)
		e = err_errno("%s", path);
	else if (!library_find(fd, out))
		e = err_new(ERR_FORMAT, 0, "%s is not the allocator's library "
		    "of this version", path);
	else
		out->ino = st.st_ino;
	if (fd >= 0)
		close(fd);
	return e;
}

/* What stands before the cells. */
struct table_head {
	uint64_t magic;
	uint32_t version, cells;
	uint64_t full;
	uint32_t used[ALLOC_LEVELS + 1];
};

static bool
table_read(int32_t pid, uint64_t address, void *to, size_t n)
{
	struct iovec here = {to, n}, there = {.iov_len = n};
	uintptr_t at = (uintptr_t)address;

	memcpy(&there.iov_base, &at, sizeof(at));
	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

_Static_assert(offsetof(struct table_head, used) ==
    offsetof(struct alloc_table, used), "the table's own beginning");

static int
cell_compare(const void *a, const void *b)
{
	const struct alloc_cell *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* Those that are objects, of n cells; the last of one address counts. */
static size_t
cells_pack(struct alloc_cell *cells, size_t n)
{
	size_t i, kept = 0, told = 0;

	for (i = 0; i < n; i++)
		if (cells[i].address > ALLOC_CELL_BUSY &&
		    cells[i].address < ALLOC_OBJECT_MAX &&
		    objects_weigh(cells[i].size, 1).bytes > 0)
			cells[kept++] = cells[i];
	qsort(cells, kept, sizeof(*cells), cell_compare);
	for (i = 0; i < kept; i++)
		if (told == 0 || cells[told - 1].address != cells[i].address)
			cells[told++] = cells[i];
	return told;
}

bool
objects_table_read(int32_t pid, uint64_t address, struct alloc_cell **cells,
    size_t *n)
{
	struct alloc_cell *all;
	struct table_head head;
	uint64_t at = address + offsetof(struct alloc_table, cell);
	size_t level, size;
	bool done = true;

	*cells = NULL;
	*n = 0;
	if (!table_read(pid, address, &head, sizeof(head)) ||
	    head.magic != ALLOC_MAGIC || head.version != ALLOC_VERSION ||
	    head.cells != ALLOC_CELLS)
		return false;
	all = malloc(sizeof(*all) * ALLOC_CELLS);
	for (level = 0; level < ALLOC_LEVELS && all != NULL && done; level++) {
		size = level_cells[level] * sizeof(*all);
		if (head.used[level] != 0) {
			done = table_read(pid, at, all + *n, size);
			*n += level_cells[level];
		}
		at += size;
	}
	if (all == NULL || !done) {
		free(all);
		*n = 0;
		return false;
	}
	*n = cells_pack(all, *n);
	*cells = all;
	return true;
}

bool
objects_table_has(const struct alloc_cell *cells, size_t n, uint64_t address)
{
	const struct alloc_cell key = {.address = address};

	return n > 0 && bsearch(&key, cells, n, sizeof(*cells),
	    cell_compare) != NULL;
}
