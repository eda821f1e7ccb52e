/*
 * Constants stay where they are: only where each begins is kept, and they are
 * read when something refers to them.
 */
#include <string.h>

#include "fcgi/format/jfr/jfr_private.h"
#include "store/base/err.h"

#define CONSTANTS_MAX (4u << 20)

static const struct err *
pool_add(struct jfr *j, struct map64 *pool, uint64_t number,
    const uint8_t *at)
{
	if (j->n_constants++ == CONSTANTS_MAX)
		return err_new(ERR_REQUEST, 413, "jfr: more than %u constants",
		    CONSTANTS_MAX);
	/* the newest is met first */
	if (map64_get(pool, number) == INTERN_NONE &&
	    !map64_add(pool, number, (uint32_t)(at - j->data)))
		return err_nomem();
	return NULL;
}

/* The constants of one class. */
static const struct err *
pool_read(struct jfr *j, struct cur *c)
{
	uint64_t id = jfr_varint(c), n = jfr_varint(c);
	uint32_t class = map64_get(&j->meta.by_id, id);
	const struct err *e = NULL;
	uint32_t shape;

	if (c->bad || class == INTERN_NONE)
		return jfr_bad(j, c->p, "constants of a class that is not in "
		    "the metadata");
	shape = j->meta.classes[class].shape;
	if (shape < JFR_POOLS)
		j->class_of[shape] = class;
	while (n-- > 0 && !c->bad && e == NULL) {
		uint64_t number = jfr_varint(c);

		if (shape < JFR_POOLS && !c->bad)
			e = pool_add(j, &j->pools[shape], number, c->p);
		jfr_skip(&j->meta, c, class);
	}
	return e;
}

/* One checkpoint, which ends before `end`; *back is how far before it the one
 * before begins, 0: there is none. */
static const struct err *
checkpoint_read(struct jfr *j, const uint8_t *at, const uint8_t *end,
    uint64_t *back)
{
	struct cur c = cur_of(at, (size_t)(end - at));
	uint64_t size = jfr_varint(&c), n;
	const struct err *e = NULL;

	if (c.bad || size > (size_t)(end - at))
		return jfr_bad(j, at, "a checkpoint that is not all there");
	c.end = at + size;
	if (jfr_varint(&c) != 1)
		return jfr_bad(j, at, "no checkpoint where one should be");
	jfr_varint(&c); /* start */
	jfr_varint(&c); /* duration */
	*back = 0 - jfr_varint(&c);
	cur_raw(&c, 1); /* what it is written for */
	n = jfr_varint(&c);
	while (n-- > 0 && !c.bad && e == NULL)
		e = pool_read(j, &c);
	if (e == NULL && c.bad)
		e = jfr_bad(j, c.p, "constants that end early or are of no "
		    "class");
	return e;
}

const struct err *
jfr_pools_read(struct jfr *j, uint64_t offset)
{
	const uint8_t *at = j->chunk + offset, *end = j->chunk_end;
	const struct err *e;
	uint64_t back = 0;

	for (unsigned i = 0; i < JFR_POOLS; i++)
		j->class_of[i] = JFR_NONE;
	while ((e = checkpoint_read(j, at, end, &back)) == NULL && back != 0) {
		if (back > (size_t)(at - j->chunk))
			return jfr_bad(j, at, "the checkpoint before is not in "
			    "this chunk");
		end = at;
		at -= back;
	}
	return e;
}

/* ---- looking up ---- */

static bool
pool_at(const struct jfr *j, enum jfr_shape shape, uint64_t number,
    struct cur *c)
{
	uint32_t at = map64_get(&j->pools[shape], number);

	if (at == INTERN_NONE)
		return false;
	*c = cur_of(j->data + at, (size_t)(j->chunk_end - (j->data + at)));
	return true;
}

bool
jfr_constant(const struct jfr *j, enum jfr_shape shape, uint64_t number,
    struct jfr_record *r, const struct err **e)
{
	struct cur c;

	if (!pool_at(j, shape, number, &c))
		return false;
	if (jfr_record(&j->meta, &c, j->class_of[shape], r))
		return true;
	*e = jfr_bad(j, c.p, "a constant that ends early");
	return false;
}

/* A string that is a constant itself. */
static const struct err *
text_constant(const struct jfr *j, uint64_t number, struct buf *out)
{
	uint64_t pool = 0;
	struct cur c;

	if (!pool_at(j, JFR_TEXT, number, &c))
		return NULL;
	jfr_string(&c, out, &pool);
	return c.bad ? jfr_bad(j, c.p, "a string that ends early") : NULL;
}

const struct err *
jfr_text(const struct jfr *j, const struct jfr_record *r, unsigned slot,
    struct buf *out)
{
	const struct err *e = NULL;
	uint64_t pool = 0;
	struct cur c;

	buf_clear(out);
	if (r->at[slot] == NULL)
		return NULL;
	if (r->pool[slot]) {
		e = text_constant(j, r->number[slot], out);
	} else {
		c = cur_of(r->at[slot],
		    (size_t)(j->chunk_end - r->at[slot]));
		jfr_string(&c, out, &pool);
		if (pool != 0)
			e = text_constant(j, pool, out);
	}
	return e != NULL || !out->failed ? e : err_nomem();
}
