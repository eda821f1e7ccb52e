/*
 * The labels of Pyroscope's agent: contexts by number, their names and values
 * by numbers of strings.
 */
#include <stdlib.h>

#include "fcgi/format/arena.h"
#include "fcgi/format/jfr/jfr_private.h"
#include "fcgi/format/stacks.h"
#include "jfr_labels.pb-c.h"
#include "store/base/err.h"

#define LABELS_MEMORY (64u << 20)

struct jfr_labels {
	struct arena arena;
	const JfrLabels__Snapshot *snapshot;
	struct map64 contexts, strings; /* number -> place in the snapshot */
	struct map64 nodes;             /* context -> node */
};

void
jfr_labels_free(struct jfr_labels *l)
{
	if (l == NULL)
		return;
	map64_fini(&l->contexts);
	map64_fini(&l->strings);
	map64_fini(&l->nodes);
	arena_fini(&l->arena);
	free(l);
}

/* Of two entries with one key the later counts, as in any map of protobuf;
 * they are added from the last. */
static bool
labels_index(struct jfr_labels *l)
{
	const JfrLabels__Snapshot *s = l->snapshot;

	for (size_t i = s->n_contexts; i-- > 0;) {
		uint64_t key = (uint64_t)s->contexts[i]->key;

		if (map64_get(&l->contexts, key) == INTERN_NONE &&
		    !map64_add(&l->contexts, key, (uint32_t)i))
			return false;
	}
	for (size_t i = s->n_strings; i-- > 0;) {
		uint64_t key = (uint64_t)s->strings[i]->key;

		if (map64_get(&l->strings, key) == INTERN_NONE &&
		    !map64_add(&l->strings, key, (uint32_t)i))
			return false;
	}
	return true;
}

const struct err *
jfr_labels_read(struct jfr_labels **out, const struct jfr_options *o)
{
	struct jfr_labels *l;

	*out = NULL;
	if (o->labels == NULL)
		return NULL;
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return err_nomem();
	arena_init(&l->arena, LABELS_MEMORY);
	l->snapshot = jfr_labels__snapshot__unpack(&l->arena.allocator,
	    o->n_labels, o->labels);
	*out = l;
	if (l->snapshot == NULL && l->arena.over)
		return err_new(ERR_REQUEST, 413, "jfr: too many labels");
	if (l->snapshot == NULL)
		return err_new(ERR_REQUEST, 422,
		    "jfr: the labels are no LabelsSnapshot");
	return labels_index(l) ? NULL : err_nomem();
}

static const char *
labels_string(const struct jfr_labels *l, int64_t number)
{
	uint32_t i = map64_get(&l->strings, (uint64_t)number);

	return i == INTERN_NONE ? "" : l->snapshot->strings[i]->value;
}

uint32_t
jfr_labels_node(struct jfr_labels *l, struct stacks *s, uint64_t context)
{
	struct label labels[STACKS_LABELS_MAX];
	const JfrLabels__Context *of;
	uint32_t node, i;
	size_t n = 0;

	if (l == NULL || (i = map64_get(&l->contexts, context)) == INTERN_NONE)
		return 0;
	if ((node = map64_get(&l->nodes, context)) != INTERN_NONE)
		return node;
	of = l->snapshot->contexts[i]->value;
	for (size_t k = 0; of != NULL && k < of->n_labels; k++) {
		labels[n].name = labels_string(l, of->labels[k]->key);
		labels[n].value = labels_string(l, of->labels[k]->value);
		if (labels[n].name[0] == '\0')
			continue;
		if (++n == STACKS_LABELS_MAX)
			break;
	}
	node = stacks_labels(s, labels, n);
	/* without memory it is looked up again */
	(void)map64_add(&l->nodes, context, node);
	return node;
}
