/*
 * Program files, their debug files and symbol tables.
 */
#include "fcgi/symbolize/symbolize.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/elf/debug_file.h"
#include "collector/elf/demangle.h"
#include "fcgi/symbolize/symbolize_private.h"
#include "store/base/array.h"
#include "store/base/err.h"

struct symbol {
	uint64_t start, end;
	uint32_t rank; /* of those at one address, the least wins */
	const char *name; /* the file's */
	char *plain;      /* demangled when first asked for */
};

struct object {
	int fd;
	Elf *elf;
};

struct symbolizer {
	struct object program, debug;
	Dwarf *dw;
	struct dwarf_names *names;
	struct symbol *symbols;
	size_t n_symbols;
	GElf_Phdr *segments;
	size_t n_segments;
	char build_id[129];
};

/* ---- files ---- */

static void
object_close(struct object *o)
{
	if (o->elf != NULL)
		elf_end(o->elf);
	if (o->fd >= 0)
		close(o->fd);
	*o = (struct object){.fd = -1};
}

static const struct err *
object_open(struct object *o, const char *path)
{
	elf_version(EV_CURRENT);
	o->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (o->fd < 0)
		return err_errno("%s", path);
	o->elf = elf_begin(o->fd, ELF_C_READ_MMAP, NULL);
	if (o->elf == NULL || elf_kind(o->elf) != ELF_K_ELF) {
		object_close(o);
		return err_new(ERR_FORMAT, 0, "%s: no ELF file", path);
	}
	return NULL;
}

static void
object_build_id(const struct object *o, char text[129])
{
	const void *id = NULL;
	ssize_t n = dwelf_elf_gnu_build_id(o->elf, &id);

	debug_file_id(id, n < 0 ? 0 : n > 64 ? 64 : (size_t)n, text);
}

static bool
object_has_debug(const struct object *o)
{
	return debug_file_section(o->elf, ".debug_info") != NULL ||
	    debug_file_section(o->elf, ".zdebug_info") != NULL;
}

/* ---- debug files ---- */

/* The file with this build id among those that packages install. */
static bool
debug_by_id(struct symbolizer *s)
{
	char path[256], id[129];

	if (!debug_file_path("/usr/lib/debug/.build-id", s->build_id, path,
	    sizeof(path)) || object_open(&s->debug, path) != NULL)
		return false;
	object_build_id(&s->debug, id);
	if (strcmp(id, s->build_id) == 0 && object_has_debug(&s->debug))
		return true;
	object_close(&s->debug);
	return false;
}

static bool
file_crc(int fd, uint32_t *crc)
{
	uint8_t bytes[65536];
	off_t at = 0;
	ssize_t n;

	*crc = 0;
	while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		*crc = (uint32_t)crc32(*crc, bytes, (uInt)n);
		at += n;
	}
	return n == 0;
}

static bool
debug_try_link(struct symbolizer *s, const char *path, uint32_t wanted)
{
	uint32_t crc;

	if (object_open(&s->debug, path) != NULL)
		return false;
	if (file_crc(s->debug.fd, &crc) && crc == wanted &&
	    object_has_debug(&s->debug))
		return true;
	object_close(&s->debug);
	return false;
}

/* The file that .gnu_debuglink names, in the usual three folders. */
static bool
debug_by_link(struct symbolizer *s, const char *path)
{
	static const char *const places[] = {"%.*s%s", "%.*s.debug/%s",
	    "/usr/lib/debug%.*s%s"};
	char *real = realpath(path, NULL), file[8192];
	const char *slash = real == NULL ? NULL : strrchr(real, '/'), *name;
	GElf_Word crc;
	bool found = false;

	name = dwelf_elf_gnu_debuglink(s->program.elf, &crc);
	for (unsigned i = 0; i < 3 && name != NULL && slash != NULL &&
	    strchr(name, '/') == NULL && !found; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(file, sizeof(file), places[i],
		    (int)(slash - real + 1), real, name);
#pragma GCC diagnostic pop
		found = strcmp(file, real) != 0 &&
		    debug_try_link(s, file, crc);
	}
	free(real);
	return found;
}

/* ---- symbol tables ---- */

static bool
symbol_wanted(Elf *elf, const GElf_Sym *y, const char *name)
{
	unsigned type = GELF_ST_TYPE(y->st_info);
	GElf_Shdr head;

	if (name == NULL || name[0] == '\0' || y->st_shndx == SHN_UNDEF)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	/* labels of assembly code */
	return type == STT_NOTYPE && y->st_shndx < SHN_LORESERVE &&
	    name[0] != '$' && name[0] != '.' &&
	    gelf_getshdr(elf_getscn(elf, y->st_shndx), &head) != NULL &&
	    (head.sh_flags & SHF_EXECINSTR) != 0;
}

/* Functions first, then labels; global, weak, local. */
static uint32_t
symbol_rank(const GElf_Sym *y)
{
	static const uint8_t binds[16] = {[STB_LOCAL] = 2, [STB_WEAK] = 1};

	return binds[GELF_ST_BIND(y->st_info) & 15] +
	    (GELF_ST_TYPE(y->st_info) == STT_NOTYPE ? 4u : 0u);
}

static int
symbol_order(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* One symbol an address; those without a size reach to the next. */
static void
symbols_settle(struct symbolizer *s)
{
	size_t kept = 0;

	qsort(s->symbols, s->n_symbols, sizeof(*s->symbols), symbol_order);
	for (size_t i = 0; i < s->n_symbols; i++) {
		if (kept > 0 &&
		    s->symbols[kept - 1].start == s->symbols[i].start)
			continue;
		s->symbols[kept++] = s->symbols[i];
	}
	s->n_symbols = kept;
	for (size_t i = 0; i + 1 < kept; i++) {
		if (s->symbols[i].end == s->symbols[i].start)
			s->symbols[i].end = s->symbols[i + 1].start;
	}
}

/* False when the file has no such table. */
static bool
symbols_read(struct symbolizer *s, const struct object *o, const char *table)
{
	Elf_Scn *scn = o->elf == NULL ? NULL :
	    debug_file_section(o->elf, table);
	Elf_Data *data = scn == NULL ? NULL : elf_getdata(scn, NULL);
	GElf_Shdr head;
	size_t n;

	if (data == NULL || gelf_getshdr(scn, &head) == NULL ||
	    head.sh_entsize == 0 || data->d_size == 0)
		return false;
	n = data->d_size / head.sh_entsize;
	s->symbols = calloc(n, sizeof(*s->symbols));
	for (size_t i = 0; s->symbols != NULL && i < n && i < INT32_MAX;
	    i++) {
		GElf_Sym y;
		const char *name;

		if (gelf_getsym(data, (int)i, &y) == NULL)
			break;
		name = elf_strptr(o->elf, head.sh_link, y.st_name);
		if (symbol_wanted(o->elf, &y, name))
			s->symbols[s->n_symbols++] = (struct symbol){
			    y.st_value, y.st_value + y.st_size,
			    symbol_rank(&y), name, NULL};
	}
	if (s->n_symbols > 0)
		symbols_settle(s);
	return s->n_symbols > 0;
}

static struct symbol *
symbols_find(struct symbolizer *s, uint64_t address)
{
	size_t n = array_upto(s->symbols, s->n_symbols, start, address);

	for (size_t i = n; i > 0 && n - i < 16; i--) {
		if (address < s->symbols[i - 1].end)
			return &s->symbols[i - 1];
	}
	return NULL;
}

/* ---- the whole ---- */

static bool
read_segments(struct symbolizer *s)
{
	size_t n;

	if (elf_getphdrnum(s->program.elf, &n) != 0 || n > 65536)
		return true;
	s->segments = calloc(n + 1, sizeof(*s->segments));
	for (size_t i = 0; s->segments != NULL && i < n; i++) {
		if (gelf_getphdr(s->program.elf, (int)i,
		    &s->segments[s->n_segments]) != NULL)
			s->n_segments++;
	}
	return s->segments != NULL;
}

const struct err *
symbolizer_open(struct symbolizer **out, const char *path)
{
	struct symbolizer *s = calloc(1, sizeof(*s));
	const struct object *best;
	const struct err *e;

	if (s == NULL)
		return err_nomem();
	s->program.fd = s->debug.fd = -1;
	e = object_open(&s->program, path);
	if (e == NULL && !read_segments(s))
		e = err_nomem();
	if (e != NULL) {
		symbolizer_close(s);
		return e;
	}
	object_build_id(&s->program, s->build_id);
	best = &s->program;
	if (!object_has_debug(best) &&
	    (debug_by_id(s) || debug_by_link(s, path)))
		best = &s->debug;
	s->dw = dwarf_begin_elf(best->elf, DWARF_C_READ, NULL);
	if (s->dw != NULL)
		s->names = dwarf_names_new(s->dw);
	if (!symbols_read(s, &s->program, ".symtab") &&
	    !symbols_read(s, &s->debug, ".symtab"))
		symbols_read(s, &s->program, ".dynsym");
	*out = s;
	return NULL;
}

void
symbolizer_close(struct symbolizer *s)
{
	if (s == NULL)
		return;
	dwarf_names_free(s->names);
	if (s->dw != NULL)
		dwarf_end(s->dw);
	for (size_t i = 0; i < s->n_symbols; i++)
		free(s->symbols[i].plain);
	free(s->symbols);
	free(s->segments);
	object_close(&s->program);
	object_close(&s->debug);
	free(s);
}

const char *
symbolizer_build_id(const struct symbolizer *s)
{
	return s->build_id;
}

bool
symbolizer_address(const struct symbolizer *s, uint64_t offset,
    uint64_t *address)
{
	for (size_t i = 0; i < s->n_segments; i++) {
		const GElf_Phdr *p = &s->segments[i];

		if (p->p_type != PT_LOAD || offset < p->p_offset ||
		    offset - p->p_offset >= p->p_filesz)
			continue;
		*address = offset - p->p_offset + p->p_vaddr;
		return true;
	}
	return false;
}

static const char *
symbol_name(struct symbol *y)
{
	if (y->plain == NULL)
		y->plain = demangle(y->name);
	return y->plain != NULL ? y->plain : y->name;
}

size_t
symbolizer_find(struct symbolizer *s, uint64_t address,
    struct symbolized frames[SYMBOLIZED_MAX])
{
	size_t n = s->names == NULL ? 0
	    : dwarf_names_find(s->names, address, frames);
	struct symbol *y;

	if (n > 0 && frames[0].name != NULL &&
	    !dwarf_names_bare(s->names))
		return n;
	y = symbols_find(s, n > 0 && frames[0].entry != 0 ? frames[0].entry
	    : address);
	/* a C++ function of one file: its own entry has but a short name */
	if (y == NULL || (n > 0 && frames[0].name != NULL &&
	    (strncmp(y->name, "_Z", 2) != 0 || y->start != frames[0].entry ||
	    strstr(y->name, frames[0].name) == NULL)))
		return n;
	if (n == 0)
		frames[n++] = (struct symbolized){0};
	frames[0].name = symbol_name(y);
	frames[0].entry = y->start;
	return n;
}
