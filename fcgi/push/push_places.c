/*
 * Where pushed functions were written, as facts of the last batch.
 */
#include <string.h>

#include "fcgi/format/stacks.h"
#include "fcgi/push/push_private.h"
#include "fcgi/server/told.h"
#include "store/batch/batch.h"

/* What a push tells at once; the rest comes with the next ones. */
#define PLACES_BYTES (2u << 20)
#define PLACES_MAX 20000u
#define PLACE_BYTES 4096u

/* Whoever pushes knows where functions of its service are, and of no other.
 * False when no more are told with this push. */
static bool
places_put(struct push *p, const struct stacks *s, const char *service,
    const struct stacks_place *at, int64_t from_ns, struct buf *text)
{
	struct frame f;

	stacks_get_frame(s, at->frame, &f);
	buf_clear(text);
	if (!fact_put_place(text, &(struct fact_place){
	        .file = fact_part_of(at->file), .line = at->line,
	        .seen = at->seen, .module = fact_part_of(f.module),
	        .build_id = fact_part_of(f.build_id),
	        .service = fact_part_of(service)}) ||
	    text->failed || text->len >= PLACE_BYTES)
		return true;
	if (p->n_places == PLACES_MAX || p->place_bytes > PLACES_BYTES)
		return false;
	if (!told_take(p->told, &(struct told_place){f.name, f.module,
	    f.build_id, service, at->file, at->line, at->seen}, from_ns))
		return true;
	batch_add_fact(p->batch, from_ns, FACT_PLACE, f.name, text->data,
	    text->len);
	p->n_places++;
	p->place_bytes += text->len + strlen(f.name);
	return true;
}

void
push_places(struct push *p, struct told *told, const struct stacks *s,
    const struct push_window *w)
{
	int64_t time_ns = w->from_ns;
	struct stacks_place at;
	struct buf text = {0};
	bool more = true;

	p->told = told;
	/* where a window begins, and where each day of it does */
	while (more && (time_ns == w->from_ns || time_ns < w->until_ns)) {
		for (size_t i = 0; more && i < stacks_n_places(s); i++) {
			stacks_get_place(s, i, &at);
			more = places_put(p, s, w->service, &at, time_ns,
			    &text);
		}
		time_ns = (time_ns / TOLD_DAY_NS + 1) * TOLD_DAY_NS;
	}
	buf_fini(&text);
}
