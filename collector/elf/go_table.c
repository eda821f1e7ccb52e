/*
 * The head of Go's table, in the forms that it has had.
 */
#include "collector/elf/go_table.h"

#include <string.h>

#define GO_12 0xfffffffbu
#define GO_116 0xfffffffau
#define GO_118 0xfffffff0u
#define GO_120 0xfffffff1u
#define WORD 8
#define MODULE_TEXT (22 * WORD) /* in Go's description of the program */

const uint8_t *
go_bytes(struct go_window *w, uint64_t at, size_t n)
{
	if (at > w->size || n > w->size - at)
		return NULL;
	if (at < w->from || at + n > w->from + w->n) {
		w->from = at;
		w->n = w->size - at < GO_WINDOW ? (size_t)(w->size - at) :
		    GO_WINDOW;
		if (!elf_read(w->e, w->at + at, w->bytes, w->n)) {
			w->n = 0;
			return NULL;
		}
	}
	return w->bytes + (at - w->from);
}

bool
go_number(struct go_window *w, uint64_t at, size_t size, uint64_t *out)
{
	const uint8_t *p = go_bytes(w, at, size);
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
go_word(struct go_window *w, unsigned i, uint64_t *out)
{
	return go_number(w, WORD + i * WORD, WORD, out);
}

/* Go 1.26 has the address of the text elsewhere.  In a program that can lie
 * anywhere, the linker may leave it to be filled in at its start. */
static bool
go_text(struct go_window *w, struct go_table *t)
{
	Elf64_Shdr s;

	if (!go_word(w, 2, &t->text))
		return false;
	if (t->text == 0 && elf_section_named(w->e, ".go.module", &s) &&
	    s.sh_size >= MODULE_TEXT + WORD &&
	    !elf_read(w->e, s.sh_offset + MODULE_TEXT, &t->text, WORD))
		return false;
	if (t->text == 0 && elf_section_named(w->e, ".text", &s))
		t->text = s.sh_addr;
	return true;
}

static bool
go_read_head(struct go_window *w, struct go_table *t)
{
	unsigned first = 2; /* word, with the offset of names */
	uint64_t magic, sizes;

	*t = (struct go_table){.number = WORD, .table = 2 * WORD,
	    .section = t->section};
	if (!go_number(w, 0, 4, &magic) || !go_number(w, 4, 4, &sizes) ||
	    sizes >> 24 != WORD || !go_word(w, 0, &t->functions))
		return false;
	if (magic == GO_12)
		return true;
	if (magic == GO_118 || magic == GO_120) {
		first = 3;
		t->number = 4;
		t->flags = magic == GO_118 ? 37 : 41;
		if (!go_text(w, t) || !go_word(w, first + 3, &t->depths))
			return false;
	} else if (magic != GO_116) {
		return false;
	}
	if (!go_word(w, first, &t->names) || !go_word(w, first + 4, &t->table))
		return false;
	t->described = t->table;
	return true;
}

bool
go_open(const struct elf *e, struct go_window *w, struct go_table *t)
{
	Elf64_Shdr *s = &t->section;

	if (!elf_section_named(e, ".gopclntab", s) &&
	    !elf_section_named(e, ".data.rel.ro.gopclntab", s))
		return false;
	*w = (struct go_window){.e = e, .at = s->sh_offset,
	    .size = s->sh_size};
	return go_read_head(w, t);
}

bool
go_has_functions(const struct go_table *t)
{
	return t->names < t->section.sh_size &&
	    t->functions <= t->section.sh_size / (2 * t->number);
}

bool
go_function(struct go_window *w, const struct go_table *t, uint64_t i,
    uint64_t *entry, uint64_t *at)
{
	uint64_t pair = t->table + 2 * t->number * i;

	return go_number(w, pair, t->number, entry) &&
	    (i == t->functions ||
	    go_number(w, pair + t->number, t->number, at));
}
