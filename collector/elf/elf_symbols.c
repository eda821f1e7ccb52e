/*
 * The symbol table: functions sorted by address, names left in the file and
 * read when asked for (a big C++ program has 100 MB of them).
 */
#include <stdlib.h>
#include <string.h>

#include "collector/elf/elf_private.h"
#include "store/base/array.h"

#define SECTIONS_MAX 65536u
#define CHUNK 256u          /* symbols read at once */
#define SIZE_MAX_BITS 0x3fffffffu
#define CODE_SECTIONS_MAX 64u
#define OVERLAP 16          /* symbols looked at behind the nearest one */

struct table {
	Elf64_Shdr symbols, strings;
};

bool
elf_section(const struct elf *e, uint64_t i, Elf64_Shdr *out)
{
	uint64_t at = e->head.e_shoff + i * sizeof(*out);

	return at >= e->head.e_shoff && elf_read(e, at, out, sizeof(*out));
}

/* Where the number does not fit the header, section 0 has it. */
uint64_t
elf_sections(const struct elf *e)
{
	Elf64_Shdr first;

	if (e->head.e_shoff == 0 ||
	    e->head.e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	if (e->head.e_shnum != 0)
		return e->head.e_shnum;
	return elf_section(e, 0, &first) ? first.sh_size : 0;
}

bool
elf_section_named(const struct elf *e, const char *name, Elf64_Shdr *out)
{
	uint64_t i, n = elf_sections(e);
	size_t len = strlen(name) + 1;
	char text[32];
	Elf64_Shdr names;

	if (e->head.e_shstrndx >= n || len > sizeof(text) ||
	    !elf_section(e, e->head.e_shstrndx, &names))
		return false;
	for (i = 1; i < n && i < SECTIONS_MAX; i++) {
		if (!elf_section(e, i, out))
			return false;
		if (out->sh_type != SHT_NOBITS && out->sh_size > 0 &&
		    out->sh_name <= names.sh_size &&
		    elf_read(e, names.sh_offset + out->sh_name, text, len) &&
		    memcmp(text, name, len) == 0)
			return true;
	}
	return false;
}

/* Finds .symtab, else .dynsym, with its strings.  False when there is none. */
static bool
elf_find_table(const struct elf *e, struct table *t, bool *symtab)
{
	uint64_t i, n = elf_sections(e);
	Elf64_Shdr s;
	bool found = false;

	*symtab = false;
	for (i = 1; i < n && i < SECTIONS_MAX && !*symtab; i++) {
		if (!elf_section(e, i, &s))
			break;
		if ((s.sh_type != SHT_SYMTAB && s.sh_type != SHT_DYNSYM) ||
		    s.sh_entsize != sizeof(Elf64_Sym) ||
		    s.sh_size < sizeof(Elf64_Sym) || s.sh_link >= n ||
		    !elf_section(e, s.sh_link, &t->strings) ||
		    t->strings.sh_type != SHT_STRTAB)
			continue;
		t->symbols = s;
		found = true;
		*symtab = s.sh_type == SHT_SYMTAB;
	}
	/* The loop may have left another table's strings behind. */
	return found && elf_section(e, t->symbols.sh_link, &t->strings);
}

#define RANK_LABEL 3u

/* 0 for the name that people use most: global, weak, local; what assembly code
 * has not called a function. */
static unsigned
elf_rank(const Elf64_Sym *s)
{
	static const uint8_t rank[16] = {
	    [STB_LOCAL] = 2, [STB_GLOBAL] = 0, [STB_WEAK] = 1};

	return ELF64_ST_TYPE(s->st_info) == STT_NOTYPE ? RANK_LABEL :
	    rank[ELF64_ST_BIND(s->st_info) & 15];
}

/* Local labels are places in functions, mostly. */
static bool
elf_is_function(const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC ||
	    (type == STT_NOTYPE && ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
	    s->st_shndx < SHN_LORESERVE)) &&
	    s->st_shndx != SHN_UNDEF && s->st_name != 0;
}

/* Stops at `room`: a file that grows between two reads gains nothing. */
static void
elf_add_symbols(struct elf *e, const Elf64_Sym *s, size_t n, size_t room)
{
	for (; n > 0 && e->n_symbols < room; n--, s++) {
		if (!elf_is_function(s))
			continue;
		e->symbols[e->n_symbols++] = (struct symbol){
		    .addr = s->st_value,
		    .size = s->st_size < SIZE_MAX_BITS ?
		        (uint32_t)s->st_size : SIZE_MAX_BITS,
		    .rank = elf_rank(s),
		    .name = s->st_name,
		};
	}
}

static int
symbol_compare(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if ((a->size == 0) != (b->size == 0))
		return a->size == 0 ? 1 : -1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Where sections of code begin and end. */
struct code_sections {
	struct {
		uint64_t start, end;
	} items[CODE_SECTIONS_MAX];
	size_t n;
};

static void
elf_find_code(const struct elf *e, struct code_sections *c)
{
	uint64_t n = elf_sections(e);
	Elf64_Shdr s;

	c->n = 0;
	for (uint64_t i = 1; i < n && i < SECTIONS_MAX &&
	     c->n < CODE_SECTIONS_MAX && elf_section(e, i, &s); i++) {
		if ((s.sh_flags & SHF_EXECINSTR) == 0 || s.sh_size == 0)
			continue;
		c->items[c->n].start = s.sh_addr;
		c->items[c->n++].end = s.sh_addr + s.sh_size;
	}
}

/* The end of the executable bytes that hold an address, of its section's where
 * that is known; 0: none do. */
static uint64_t
elf_code_end(const struct elf *e, const struct code_sections *c,
    uint64_t vaddr)
{
	for (size_t i = 0; i < c->n; i++)
		if (vaddr >= c->items[i].start && vaddr < c->items[i].end)
			return c->items[i].end;
	for (size_t i = 0; i < e->n_segments; i++) {
		const struct segment *s = &e->segments[i];

		if (s->executable && vaddr - s->vaddr < s->size)
			return s->vaddr + s->size;
	}
	return 0;
}

/* Sizes one that has none; false when it is a label that names nothing: of
 * data, or within a function. */
static bool
elf_size_symbol(const struct elf *e, size_t i, const struct code_sections *code,
    uint64_t reach)
{
	struct symbol *s = &e->symbols[i];
	uint64_t end = elf_code_end(e, code, s->addr);

	if (s->rank == RANK_LABEL && (end == 0 || s->addr < reach))
		return false;
	if (s->size != 0 || end == 0 || s->addr < reach)
		return true;
	if (i + 1 < e->n_symbols && s[1].addr < end)
		end = s[1].addr;
	s->size = end - s->addr < SIZE_MAX_BITS ? (uint32_t)(end - s->addr) :
	    SIZE_MAX_BITS;
	return true;
}

/* A symbol without a size (assembly) reaches to the next one of its section,
 * so that _init has not the table of calls behind it; a label within a
 * function does not. */
static void
elf_size_symbols(struct elf *e)
{
	struct code_sections code;
	uint64_t reach = 0;
	size_t i, n = 0;

	elf_find_code(e, &code);
	for (i = 0; i < e->n_symbols; i++) {
		struct symbol s;

		if (!elf_size_symbol(e, i, &code, reach))
			continue;
		s = e->symbols[i];
		if (s.addr + s.size > reach)
			reach = s.addr + s.size;
		e->symbols[n++] = s;
	}
	e->n_symbols = n;
}

/* Sorts, keeps the best symbol of each address, gives memory back. */
static void
elf_sort_symbols(struct elf *e)
{
	size_t i, n = 0;
	struct symbol *p;

	if (e->n_symbols == 0)
		return;
	qsort(e->symbols, e->n_symbols, sizeof(*e->symbols), symbol_compare);
	for (i = 0; i < e->n_symbols; i++)
		if (n == 0 || e->symbols[n - 1].addr != e->symbols[i].addr)
			e->symbols[n++] = e->symbols[i];
	e->n_symbols = n;
	elf_size_symbols(e);
	if (e->n_symbols == 0)
		return;
	p = realloc(e->symbols, e->n_symbols * sizeof(*p));
	if (p != NULL)
		e->symbols = p;
}

/* Counts the functions of the table, and keeps them when there is room.
 * False when unreadable. */
static bool
elf_each_chunk(struct elf *e, const Elf64_Shdr *table, size_t room,
    size_t *functions)
{
	static const size_t size = sizeof(Elf64_Sym);
	Elf64_Sym chunk[CHUNK];
	uint64_t at = 0, total = table->sh_size / size;
	size_t i, n;

	*functions = 0;
	for (; at < total; at += n) {
		n = total - at < CHUNK ? total - at : CHUNK;
		if (!elf_read(e, table->sh_offset + at * size, chunk,
		    n * size))
			return false;
		for (i = 0; i < n; i++)
			*functions += elf_is_function(&chunk[i]);
		if (*functions > ELF_SYMBOLS_MAX)
			return true;
		elf_add_symbols(e, chunk, n, room);
	}
	return true;
}

enum elf_status
elf_read_symbols(struct elf *e)
{
	struct table t;
	size_t n, again;

	if (!elf_find_table(e, &t, &e->symtab))
		return ELF_OK;
	if (!elf_each_chunk(e, &t.symbols, 0, &n))
		return ELF_DAMAGED;
	if (n > ELF_SYMBOLS_MAX)
		return ELF_TOO_BIG;
	e->symbols = calloc(n + 1, sizeof(*e->symbols));
	if (e->symbols == NULL)
		return ELF_NO_MEMORY;
	e->strings = t.strings.sh_offset;
	e->strings_size = t.strings.sh_size;
	if (!elf_each_chunk(e, &t.symbols, n, &again))
		return ELF_DAMAGED;
	elf_sort_symbols(e);
	return ELF_OK;
}

/* One that still has no size is its first byte. */
static bool
symbol_contains(const struct symbol *s, uint64_t vaddr)
{
	return vaddr - s->addr < (s->size != 0 ? s->size : 1);
}

static bool
elf_read_name(const struct elf *e, uint32_t name, char *out)
{
	uint64_t n;

	if (name >= e->strings_size || e->strings > e->in.size)
		return false;
	n = e->strings_size - name;
	if (n > e->in.size - e->strings)
		n = e->in.size - e->strings;
	if (n > ELF_NAME_MAX - 1)
		n = ELF_NAME_MAX - 1;
	if (!elf_read(e, e->strings + name, out, n))
		n = 0;
	out[n] = '\0';
	return out[0] != '\0';
}

bool
elf_lookup(const struct elf *e, uint64_t vaddr, struct elf_symbol *out,
    char *name)
{
	size_t n = array_upto(e->symbols, e->n_symbols, addr, vaddr), i;

	for (i = 0; i < OVERLAP && n > i; i++) {
		const struct symbol *s = &e->symbols[n - 1 - i];

		if (symbol_contains(s, vaddr)) {
			out->entry = s->addr;
			out->size = s->size;
			return elf_read_name(e, s->name, name);
		}
	}
	return false;
}

bool
elf_find_named(const struct elf *e, const char *name, struct elf_symbol *out)
{
	size_t n = strlen(name) + 1;
	char text[256];

	if (n > sizeof(text))
		return false;
	for (size_t i = 0; i < e->n_symbols; i++) {
		const struct symbol *s = &e->symbols[i];

		if (s->name >= e->strings_size ||
		    !elf_read(e, e->strings + s->name, text, n) ||
		    memcmp(text, name, n) != 0)
			continue;
		*out = (struct elf_symbol){s->addr, s->size};
		return true;
	}
	return false;
}

static bool
elf_is_data(const Elf64_Sym *s, uint64_t vaddr)
{
	return ELF64_ST_TYPE(s->st_info) == STT_OBJECT &&
	    s->st_shndx != SHN_UNDEF && s->st_name != 0 &&
	    vaddr - s->st_value < s->st_size;
}

bool
elf_find_data(const struct elf *e, uint64_t vaddr, struct elf_symbol *out,
    char *name)
{
	static const size_t size = sizeof(Elf64_Sym);
	uint64_t at = 0, total;
	Elf64_Sym chunk[CHUNK], best = {0};
	struct table t;
	size_t i, n;
	bool symtab;

	if (e->strings_size == 0 || !elf_find_table(e, &t, &symtab))
		return false;
	total = t.symbols.sh_size / size;
	for (; at < total; at += n) {
		n = total - at < CHUNK ? total - at : CHUNK;
		if (!elf_read(e, t.symbols.sh_offset + at * size, chunk,
		    n * size))
			return false;
		for (i = 0; i < n; i++)
			if (elf_is_data(&chunk[i], vaddr) &&
			    (best.st_name == 0 ||
			    elf_rank(&chunk[i]) < elf_rank(&best)))
				best = chunk[i];
	}
	out->entry = best.st_value;
	out->size = best.st_size;
	return best.st_name != 0 && elf_read_name(e, best.st_name, name);
}
