/*
 * The second part of a walk that lacked rows: along a copy of the stack, by
 * rows that have come since.
 */
#ifndef COLLECTOR_UNWIND_COPY_H
#define COLLECTOR_UNWIND_COPY_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/bpf/event.h"
#include "collector/unwind/unwind_kernel.h"

/* The process's mappings, sorted. */
struct unwind_copy_list {
	const struct unwind_mapping *mappings;
	uint32_t n;
	uint32_t tick; /* the regions' clock */
};

enum unwind_copy_end {
	UNWIND_COPY_DONE,
	UNWIND_COPY_LACKS, /* rows are to come, or a mapping is not known */
	UNWIND_COPY_SHORT  /* the stack goes on behind the copy */
};

/*
 * Walks on from the frame that lacked rows in an event of `size` bytes with
 * EVENT_COPY, and puts all of its frames into *out, which has no copy.  Where
 * rows are lacking again, or the copy ends before the stack does, *out is
 * pending as the event was, with the frames up to there.
 */
enum unwind_copy_end unwind_copy_walk(const struct unwind_kernel *kernel,
    const struct unwind_copy_list *list, const struct sample_event *e,
    size_t size, struct sample_event *out);

#endif
