/*
 * What a reader keeps, how much memory that takes, and which files it closes
 * when it is too much.
 */
#include <stdlib.h>

#include "store/read/reader.h"

void
reader_close_file(struct reader_file *f)
{
	sealed_close(f->sealed);
	openspan_fini(&f->names);
	free(f->stack_nodes);
	free(f->named);
	f->sealed = NULL;
	f->stack_nodes = NULL;
	f->named = NULL;
}

static size_t
reader_file_bytes(const struct reader_file *f)
{
	return f->sealed == NULL ? 0
	                         : sealed_bytes(f->sealed) +
	        openspan_bytes(&f->names) + f->sealed->n_series / 8 +
	        f->sealed->n_stacks * sizeof(*f->stack_nodes);
}

size_t
reader_bytes(const struct store *s)
{
	size_t n = symtab_bytes(&s->syms) + merged_tree_bytes(&s->shown) +
	    scratch_bytes(&s->scratch) + s->cap_sorted * sizeof(*s->sorted) +
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
