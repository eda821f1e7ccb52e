/*
 * One function's part of a profile: each stack is followed up to its first
 * frame of that name, and no tree is made.
 */
#include <string.h>

#include "store/profile/profile.h"

/* Has a frame above a node, or its own, the name?  *own: its own has. */
static bool
function_has(const struct symtab *t, uint32_t node, uint32_t name, bool *own)
{
	*own = false;
	for (uint32_t i = node; i != 0 && t->nodes[i].parent != 0;
	     i = t->nodes[i].parent) {
		if (symtab_frame(t, t->nodes[i].edge)->name != name)
			continue;
		*own = i == node;
		return true;
	}
	return false;
}

void
profile_function(const struct store *s, const struct node_values *self,
    const char *name, struct function_sum *out)
{
	const struct symtab *t = &s->syms;
	uint32_t string = intern_find(&t->strings, name, strlen(name));

	*out = (struct function_sum){0};
	for (size_t i = 0; string != INTERN_NONE && i < self->n_touched; i++) {
		uint32_t node = self->touched[i];
		bool own;

		if (!function_has(t, node, string, &own))
			continue;
		out->total += self->values[node];
		out->self += own ? self->values[node] : 0;
	}
}
