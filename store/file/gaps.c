/*
 * Slots of the records before and after the damaged ones are all that is known;
 * without a record before, the journal's first slot bounds the gap.
 */
#include "store/file/gaps.h"

#include "store/file/format.h"
#include "store/file/segtree.h"

void
gaps_begin(struct gaps *g, uint64_t first)
{
	*g = (struct gaps){.first = first, .home = first};
}

static void
gaps_add(struct gaps *g, uint64_t from, uint64_t until)
{
	struct gap *last = g->n > 0 ? &g->list[g->n - 1] : NULL;

	if (last != NULL && (g->n == GAPS_MAX || from <= last->until)) {
		if (until > last->until)
			last->until = until;
		return;
	}
	g->list[g->n++] = (struct gap){from, until};
}

void
gaps_take(struct gaps *g, const uint64_t *slots, size_t n, uint64_t damaged)
{
	uint64_t home = g->home;

	if (g->first == 0 && n > 0) /* no header to tell */
		g->first = home = g->home = seg_align(slots[0],
		    FORMAT_SEAL_LEVEL);
	for (size_t i = 0; i < n; i++) {
		if (slots[i] > home &&
		    slots[i] < g->first + seg_slots(FORMAT_SEAL_LEVEL))
			home = slots[i];
	}
	if (damaged > g->damaged)
		gaps_add(g, g->home, home + 1);
	g->damaged = damaged;
	g->home = home;
}

void
gaps_end(struct gaps *g, uint64_t damaged, uint64_t until)
{
	if (damaged > g->damaged && until > g->home)
		gaps_add(g, g->home, until);
	g->damaged = damaged;
}
