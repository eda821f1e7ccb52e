/*
 * By libdw over a copy of the file.
 */
#include "collector/symbols/inlines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/elf/debug_file.h"
#include "collector/elf/dwarf_index.h"
#include "collector/symbols/symbols_child.h"
#include "store/base/text.h"

/* A file in memory. */
struct part {
	char *bytes;
	Elf *elf;
	Dwarf *dwarf;
};

struct inlines {
	struct part own, shared;
	struct dwarf_index *index;
};

static void
part_close(struct part *p)
{
	dwarf_end(p->dwarf);
	elf_end(p->elf);
	free(p->bytes);
}

static bool
part_open(struct part *p, const struct elf_input *in)
{
	if (in->size > INLINES_BYTES_MAX ||
	    elf_version(EV_CURRENT) == EV_NONE)
		return false;
	p->bytes = malloc(in->size + 1);
	if (p->bytes != NULL && in->read(in->arg, 0, p->bytes, in->size))
		p->elf = elf_memory(p->bytes, in->size);
	return p->elf != NULL;
}

/* Has it debug information?  *linked: a part of it lies in another file,
 * which libdw would open where nobody has given it. */
static bool
part_has_info(const struct part *p, bool *linked)
{
	Elf_Scn *info = debug_file_section(p->elf, ".debug_info");
	GElf_Shdr h;

	*linked = debug_file_section(p->elf, ".gnu_debugaltlink") != NULL;
	return info != NULL && gelf_getshdr(info, &h) != NULL &&
	    h.sh_type != SHT_NOBITS;
}

/* Joins the shared part, when it is the one that was meant. */
static bool
inlines_join(struct inlines *l, const struct elf_input *alt)
{
	const void *want = NULL, *id = NULL;
	const char *name;
	ssize_t n;
	bool linked;

	if (!part_open(&l->shared, alt) ||
	    !part_has_info(&l->shared, &linked) || linked)
		return false;
	n = dwelf_dwarf_gnu_debugaltlink(l->own.dwarf, &name, &want);
	if (n <= 0 || dwelf_elf_gnu_build_id(l->shared.elf, &id) != n ||
	    memcmp(want, id, (size_t)n) != 0)
		return false;
	l->shared.dwarf = dwarf_begin_elf(l->shared.elf, DWARF_C_READ, NULL);
	if (l->shared.dwarf == NULL)
		return false;
	dwarf_setalt(l->own.dwarf, l->shared.dwarf);
	return true;
}

struct inlines *
inlines_open(const struct elf_input *in, const struct elf_input *alt)
{
	struct inlines *l = calloc(1, sizeof(*l));
	bool linked = false;

	if (l == NULL)
		return NULL;
	if (part_open(&l->own, in) && part_has_info(&l->own, &linked) &&
	    (!linked || alt != NULL))
		l->own.dwarf = dwarf_begin_elf(l->own.elf, DWARF_C_READ,
		    NULL);
	if (l->own.dwarf != NULL && (!linked || inlines_join(l, alt)))
		l->index = dwarf_index_new(l->own.dwarf);
	if (l->index == NULL) {
		inlines_close(l);
		return NULL;
	}
	return l;
}

void
inlines_close(struct inlines *l)
{
	if (l == NULL)
		return;
	dwarf_index_free(l->index);
	part_close(&l->own);
	part_close(&l->shared);
	free(l);
}

/* Where the function was declared, through at most a few references. */
static void
inlines_follow(Dwarf_Die *die)
{
	static const unsigned names[] = {DW_AT_abstract_origin,
	    DW_AT_specification};
	Dwarf_Attribute a;
	Dwarf_Die next;
	size_t i;

	for (i = 0; i < 2; i++)
		if (dwarf_attr(die, names[i], &a) != NULL &&
		    dwarf_formref_die(&a, &next) != NULL)
			*die = next;
}

/* The name with the namespaces and classes around it. */
static void
inlines_qualified(Dwarf_Die *die, struct inlines_name *out)
{
	const char *name = dwarf_diename(die);
	char text[ELF_NAME_MAX] = "";
	Dwarf_Die of = *die, *scopes = NULL;
	size_t used = 0;
	int n, i;

	inlines_follow(&of);
	n = dwarf_getscopes_die(&of, &scopes);
	for (i = n - 1; i > 0 && used < sizeof(text); i--) {
		int tag = dwarf_tag(&scopes[i]);
		const char *scope = dwarf_diename(&scopes[i]);

		if (tag == DW_TAG_namespace && scope == NULL)
			scope = "(anonymous namespace)";
		if (scope != NULL && (tag == DW_TAG_namespace ||
		    tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
		    tag == DW_TAG_structure_type))
			used += (size_t)snprintf(text + used,
			    sizeof(text) - used, "%s::", scope);
	}
	free(scopes);
	if (used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, "%s",
		    name != NULL ? name : "?");
	symbols_child_copy(text, out->text, sizeof(out->text));
}

static void
inlines_name(Dwarf_Die *die, struct inlines_name *out)
{
	Dwarf_Attribute a;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) != NULL)
		name = dwarf_formstring(&a);
	if (name != NULL)
		symbols_child_name(name, out->text, sizeof(out->text));
	else
		inlines_qualified(die, out);
}

/* "file:line" of a function's definition; of a long path the end. */
static void
inlines_place(Dwarf_Die *die, char *out)
{
	const char *file = dwarf_decl_file(die);
	char number[16];
	size_t room, n;
	int line;

	out[0] = '\0';
	if (file == NULL || dwarf_decl_line(die, &line) != 0 || line <= 0)
		return;
	n = strlen(file);
	room = WIRE_PLACE_MAX -
	    (size_t)snprintf(number, sizeof(number), ":%d", line);
	if (n > room)
		snprintf(out, WIRE_PLACE_MAX + 1, "...%s%s",
		    file + n - (room - 3), number);
	else
		snprintf(out, WIRE_PLACE_MAX + 1, "%s%s", file, number);
	text_clean(out);
}

size_t
inlines_find(struct inlines *l, uint64_t vaddr, char *place,
    struct inlines_name *names, size_t max)
{
	struct dwarf_scopes at;
	size_t n, i;

	place[0] = '\0';
	if (!dwarf_index_find(l->index, vaddr, &at) || at.n == 0)
		return 0;
	inlines_place(at.dies[0], place);
	n = at.n - 1 < max ? at.n - 1 : max;
	for (i = 0; i < n; i++) {
		Dwarf_Die *die = at.dies[at.n - n + i];

		inlines_name(die, &names[i]);
		inlines_place(die, names[i].place);
	}
	return n;
}
