/*
 * Each node of the call tree belongs to the service that alone has stacks at
 * it or below it, and each frame to the one that alone has nodes of it; what
 * several have stays whoever goes.
 */
#include "store/seal/loud.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch_private.h"
#include "store/file/sealed.h"

#define NOBODY 0u
#define SEVERAL UINT32_MAX /* else the string of the service's name, and one */
#define LOUD_LEAST 32      /* of all names: a smaller part is not worth it */

struct loud_count {
	struct sealed *f;
	uint32_t *series;        /* whose it is */
	uint32_t *nodes, *frames;
	uint64_t *bytes;         /* by owner: what goes with it */
};

static void
loud_add(uint32_t *owner, uint32_t more)
{
	if (*owner == NOBODY)
		*owner = more;
	else if (more != NOBODY && *owner != more)
		*owner = SEVERAL;
}

/* ---- whose is what? ---- */

static void
loud_own_series(struct loud_count *c)
{
	const struct batch *d = c->f->dict;

	for (uint32_t i = 0; i < d->n_series; i++) {
		const struct batch_labels *l = &d->labels[d->series[i].labels];

		c->series[i] = SEVERAL;
		for (uint32_t k = l->first; k < l->first + l->n; k++)
			if (strcmp(batch_str(d, d->pairs[2 * k]),
			        "service") == 0 &&
			    batch_str(d, d->pairs[2 * k + 1])[0] != '\0')
				c->series[i] = d->pairs[2 * k + 1] + 1;
	}
}

static const struct err *
loud_own_block(struct loud_count *c, uint32_t series, const struct block *b)
{
	const struct sealed *f = c->f;
	struct entry_reader r = {b->entries, 0};
	uint32_t key;
	int128 value;

	while (entry_next(&r, &key, &value)) {
		if (key >= f->n_stacks)
			return err_new(ERR_FORMAT, 0, "a block is malformed");
		loud_add(&c->nodes[f->stack_nodes[key]], c->series[series]);
	}
	return r.c.bad ? err_new(ERR_FORMAT, 0, "a block is malformed") : NULL;
}

/* The block of the highest level is of all that a file has of a series. */
static const struct err *
loud_own_stacks(struct loud_count *c, uint32_t series)
{
	struct sealed *f = c->f;
	uint64_t at = f->meta.first;
	const struct err *e = NULL;
	const struct block *b;

	while (e == NULL) {
		e = sealed_part(f, series, f->meta.top, f->meta.first, &at,
		    &b);
		if (e != NULL || b == NULL)
			break;
		e = loud_own_block(c, series, b);
	}
	return e;
}

/* Parents come before their children. */
static void
loud_own_names(struct loud_count *c)
{
	const struct batch *d = c->f->dict;

	for (size_t i = d->n_nodes; i-- > 1;) {
		const struct batch_node *n = &d->nodes[i];

		loud_add(&c->nodes[n->parent], c->nodes[i]);
		if (n->parent != 0)
			loud_add(&c->frames[n->edge], c->nodes[i]);
	}
}

/* ---- how much is it? ---- */

static void
loud_weigh(struct loud_count *c, uint32_t owner, size_t bytes)
{
	if (owner != NOBODY && owner != SEVERAL)
		c->bytes[owner - 1] += bytes;
}

static void
loud_weigh_all(struct loud_count *c)
{
	const struct batch *d = c->f->dict;

	for (uint32_t i = 0; i < d->n_series; i++)
		loud_weigh(c, c->series[i], sizeof(*d->series) +
		    sizeof(*d->strings.items));
	for (uint32_t i = 1; i < d->n_nodes; i++)
		loud_weigh(c, c->nodes[i], sizeof(*d->nodes) +
		    sizeof(*d->index->depths));
	for (uint32_t i = 0; i < c->f->n_stacks; i++)
		loud_weigh(c, c->nodes[c->f->stack_nodes[i]],
		    sizeof(*c->f->stack_nodes));
	for (uint32_t i = 0; i < d->n_frames; i++)
		loud_weigh(c, c->frames[i], sizeof(*d->frames) +
		    sizeof(*d->strings.items) +
		    d->strings.items[d->frames[i].name].len + 1);
}

static const struct err *
loud_count(struct loud_count *c)
{
	const struct batch *d = c->f->dict;
	const struct err *e = NULL;

	c->series = calloc(d->n_series + 1, sizeof(*c->series));
	c->nodes = calloc(d->n_nodes + 1, sizeof(*c->nodes));
	c->frames = calloc(d->n_frames + 1, sizeof(*c->frames));
	c->bytes = calloc(d->strings.n + 1, sizeof(*c->bytes));
	if (c->series == NULL || c->nodes == NULL || c->frames == NULL ||
	    c->bytes == NULL)
		return err_nomem();
	loud_own_series(c);
	for (uint32_t i = 0; i < d->n_series && e == NULL; i++)
		if (series_is_profile((enum series_kind)d->series[i].kind))
			e = loud_own_stacks(c, i);
	loud_own_names(c);
	loud_weigh_all(c);
	return e;
}

/* ---- who goes ---- */

static uint32_t
loud_loudest(const struct loud_count *c)
{
	uint32_t most = 0;

	for (uint32_t i = 1; i < c->f->dict->strings.n; i++)
		if (c->bytes[i] > c->bytes[most])
			most = i;
	return most;
}

static const struct err *
loud_choose(struct loud *l, struct loud_count *c, uint64_t names,
    uint64_t most)
{
	for (l->rest = names; l->rest > most && l->n < LOUD_MOST;) {
		uint32_t i = loud_loudest(c);

		if (c->bytes[i] < names / LOUD_LEAST)
			break;
		l->names[l->n] = strdup(batch_str(c->f->dict, i));
		if (l->names[l->n] == NULL)
			return err_nomem();
		l->n++;
		l->rest -= c->bytes[i] < l->rest ? c->bytes[i] : l->rest;
		c->bytes[i] = 0;
	}
	return NULL;
}

/* Is there a series that is none of theirs? */
static bool
loud_leaves(const struct loud *l, const struct batch *d)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc desc;

	for (uint32_t i = 0; i < d->n_series; i++) {
		batch_series_desc(d, i, &desc, labels, BATCH_MAX_LABELS);
		if (!loud_is(l, &desc))
			return true;
	}
	return false;
}

const struct err *
loud_find(struct loud *l, struct sealed *f, uint64_t names, uint64_t most)
{
	struct loud_count c = {.f = f};
	const struct err *e = loud_count(&c);

	*l = (struct loud){0};
	if (e == NULL)
		e = loud_choose(l, &c, names, most);
	if (e == NULL && !loud_leaves(l, f->dict))
		loud_fini(l);
	free(c.series);
	free(c.nodes);
	free(c.frames);
	free(c.bytes);
	return e;
}

void
loud_fini(struct loud *l)
{
	while (l->n > 0)
		free(l->names[--l->n]);
}

bool
loud_is(const struct loud *l, const struct series_desc *d)
{
	const char *service = label_find(d->labels, d->n_labels, "service");

	for (size_t i = 0; i < l->n && service != NULL; i++)
		if (strcmp(l->names[i], service) == 0)
			return true;
	return false;
}
