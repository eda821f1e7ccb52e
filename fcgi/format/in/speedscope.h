/*
 * Files of speedscope: samples with weights, and events that open and close
 * frames.
 *
 *	{"$schema": "https://www.speedscope.app/file-format-schema.json",
 *	 "shared": {"frames": [{"name": "main"}, {"name": "read"}]},
 *	 "profiles": [
 *	  {"type": "sampled", "name": "t1", "unit": "milliseconds",
 *	   "startValue": 0, "endValue": 3,
 *	   "samples": [[0], [0, 1]], "weights": [1, 2]},
 *	  {"type": "evented", "name": "t2", "unit": "none",
 *	   "startValue": 0, "endValue": 5,
 *	   "events": [{"type": "O", "frame": 0, "at": 0},
 *	              {"type": "C", "frame": 0, "at": 5}]}]}
 *
 * Times become nanoseconds.  What is not whole is rounded so that the parts
 * of a profile add up to its sum rounded down.  Where there are several
 * profiles, their names become the label "profile".
 */
#ifndef FCGI_FORMAT_SPEEDSCOPE_H
#define FCGI_FORMAT_SPEEDSCOPE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct stacks;

bool speedscope_looks(const char *p, size_t n);

/* Errors: ERR_FORMAT with the byte offset for what is no such JSON,
 * ERR_REQUEST 422 for what contradicts itself, those of stacks. */
const struct err *speedscope_parse(struct stacks *s, const void *data,
    size_t n);

#endif
