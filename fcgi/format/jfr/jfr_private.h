/*
 * What the parts of the reader share: values as the metadata describe them
 * (jfr_meta.c), constants (jfr_pool.c), frames and labels (jfr_frames.c,
 * jfr_labels.c), events (jfr_events.c).
 *
 * Cursors (struct cur) go bad at what is damaged and stay there: jfr_bad()
 * says where.
 */
#ifndef FCGI_FORMAT_JFR_PRIVATE_H
#define FCGI_FORMAT_JFR_PRIVATE_H

#include "fcgi/format/jfr/jfr.h"
#include "store/base/buf.h"
#include "store/base/intern.h"

#define JFR_NONE UINT32_MAX
#define JFR_FIELDS 4 /* of a class that we read, at most */

enum jfr_kind { /* of a class */
	JFR_STRUCT,
	JFR_BYTE,   /* and boolean */
	JFR_VARINT, /* char, short, int, long */
	JFR_FLOAT,
	JFR_DOUBLE,
	JFR_STRING
};

struct jfr_class {
	uint64_t id;
	uint32_t first, n; /* fields */
	uint32_t shape;    /* of jfr_shapes, or JFR_NONE */
	enum jfr_kind kind;
	bool empty; /* takes no bytes */
	uint8_t seen;
};

struct jfr_field {
	uint64_t class_id;
	uint32_t class; /* number, or JFR_NONE */
	uint32_t name;  /* in strings; only until classes are known */
	bool pool, array;
	uint8_t slot; /* of its shape, or JFR_FIELDS */
};

struct jfr_meta {
	struct buf strings; /* each ends in NUL */
	uint32_t *string;   /* where each begins */
	struct jfr_class *classes;
	struct jfr_field *fields;
	uint32_t n_strings, cap_strings, n_classes, cap_classes, n_fields,
	    cap_fields;
	struct map64 by_id;
};

/* The classes of values and events that are read, and their fields by slot. */
enum jfr_shape {
	JFR_TEXT, /* java.lang.String */
	JFR_SYMBOL,
	JFR_CLASS,
	JFR_METHOD,
	JFR_TRACE,
	JFR_FRAME_TYPE,
	JFR_STATE,
	JFR_POOLS, /* those before are constants */
	JFR_FRAME = JFR_POOLS,
	JFR_SETTING,
	JFR_EVENTS /* jfr_events[i] is shape JFR_EVENTS + i */
};

struct jfr_shape_of {
	const char *name;
	const char *fields[JFR_FIELDS];
};

#define JFR_N_EVENTS 9
extern const struct jfr_shape_of jfr_event_shapes[JFR_N_EVENTS];

/* A value of a class, by the slots of its shape. */
struct jfr_record {
	uint64_t number[JFR_FIELDS];    /* integers and constants' numbers */
	const uint8_t *at[JFR_FIELDS];  /* where it stands; NULL: no such */
	bool pool[JFR_FIELDS];
};

/* A chunk, and what was made of its constants. */
struct jfr {
	struct stacks *s;
	const struct jfr_options *options;
	const uint8_t *data; /* the recording; offsets are from here */
	size_t n;
	const uint8_t *chunk, *chunk_end;
	uint64_t ticks_per_s;
	struct jfr_meta meta;
	struct map64 pools[JFR_POOLS]; /* number -> offset */
	uint32_t class_of[JFR_POOLS];  /* number, or JFR_NONE */
	uint64_t n_constants;
	/* frames.c: a method's number -> frame, by enum jfr_code */
	struct map64 frames[3];
	struct map64 traces;      /* number -> in stacks */
	struct jfr_trace *trace;
	uint32_t n_traces, cap_traces;
	uint32_t *trace_frames;   /* leaf first */
	uint32_t n_trace_frames, cap_trace_frames;
	struct map64 nodes;       /* trace and label set -> node */
	struct jfr_labels *labels; /* of the whole recording, or NULL */
	int64_t from_ns, until_ns; /* of the recording */
	int64_t period_ns;         /* of samples, by settings; 0: unknown */
	bool wall;                 /* samples are of the wall clock */
	uint64_t native, sleeping; /* events left out */
	struct buf name, part;     /* scratch */
};

/* ERR_REQUEST 422 with where it is. */
const struct err *jfr_bad(const struct jfr *j, const uint8_t *at,
    const char *what);

/* Seven bits a byte, lowest first; a ninth byte has eight. */
uint64_t jfr_varint(struct cur *c);
/* Appends a string as UTF-8; *pool is its number where it is a constant, and
 * nothing is appended.  `out` NULL: passes over it. */
void jfr_string(struct cur *c, struct buf *out, uint64_t *pool);

/* Reads the metadata event at `at`; free with jfr_meta_fini(). */
const struct err *jfr_meta_read(struct jfr *j, const uint8_t *at);
void jfr_meta_fini(struct jfr_meta *m);
/* Passes over a value of a class; false: damaged, or of no class. */
bool jfr_skip(const struct jfr_meta *m, struct cur *c, uint32_t class);
/* Reads one by its shape. */
bool jfr_record(const struct jfr_meta *m, struct cur *c, uint32_t class,
    struct jfr_record *r);

/* Notes where each constant of the shapes above is. */
const struct err *jfr_pools_read(struct jfr *j, uint64_t offset);
/* The record of a constant; false where there is none.  *e: damaged. */
bool jfr_constant(const struct jfr *j, enum jfr_shape shape, uint64_t number,
    struct jfr_record *r, const struct err **e);
/* The text of a record's field, in `out`, empty where there is none. */
const struct err *jfr_text(const struct jfr *j, const struct jfr_record *r,
    unsigned slot, struct buf *out);

/* The node of a stack below a label set's. */
const struct err *jfr_node(struct jfr *j, uint64_t trace, uint32_t labels,
    uint32_t *node);

/* ERR_REQUEST 422; *out may be NULL: no labels. */
const struct err *jfr_labels_read(struct jfr_labels **out,
    const struct jfr_options *o);
void jfr_labels_free(struct jfr_labels *l);
/* The node of a context's label set, 0 for none. */
uint32_t jfr_labels_node(struct jfr_labels *l, struct stacks *s,
    uint64_t context);

/* Adds the events of a chunk. */
const struct err *jfr_events_read(struct jfr *j);

#endif
