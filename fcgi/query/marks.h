/*
 * Marks: what happened at a time, as charts show it.  A mark is a fact of the
 * store (FACT_MARK), written by the collector, the scraper, or whoever may
 * write to the socket, so its text is checked here.
 *
 *	began, ended            a program that a rule of the daemon names
 *	listens                 the same has a port, and had none as it began
 *	stopped                 the same ended as somebody wanted it to
 *	fewer                   it ended, and others of its name run
 *	target-down, target-up  a target of the scraper
 *	note, fault             somebody's words (POST /api/v1/marks)
 *	exec, exit, memlensd, rate, retention, ...
 */
#ifndef FCGI_MARKS_H
#define FCGI_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct store;

#define MARKS_MAX 2000u /* of a list, the newest */
#define MARKS_WHAT_MAX 31u
#define MARKS_TEXT_MAX 200u
#define MARKS_SERVICE_MAX 63u

struct mark {
	int64_t time_ns;
	char what[MARKS_WHAT_MAX + 1];
	char text[MARKS_TEXT_MAX + 1];
	char service[MARKS_SERVICE_MAX + 1]; /* "": of none */
};

struct mark_query {
	int64_t from_ns, until_ns;
	const char *what;    /* separated by commas; NULL: all */
	const char *service; /* of this one and of none; NULL: all */
	size_t max;          /* of the newest, at most MARKS_MAX */
};

/* Marks of the range by time, free() them; `left_out`: how many older ones
 * there are.  What is no text of at most these sizes is not listed. */
const struct err *marks_list(struct store *s, const struct mark_query *q,
    struct mark **out, size_t *n, size_t *left_out);

#endif
