/*
 * Functions of a stripped Go program, by the table of its runtime.
 */
#include <stdlib.h>

#include "collector/elf/go_table.h"

static bool
go_read_functions(struct elf *e, struct go_window *pairs,
    struct go_window *names, const struct go_table *t)
{
	uint64_t entry, next, at, after, name;

	if (!go_function(pairs, t, 0, &entry, &at))
		return false;
	for (uint64_t i = 0; i < t->functions; i++, entry = next, at = after) {
		if (!go_function(pairs, t, i + 1, &next, &after) ||
		    !go_number(names, t->described + at + t->number, 4, &name))
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
go_take(struct elf *e, struct go_window *pairs, const struct go_table *t)
{
	struct go_window names = {.e = e, .at = pairs->at,
	    .size = pairs->size};

	if (t->functions > ELF_SYMBOLS_MAX)
		return ELF_TOO_BIG;
	if (!go_has_functions(t))
		return ELF_DAMAGED;
	free(e->symbols);
	e->n_symbols = 0;
	e->symbols = calloc(t->functions + 1, sizeof(*e->symbols));
	if (e->symbols == NULL)
		return ELF_NO_MEMORY;
	e->strings = pairs->at + t->names;
	e->strings_size = pairs->size - t->names;
	return go_read_functions(e, pairs, &names, t) ? ELF_OK : ELF_DAMAGED;
}

enum elf_status
elf_read_go(struct elf *e)
{
	struct go_window w;
	struct go_table t;

	return go_open(e, &w, &t) ? go_take(e, &w, &t) : ELF_OK;
}
