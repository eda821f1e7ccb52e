/*
 * Samples with a copy of their stack, since the kernel lacked what walking it
 * takes: walked on here, at once or when the rows of their code have come.  So
 * a program's first samples are whole, too, and those of one that is gone
 * before anybody could look at it: where its code lay, the kernel has told.
 *
 *	copy ──► walk ──► in no mapping that it has met ──► look for it, again
 *	             ├──► rows are lacking ──► ask; wait, some time
 *	             └──► done ──► resolve
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
	struct buf held;  /* each a head, then the event, by 8 bytes */
	bool trying;
	bool again; /* the walk at work lacks what it lacked: all is asked */
};

/* Walks an event on, or keeps it until that is possible; false when it has no
 * copy, or there is no room: then it is to be shown as it is. */
bool second_take(struct engine *s, const struct sample_event *e, size_t size);

/* Walks along the copy of an event at once, as far as there are rows, and asks
 * for what is lacking; *out has no copy.  False: nobody knows its mappings. */
bool second_walk_now(struct engine *s, const struct sample_event *e,
    size_t size, struct sample_event *out);

/* Resolves those that are whole by now or have waited long enough; all of
 * them where the slot is over. */
void second_try(struct engine *s, bool over);

void second_fini(struct second *x);

#endif
