/*
 * By libdw over a copy of the file.
 */
#include "inlines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols_child.h"

struct inlines {
	char *bytes;
	Elf *elf;
	Dwarf *dwarf;
};

/* Names that lie in a file of many would make libdw open that. */
static bool
inlines_is_whole(Elf *elf)
{
	Elf_Scn *s = NULL;
	size_t names;
	GElf_Shdr h;
	bool info = false;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((s = elf_nextscn(elf, s)) != NULL) {
		const char *name = gelf_getshdr(s, &h) != NULL ?
		    elf_strptr(elf, names, h.sh_name) : NULL;

		if (name != NULL && strcmp(name, ".gnu_debugaltlink") == 0)
			return false;
		info = info || (name != NULL && h.sh_type != SHT_NOBITS &&
		    strcmp(name, ".debug_info") == 0);
	}
	return info;
}

struct inlines *
inlines_open(const struct elf_input *in)
{
	struct inlines *l;

	if (in->size > INLINES_BYTES_MAX ||
	    elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	l->bytes = malloc(in->size + 1);
	if (l->bytes != NULL && in->read(in->arg, 0, l->bytes, in->size))
		l->elf = elf_memory(l->bytes, in->size);
	if (l->elf != NULL && inlines_is_whole(l->elf))
		l->dwarf = dwarf_begin_elf(l->elf, DWARF_C_READ, NULL);
	if (l->dwarf == NULL) {
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
	dwarf_end(l->dwarf);
	elf_end(l->elf);
	free(l->bytes);
	free(l);
}

/* The unit that holds the address: by the index, which not every compiler
 * writes, else one by one. */
static bool
inlines_unit(struct inlines *l, uint64_t vaddr, Dwarf_Die *out)
{
	Dwarf_Off at = 0, next;
	size_t head;

	if (dwarf_addrdie(l->dwarf, vaddr, out) != NULL)
		return true;
	for (; dwarf_nextcu(l->dwarf, at, &next, &head, NULL, NULL, NULL) ==
	     0; at = next)
		if (dwarf_offdie(l->dwarf, at + head, out) != NULL &&
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

size_t
inlines_find(struct inlines *l, uint64_t vaddr, struct inlines_name *names,
    size_t max)
{
	Dwarf_Die *scopes;
	int n = inlines_scopes(l, vaddr, &scopes), i;
	struct inlines_name swap;
	size_t found = 0, k;

	for (i = 0; i < n && found < max; i++) {
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			break;
		if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine)
			inlines_name(&scopes[i], &names[found++]);
	}
	free(scopes);
	for (k = 0; k < found / 2; k++) {
		swap = names[k];
		names[k] = names[found - 1 - k];
		names[found - 1 - k] = swap;
	}
	return found;
}
