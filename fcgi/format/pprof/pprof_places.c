/*
 * Files and lines of pprof's functions.  Few writers say where a function
 * starts; of the others the first line that any location has is known.
 */
#include <string.h>

#include "fcgi/format/pprof/pprof_private.h"
#include "store/base/err.h"

const struct err *
pprof_places_begin(struct pprof_reader *r, size_t lines)
{
	size_t n = r->p->n_function;

	r->seen = pprof_alloc(r, n, sizeof(*r->seen));
	r->last = pprof_alloc(r, n, sizeof(*r->last));
	r->named = pprof_alloc(r, lines, sizeof(*r->named));
	if (r->seen == NULL || r->last == NULL || r->named == NULL)
		return pprof_full(r);
	memset(r->seen, 0, n * sizeof(*r->seen));
	memset(r->last, 0, n * sizeof(*r->last));
	return NULL;
}

void
pprof_places_see(struct pprof_reader *r, uint32_t function, uint32_t frame,
    int64_t line)
{
	int64_t *seen = &r->seen[function];

	if (line > 0 && (*seen == 0 || line < *seen))
		*seen = line;
	if (r->last[function] == frame + 1)
		return;
	r->last[function] = frame + 1;
	r->named[r->n_named++] = (struct pprof_named){function, frame};
}

const struct err *
pprof_places_end(struct pprof_reader *r)
{
	for (size_t i = 0; i < r->n_named; i++) {
		const struct pprof_named *named = &r->named[i];
		const Pprof__Function *f = r->p->function[named->function];
		struct stacks_place at = {.frame = named->frame};
		const struct err *e = pprof_str(r, f->filename, &at.file);

		if (e != NULL)
			return e;
		at.seen = f->start_line <= 0;
		at.line = at.seen ? r->seen[named->function] : f->start_line;
		if (at.file[0] != '\0')
			stacks_put_place(r->s, &at);
	}
	return NULL;
}
