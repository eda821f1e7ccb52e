/*
 * Functions of a stripped Go program, by the table that Go's runtime itself
 * walks stacks with: section .gopclntab.  Its head, with words of 8 bytes:
 *
 *	magic, 0, 0, smallest instruction, 8       8 bytes
 *	Go 1.18: functions, files, text, names, ..., table    8 words
 *	Go 1.16: functions, files, names, ..., table          7 words
 *	Go 1.2:  functions, table                  (the table begins here)
 *
 * `names` and `table` are offsets in the section.  The table has, for each
 * function by address, its entry and where in the table (Go 1.2: in the
 * section) it is described, and at last the end of the text: numbers of 4
 * bytes from `text` on, before Go 1.18 words and addresses.  A description
 * begins with the entry again and the offset of the name.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/elf/elf_private.h"

#define GO_12 0xfffffffbu
#define GO_116 0xfffffffau
#define GO_118 0xfffffff0u
#define GO_120 0xfffffff1u
#define WORD 8
#define WINDOW 4096

/* Bytes of the section that were read last: what is asked for rises. */
struct window {
	const struct elf *e;
	uint64_t at, size; /* of the section in the file */
	uint64_t from;
	size_t n;
	uint8_t bytes[WINDOW];
};

struct go_table {
	uint64_t functions, text, names, table;
	uint64_t described; /* what places of descriptions count from */
	size_t number;      /* bytes of a number of the table */
};

/* Bytes of the section until the next call, at most a window of them; NULL
 * when they are not there. */
static const uint8_t *
window_bytes(struct window *w, uint64_t at, size_t n)
{
	if (at > w->size || n > w->size - at)
		return NULL;
	if (at < w->from || at + n > w->from + w->n) {
		w->from = at;
		w->n = w->size - at < WINDOW ? (size_t)(w->size - at) : WINDOW;
		if (!elf_read(w->e, w->at + at, w->bytes, w->n)) {
			w->n = 0;
			return NULL;
		}
	}
	return w->bytes + (at - w->from);
}

/* An unsigned number of 4 or 8 bytes. */
static bool
window_number(struct window *w, uint64_t at, size_t size, uint64_t *out)
{
	const uint8_t *p = window_bytes(w, at, size);
	uint32_t small;

	if (p == NULL)
		return false;
	if (size == WORD) {
		memcpy(out, p, WORD);
	} else {
		memcpy(&small, p, sizeof(small));
		*out = small;
	}
	return true;
}

static bool
go_word(struct window *w, unsigned i, uint64_t *out)
{
	return window_number(w, WORD + i * WORD, WORD, out);
}

/* In a program that can lie anywhere, the linker may leave the address of the
 * text to be filled in at its start. */
static bool
go_text(struct window *w, struct go_table *t)
{
	Elf64_Shdr text;

	if (!go_word(w, 2, &t->text))
		return false;
	if (t->text == 0 && elf_section_named(w->e, ".text", &text))
		t->text = text.sh_addr;
	return true;
}

static bool
go_read_head(struct window *w, struct go_table *t)
{
	unsigned first = 2; /* word, with the offset of names */
	uint64_t magic, sizes;

	*t = (struct go_table){.number = WORD, .table = 2 * WORD};
	if (!window_number(w, 0, 4, &magic) ||
	    !window_number(w, 4, 4, &sizes) || sizes >> 24 != WORD ||
	    !go_word(w, 0, &t->functions))
		return false;
	if (magic == GO_12)
		return true;
	if (magic == GO_118 || magic == GO_120) {
		first = 3;
		t->number = 4;
		if (!go_text(w, t))
			return false;
	} else if (magic != GO_116) {
		return false;
	}
	if (!go_word(w, first, &t->names) || !go_word(w, first + 4, &t->table))
		return false;
	t->described = t->table;
	return true;
}

/* Where function i begins, and where it is described. */
static bool
go_function(struct window *w, const struct go_table *t, uint64_t i,
    uint64_t *entry, uint64_t *at)
{
	uint64_t pair = t->table + 2 * t->number * i;

	return window_number(w, pair, t->number, entry) &&
	    (i == t->functions ||
	    window_number(w, pair + t->number, t->number, at));
}

static bool
go_read_functions(struct elf *e, struct window *pairs, struct window *names,
    const struct go_table *t)
{
	uint64_t entry, next, at, after, name;

	if (!go_function(pairs, t, 0, &entry, &at))
		return false;
	for (uint64_t i = 0; i < t->functions; i++, entry = next, at = after) {
		if (!go_function(pairs, t, i + 1, &next, &after) ||
		    !window_number(names, t->described + at + t->number, 4,
		    &name))
			return false;
		if (next <= entry || next - entry > UINT32_MAX >> 2)
			continue;
		e->symbols[e->n_symbols++] = (struct symbol){
		    .addr = t->text + entry, .size = (uint32_t)(next - entry),
		    .name = (uint32_t)name};
	}
	return true;
}

static enum elf_status
go_take(struct elf *e, const Elf64_Shdr *section, struct window *pairs,
    const struct go_table *t)
{
	struct window names = {.e = e, .at = section->sh_offset,
	    .size = section->sh_size};

	if (t->functions > ELF_SYMBOLS_MAX)
		return ELF_TOO_BIG;
	if (t->names >= section->sh_size ||
	    t->functions > section->sh_size / (2 * t->number))
		return ELF_DAMAGED;
	free(e->symbols);
	e->n_symbols = 0;
	e->symbols = calloc(t->functions + 1, sizeof(*e->symbols));
	if (e->symbols == NULL)
		return ELF_NO_MEMORY;
	e->strings = section->sh_offset + t->names;
	e->strings_size = section->sh_size - t->names;
	return go_read_functions(e, pairs, &names, t) ? ELF_OK : ELF_DAMAGED;
}

/* The section and its head; false when there is none that is known. */
static bool
go_open(const struct elf *e, Elf64_Shdr *s, struct window *w,
    struct go_table *t)
{
	if (!elf_section_named(e, ".gopclntab", s) &&
	    !elf_section_named(e, ".data.rel.ro.gopclntab", s))
		return false;
	*w = (struct window){.e = e, .at = s->sh_offset, .size = s->sh_size};
	return go_read_head(w, t);
}

enum elf_status
elf_read_go(struct elf *e)
{
	struct window w;
	struct go_table t;
	Elf64_Shdr s;

	return go_open(e, &s, &w, &t) ? go_take(e, &s, &w, &t) : ELF_OK;
}

/* Is it the name of a function at which a stack of the runtime begins?  It
 * came there by changing the stack, or nobody called it. */
static bool
go_is_root(struct window *names, uint64_t at)
{
	static const char *const roots[] = {"runtime.goexit", "runtime.mcall",
	    "runtime.morestack", "runtime.mstart", "runtime.rt0_go"};
	const uint8_t *p;
	size_t n;

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		n = strlen(roots[i]);
		p = window_bytes(names, at, n + 6);
		if (p != NULL && memcmp(p, roots[i], n) == 0 &&
		    (p[n] == '\0' || memcmp(p + n, ".abi0", 6) == 0))
			return true;
	}
	return false;
}

bool
elf_find_go(const struct elf *e, struct elf_go *out)
{
	struct window w, described, names;
	uint64_t entry, next, end, at, name;
	struct go_table t;
	Elf64_Shdr s;

	*out = (struct elf_go){0};
	if (!go_open(e, &s, &w, &t) || t.functions == 0 ||
	    t.functions > ELF_SYMBOLS_MAX ||
	    !go_function(&w, &t, t.functions, &end, &at) ||
	    !go_function(&w, &t, 0, &entry, &at) || end <= entry)
		return false;
	described = names = w;
	out->low = t.text + entry;
	out->high = t.text + end;
	for (uint64_t i = 0; i < t.functions && out->n < ELF_GO_ROOTS; i++) {
		if (!go_function(&w, &t, i, &entry, &at) ||
		    !go_function(&w, &t, i + 1, &next, &name) ||
		    !window_number(&described, t.described + at + t.number, 4,
		    &name))
			break;
		if (next > entry && go_is_root(&names, t.names + name))
			out->roots[out->n++] = (struct elf_symbol){
			    .entry = t.text + entry, .size = next - entry};
		if (out->n == 5)
			break;
	}
	return true;
}
