/*
 * From the units of clients to those that are kept.
 */
#include "stacks_private.h"

#include <string.h>

#include "store/base/err.h"
#include "store/unit.h"

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

const struct err *
stacks_settle_units(struct stacks *s)
{
	for (size_t t = 0; t < s->n_types; t++) {
		struct stacks_column *c = &s->types[t];
		const char *name = intern_str(&s->strings, c->name);
		const char *unit = intern_str(&s->strings, c->unit);
		int64_t scale;
		const char *kept = unit_of_type(name, unit, &scale);

		if (strcmp(kept, unit) == 0)
			continue;
		if (!column_scale(c, scale))
			return err_new(ERR_REQUEST, 422, "\"%.40s\" in %.40s: "
			    "more %s than can be counted", name, unit, kept);
		c->unit = intern_put(&s->strings, kept, strlen(kept));
		if (c->unit == INTERN_NONE)
			return err_nomem();
	}
	return NULL;
}
