/*
 * From the table's words to ids, and back.
 */
#include "store/model/typeid.h"

#include <stdio.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/type.h"
#include "store/model/types.h"
#include "store/model/unit.h"

/* What is in a unit of its own has a name of its own; others are refused
 * where it turns out what the type is in. */
static const char *
typeid_in(const struct type *t, const char *unit, char buf[TYPE_NAME_MAX])
{
	return unit_is_known(unit) ? t->name
	    : type_name(t->kind, t->name, unit, buf);
}

enum series_kind
typeid_name(const char *group, const char *type, const char *unit, char *name,
    size_t size)
{
	const struct type *t = types_of_group(group, type);
	char buf[TYPE_NAME_MAX], both[TYPEID_MAX];

	if (t != NULL) {
		snprintf(name, size, "%s", typeid_in(t, unit, buf));
		return t->kind;
	}
	if (*group == '\0' || strcmp(group, type) == 0)
		snprintf(both, sizeof(both), "%s", type);
	else
		snprintf(both, sizeof(both), "%.140s_%.140s", group, type);
	type_sanitize(name, size, both);
	return types_kind(name) == SERIES_STOCK ? SERIES_STOCK
	    : types_kind(type);
}

static void
typeid_split(struct typeid *id)
{
	const char **const to[] = {&id->group, &id->type, &id->unit,
	    &id->period_type, &id->period_unit};
	char *next = id->parts, *part;

	for (size_t i = 0; i < 5; i++) {
		part = strsep(&next, ":");
		*to[i] = part != NULL ? part : "";
	}
}

const char *
typeid_unit(const char *unit)
{
	unit = unit_canonical(unit, NULL);
	return strcmp(unit, "samples") == 0 ? "count" : unit;
}

/* The row whose type this is, or NULL. */
static const struct type *
typeid_row(const char *name, const char *unit)
{
	char buf[TYPE_NAME_MAX];

	for (size_t i = 0; i < n_types; i++)
		if (types[i].group != NULL &&
		    strcmp(typeid_in(&types[i], unit, buf), name) == 0)
			return &types[i];
	return NULL;
}

static const char *
typeid_or(const char *text, const char *other)
{
	return text != NULL ? text : other;
}

void
typeid_of(struct typeid *id, const char *name, const char *unit)
{
	const struct type other = types_other(name, unit, SERIES_FLOW);
	const struct type *t = typeid_row(name, unit);
	const char *sample;

	t = t != NULL ? t : &other;
	unit = typeid_unit(unit);
	sample = typeid_or(t->sample, t->name);
	snprintf(id->text, sizeof(id->text), "%.60s:%.60s:%.40s:%.60s:%.40s",
	    typeid_or(t->group, t->name), sample, unit,
	    typeid_or(t->period_type, sample),
	    typeid_or(t->period_unit, unit));
	strcpy(id->parts, id->text);
	typeid_split(id);
}

const struct err *
typeid_parse(struct typeid *id, const char *text)
{
	if (strlen(text) >= TYPEID_MAX)
		return err_field(ERR_REQUEST, 400, "profile_typeID",
		    "is longer than %d bytes", TYPEID_MAX);
	strcpy(id->text, text);
	strcpy(id->parts, text);
	typeid_split(id);
	if (*id->group == '\0' || *id->type == '\0' || *id->unit == '\0')
		return err_field(ERR_REQUEST, 400, "profile_typeID",
		    "\"%.100s\" is not name:type:unit:period type:period unit",
		    text);
	return NULL;
}
