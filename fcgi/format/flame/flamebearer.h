/*
 * Flamebearer JSON, version 1, format "single": what Pyroscope's flame graph
 * views read, and ours.
 *
 *	levels[l] = [dx, total, self, name, dx, total, self, name, ...]
 *
 * dx is the distance from the end of the frame to the left in the same
 * level (from 0 for the first): x = end of the previous + dx.  Amounts are in
 * the unit: their ticks of 1 / sampleRate seconds are nanoseconds.
 */
#ifndef FCGI_FORMAT_FLAMEBEARER_H
#define FCGI_FORMAT_FLAMEBEARER_H

#include "fcgi/format/flame/flame.h"
#include "fcgi/format/writer.h"

/*
 * Writes the member "flamebearer" of an open object:
 * {"names":[],"levels":[[]],"numTicks":n,"maxSelf":n}.  False when out of
 * memory.
 */
bool flamebearer_put(struct writer *w, const struct flame *f);

/*
 * Writes the member "sample_levels" where several periods are mixed, so that
 * samples do not follow from amounts: in the order of levels
 * [total samples, self samples, ...]; and, where some are not known,
 * "unknown_levels" with the units without.  False when out of memory.
 */
bool flamebearer_put_samples(struct writer *w, const struct flame *f);

/* Writes the member "kinds": the kind of code of each name, in the order of
 * names[]. */
void flamebearer_put_kinds(struct writer *w, const struct flame *f);

#endif
