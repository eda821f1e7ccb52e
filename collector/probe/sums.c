/*
 * Takes the histograms that BPF programs sum, side by side.
 */
#include "collector/probe/sums.h"

#include "store/base/clock.h"

#define ENOUGH 64 /* cells, to be taken before a slot's end ... */
#define POLL_NS 100000000 /* in which programs are done with a side */
#define NEAR_NS 10000000 /* ... which is not that near */

/*
 * Takes what a side has.  Cells are given back only where nobody has added for
 * a while: who comes late finds them, or at worst adds to a key that still
 * stands in one that is free, and is found there.
 */
static void
sums_sweep(struct sums *s, uint32_t side, bool give_back, sums_fn *fn,
    void *arg)
{
	struct sums_cell *c = s->cells + side * SUMS_CELLS;
	__u32 *used = &s->used[side], state, i;
	uint64_t sum, count;

	if (__atomic_load_n(used, __ATOMIC_ACQUIRE) == 0)
		return;
	for (i = 0; i < SUMS_CELLS; i++, c++) {
		state = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
		if (state == SUMS_CELL_CLAIMED)
			continue;
		sum = __atomic_load_n(&c->sum, __ATOMIC_ACQUIRE);
		if (sum != 0)
			sum = __atomic_exchange_n(&c->sum, 0,
			    __ATOMIC_ACQ_REL);
		count = sum >> SUMS_REST_BITS;
		if (count > 0)
			fn(arg, &c->key, count, sum & (SUMS_ONE - 1));
		if (give_back && state == SUMS_CELL_USED) {
			__atomic_store_n(&c->state, SUMS_CELL_FREE,
			    __ATOMIC_RELEASE);
			__atomic_fetch_sub(used, 1, __ATOMIC_ACQ_REL);
		}
	}
}

void
sums_take(struct sums *s, int64_t end_ns, sums_fn *fn, void *arg)
{
	uint64_t border = *s->border;
	uint64_t now_ns = (uint64_t)clock_mono_ns(), end = (uint64_t)end_ns;

	sums_sweep(s, border & 1, false, fn, arg);
	s->polled_ns = now_ns;
	if (s->stopped)
		sums_sweep(s, ~border & 1, false, fn, arg);
	if (end < now_ns)
		end = now_ns;
	*s->border = (end & ~UINT64_C(1)) | (~border & 1);
}

void
sums_take_all(struct sums *s, sums_fn *fn, void *arg)
{
	sums_sweep(s, 0, false, fn, arg);
	sums_sweep(s, 1, false, fn, arg);
}

/* Where the open side has enough, the rest of its slot is summed on the other
 * one, as soon as that is empty.  What it has is taken at once: after the
 * slot's end it would be the next one's.  Its cells are given back later: at
 * another poll of the same slot, for the next one is summed there again. */
void
sums_poll(struct sums *s, sums_fn *fn, void *arg)
{
	uint64_t border = *s->border;
	uint64_t now_ns = (uint64_t)clock_mono_ns();
	bool last = now_ns + 2 * (now_ns - s->asked_ns) >= border;
	uint32_t open = sums_side(border, now_ns);
	__u32 *used = s->used;

	s->asked_ns = now_ns;
	if (now_ns + NEAR_NS >= border || now_ns < s->polled_ns + POLL_NS)
		return; /* where a slot ends, that is taken first */
	s->polled_ns = now_ns;
	if (used[!open] > 0)
		sums_sweep(s, !open, true, fn, arg);
	if (used[!open] > 0 ||
	    ((used[open] < ENOUGH || last) && !*s->large))
		return;
	*s->large = 0;
	__atomic_store_n(s->border, border ^ 1, __ATOMIC_SEQ_CST);
	sums_sweep(s, open, false, fn, arg); /* the slot may end any time */
}
