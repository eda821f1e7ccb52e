/*
 * The line of an event of `perf script`, taken apart where it stands:
 *
 *	kv worker 4711/4712 [001] 83.1: 10101010 cpu-clock:ppp:
 *	       kv  4711 83.1: 10101010 cycles: 55d0aaaa Get+0x10 (/usr/bin/kv)
 *
 * the second without call chains, with its frame behind the event.
 */
#ifndef FCGI_FORMAT_PERF_SCRIPT_EVENT_H
#define FCGI_FORMAT_PERF_SCRIPT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* All point into the line. */
struct perf_event {
	const char *command, *command_end;
	const char *event, *event_end;
	const char *frame; /* its address; NULL: lines of frames follow */
	int64_t period;    /* 0: none */
};

/* False: it is no such line.  Only one with a frame may begin with blanks,
 * which perf fills the command up with. */
bool perf_event_read(struct perf_event *l, const char *p, const char *end);

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static inline bool
is_space(char c)
{
	return c == ' ' || c == '\t';
}

#endif
