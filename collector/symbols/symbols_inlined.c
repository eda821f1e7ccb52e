/*
 * What the child says beyond a function's name: what was inlined at an
 * address, and where functions were written.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/symbols/symbols_private.h"
#include "store/base/buf.h"
#include "store/base/text.h"

#define PLACES_MAX (1u << 16)

bool
symbols_take_text(struct cur *c, size_t n, char *out, size_t size)
{
	const uint8_t *p = cur_raw(c, n);

	if (p == NULL || n >= size)
		return false;
	memcpy(out, p, n);
	out[n] = '\0';
	text_clean(out);
	return true;
}

/* Room for one more in a table that is full when it has `max`. */
static bool
inlined_grow(void *table, uint32_t n, uint32_t *cap, uint32_t max,
    size_t size)
{
	uint32_t more = *cap != 0 ? *cap * 2 : 1024;
	void *old, *p;

	if (n < *cap)
		return true;
	memcpy(&old, table, sizeof(old));
	p = n < max ? realloc(old, more * size) : NULL;
	if (p == NULL)
		return false;
	memcpy(table, &p, sizeof(p));
	*cap = more;
	return true;
}

/* A frame's place, the first time that it is heard. */
static void
symbols_add_place(struct symbols *s, uint32_t frame, const char *place)
{
	if (frame == FRAMES_NONE || place[0] == '\0' ||
	    frames_place(s->frames, frame)[0] != '\0')
		return;
	if (!inlined_grow(&s->places, s->n_places, &s->cap_places,
	    PLACES_MAX, sizeof(*s->places)) ||
	    !frames_set_place(s->frames, frame, place)) {
		s->overflows++;
		return;
	}
	s->places[s->n_places++] = (struct place){.frame = frame};
}

static void
symbols_add_inlined(struct symbols *s, uint32_t id, const char *name,
    const char *place)
{
	struct address *a = &s->addresses[id];
	const struct file *f = s->files[a->file];
	uint32_t frame = frames_add(s->frames, &(struct frame){
	    .kind = FRAME_INLINED, .name = name, .module = f->module,
	    .build_id = f->build_id});

	if (frame == FRAMES_NONE || !inlined_grow(&s->inlined, s->n_inlined,
	    &s->cap_inlined, INLINED_MAX, sizeof(*s->inlined))) {
		s->overflows++;
		return;
	}
	symbols_add_place(s, frame, place);
	s->inlined[s->n_inlined++] = frame;
	a->n_inlined++;
}

bool
symbols_take_inlined(struct symbols *s, uint32_t id,
    const struct wire_answer *a, struct cur *c)
{
	char name[WIRE_NAME_MAX + 1], place[WIRE_PLACE_MAX + 1];
	struct wire_inlined head;
	const uint8_t *p;
	uint16_t i;

	s->addresses[id].inlined = s->n_inlined;
	s->addresses[id].n_inlined = 0;
	if (a->inlined > WIRE_INLINED_MAX ||
	    !symbols_take_text(c, a->place, place, sizeof(place)))
		return false;
	symbols_add_place(s, s->addresses[id].frame, place);
	for (i = 0; i < a->inlined; i++) {
		p = cur_raw(c, sizeof(head));
		if (p == NULL)
			return false;
		memcpy(&head, p, sizeof(head));
		if (!symbols_take_text(c, head.name, name, sizeof(name)) ||
		    !symbols_take_text(c, head.place, place, sizeof(place)))
			return false;
		if (name[0] != '\0')
			symbols_add_inlined(s, id, name, place);
	}
	return true;
}

size_t
symbols_tell_places(struct symbols *s, int64_t now_ns, int64_t again_ns,
    size_t max, symbols_place_fn *fn, void *arg)
{
	uint32_t i;
	size_t told = 0;

	for (i = 0; i < s->n_places && told < max; i++) {
		struct place *p = &s->places[s->next_place++ % s->n_places];
		struct frame f;

		if (p->told_ns != 0 && now_ns - p->told_ns < again_ns)
			continue;
		p->told_ns = now_ns;
		f = frames_get(s->frames, p->frame);
		fn(arg, &f, frames_place(s->frames, p->frame));
		told++;
	}
	return told;
}
