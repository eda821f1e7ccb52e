/*
 * The profile.proto of pprof, both ways; messages by protobuf-c (pprof.proto).
 *
 * READING  Raw or gzip.  Packed and unpacked numbers, any order of fields,
 * any ids.  A frame is a line of a location: the last line is the function,
 * those before it were inlined into it.  A location without a function is
 * "module+0xoffset".  Labels with text make label sets; those with numbers,
 * and ids of single requests, are left out and counted.
 *
 * A type's name becomes ours as memlens-api(7) says.  Values that are all
 * multiples of the period are stored as counts of it where it is whole Hz or
 * milliseconds, others with period 1: a measured period would be new, and a
 * series, with each profile.
 *
 * WRITING  A profile that is split by label sets has them as labels of its
 * samples.  One type, with the count of its samples where that is known; ids
 * from 1 on; one mapping for each module, the program's first, which tools
 * show as the file.  A line is that of the function's definition.
 */
#ifndef FCGI_FORMAT_PPROF_H
#define FCGI_FORMAT_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/format/stacks.h"

struct buf;
struct err;
struct profile;

/* What a profile says of a column. */
struct pprof_column {
	const char *type, *unit;
	const char *period_type, *period_unit; /* "" where it says nothing */
	bool lonely; /* no other column has the period's type */
};

/* What a client says of a column: Pyroscope's sample_type_config. */
struct pprof_config {
	char type[64];    /* of the profile */
	char display[64]; /* "": the same */
	char units[64];   /* "": the profile's */
	int average;      /* 1: stock, 0: flow, -1: not said */
	bool cumulative;
};

/* Names a column: name[] is ours.  Only name and kind are decided here. */
typedef enum series_kind pprof_name_fn(void *arg, const struct pprof_column *c,
    char *name, size_t size);

/* A place in a program's file of which the profile knows no function. */
struct pprof_code {
	const char *path, *build_id; /* "" where the profile does not say */
	uint64_t offset;
};

#define PPROF_INLINED_MAX 16 /* frames of one such place */

/* Its frames, outermost first: how many, 0 where they are not known.  Their
 * modules and build ids are the profile's; strings live until the next call. */
typedef size_t pprof_locate_fn(void *arg, const struct pprof_code *code,
    struct frame frames[PPROF_INLINED_MAX]);

struct pprof_options {
	size_t max_bytes; /* when unpacked; 0: 64 MiB */
	const struct pprof_config *configs;
	size_t n_configs;
	bool file_names;     /* "file name" is a frame's name: python, ruby */
	pprof_name_fn *name; /* NULL: pprof_name */
	void *name_arg;
	pprof_locate_fn *locate; /* NULL: "module+0xoffset" */
	void *locate_arg;
};

/* The names of Pyroscope's types that need no configuration. */
enum series_kind pprof_name(void *arg, const struct pprof_column *c,
    char *name, size_t size);

/*
 * Adds a profile to the stacks.  Errors: ERR_REQUEST 422 with the field that
 * is wrong, 413 for more than the bounds, ENOMEM.
 */
const struct err *pprof_parse(struct stacks *s, const void *data, size_t n);
const struct err *pprof_parse_as(struct stacks *s, const void *data, size_t n,
    const struct pprof_options *options);

/* Tells where a function of a module was written: a file's name, which `file`
 * gets as n bytes that live as long as `arg`, and a line; false where that is
 * not known or not one place. */
typedef bool pprof_place_fn(void *arg, const char *name, const char *module,
    const char **file, size_t *n, int64_t *line);

/* Appends a profile, packed by gzip or not.  `type` is the name of what is
 * counted: "cpu", "inuse_space".  `place` may be NULL.  Errors: ERR_REQUEST
 * 413 for a stack with more than 63 bits hold. */
const struct err *pprof_write(struct buf *out, const struct profile *p,
    const char *type, bool gzip, pprof_place_fn *place, void *arg);

#endif
