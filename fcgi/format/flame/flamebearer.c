/*
 * Flamebearer JSON from frames.
 */
#include "fcgi/format/flame/flamebearer.h"

#include <stdlib.h>

#include "store/base/gone.h"

static void
flamebearer_put_level(struct writer *w, const struct flame *f,
    const uint32_t *index, size_t n)
{
	int128 end = 0;

	writer_open(w, '[');
	for (size_t i = 0; i < n; i++) {
		const struct flame_frame *frame = &f->frames[index[i]];

		writer_int128(w, frame->x - end);
		writer_int128(w, frame->total);
		writer_int128(w, frame->self);
		writer_int(w, frame->name);
		end = frame->x + frame->total;
	}
	writer_close(w, ']');
}

bool
flamebearer_put(struct writer *w, const struct flame *f)
{
	uint32_t *index, *first;

	if (!flame_by_level(f, &index, &first))
		return false;
	writer_key(w, "flamebearer");
	writer_open(w, '{');
	writer_key(w, "names");
	writer_open(w, '[');
	for (size_t i = 0; i < f->n_names; i++)
		writer_str(w, f->names[i].text);
	writer_close(w, ']');
	writer_key(w, "levels");
	writer_open(w, '[');
	for (uint32_t l = 0; l < f->n_levels && !gone(); l++)
		flamebearer_put_level(w, f, index + first[l],
		    first[l + 1] - first[l]);
	writer_close(w, ']');
	writer_key(w, "numTicks");
	writer_int128(w, f->total);
	writer_key(w, "maxSelf");
	writer_int128(w, f->max_self);
	writer_close(w, '}');
	free(index);
	free(first);
	return true;
}

/* first[l] is where the frames of a level begin in index[]. */
static void
flamebearer_put_counts(struct writer *w, const struct flame *f,
    const uint32_t *index, const uint32_t *first, bool unknown)
{
	writer_key(w, unknown ? "unknown_levels" : "sample_levels");
	writer_open(w, '[');
	for (uint32_t l = 0; l < f->n_levels; l++) {
		writer_open(w, '[');
		for (uint32_t i = first[l]; i < first[l + 1]; i++) {
			const struct profile_samples *s =
			    &f->samples[index[i]];

			writer_int128(w, unknown ? s->total_unknown
						 : s->total);
			writer_int128(w, unknown ? s->self_unknown : s->self);
		}
		writer_close(w, ']');
	}
	writer_close(w, ']');
}

bool
flamebearer_put_samples(struct writer *w, const struct flame *f)
{
	uint32_t *index, *first;

	if (f->samples == NULL)
		return true;
	if (!flame_by_level(f, &index, &first))
		return false;
	flamebearer_put_counts(w, f, index, first, false);
	if (f->n_frames > 0 && f->samples[0].total_unknown != 0)
		flamebearer_put_counts(w, f, index, first, true);
	free(index);
	free(first);
	return true;
}

void
flamebearer_put_kinds(struct writer *w, const struct flame *f)
{
	writer_key(w, "kinds");
	writer_open(w, '[');
	for (size_t i = 0; i < f->n_names; i++)
		writer_str(w, flame_kind_name(f->names[i].kind));
	writer_close(w, ']');
}
