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
	Elf_Scn *s = NULL;
	size_t names;
	GElf_Shdr h;
	bool info = false;

	*linked = false;
	if (elf_getshdrstrndx(p->elf, &names) != 0)
		return false;
	while ((s = elf_nextscn(p->elf, s)) != NULL) {
		const char *name = gelf_getshdr(s, &h) != NULL ?
		    elf_strptr(p->elf, names, h.sh_name) : NULL;

		if (name == NULL)
			continue;
		*linked = *linked || strcmp(name, ".gnu_debugaltlink") == 0;
		info = info || (h.sh_type != SHT_NOBITS &&
		    strcmp(name, ".debug_info") == 0);
	}
	return info;
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
	if (l->own.dwarf == NULL || (linked && !inlines_join(l, alt))) {
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
	part_close(&l->own);
	part_close(&l->shared);
	free(l);
}

/* The unit that holds the address: by the index, which not every compiler
 * writes, else one by one. */
static bool
inlines_unit(struct inlines *l, uint64_t vaddr, Dwarf_Die *out)
{
	Dwarf_Off at = 0, next;
	size_t head;

	if (dwarf_addrdie(l->own.dwarf, vaddr, out) != NULL)
		return true;
	for (; dwarf_nextcu(l->own.dwarf, at, &next, &head, NULL, NULL, NULL) ==
	     0; at = next)
		if (dwarf_offdie(l->own.dwarf, at + head, out) != NULL &&
		    dwarf_haspc(out, vaddr) > 0)
			return true;
	return false;
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

/* The innermost scope at an address, then those around it up to the unit. */
static int
inlines_scopes(struct inlines *l, uint64_t vaddr, Dwarf_Die **out)
{
	Dwarf_Die unit, inner, *scopes = NULL;
	int n;

	*out = NULL;
	if (!inlines_unit(l, vaddr, &unit))
		return 0;
	n = dwarf_getscopes(&unit, vaddr, &scopes);
	if (n <= 0)
		return 0;
	/* That list goes on with where the inlined function was written. */
	inner = scopes[0];
	free(scopes);
	return dwarf_getscopes_die(&inner, out);
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
	Dwarf_Die *scopes;
	int n = inlines_scopes(l, vaddr, &scopes), i;
	struct inlines_name swap;
	size_t found = 0, k;

	place[0] = '\0';
	for (i = 0; i < n; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram) {
			inlines_place(&scopes[i], place);
			break;
		}
		if (tag != DW_TAG_inlined_subroutine || found == max)
			continue;
		inlines_name(&scopes[i], &names[found]);
		inlines_place(&scopes[i], names[found++].place);
	}
	free(scopes);
	for (k = 0; k < found / 2; k++) {
		swap = names[k];
		names[k] = names[found - 1 - k];
		names[found - 1 - k] = swap;
	}
	return found;
}
