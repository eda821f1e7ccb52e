/*
 * Which stacks of a series are added up together: those of one value of each
 * label, or of one label set.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/unit.h"
#include "store/read/totals_private.h"

#define NAME_MAX_BYTES 1024 /* of a key: split's values */

static const char *
totals_value(const struct totalling *t, const struct label *labels, size_t n,
    const char *name)
{
	const char *v = label_find(labels, n, name);

	if (v == NULL)
		v = label_find(t->desc.labels, t->desc.n_labels, name);
	return v;
}

/* What tells a group from others: its (series, set), or its values. */
static uint32_t
totals_key(struct totalling *t, uint32_t set, const struct label *labels,
    size_t n)
{
	char key[NAME_MAX_BYTES];
	size_t len = 0;

	if (t->q->sets) {
		uint32_t pair[2] = {t->now, set};

		return intern_put(&t->keys, pair, sizeof(pair));
	}
	for (size_t i = 0; i < t->q->n_split; i++) {
		const char *v = totals_value(t, labels, n, t->q->split[i]);
		size_t more = v != NULL ? strlen(v) : 0;

		if (len + more + 2 > sizeof(key))
			more = sizeof(key) - len - 2;
		key[len++] = v != NULL ? '=' : '!';
		if (more > 0)
			memcpy(key + len, v, more);
		len += more;
		key[len++] = '\0';
		if (len + 2 > sizeof(key))
			break;
	}
	return intern_put(&t->keys, key, len);
}

/* Strings are kept as offsets until all are there; see totals_strings(). */
static const char *
totals_keep(struct totalling *t, const char *text)
{
	uintptr_t at = t->out->strings.len;

	buf_put(&t->out->strings, text, strlen(text) + 1);
	return (const char *)at;
}

static const struct err *
totals_name_group(struct totalling *t, struct totals_group *g,
    const struct label *labels, size_t n)
{
	size_t most = t->q->sets ? n : t->q->n_split;
	const char *service = label_find(t->desc.labels, t->desc.n_labels,
	    "service");

	g->labels = malloc((most + 1) * sizeof(*g->labels));
	if (g->labels == NULL)
		return err_nomem();
	for (size_t i = 0; i < most; i++) {
		const char *name = t->q->sets ? labels[i].name
					      : t->q->split[i];
		const char *value = totals_value(t, labels, n, name);

		if (value != NULL)
			g->labels[g->n_labels++] = (struct label){
			    totals_keep(t, name), totals_keep(t, value)};
	}
	g->desc = t->desc;
	g->desc.name = totals_keep(t, t->desc.name);
	g->desc.unit = totals_keep(t, unit_of_type(t->desc.name, t->desc.unit,
	    NULL));
	/* the service stands behind the set's own labels */
	g->labels[g->n_labels] = (struct label){totals_keep(t, "service"),
	    totals_keep(t, service != NULL ? service : "")};
	return NULL;
}

static const struct err *
totals_add_group(struct totalling *t, const struct label *labels, size_t n)
{
	size_t cap = t->cap ? t->cap * 2 : 16, i = t->out->n_groups;
	struct totals_group *groups = t->out->groups;
	struct cells *cells = t->cells;

	if ((i + 1) * t->out->n_steps > TOTALS_CELLS_MAX)
		return err_new(ERR_REQUEST, 413,
		    "too many groups for so many steps");
	if (i == t->cap) {
		groups = realloc(groups, cap * sizeof(*groups));
		if (groups != NULL)
			t->out->groups = groups;
		cells = realloc(cells, cap * sizeof(*cells));
		if (cells != NULL)
			t->cells = cells;
		if (groups == NULL || cells == NULL)
			return err_nomem();
		t->cap = cap;
	}
	groups[i] = (struct totals_group){.steps = calloc(
	    t->out->n_steps + 1, sizeof(*groups[i].steps))};
	cells[i] = (struct cells){calloc(t->out->n_steps + 1,
	    sizeof(*cells[i].sums)), calloc(t->out->n_steps + 1,
	    sizeof(*cells[i].denominators)), false};
	t->out->n_groups++;
	if (groups[i].steps == NULL || cells[i].sums == NULL ||
	    cells[i].denominators == NULL)
		return err_nomem();
	return totals_name_group(t, &groups[i], labels, n);
}

const struct err *
totals_group(struct totalling *t, uint32_t set, uint32_t *group)
{
	struct label labels[BATCH_MAX_LABELS];
	const struct err *e = NULL;
	uint32_t key;
	size_t n;

	if (t->groups[set] == 0) {
		n = symtab_labels(&t->s->syms, set, labels, BATCH_MAX_LABELS);
		t->groups[set] = 1;
		if (selector_match_stack(t->q->selector, &t->desc, labels,
		    n)) {
			key = totals_key(t, set, labels, n);
			if (key == INTERN_NONE)
				return err_nomem();
			if (key == t->out->n_groups)
				e = totals_add_group(t, labels, n);
			t->groups[set] = key + 2;
		}
		if (e == NULL)
			e = selector_check(t->q->selector);
	}
	*group = t->groups[set] == 1 ? UINT32_MAX : t->groups[set] - 2;
	return e;
}
