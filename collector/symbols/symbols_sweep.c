/*
 * Hosts where compilers run have new addresses in each slot, and most of them
 * never again: what no sample has had for half a minute goes.  Names that are
 * kept are copied to new tables, since names lie in a row.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/symbols/symbols_private.h"

#define SWEEP_SLOTS 3 /* that an address outlives its last sample */

struct sweep {
	struct symbols *s;
	struct frames *frames; /* the new ones */
	uint32_t *moved;       /* frame -> new frame, NONE: not kept so far */
	uint32_t *inlined;     /* the new ones */
	uint32_t n_inlined;
};

static size_t
symbols_bytes(const struct symbols *s)
{
	return s->n_addresses * sizeof(*s->addresses) +
	    frames_bytes(s->frames) + s->n_inlined * sizeof(*s->inlined);
}

/* A frame's new number; FRAMES_NONE: out of memory. */
static uint32_t
sweep_frame(struct sweep *w, uint32_t frame)
{
	struct frame f = frames_get(w->s->frames, frame);

	if (w->moved[frame] == NONE)
		w->moved[frame] = frames_add(w->frames, &f);
	return w->moved[frame];
}

static bool
sweep_inlined(struct sweep *w, struct address *a)
{
	uint32_t at = w->n_inlined;

	for (uint32_t i = 0; i < a->n_inlined; i++) {
		uint32_t frame = sweep_frame(w, w->s->inlined[a->inlined + i]);

		if (frame == FRAMES_NONE)
			return false;
		w->inlined[w->n_inlined++] = frame;
	}
	a->inlined = at;
	return true;
}

static void
sweep_addresses(struct sweep *w)
{
	struct symbols *s = w->s;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n_addresses; i++) {
		struct address a = s->addresses[i];

		if (a.frame == NONE || s->slot - a.used > SWEEP_SLOTS)
			continue;
		a.frame = sweep_frame(w, a.frame);
		if (a.frame == FRAMES_NONE || !sweep_inlined(w, &a))
			continue;
		a.next = NONE;
		a.state = ADDRESS_IDLE;
		s->addresses[kept++] = a;
	}
	s->n_addresses = kept;
}

/* When the places of functions were told stays. */
static void
sweep_places(struct sweep *w)
{
	struct symbols *s = w->s;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n_places; i++) {
		struct place p = s->places[i];
		uint32_t frame = w->moved[p.frame];

		if (frame == NONE || !frames_set_place(w->frames, frame,
		        frames_place(s->frames, p.frame)))
			continue;
		p.frame = frame;
		s->places[kept++] = p;
	}
	s->n_places = kept;
	s->next_place = 0;
}

/* What waits for its file is asked for again by the next sample. */
static void
sweep_pending(struct symbols *s)
{
	s->pending = NONE;
	for (uint32_t i = 0; i < s->n_files; i++) {
		struct file *f = s->files[i];

		if (f == NULL)
			continue; /* the kernel */
		f->pending = f->next_pending = NONE;
		f->listed = false;
		if (f->waiting_fd >= 0)
			symbols_file_list(s, i);
	}
}

/* Gives back what the addresses do not need, and finds them anew. */
static void
sweep_fit(struct symbols *s)
{
	uint32_t cap = s->cap_addresses, *slots;
	struct address *a;

	if (cap == 0)
		return;
	while (cap > 4096 && s->n_addresses < cap / 2)
		cap /= 2;
	slots = calloc((size_t)cap * 2, sizeof(*slots));
	if (slots != NULL) {
		free(s->address_slots);
		s->address_slots = slots;
		s->address_mask = cap * 2 - 1;
		a = realloc(s->addresses, cap * sizeof(*a));
		s->addresses = a != NULL ? a : s->addresses;
		s->cap_addresses = cap;
	} else {
		memset(s->address_slots, 0, ((size_t)s->address_mask + 1) *
		    sizeof(*s->address_slots));
	}
	for (uint32_t i = 0; i < s->n_addresses; i++)
		symbols_put_address(s, i);
}

/* Tables for all there is; false when out of memory. */
static bool
sweep_begin(struct sweep *w)
{
	struct symbols *s = w->s;
	size_t n = frames_count(s->frames);

	w->frames = frames_new(FRAMES_MAX, FRAMES_MAX_BYTES);
	w->moved = malloc(n * sizeof(*w->moved));
	w->inlined = malloc((s->n_inlined + 1) * sizeof(*w->inlined));
	if (w->moved != NULL)
		memset(w->moved, 0xff, n * sizeof(*w->moved));
	return w->frames != NULL && w->moved != NULL && w->inlined != NULL &&
	    sweep_frame(w, 0) == 0;
}

void
symbols_sweep(struct symbols *s)
{
	struct sweep w = {.s = s};
	size_t before = symbols_bytes(s), after;

	if (before <= s->most)
		return;
	if (!sweep_begin(&w)) {
		frames_free(w.frames);
		free(w.moved);
		free(w.inlined);
		return;
	}
	sweep_addresses(&w);
	sweep_places(&w);
	sweep_pending(s);
	sweep_fit(s);
	frames_free(s->frames);
	free(s->inlined);
	free(w.moved);
	s->frames = w.frames;
	s->inlined = w.inlined;
	s->cap_inlined = s->n_inlined + 1;
	s->n_inlined = w.n_inlined;
	after = symbols_bytes(s);
	after += after / 4;
	s->most = after > SWEEP_LEAST ? after : SWEEP_LEAST;
}
