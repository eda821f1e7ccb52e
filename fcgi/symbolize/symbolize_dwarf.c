/*
 * Names of functions and lines of code from debug information: what the index
 * of functions finds at an address, as people read it.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/elf/demangle.h"
#include "collector/elf/dwarf_index.h"
#include "fcgi/symbolize/symbolize_private.h"
#include "store/base/array.h"
#include "store/base/intern.h"

_Static_assert(SYMBOLIZED_MAX == DWARF_SCOPES_MAX, "a frame for each scope");

/* The source files of a unit. */
struct unit_files {
	Dwarf_Files *files;
	size_t n;
	const char **paths; /* by file; NULL: not asked for yet */
	bool read;
};

struct dwarf_names {
	struct dwarf_index *index;
	struct unit_files *units;
	bool bare;          /* the last outermost name has no scope */
	struct map64 names; /* place of a function's entry -> string + 1 */
	char **kept;        /* strings that live as long as this */
	uint32_t n_kept, cap_kept;
};

struct dwarf_names *
dwarf_names_new(Dwarf *dw)
{
	struct dwarf_names *x = calloc(1, sizeof(*x));

	if (x == NULL)
		return NULL;
	x->index = dwarf_index_new(dw);
	if (x->index != NULL)
		x->units = calloc(dwarf_index_units(x->index) + 1,
		    sizeof(*x->units));
	if (x->units == NULL) {
		dwarf_names_free(x);
		return NULL;
	}
	return x;
}

void
dwarf_names_free(struct dwarf_names *x)
{
	if (x == NULL)
		return;
	for (uint32_t i = 0; x->units != NULL &&
	    i < dwarf_index_units(x->index); i++)
		free(x->units[i].paths);
	for (uint32_t i = 0; i < x->n_kept; i++)
		free(x->kept[i]);
	free(x->units);
	free(x->kept);
	map64_fini(&x->names);
	dwarf_index_free(x->index);
	free(x);
}

/* Takes `text`, NULL when out of memory. */
static const char *
keep(struct dwarf_names *x, char *text)
{
	if (text == NULL ||
	    !array_room(&x->kept, x->n_kept + 1, &x->cap_kept)) {
		free(text);
		return NULL;
	}
	return x->kept[x->n_kept++] = text;
}

/* The name by the linker's, which says types and namespaces, or its own. */
static const char *
name_make(struct dwarf_names *x, Dwarf_Die *die)
{
	static const unsigned wanted[] = {DW_AT_linkage_name,
	    DW_AT_MIPS_linkage_name, DW_AT_name};
	Dwarf_Attribute attr;
	const char *raw = NULL;
	char *plain;

	for (unsigned i = 0; i < 3 && raw == NULL; i++)
		raw = dwarf_formstring(
		    dwarf_attr_integrate(die, wanted[i], &attr));
	if (raw == NULL)
		return NULL;
	plain = demangle(raw);
	return keep(x, plain != NULL ? plain : strdup(raw));
}

/* Names are made once for each function, not for each call of it. */
static const char *
name_of(struct dwarf_names *x, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;
	const char *name;
	uint32_t i;

	if (dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attr),
	    &origin) == NULL)
		origin = *die;
	i = map64_get(&x->names, (uint64_t)(uintptr_t)origin.addr);
	if (i != INTERN_NONE)
		return i == 0 ? NULL : x->kept[i - 1];
	name = name_make(x, &origin);
	map64_add(&x->names, (uint64_t)(uintptr_t)origin.addr,
	    name == NULL ? 0 : x->n_kept);
	return name;
}

static struct unit_files *
unit_files(struct dwarf_names *x, const struct dwarf_scopes *at)
{
	struct unit_files *f = &x->units[at->unit];

	if (!f->read && dwarf_getsrcfiles(at->unit_die, &f->files, &f->n) == 0)
		f->paths = calloc(f->n + 1, sizeof(*f->paths));
	f->read = true;
	return f;
}

/* A file of a unit, from the folder that it was compiled in. */
static const char *
file_path(struct dwarf_names *x, const struct dwarf_scopes *at, size_t i)
{
	struct unit_files *f = unit_files(x, at);
	Dwarf_Attribute attr;
	const char *name, *dir;
	char *path;

	if (f->paths == NULL || i >= f->n)
		return NULL;
	if (f->paths[i] != NULL)
		return f->paths[i];
	name = dwarf_filesrc(f->files, i, NULL, NULL);
	dir = dwarf_formstring(
	    dwarf_attr(at->unit_die, DW_AT_comp_dir, &attr));
	if (name != NULL && name[0] != '/' && dir != NULL &&
	    asprintf(&path, "%s/%s", dir, name) > 0)
		name = keep(x, path);
	return f->paths[i] = name;
}

static void
call_place(struct dwarf_names *x, const struct dwarf_scopes *at,
    Dwarf_Die *die, struct symbolized *caller)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &v) == 0)
		caller->file = file_path(x, at, v);
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &v) == 0)
		caller->line = (int)v;
}

static void
leaf_place(struct dwarf_names *x, const struct dwarf_scopes *at,
    uint64_t address, struct symbolized *leaf)
{
	Dwarf_Line *line = dwarf_getsrc_die(at->unit_die, address);
	Dwarf_Files *files;
	size_t i;

	if (line == NULL)
		return;
	dwarf_lineno(line, &leaf->line);
	if (dwarf_line_file(line, &files, &i) == 0)
		leaf->file = files == unit_files(x, at)->files
		    ? file_path(x, at, i)
		    : dwarf_filesrc(files, i, NULL, NULL);
}

bool
dwarf_names_bare(const struct dwarf_names *x)
{
	return x->bare;
}

size_t
dwarf_names_find(struct dwarf_names *x, uint64_t address,
    struct symbolized frames[SYMBOLIZED_MAX])
{
	struct dwarf_scopes at;
	size_t n;

	if (!dwarf_index_find(x->index, address, &at))
		return 0;
	for (size_t i = 0; i < at.n; i++) {
		frames[i] = (struct symbolized){
		    .name = name_of(x, at.dies[i]), .inlined = i > 0,
		    .entry = i == 0 ? at.entry : 0};
		if (i > 0)
			call_place(x, &at, at.dies[i], &frames[i - 1]);
	}
	n = at.n;
	if (n == 0)
		frames[n++] = (struct symbolized){0};
	x->bare = at.n == 0 ||
	    !dwarf_hasattr_integrate(at.dies[0], DW_AT_linkage_name);
	leaf_place(x, &at, address, &frames[n - 1]);
	return n;
}
