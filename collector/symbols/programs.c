/*
 * A list by address, and one rule for which of several an address is of.
 */
#include "collector/symbols/programs.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"

#define PROGRAMS_MAX (1u << 16)
#define EVER INT64_MAX

struct program {
	uint64_t start, end;
	int64_t from_ns, until_ns; /* 0: before anything was told; EVER */
	char *name;
};

static size_t
programs_upto(const struct programs *p, uint64_t addr)
{
	return array_upto(p->all, p->n, start, addr);
}

void
programs_fini(struct programs *p)
{
	programs_forget(p, EVER);
	free(p->all);
	*p = (struct programs){0};
}

static bool
programs_add(struct programs *p, const struct program_told *told)
{
	size_t at = programs_upto(p, told->start);
	char *name;

	if (p->n == PROGRAMS_MAX || told->end <= told->start ||
	    !array_room(&p->all, p->n + 1, &p->cap) ||
	    (name = strdup(told->name)) == NULL)
		return false;
	memmove(p->all + at + 1, p->all + at, (p->n - at) * sizeof(*p->all));
	p->all[at] = (struct program){told->start, told->end,
	    told->gone ? 0 : told->time_ns, told->gone ? told->time_ns : EVER,
	    name};
	p->n++;
	if (told->end - told->start > p->largest)
		p->largest = told->end - told->start;
	return true;
}

/* The one that goes was there before anything was told, where none is known. */
bool
programs_tell(struct programs *p, const struct program_told *told)
{
	size_t i = told->gone ? programs_upto(p, told->start) : 0;

	while (i-- > 0 && p->all[i].start == told->start) {
		if (p->all[i].until_ns != EVER ||
		    p->all[i].from_ns > told->time_ns)
			continue;
		p->all[i].until_ns = told->time_ns;
		return true;
	}
	return programs_add(p, told);
}

/*
 * Is an address that is in both rather of b?  If one has come when the other
 * was gone, it is of that one: who goes is run for a moment still, but nobody
 * gets its place until that is over.  Else it is of the one that begins nearer
 * to it: the kernel tells a page of a trampoline that takes less of it, and
 * others are in the rest.
 */
static bool
program_is_rather(const struct program *a, const struct program *b)
{
	if (a->until_ns <= b->from_ns || b->until_ns <= a->from_ns)
		return b->from_ns > a->from_ns;
	return b->start > a->start;
}

const char *
programs_find(const struct programs *p, uint64_t addr, int64_t time_ns)
{
	const struct program *found = NULL;

	for (size_t i = programs_upto(p, addr); i-- > 0 &&
	    addr - p->all[i].start < p->largest;) {
		const struct program *b = &p->all[i];

		if (addr < b->end && b->from_ns <= time_ns &&
		    (found == NULL || program_is_rather(found, b)))
			found = b;
	}
	return found != NULL ? found->name : NULL;
}

void
programs_forget(struct programs *p, int64_t time_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->all[i].until_ns <= time_ns)
			free(p->all[i].name);
		else
			p->all[kept++] = p->all[i];
	}
	p->n = kept;
}
