/*
 * What a reader keeps, how much memory that takes, and which files it closes
 * when it is too much.
 */
#include "reader.h"

#include <stdlib.h>

void
reader_close_file(struct reader_file *f)
{
	sealed_close(f->sealed);
	free(f->symbols);
	free(f->stack_nodes);
	free(f->series);
	f->sealed = NULL;
	f->symbols = f->stack_nodes = f->series = NULL;
	f->n_series = 0;
}

static size_t
reader_file_bytes(const struct reader_file *f)
{
	return f->sealed == NULL ? 0
	                         : sealed_bytes(f->sealed) +
	        f->sealed->n_stacks * sizeof(*f->stack_nodes) +
	        f->n_series * sizeof(*f->series) +
	        f->sealed->dict->n_series * sizeof(*f->symbols);
}

size_t
reader_bytes(const struct store *s)
{
	size_t n = symtab_bytes(&s->syms) + shown_bytes(&s->shown) +
	    scratch_bytes(&s->scratch) +
	    (s->n_files + s->manifest.n) * sizeof(*s->files);

	for (uint32_t i = 0; i < s->n_files; i++)
		n += reader_file_bytes(&s->files[i]);
	for (uint32_t i = 0; i < s->n_journals; i++)
		n += sizeof(*s->journals[i]) +
		    openspan_bytes(&s->journals[i]->span) +
		    s->journals[i]->reader.record.cap;
	return n;
}

bool
reader_make_room(struct store *s, size_t more)
{
	size_t bytes = reader_bytes(s) + more;

	while (bytes > s->limit) {
		struct reader_file *oldest = NULL;

		for (uint32_t i = 0; i < s->n_files; i++) {
			struct reader_file *f = &s->files[i];

			if (f->sealed != NULL && f->used < s->requests &&
			    (oldest == NULL || f->used < oldest->used))
				oldest = f;
		}
		if (oldest == NULL)
			return false;
		bytes -= reader_file_bytes(oldest);
		reader_close_file(oldest);
	}
	return true;
}
