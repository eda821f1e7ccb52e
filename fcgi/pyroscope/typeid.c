/*
 * One table in both directions.
 */
#include "fcgi/pyroscope/typeid.h"

#include <stdio.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/type.h"
#include "store/model/unit.h"

static const struct typeid_known {
	const char *group, *type, *name;
	enum series_kind kind;
	const char *period_type, *period_unit; /* NULL: as the type */
} known[] = {
    {"process_cpu", "cpu", "cpu", SERIES_FLOW, NULL, NULL},
    {"wall", "wall", "wall", SERIES_FLOW, NULL, NULL},
    {"memory", "inuse_space", "inuse_space", SERIES_STOCK, "space", "bytes"},
    {"memory", "inuse_objects", "inuse_objects", SERIES_STOCK, "space",
        "bytes"},
    {"memory", "alloc_space", "alloc_space", SERIES_FLOW, "space", "bytes"},
    {"memory", "alloc_objects", "alloc_objects", SERIES_FLOW, "space",
        "bytes"},
    {"goroutine", "goroutine", "goroutines", SERIES_STOCK, "goroutine",
        "count"},
    {"goroutines", "goroutine", "goroutines", SERIES_STOCK, "goroutine",
        "count"},
    {"mutex", "contentions", "mutex_count", SERIES_FLOW, "contentions",
        "count"},
    {"mutex", "delay", "mutex_duration", SERIES_FLOW, "contentions",
        "count"},
    {"block", "contentions", "block_count", SERIES_FLOW, "contentions",
        "count"},
    {"block", "delay", "block_duration", SERIES_FLOW, "contentions",
        "count"},
    {"process_cpu", "samples", "samples", SERIES_FLOW, "cpu",
        "nanoseconds"},
};

#define N_KNOWN (sizeof(known) / sizeof(known[0]))

/* What is in a unit of its own has a name of its own; others are refused
 * where it turns out what the type is in. */
static const char *
typeid_in(const struct typeid_known *k, const char *unit,
    char buf[TYPE_NAME_MAX])
{
	return unit_is_known(unit) ? k->name
	    : type_name(k->kind, k->name, unit, buf);
}

enum series_kind
typeid_name(const char *group, const char *type, const char *unit, char *name,
    size_t size)
{
	char buf[TYPE_NAME_MAX];
	char both[TYPEID_MAX];
	bool stock = strncmp(type, "inuse", 5) == 0;

	for (size_t i = 0; i < N_KNOWN; i++) {
		if (strcmp(known[i].group, group) == 0 &&
		    strcmp(known[i].type, type) == 0) {
			snprintf(name, size, "%s",
			    typeid_in(&known[i], unit, buf));
			return known[i].kind;
		}
	}
	if (*group == '\0' || strcmp(group, type) == 0)
		snprintf(both, sizeof(both), "%s", type);
	else
		snprintf(both, sizeof(both), "%.140s_%.140s", group, type);
	type_sanitize(name, size, both);
	return stock ? SERIES_STOCK : SERIES_FLOW;
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

void
typeid_of(struct typeid *id, const char *name, const char *unit)
{
	char buf[TYPE_NAME_MAX];
	size_t i = 0;

	while (i < N_KNOWN &&
	    strcmp(typeid_in(&known[i], unit, buf), name) != 0)
		i++;
	unit = typeid_unit(unit);
	if (i < N_KNOWN)
		snprintf(id->text, sizeof(id->text), "%s:%s:%.60s:%s:%.60s",
		    known[i].group, known[i].type, unit,
		    known[i].period_type != NULL ? known[i].period_type
						 : known[i].type,
		    known[i].period_unit != NULL ? known[i].period_unit
						 : unit);
	else
		snprintf(id->text, sizeof(id->text),
		    "%.60s:%.60s:%.40s:%.60s:%.40s", name, name, unit, name,
		    unit);
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
