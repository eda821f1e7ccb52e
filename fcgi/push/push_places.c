/*
 * Where pushed functions were written, as facts of the last batch.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/format/stacks.h"
#include "fcgi/push/push_private.h"
#include "fcgi/server/told.h"
#include "store/batch/batch.h"

/* What a push tells at once; the rest comes with the next ones. */
#define PLACES_BYTES (2u << 20)
#define PLACES_MAX 20000u
#define PLACE_BYTES 4096u

/* A tab or a new line ends a part of a place's text (batch.h). */
static bool
places_fine(const char *text)
{
	return text[strcspn(text, "\t\n")] == '\0';
}

/* "file:line", and "+" where the definition is there or before.  Whoever
 * pushes knows where functions of its service are, and of no other. */
static bool
places_put(struct push *p, const struct stacks *s, const char *service,
    const struct stacks_place *at, int64_t from_ns)
{
	char text[PLACE_BYTES];
	struct frame f;
	int n;

	stacks_get_frame(s, at->frame, &f);
	if (!places_fine(at->file) || !places_fine(f.module) ||
	    !places_fine(f.build_id) || !places_fine(service))
		return true;
	n = snprintf(text, sizeof(text), "%s:%" PRId64 "%s\t%s\t%s\t%s",
	    at->file, at->line, at->seen ? "+" : "", f.module, f.build_id,
	    service);
	if (n < 0 || (size_t)n >= sizeof(text))
		return true;
	if (p->n_places == PLACES_MAX || p->place_bytes > PLACES_BYTES)
		return false;
	if (!told_take(p->told, &(struct told_place){f.name, f.module,
	    service, at->file, at->line, at->seen}, from_ns))
		return true;
	batch_add_fact(p->batch, from_ns, FACT_PLACE, f.name, text,
	    (size_t)n);
	p->n_places++;
	p->place_bytes += (size_t)n + strlen(f.name);
	return true;
}

void
push_places(struct push *p, struct told *told, const struct stacks *s,
    const struct push_window *w)
{
	int64_t time_ns = w->from_ns;
	struct stacks_place at;

	p->told = told;
	/* where a window begins, and where each day of it does */
	while (time_ns == w->from_ns || time_ns < w->until_ns) {
		for (size_t i = 0; i < stacks_n_places(s); i++) {
			stacks_get_place(s, i, &at);
			if (!places_put(p, s, w->service, &at, time_ns))
				return;
		}
		time_ns = (time_ns / TOLD_DAY_NS + 1) * TOLD_DAY_NS;
	}
}
