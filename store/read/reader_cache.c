/*
 * What a reader keeps, how much memory that takes, and which files it closes
 * when it is too much.
 */
#include <stdlib.h>
#include <string.h>

#include "store/read/reader.h"

#define QUESTION_MOST (24u << 20)

void
reader_close_file(struct reader_file *f)
{
	sealed_close(f->sealed);
	openspan_fini(&f->names);
	series_index_fini(&f->index);
	reader_series_map_fini(&f->known);
	free(f->stack_nodes);
	free(f->named);
	free(f->large);
	free(f->ends);
	roster_file_free(f->roster);
	map64_fini(&f->newest.places);
	free(f->newest.blocks);
	f->newest = (struct reader_newest){0};
	f->sealed = NULL;
	f->ends = NULL;
	f->roster = NULL;
	f->stack_nodes = NULL;
	f->named = NULL;
	f->large = NULL;
}

bool
reader_ends_at(struct reader_file *f, uint32_t series, uint64_t slot)
{
	size_t bytes = f->sealed->n_series * sizeof(*f->ends);

	if (f->ends == NULL && (f->ends = malloc(bytes)) != NULL)
		memset(f->ends, 0xff, bytes);
	if (f->ends != NULL && slot < f->ends[series])
		f->ends[series] = slot;
	return f->ends != NULL;
}

static size_t
reader_file_bytes(const struct reader_file *f)
{
	return f->sealed == NULL ? 0
	                         : sealed_bytes(f->sealed) +
	        openspan_bytes(&f->names) + reader_series_map_bytes(f) +
	        (f->ends == NULL ? 0 : f->sealed->n_series * sizeof(*f->ends)) +
	        roster_file_bytes(f->roster) +
	        f->newest.places.cap * sizeof(*f->newest.places.pairs) +
	        f->newest.cap * sizeof(*f->newest.blocks) +
	        (f->named == NULL ? 0 : f->sealed->n_series / 4 +
	            f->sealed->n_stacks * sizeof(*f->stack_nodes));
}

size_t
reader_names_bytes(const struct store *s)
{
	return symtab_bytes(&s->syms) + roster_bytes(&s->roster) +
	    merged_tree_bytes(&s->shown) +
	    merged_tree_bytes(&s->by_module) +
	    scratch_bytes(&s->scratch) + s->cap_sorted * sizeof(*s->sorted);
}

size_t
reader_kept_bytes(const struct store *s)
{
	size_t n = reader_names_bytes(s) +
	    (s->n_files + s->manifest.n) * sizeof(*s->files);

	for (uint32_t i = 0; i < s->n_files; i++)
		n += reader_file_bytes(&s->files[i]);
	return n;
}

size_t
reader_bytes(const struct store *s)
{
	size_t n = reader_kept_bytes(s);

	for (uint32_t i = 0; i < s->n_journals; i++)
		n += sizeof(*s->journals[i]) +
		    openspan_bytes(&s->journals[i]->span) +
		    s->journals[i]->reader.record.cap;
	return n;
}

void
reader_drop_windows(struct store *s)
{
	for (uint32_t i = 0; i < s->n_files; i++) {
		struct buf *window = &s->files[i].names.pages.window;

		if (s->files[i].sealed != NULL &&
		    window->cap > READER_WINDOW)
			buf_fini(window);
	}
}

void
reader_measure(struct store *s)
{
	size_t n = reader_kept_bytes(s);

	for (uint32_t i = 0; i < s->n_files; i++)
		if (s->files[i].used < s->requests)
			n -= reader_file_bytes(&s->files[i]);
	s->question -= s->question / 64;
	if (s->question < n)
		s->question = n;
}

/*
 * Files have a quarter beside names that take more than theirs; and beside
 * what a question of late needed at once, up to QUESTION_MOST: who closes a
 * file that the next question opens again saves no memory.
 */
static size_t
reader_most_bytes(const struct store *s)
{
	size_t names = reader_names_bytes(s) + s->limit / 4;
	size_t question = s->question < QUESTION_MOST ? s->question
	                                              : QUESTION_MOST;
	size_t most = question > 0 ? question + s->limit / 4 : 0;

	most = most > s->limit ? most : s->limit;
	return names > most ? names : most;
}

void
reader_make_room(struct store *s)
{
	size_t bytes = reader_kept_bytes(s);
	size_t most = reader_most_bytes(s);

	while (bytes > most) {
		struct reader_file *oldest = NULL;

		for (uint32_t i = 0; i < s->n_files; i++) {
			struct reader_file *f = &s->files[i];

			if (f->sealed != NULL && f->used < s->requests &&
			    (oldest == NULL || f->before < oldest->before ||
			    (f->before == oldest->before &&
			    f->used < oldest->used)))
				oldest = f;
		}
		if (oldest == NULL)
			return;
		bytes -= reader_file_bytes(oldest);
		reader_close_file(oldest);
	}
}
