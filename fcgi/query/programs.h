/*
 * Which watched programs have ended, and whether they came back, by marks of
 * the daemon (marks.h, "began" and "ended").  Pure.  How one has ended is said
 * here alone, for health and for whoever shows marks.
 *
 * An end that nothing of the same instance has followed is told for an hour;
 * one that something has, for five minutes after that came.  Instances of a
 * service and name are told apart by their port, or by their number where they
 * did not listen; one of neither clears no other's end.  What was
 * before the daemon began is past: it did not see who came back meanwhile.  One
 * of several ("fewer") is not the end of the service, and is not told.  What
 * was stopped on purpose ("stopped") is told for an hour while nothing has
 * followed it, and is no trouble.  An end is told with what has become of its
 * instance since: who it came back as last, and that this one has been stopped.
 */
#ifndef FCGI_PROGRAMS_H
#define FCGI_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/query/marks.h"

#define PROGRAMS_WHAT "began,ended,listens,memlensd,stopped"
#define PROGRAMS_GONE_NS (INT64_C(3600) * 1000000000)
#define PROGRAMS_BACK_NS (INT64_C(300) * 1000000000)

struct programs_end {
	char words[MARKS_TEXT_MAX + 40]; /* "was stopped (signal 15)" */
	bool trouble; /* nobody wanted it, and the service is less by it */
};

/* How a program ended, as a mark says it; false: it is no mark of an end. */
bool programs_end(const struct mark *m, struct programs_end *out);

/* What is told of one instance of a service. */
typedef void programs_fn(void *arg, bool trouble, const char *service,
    const char *why);

/* `marks` by time, of the last hour or more. */
void programs_judge(const struct mark *marks, size_t n, int64_t now_ns,
    programs_fn *fn, void *arg);

#endif
