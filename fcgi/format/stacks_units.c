/*
 * From the units of clients to those that are kept, and names with them.
 */
#include <string.h>

#include "fcgi/format/stacks_private.h"
#include "store/base/err.h"
#include "store/model/type.h"
#include "store/model/unit.h"

/* The total is what is largest. */
static bool
column_scale(struct stacks_column *c, int64_t scale)
{
	if (c->period > 1)
		return !__builtin_mul_overflow(c->period, scale, &c->period);
	if (__builtin_mul_overflow(c->total, scale, &c->total))
		return false;
	for (size_t i = 0; i < c->n && scale > 1; i++)
		c->values[i] *= scale;
	return true;
}

/* A text of a column, put in its place. */
static const struct err *
column_put(struct stacks *s, uint32_t *to, const char *text)
{
	*to = intern_put(&s->strings, text, strlen(text));
	return *to == INTERN_NONE ? err_nomem() : NULL;
}

/* What is counted under another type's name gets its own. */
static const struct err *
column_rename(struct stacks *s, struct stacks_column *c)
{
	const char *name = intern_str(&s->strings, c->name);
	char buf[TYPE_NAME_MAX];

	return type_name(c->kind, name, intern_str(&s->strings, c->unit),
	    buf) == buf ? column_put(s, &c->name, buf) : NULL;
}

static const struct err *
column_settle(struct stacks *s, struct stacks_column *c)
{
	const char *name = intern_str(&s->strings, c->name);
	const char *unit = intern_str(&s->strings, c->unit);
	const struct err *e;
	int64_t scale;
	const char *kept = unit_of_type(name, unit, &scale);

	if (strcmp(kept, unit) != 0 && !column_scale(c, scale))
		return err_new(ERR_REQUEST, 422, "\"%.40s\" in %.40s: "
		    "more %s than can be counted", name, unit, kept);
	if (strcmp(kept, unit) != 0 &&
	    (e = column_put(s, &c->unit, kept)) != NULL)
		return e;
	return column_rename(s, c);
}

const struct err *
stacks_settle_units(struct stacks *s)
{
	const struct err *e = NULL;

	for (size_t t = 0; t < s->n_types && e == NULL; t++)
		e = column_settle(s, &s->types[t]);
	return e;
}
