/*
 * Samples that wait for rows of code, for a second walk along their copy of
 * the stack: so that a program's first samples are whole, too.
 */
#ifndef COLLECTOR_SECOND_H
#define COLLECTOR_SECOND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct engine;
struct sample_event;

struct second {
	struct buf held;  /* each its size, then the event, by 8 bytes */
	uint64_t made;    /* regions, at the last try */
	bool trying;
};

/* Keeps an event that is worth it; false when it is not, or there is no room:
 * then it is shown as it is. */
bool second_hold(struct engine *s, const struct sample_event *e, size_t size);

/* Resolves those that are whole by now or have waited long enough; all of
 * them where the slot is over. */
void second_try(struct engine *s, bool over);

void second_fini(struct second *x);

#endif
