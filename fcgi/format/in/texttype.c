/*
 * The rule, and what is said against it.
 */
#include "fcgi/format/in/texttype.h"

#include <string.h>

#include "fcgi/format/stacks.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/types.h"
#include "store/model/unit.h"

const struct err *
texttype_of(struct stacks_type *t, const char *name, const char *units,
    int64_t rate)
{
	const struct type *known;

	if (units == NULL || *units == '\0')
		units = "samples";
	known = name != NULL ? types_find(name) : types_of_units(units);
	if (known == NULL && name == NULL)
		return err_field(ERR_REQUEST, 400, "units", "\"%.60s\" tell "
		    "no type: one is said as a suffix of name", units);
	if (known == NULL) {
		*t = (struct stacks_type){name, units, 1, SERIES_FLOW};
		return NULL;
	}
	*t = (struct stacks_type){known->name, units, 1, known->kind};
	if (strcmp(units, "samples") == 0) {
		t->unit = known->unit;
		if (known->timed)
			t->period = (NS_PER_S + rate / 2) / rate;
		return NULL;
	}
	return unit_same(units, known->unit) ? NULL :
	    err_field(ERR_REQUEST, 400, "units", "%s is counted in %s, not "
	    "in \"%.60s\"", known->name, unit_canonical(known->unit, NULL),
	    units);
}
