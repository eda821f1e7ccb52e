/*
 * What a lost record had named stays a hole, and so does what hangs on it:
 * values there go to the stack that says so, and sums stay what they were.
 */
#include "store/journal/journal_names.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/batch/batch_private.h"

static const char names_lost[] = "(lost)";

void
journal_names_fini(struct journal_names *names)
{
	free(names->strings.to);
	free(names->frames.to);
	free(names->labels.to);
	free(names->nodes.to);
	free(names->series.to);
	*names = (struct journal_names){0};
}

size_t
journal_names_bytes(const struct journal_names *names)
{
	return sizeof(uint32_t) * ((size_t)names->strings.cap +
	    names->frames.cap + names->labels.cap + names->nodes.cap +
	    names->series.cap);
}

/* Room for n numbers; those between what was there and n are lost so far. */
static bool
names_room(struct names_table *t, size_t n)
{
	if (!array_room(&t->to, n, &t->cap))
		return false;
	if (n > t->n) {
		memset(t->to + t->n, 0xff, (n - t->n) * sizeof(*t->to));
		t->n = (uint32_t)n;
	}
	return true;
}

/* Element 0 of some tables is known to all. */
static bool
names_begin(struct names_table *t, bool zero)
{
	t->n = 0;
	if (!names_room(t, zero))
		return false;
	if (zero)
		t->to[0] = 0;
	return true;
}

static uint32_t
names_put(const struct journal_names *names, struct intern *t, const void *p,
    size_t n)
{
	return names->sole ? intern_push(t, p, n) : intern_put(t, p, n);
}

uint32_t
journal_names_lost_string(struct symtab *t)
{
	return intern_put(&t->strings, names_lost, sizeof(names_lost) - 1);
}

uint32_t
journal_names_lost_frame(struct symtab *t)
{
	struct sym_frame f = {.kind = FRAME_MARK,
	    .name = journal_names_lost_string(t)};

	return f.name == INTERN_NONE
	    ? INTERN_NONE
	    : intern_put(&t->frames, &f, sizeof(f));
}

uint32_t
journal_names_lost(struct symtab *t)
{
	uint32_t frame = journal_names_lost_frame(t);
	uint32_t top = symtab_put_node(t, 0, 0);

	return frame == INTERN_NONE || top == INTERN_NONE
	    ? INTERN_NONE
	    : symtab_put_node(t, top, frame);
}

/* ---- one kind of symbol after the other; false: out of memory ---- */

static bool
names_add_strings(struct journal_names *names, struct symtab *t,
    const struct batch *b)
{
	struct names_table *n = &names->strings;
	uint32_t at = b->index->first.strings;

	if (!names_room(n, at + b->strings.n - 1))
		return false;
	for (uint32_t i = 1; i < b->strings.n; i++, at++) {
		if (n->to[at] != INTERN_NONE)
			continue;
		n->to[at] = names_put(names, &t->strings,
		    intern_at(&b->strings, i), b->strings.items[i].len);
		if (n->to[at] == INTERN_NONE)
			return false;
	}
	return true;
}

static uint32_t
names_string(const struct journal_names *names, struct symtab *t,
    uint32_t string)
{
	uint32_t to = names->strings.to[string];

	return to != INTERN_NONE ? to : journal_names_lost_string(t);
}

static bool
names_add_frames(struct journal_names *names, struct symtab *t,
    const struct batch *b)
{
	struct names_table *n = &names->frames;
	uint32_t at = b->index->first.frames;

	if (!names_room(n, at + b->n_frames))
		return false;
	for (size_t i = 0; i < b->n_frames; i++, at++) {
		const struct batch_frame *f = &b->frames[i];
		struct sym_frame key;

		if (n->to[at] != INTERN_NONE)
			continue;
		key = (struct sym_frame){f->offset, f->kind,
		    names_string(names, t, f->name),
		    names_string(names, t, f->module),
		    names_string(names, t, f->build_id)};
		if (key.name == INTERN_NONE || key.module == INTERN_NONE ||
		    key.build_id == INTERN_NONE)
			return false;
		n->to[at] = names_put(names, &t->frames, &key, sizeof(key));
		if (n->to[at] == INTERN_NONE)
			return false;
	}
	return true;
}

/* A set with a lost string is lost: without it it would be another one. */
static bool
names_add_labels(struct journal_names *names, struct symtab *t,
    const struct batch *b)
{
	struct names_table *n = &names->labels;
	uint32_t at = b->index->first.labels, key[2 * BATCH_MAX_LABELS];

	if (!names_room(n, at + b->n_labels - 1))
		return false;
	for (size_t i = 1; i < b->n_labels; i++, at++) {
		const struct batch_labels *set = &b->labels[i];
		bool lost = false;

		for (uint32_t p = 0; p < 2 * set->n; p++) {
			key[p] = names->strings.to[
			    b->pairs[2 * set->first + p]];
			lost |= key[p] == INTERN_NONE;
		}
		if (lost || n->to[at] != INTERN_NONE)
			continue;
		n->to[at] = intern_put(&t->labels, key,
		    2 * set->n * sizeof(*key));
		if (n->to[at] == INTERN_NONE)
			return false;
	}
	return true;
}

/* What hangs on a lost node is lost; a lost frame is only not named. */
static bool
names_add_nodes(struct journal_names *names, struct symtab *t,
    const struct batch *b)
{
	struct names_table *n = &names->nodes;
	uint32_t at = b->index->first.nodes;

	if (!names_room(n, at + b->n_nodes - 1))
		return false;
	for (size_t i = 1; i < b->n_nodes; i++, at++) {
		const struct batch_node *k = &b->nodes[i];
		uint32_t parent = n->to[k->parent], edge;

		if (n->to[at] != INTERN_NONE || parent == INTERN_NONE)
			continue;
		edge = k->parent == 0 ? names->labels.to[k->edge]
		                      : names->frames.to[k->edge];
		if (edge == INTERN_NONE && k->parent == 0)
			continue;
		if (edge == INTERN_NONE)
			edge = journal_names_lost_frame(t);
		if (edge == INTERN_NONE)
			return false;
		n->to[at] = names->sole ? symtab_push_node(t, parent, edge)
		                        : symtab_put_node(t, parent, edge);
		if (n->to[at] == INTERN_NONE)
			return false;
	}
	return true;
}

static bool
names_add_series(struct journal_names *names, struct symtab *t,
    const struct batch *b)
{
	struct names_table *n = &names->series;
	uint32_t at = b->index->first.series;

	if (!names_room(n, at + b->n_series))
		return false;
	for (size_t i = 0; i < b->n_series; i++, at++) {
		const struct batch_series *s = &b->series[i];
		struct sym_series key = {s->period, s->kind, s->scale,
		    names->strings.to[s->name], names->strings.to[s->unit],
		    names->labels.to[s->labels], 0};

		if (n->to[at] != INTERN_NONE || key.name == INTERN_NONE ||
		    key.unit == INTERN_NONE || key.labels == INTERN_NONE)
			continue;
		n->to[at] = intern_put(&t->series, &key, sizeof(key));
		if (n->to[at] == INTERN_NONE)
			return false;
	}
	return true;
}

static bool
names_fresh(struct journal_names *names, uint32_t dictionary)
{
	if (names->dictionary != 0)
		names->sole = false;
	names->dictionary = 0;
	if (!names_begin(&names->strings, true) ||
	    !names_begin(&names->frames, false) ||
	    !names_begin(&names->labels, true) ||
	    !names_begin(&names->nodes, true) ||
	    !names_begin(&names->series, false))
		return false;
	names->dictionary = dictionary;
	return true;
}

const struct err *
journal_names_add(struct journal_names *names, struct symtab *t,
    const struct batch *b)
{
	if ((names->dictionary != b->index->dictionary &&
	        !names_fresh(names, b->index->dictionary)) ||
	    !names_add_strings(names, t, b) ||
	    !names_add_frames(names, t, b) ||
	    !names_add_labels(names, t, b) ||
	    !names_add_nodes(names, t, b) ||
	    !names_add_series(names, t, b))
		return err_nomem();
	return NULL;
}
