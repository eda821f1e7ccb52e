/* gperftools' heap profiles: one line a stack. */
#include "fcgi/format/heap/gperftools.h"

#include <string.h>

#include "fcgi/format/heap/heap_private.h"

#define RATE_DEFAULT (128 * 1024)

/* How samples were taken, from what follows the counts in the header. */
static void
gperftools_sampling(struct heap_reader *r, struct heap_line *l,
    const uint64_t counts[4])
{
	uint64_t rate = 0;
	const char *type, *end;

	if (!heap_take(l, "@")) {
		if (counts[0] == counts[2] && counts[1] == counts[3])
			r->algorithm = 1;
		r->rate = RATE_DEFAULT;
		return;
	}
	heap_take(l, "");
	type = l->p;
	end = memchr(type, '/', (size_t)(l->end - type));
	l->p = end == NULL ? l->end : end + 1;
	if (end == NULL)
		end = l->end;
	if (memmem(type, (size_t)(end - type), "heap", 4) == NULL ||
	    (end - type == 11 && memcmp(type, "heapprofile", 11) == 0)) {
		heap_says_mean(r, 1);
		return;
	}
	r->algorithm = memmem(type, (size_t)(end - type), "_v2", 3) != NULL
	    ? 2 : 1;
	if (!heap_take_number(l, &rate))
		rate = 0;
	r->rate = (double)rate;
	if (r->algorithm == 1)
		r->rate = (double)(rate / 2) + (rate % 2 ? 0.5 : 0);
	if (r->rate > 0)
		heap_says_mean(r, r->rate);
	else
		r->rate = RATE_DEFAULT;
}

/* A sample of what is in use repeats its counts where those of all that was
 * ever allocated stand: nobody knows those. */
static bool
gperftools_is_in_use(const struct heap_reader *r, const uint64_t all[4])
{
	return r->algorithm != 0 && all[0] == all[2] && all[1] == all[3];
}

const struct err *
gperftools_read(struct heap_reader *r, struct heap_line *header)
{
	const struct err *e = NULL;
	struct heap_line l;
	uint64_t counts[4];
	bool in_use;

	if (!heap_take_counts(header, counts))
		return heap_bad(r, "heap profile: n: b [n: b] expected");
	gperftools_sampling(r, header, counts);
	in_use = gperftools_is_in_use(r, counts);
	while (e == NULL && heap_line_next(r, &l)) {
		if (l.p == l.end)
			continue;
		if (heap_line_begins(&l, "MAPPED_LIBRARIES:") ||
		    heap_line_begins(&l, "--- Memory map:")) {
			e = heap_read_maps(r);
		} else if (*l.p >= '0' && *l.p <= '9') {
			if (!heap_take_counts(&l, counts) ||
			    !heap_take(&l, "@"))
				return heap_bad(r,
				    "n: b [n: b] @ addresses expected");
			if (in_use)
				counts[2] = counts[3] = 0;
			e = heap_take_stack(r, &l);
			if (e == NULL)
				e = heap_add_stack(r, counts);
		} else {
			r->h->unknown_lines++;
		}
	}
	return e;
}
