/*
 * Modules of a Go program by the build information that its linker leaves in
 * it, stripped or not: section .go.buildinfo, or the first place in its data
 * that begins as it does.
 *
 *	OFFSET SIZE  of the header, at a multiple of 16
 *	0      14    "\377 Go buildinf:"
 *	14     1     bytes of a pointer
 *	15     1     flags: 1 big-endian, 2 the strings follow (since Go 1.18)
 *	16     8, 8  else: addresses of two strings (address, length)
 *	32           varint length and bytes of the version; the same of the
 *	             modules, between 16 bytes that mark them on each side
 *
 * Lines of the modules are words between tabs: "path", "mod", "dep", "=>" (by
 * what the module before it was replaced), "build".
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/graph/read/graph_private.h"
#include "fcgi/graph/read/graph_read.h"
#include "fcgi/graph/read/read_file.h"

#define MAGIC "\377 Go buildinf:"
#define MAGIC_SIZE 14
#define HEADER_SIZE 32
#define MARK_SIZE 16

struct goinfo {
	Elf *elf;
	const uint8_t *file; /* all of it */
	size_t size;
	size_t at;           /* of the header */
};

struct goinfo_text {
	const char *p; /* NULL: there is none */
	size_t n;
};

/* ---- where it is ---- */

static bool
goinfo_is_here(const struct goinfo *i, size_t at)
{
	return at <= i->size && i->size - at >= HEADER_SIZE &&
	    memcmp(i->file + at, MAGIC, MAGIC_SIZE) == 0;
}

static bool
goinfo_section(struct goinfo *i)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr head;
	size_t names;

	if (elf_getshdrstrndx(i->elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(i->elf, scn)) != NULL) {
		const char *name = gelf_getshdr(scn, &head) != NULL
		    ? elf_strptr(i->elf, names, head.sh_name) : NULL;

		if (name == NULL || strcmp(name, ".go.buildinfo") != 0)
			continue;
		i->at = head.sh_offset;
		return goinfo_is_here(i, i->at);
	}
	return false;
}

/* In what is written and not run. */
static bool
goinfo_segment(struct goinfo *i)
{
	size_t n;
	GElf_Phdr head;

	if (elf_getphdrnum(i->elf, &n) != 0)
		return false;
	for (size_t k = 0; k < n && gelf_getphdr(i->elf, (int)k, &head) !=
	     NULL; k++) {
		size_t end = head.p_offset + head.p_filesz;

		if (head.p_type != PT_LOAD ||
		    (head.p_flags & (PF_W | PF_X)) != PF_W ||
		    end < head.p_offset || end > i->size)
			continue;
		for (i->at = head.p_offset; i->at < end; i->at += 16)
			if (goinfo_is_here(i, i->at))
				return true;
	}
	return false;
}

/* ---- its strings ---- */

/* The bytes at an address, at least n of them; NULL where there are none. */
static const uint8_t *
goinfo_memory(const struct goinfo *i, uint64_t address, uint64_t n)
{
	size_t count;
	GElf_Phdr head;

	if (elf_getphdrnum(i->elf, &count) != 0)
		return NULL;
	for (size_t k = 0; k < count && gelf_getphdr(i->elf, (int)k, &head) !=
	     NULL; k++) {
		uint64_t from = address - head.p_vaddr;

		if (head.p_type == PT_LOAD && address >= head.p_vaddr &&
		    from < head.p_filesz && n <= head.p_filesz - from &&
		    head.p_offset <= i->size &&
		    head.p_filesz <= i->size - head.p_offset)
			return i->file + head.p_offset + from;
	}
	return NULL;
}

static uint64_t
goinfo_number(const struct goinfo *i, const uint8_t *p)
{
	unsigned size = i->file[i->at + 14];
	bool big = (i->file[i->at + 15] & 1) != 0;
	uint64_t v = 0;

	for (unsigned k = 0; k < size; k++)
		v = v << 8 | p[big ? k : size - 1 - k];
	return v;
}

/* By the address of its address and length. */
static struct goinfo_text
goinfo_pointed(const struct goinfo *i, unsigned which)
{
	unsigned size = i->file[i->at + 14];
	const uint8_t *p;
	uint64_t n;

	if (size != 4 && size != 8)
		return (struct goinfo_text){NULL, 0};
	p = goinfo_memory(i, goinfo_number(i, i->file + i->at + 16 +
	    (size_t)which * size), 2 * size);
	if (p == NULL)
		return (struct goinfo_text){NULL, 0};
	n = goinfo_number(i, p + size);
	p = goinfo_memory(i, goinfo_number(i, p), n);
	return (struct goinfo_text){(const char *)p, p != NULL ? n : 0};
}

static struct goinfo_text
goinfo_string(const struct goinfo *i, unsigned which)
{
	struct cur c;
	struct goinfo_text t = {NULL, 0};

	if ((i->file[i->at + 15] & 2) == 0)
		return goinfo_pointed(i, which);
	c = cur_of(i->file + i->at + HEADER_SIZE,
	    i->size - i->at - HEADER_SIZE);
	for (unsigned k = 0; k <= which; k++)
		t.p = (const char *)cur_bytes(&c, &t.n);
	return t;
}

/* ---- modules ---- */

/* The next word of a line; an empty one at its end. */
static struct goinfo_text
goinfo_word(struct goinfo_text *line)
{
	const char *tab = memchr(line->p, '\t', line->n);
	struct goinfo_text word = {line->p, tab != NULL
	    ? (size_t)(tab - line->p) : line->n};
	size_t used = word.n + (tab != NULL);

	line->p += used;
	line->n -= used;
	return word;
}

static bool
goinfo_is(struct goinfo_text t, const char *text)
{
	return t.n == strlen(text) && memcmp(t.p, text, t.n) == 0;
}

/* "path version"; what is built from a folder has none. */
static void
goinfo_put(struct buf *out, struct goinfo_text *line)
{
	struct goinfo_text path = goinfo_word(line),
	    version = goinfo_word(line);

	buf_put(out, path.p, path.n);
	if (version.n == 0 || goinfo_is(version, "(devel)"))
		return;
	buf_put_u8(out, ' ');
	buf_put(out, version.p, version.n);
}

static void
goinfo_module(struct graph *g, struct goinfo_text line,
    struct goinfo_text after, bool own)
{
	struct goinfo_text rest = line, word = goinfo_word(&rest);
	struct buf name = {0};
	char path[GRAPH_NAME_MAX];
	uint32_t node;

	snprintf(path, sizeof(path), "%.*s", (int)word.n, word.p);
	goinfo_put(&name, &line);
	if (after.n > 0 && goinfo_is(goinfo_word(&after), "=>")) {
		buf_printf(&name, " => ");
		goinfo_put(&name, &after);
	}
	node = graph_node(g, read_text(&name));
	graph_edge_of(g, 0, node, GRAPH_HOLDS, NULL);
	graph_own_go(g, path, node);
	graph_own(g, GRAPH_BY_PREFIX, path, node);
	if (own)
		graph_own(g, GRAPH_BY_PREFIX, "main", node);
	g->failed = g->failed || name.failed;
	buf_fini(&name);
}

static struct goinfo_text
goinfo_line(struct goinfo_text *all)
{
	const char *end = memchr(all->p, '\n', all->n);
	struct goinfo_text line = {all->p, end != NULL
	    ? (size_t)(end - all->p) : all->n};
	size_t used = line.n + (end != NULL);

	all->p += used;
	all->n -= used;
	return line;
}

static void
goinfo_modules(struct graph *g, struct goinfo_text all)
{
	while (all.n > 0) {
		struct goinfo_text line = goinfo_line(&all), rest = all,
		    word = goinfo_word(&line), next = {all.p, 0};

		if (rest.n > 0)
			next = goinfo_line(&rest);
		if (goinfo_is(word, "mod") || goinfo_is(word, "dep"))
			goinfo_module(g, line, next, *word.p == 'm');
	}
}

static void
goinfo_describe(struct graph *g, const char *path, struct goinfo_text version)
{
	struct buf out = {0};
	char name[256];
	uint32_t node;

	snprintf(name, sizeof(name), "Go's standard library %.*s",
	    (int)(version.n < 200 ? version.n : 200), version.p);
	node = graph_node(g, name);
	graph_edge_of(g, 0, node, GRAPH_HOLDS, NULL);
	graph_own(g, GRAPH_BY_PREFIX, GRAPH_GO, node);
	buf_printf(&out, "the libraries that %s and they themselves ask for "
	    "(DT_NEEDED), and the modules that its build information of Go "
	    "names, which does not say what they need of each other", path);
	graph_set(g, &g->origin.source, read_text(&out));
	g->origin.complete = GRAPH_NOT_SAID;
	g->failed = g->failed || out.failed;
	buf_fini(&out);
}

static void
goinfo_read(struct graph *g, struct goinfo *i, const char *path)
{
	struct goinfo_text version, modules;

	if (i->file == NULL || (!goinfo_section(i) && !goinfo_segment(i)))
		return;
	version = goinfo_string(i, 0);
	modules = goinfo_string(i, 1);
	if (version.p == NULL || version.n == 0)
		return;
	if (modules.p != NULL && modules.n > 2 * MARK_SIZE &&
	    modules.p[modules.n - MARK_SIZE - 1] == '\n')
		goinfo_modules(g, (struct goinfo_text){
		    modules.p + MARK_SIZE, modules.n - 2 * MARK_SIZE});
	goinfo_describe(g, path, version);
}

void
graph_load_goinfo(struct graph *g, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct goinfo i = {0};

	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	i.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (i.elf != NULL && elf_kind(i.elf) == ELF_K_ELF) {
		i.file = (const uint8_t *)elf_rawfile(i.elf, &i.size);
		goinfo_read(g, &i, path);
	}
	elf_end(i.elf);
	close(fd);
}
