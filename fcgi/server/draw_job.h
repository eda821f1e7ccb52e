/*
 * What a worker and memlens-draw say to each other on a socket of packets
 * between them, one picture at a time.  Both are of one build.
 */
#ifndef FCGI_DRAW_JOB_H
#define FCGI_DRAW_JOB_H

#include <stdint.h>

#include "fcgi/child/child.h"

enum draw_command { DRAW_PNG, DRAW_GRAPH };

/* Comes with two descriptors: what to read and where to write. */
struct draw_job {
	enum draw_command command;
	int scale; /* of a PNG */
	struct child_limits limits;
};

/* When the process that drew it has ended. */
struct draw_done {
	int status; /* as waitpid() says it */
	int lacked; /* errno: there was no process; or 0 */
};

#endif
