/*
 * Where the functions of stacks were written.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/stacks_private.h"

#define PLACES_MAX (1u << 20)

static bool
places_room(struct stacks *s)
{
	size_t cap = s->cap_places ? 2 * s->cap_places : 256;
	struct stacks_written *places;

	if (s->n_places < s->cap_places)
		return true;
	if (cap > PLACES_MAX)
		return false;
	places = realloc(s->places, cap * sizeof(*places));
	if (places == NULL)
		return false;
	s->places = places;
	s->cap_places = cap;
	return true;
}

void
stacks_put_place(struct stacks *s, const struct stacks_place *place)
{
	size_t n = strlen(place->file);
	uint32_t file;

	if (s->failed || !places_room(s) ||
	    s->strings.bytes.len + n > s->limits.bytes)
		return;
	file = intern_put(&s->strings, place->file, n);
	if (file != INTERN_NONE)
		s->places[s->n_places++] = (struct stacks_written){
		    place->frame, file, place->line, place->seen};
}

size_t
stacks_n_places(const struct stacks *s)
{
	return s->n_places;
}

void
stacks_get_place(const struct stacks *s, size_t i, struct stacks_place *place)
{
	const struct stacks_written *from = &s->places[i];

	*place = (struct stacks_place){from->frame,
	    intern_str(&s->strings, from->file), from->line, from->seen};
}
