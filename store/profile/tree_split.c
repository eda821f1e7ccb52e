/*
 * A tree in parts: by the values of a label of the stacks, or by label sets.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/profile/tree_private.h"

/* ---- which label sets ---- */

/* The string of a label's value in a label set; 0 ("") when not there. */
static uint32_t
tree_label_value(const struct symtab *s, uint32_t set, const char *label)
{
	const uint32_t *pairs = intern_at(&s->labels, set);

	for (size_t i = 0; i < symtab_n_labels(s, set); i++) {
		if (strcmp(intern_str(&s->strings, pairs[2 * i]), label) == 0)
			return pairs[2 * i + 1];
	}
	return 0;
}

/* What a label set is a part of: its own, or its label's value. */
static uint32_t
tree_part_of(const struct tree *t, uint32_t set)
{
	return *t->split == '\0' ? set : tree_label_value(&t->s->syms, set,
	    t->split);
}

/* The labels of a set as the name of a node (store.h). */
static const char *
tree_set_name(struct tree *t, uint32_t set)
{
	struct buf *b = &t->out->strings;
	const struct symtab *y = &t->s->syms;
	union {
		uintptr_t place;
		const char *name;
	} u = {.place = b->len + 1};
	const uint32_t *pairs = intern_at(&y->labels, set);

	for (size_t i = 0; i < 2 * symtab_n_labels(y, set); i++)
		buf_printf(b, "%s%s", i > 0 ? "\1" : "",
		    intern_str(&y->strings, pairs[i]));
	buf_put_u8(b, '\0');
	return u.name;
}

bool
tree_takes(const struct tree *t, uint32_t node)
{
	return t->self->values[node] != 0 && (t->split == NULL ||
	    (node != 0 && tree_part_of(t, t->x->sets[node]) == t->value));
}

/* ---- the parts ---- */

static int
value_compare(const void *a, const void *b, void *tree)
{
	const struct tree *t = tree;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return *t->split == '\0' ? symtab_compare_labels(&t->s->syms, x, y)
				 : intern_compare(&t->s->syms.strings, x, y);
}

/* The values of the label that the stacks have, in order, some of them more
 * than once; the caller frees them. */
static const struct err *
tree_values(struct tree *t, uint32_t **out, size_t *n)
{
	struct symtab *y = &t->s->syms;
	bool *seen = calloc(y->labels.n, sizeof(*seen));

	*n = 0;
	*out = malloc(y->labels.n * sizeof(**out));
	if (seen == NULL || *out == NULL) {
		free(seen);
		return err_nomem();
	}
	for (size_t i = 0; i < t->self->n_touched; i++) {
		uint32_t node = t->self->touched[i], set = t->x->sets[node];

		if (t->self->values[node] == 0 || node == 0 || seen[set])
			continue;
		seen[set] = true;
		(*out)[(*n)++] = tree_part_of(t, set);
	}
	qsort_r(*out, *n, sizeof(**out), value_compare, t);
	free(seen);
	return NULL;
}

/* Those of all parts. */
static struct profile_samples
tree_whole_samples(struct tree *t)
{
	struct profile_samples own = {0}, all = {0};

	if (t->samples == NULL)
		return all;
	tree_add_samples(t, &own, 0);
	for (size_t i = 0; i < t->self->n_touched; i++)
		tree_add_samples(t, &all, t->self->touched[i]);
	return (struct profile_samples){own.self, own.self_unknown, all.self,
	    all.self_unknown};
}

const struct err *
tree_split(struct tree *t)
{
	struct profile_node root = {.name = tree_name(t, 0),
	    .module = tree_name(t, 0),
	    .kind = FRAME_MARK,
	    .self = t->self->values[0]};
	uint32_t *values = NULL;
	const struct err *e = tree_room(t, 0);
	size_t n, part;
	bool last;

	for (size_t i = 0; i < t->self->n_touched; i++)
		root.total += t->self->values[t->self->touched[i]];
	if (e == NULL)
		e = tree_values(t, &values, &n);
	if (e == NULL) {
		struct profile_samples whole = tree_whole_samples(t);

		tree_emit(t, &root, 0, t->samples != NULL ? &whole : NULL);
	}
	for (size_t i = 0; e == NULL && i < n; i++) {
		if (i > 0 && values[i] == values[i - 1])
			continue;
		t->value = values[i];
		tree_totals(t);
		last = values[i] == values[n - 1];
		if (*t->split != '\0') {
			e = tree_part(t, values[i], 1, last);
			continue;
		}
		part = t->out->n_nodes;
		e = tree_part(t, 0, 1, last);
		if (e == NULL)
			t->out->nodes[part].name = tree_set_name(t,
			    values[i]);
	}
	free(values);
	return e;
}
