/*
 * Which names are kept.
 */
#include "store/model/type.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "store/model/types.h"
#include "store/model/unit.h"

static bool
type_has(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == ':';
}

void
type_sanitize(char *name, size_t size, const char *text)
{
	size_t n = 0;

	if (text[0] == '\0')
		text = "samples";
	if (isdigit((unsigned char)text[0]) && size > 1)
		name[n++] = '_';
	for (; *text != '\0' && n + 1 < size; text++)
		name[n++] = type_has(*text) ? *text : '_';
	name[n] = '\0';
}

static bool
type_can_be_named(const char *name)
{
	if (name[0] == '\0' || isdigit((unsigned char)name[0]))
		return false;
	while (type_has(*name))
		name++;
	return *name == '\0';
}

const char *
type_name(enum series_kind kind, const char *name, const char *unit,
    char buf[TYPE_NAME_MAX])
{
	const struct type *t = types_find(name);
	bool same = t == NULL || unit_same(t->unit, unit);
	const char *how = t == NULL || kind == t->kind ? ""
	    : kind == SERIES_STOCK ? "_average" : "_sum";
	char all[2 * TYPE_NAME_MAX];

	if (same && *how == '\0' && type_can_be_named(name))
		return name;
	snprintf(all, sizeof(all), "%.100s%s%s%.100s", name, how,
	    same ? "" : "_", same ? "" : unit_canonical(unit, NULL));
	type_sanitize(buf, TYPE_NAME_MAX, all);
	return buf;
}
