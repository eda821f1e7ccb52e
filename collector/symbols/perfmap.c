/*
 * One pass over the text in chunks, then a sorted array.
 */
#include "collector/symbols/perfmap.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"

#define CHUNK 65536u
#define OVERLAP 64 /* pieces looked at before the nearest one */

struct entry {
	uint64_t start;
	uint32_t size;
	uint32_t name; /* its place in the file; later lines have later ones */
	uint32_t name_size;
};

struct perfmap {
	struct elf_input in;
	struct entry *entries;
	size_t n, cap;
};

/* A line that is being read: the numbers so far, and where the name is. */
struct line {
	uint64_t number[2];
	unsigned field, digits; /* field 2: the name */
	uint32_t name;
	bool bad;
};

static enum elf_status
perfmap_add(struct perfmap *m, const struct line *l, uint32_t end)
{
	size_t cap = m->cap != 0 ? m->cap * 2 : 1024;
	struct entry *p;

	if (l->bad || l->field != 2 || end <= l->name || l->number[1] == 0 ||
	    l->number[1] > UINT32_MAX)
		return ELF_OK;
	if (m->n == PERFMAP_ENTRIES_MAX)
		return ELF_TOO_BIG;
	if (m->n == m->cap) {
		p = realloc(m->entries, cap * sizeof(*p));
		if (p == NULL)
			return ELF_NO_MEMORY;
		m->entries = p;
		m->cap = cap;
	}
	m->entries[m->n++] = (struct entry){.start = l->number[0],
	    .size = (uint32_t)l->number[1], .name = l->name,
	    .name_size = end - l->name};
	return ELF_OK;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes one character of a number, or the space behind it. */
static void
line_take(struct line *l, char c, uint32_t at)
{
	int digit = hex_digit(c);

	if (c == ' ') {
		l->bad = l->bad || l->digits == 0;
		l->field++;
		l->digits = 0;
		l->name = at + 1;
	} else if (c == 'x' && l->digits == 1 && l->number[l->field] == 0) {
		l->digits = 0; /* 0x: some write it */
	} else if (digit < 0 || l->digits == 16) {
		l->bad = true;
	} else {
		l->number[l->field] = l->number[l->field] << 4 |
		    (uint64_t)digit;
		l->digits++;
	}
}

static enum elf_status
perfmap_parse(struct perfmap *m, const char *text, size_t n, uint32_t at,
    struct line *l)
{
	enum elf_status status = ELF_OK;
	size_t i;

	for (i = 0; i < n && status == ELF_OK; i++) {
		if (text[i] == '\n') {
			status = perfmap_add(m, l, at + (uint32_t)i);
			*l = (struct line){.field = 0};
		} else if (l->field < 2 && !l->bad) {
			line_take(l, text[i], at + (uint32_t)i);
		}
	}
	return status;
}

static enum elf_status
perfmap_read(struct perfmap *m)
{
	enum elf_status status = ELF_OK;
	struct line l = {.field = 0};
	uint64_t at = 0, n;
	char *chunk = malloc(CHUNK);

	if (chunk == NULL)
		return ELF_NO_MEMORY;
	/* A last line without its end is still being written. */
	for (; status == ELF_OK && at < m->in.size; at += n) {
		n = m->in.size - at < CHUNK ? m->in.size - at : CHUNK;
		status = m->in.read(m->in.arg, at, chunk, n) ?
		    perfmap_parse(m, chunk, n, (uint32_t)at, &l) :
		    ELF_DAMAGED;
	}
	free(chunk);
	return status;
}

static int
entry_compare(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Sorts; of pieces that start at one address the last one made stays. */
static void
perfmap_sort(struct perfmap *m)
{
	size_t i, n = 0;

	if (m->n == 0)
		return;
	qsort(m->entries, m->n, sizeof(*m->entries), entry_compare);
	for (i = 0; i < m->n; i++) {
		if (n > 0 && m->entries[n - 1].start == m->entries[i].start)
			n--;
		m->entries[n++] = m->entries[i];
	}
	m->n = n;
}

enum elf_status
perfmap_open(struct perfmap **out, const struct elf_input *in)
{
	struct perfmap *m = NULL;
	enum elf_status status;

	*out = NULL;
	if (in->size > PERFMAP_BYTES_MAX)
		return ELF_TOO_BIG;
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return ELF_NO_MEMORY;
	m->in = *in;
	status = perfmap_read(m);
	if (status != ELF_OK) {
		perfmap_close(m);
		return status;
	}
	perfmap_sort(m);
	*out = m;
	return ELF_OK;
}

void
perfmap_close(struct perfmap *m)
{
	if (m == NULL)
		return;
	free(m->entries);
	free(m);
}

/* The entry that was made last of those that hold addr. */
static const struct entry *
perfmap_find(const struct perfmap *m, uint64_t addr)
{
	const struct entry *e, *best = NULL;
	size_t n = array_upto(m->entries, m->n, start, addr), i;

	for (i = 0; i < OVERLAP && n > i; i++) {
		e = &m->entries[n - 1 - i];
		if (addr - e->start < e->size &&
		    (best == NULL || e->name > best->name))
			best = e;
	}
	return best;
}

bool
perfmap_lookup(const struct perfmap *m, uint64_t addr,
    struct elf_symbol *out, char *name)
{
	const struct entry *e = perfmap_find(m, addr);
	size_t n;

	if (e == NULL)
		return false;
	n = e->name_size < ELF_NAME_MAX - 1 ? e->name_size : ELF_NAME_MAX - 1;
	if (!m->in.read(m->in.arg, e->name, name, n))
		return false;
	name[n] = '\0';
	out->entry = e->start;
	out->size = e->size;
	return true;
}
