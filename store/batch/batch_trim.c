/*
 * A batch of a stream carries the names of all before it: here is one that
 * can go into a file by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/batch/batch_private.h"

struct trim {
	const struct batch *from;
	struct batch *to;
	uint32_t *nodes; /* of from -> of to; 0: not yet */
};

static uint32_t
trim_labels(const struct trim *t, uint32_t set)
{
	const struct batch_labels *l = &t->from->labels[set];
	struct label labels[BATCH_MAX_LABELS];

	for (uint32_t i = 0; i < l->n; i++) {
		const uint32_t *pair = &t->from->pairs[2 * (l->first + i)];

		labels[i] = (struct label){batch_str(t->from, pair[0]),
		    batch_str(t->from, pair[1])};
	}
	return batch_labels(t->to, labels, l->n);
}

static uint32_t
trim_frame(const struct trim *t, uint32_t frame)
{
	const struct batch_frame *k = &t->from->frames[frame];
	struct frame f = {(enum frame_kind)k->kind,
	    batch_str(t->from, k->name), batch_str(t->from, k->module),
	    batch_str(t->from, k->build_id), k->offset};

	return batch_frame(t->to, &f);
}

static uint32_t
trim_node(const struct trim *t, uint32_t node)
{
	uint32_t path[BATCH_MAX_DEPTH + 1], n = 0;

	while (node != 0 && t->nodes[node] == 0) {
		path[n++] = node;
		node = t->from->nodes[node].parent;
	}
	while (n-- > 0) {
		const struct batch_node *k = &t->from->nodes[path[n]];

		t->nodes[path[n]] = batch_node(t->to, t->nodes[k->parent],
		    k->parent == 0 ? trim_labels(t, k->edge)
		                   : trim_frame(t, k->edge));
		node = path[n];
	}
	return t->nodes[node];
}

static void
trim_block(const struct trim *t, const struct batch_block *k)
{
	const struct batch_series *s = &t->from->series[k->series];
	struct label labels[BATCH_MAX_LABELS];
	struct batch_block *to, place;
	struct series_desc d;

	batch_series_desc(t->from, k->series, &d, labels, BATCH_MAX_LABELS);
	to = batch_block(t->to, batch_series(t->to, &d), k->slot);
	if (to == NULL || s->kind != to->kind)
		return;
	place = *to;
	*to = *k;
	to->series = place.series;
	to->first = to->n = 0;
	for (uint32_t i = k->first; i < k->first + k->n; i++) {
		const struct batch_entry *e = &t->from->entries[i];

		batch_add(t->to, to, k->kind == SERIES_HISTOGRAM ? e->key
		    : trim_node(t, e->key), e->value);
	}
}

const struct err *
batch_trim(const struct batch *b, struct batch **out)
{
	struct trim t = {b, batch_new(b->slot_ns),
	    calloc(b->n_nodes, sizeof(*t.nodes))};
	const struct err *e = NULL;

	if (t.to == NULL || t.nodes == NULL) {
		batch_free(t.to);
		free(t.nodes);
		return err_nomem();
	}
	memcpy(t.to->id, b->id, sizeof(b->id));
	for (size_t i = 0; i < b->n_blocks; i++)
		trim_block(&t, &b->blocks[i]);
	for (size_t i = 0; i < b->n_facts; i++) {
		const struct batch_fact *f = &b->facts[i];

		batch_add_fact(t.to, f->time_ns, (enum fact_kind)f->kind,
		    batch_str(b, f->subject), b->fact_bytes.data + f->first,
		    f->n);
	}
	free(t.nodes);
	if ((e = batch_finish(t.to)) != NULL)
		batch_free(t.to);
	else
		*out = t.to;
	return e;
}
