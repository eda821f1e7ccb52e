/*
 * Facts: what happened or was found out at a time, beside the numbers.  Who
 * writes one and who reads it are programs apart; this is the one place that
 * knows how each looks.
 *
 *	kind          subject      text, without a NUL
 *	FACT_PROCESS  the service  pid ' ' started_ns ' ' comm ['\t' command]
 *	FACT_SOURCE   the source   state [": " why]
 *	FACT_MARK     what         free, ['\t' service]; of exec, exit, began,
 *	                           ended: pid ' ' comm '\t' service
 *	FACT_RUN      name of run  JSON (fcgi/api/runs.h)
 *	FACT_PLACE    a function   file ':' line ['+'] '\t' module '\t' build id
 *	                           ['\t' service]
 *	FACT_GRAPH    its name     bytes (fcgi/graph/graph_code.c)
 *	FACT_SEEN     the service  ns ' ' type: for so long of the slot of its
 *	                           time a stock was seen (store/model/brief.h)
 */
#ifndef STORE_FACT_H
#define STORE_FACT_H

#include "store/base/buf.h"

enum fact_kind {
	FACT_PROCESS = 1,
	FACT_SOURCE = 2,
	FACT_MARK = 3,
	FACT_RUN = 4,
	FACT_PLACE = 5,
	FACT_GRAPH = 6,
	FACT_SEEN = 7,
	FACT_KINDS /* and 1 */
};

/* A fact in a section of a batch: zigzag time, u8 kind, subject (the number
 * of a string), bytes. */
struct fact {
	int64_t time_ns;
	uint8_t kind;
	uint64_t subject;
	const void *data; /* borrowed */
	size_t n;
};

void fact_put(struct buf *out, const struct fact *f);
/* Malformed: *c is bad. */
void fact_take(struct cur *c, struct fact *f);

/* Bytes of somebody else's, without a NUL at their end. */
struct fact_part {
	const char *p; /* NULL: it is not there */
	size_t n;
};

struct fact_part fact_part_of(const char *text);
bool fact_part_is(struct fact_part a, struct fact_part b);
/* With a NUL; what has no room is cut. */
void fact_part_copy(struct fact_part part, char *out, size_t room);

struct fact_process {
	int64_t pid, started_ns;
	struct fact_part comm, command; /* the command: arguments too */
};

struct fact_source {
	struct fact_part state, why; /* why: "" where nothing is to be said */
};

struct fact_place {
	struct fact_part file, module, build_id;
	struct fact_part service; /* p NULL: functions of all services */
	int64_t line;
	bool seen; /* a line that was sampled: the definition's or a later */
};

struct fact_seen {
	int64_t seen_ns;
	struct fact_part type;
};

/* Appends the text.  Of a place false, and nothing appended, where a part has
 * a tab or a new line in it: it could not be told apart. */
void fact_put_process(struct buf *out, const struct fact_process *p);
void fact_put_source(struct buf *out, const struct fact_source *s);
void fact_put_seen(struct buf *out, const struct fact_seen *s);
bool fact_put_place(struct buf *out, const struct fact_place *p);

/* What a text says, borrowed from it; false where it is malformed: facts come
 * from whoever may write to the socket. */
bool fact_take_process(const void *data, size_t n, struct fact_process *p);
void fact_take_source(const void *data, size_t n, struct fact_source *s);
bool fact_take_seen(const void *data, size_t n, struct fact_seen *s);
bool fact_take_place(const void *data, size_t n, struct fact_place *p);
/* The first part of a place alone, "file:line" or "file:line+". */
bool fact_take_line(struct fact_part at, struct fact_place *p);

#endif
