/*
 * What is behind the command is found by its form: fields can be left out,
 * and a command may hold blanks.
 */
#include "fcgi/format/in/perf_script_event.h"

#include <stddef.h>

static const char *
event_skip(const char *p, const char *end)
{
	while (p < end && is_space(*p))
		p++;
	return p;
}

static const char *
event_word(const char *p, const char *end)
{
	while (p < end && !is_space(*p))
		p++;
	return p;
}

/* "83.1:" */
static bool
event_is_time(const char *p, const char *end)
{
	while (p < end && (is_digit(*p) || *p == '.'))
		p++;
	return p + 1 == end && *p == ':';
}

/* Is the pid what follows a number, which belongs to the command then, as in
 * "my thread 7 4711/4712 [000]"?  It could be a period as well, but not
 * before the processor or the time. */
static bool
event_pid_follows(const char *p, const char *end)
{
	const char *at = event_skip(p, end), *word = event_word(at, end);
	const char *next = event_skip(word, end);
	bool two = false;

	if (at == end || !is_digit(*at))
		return false;
	for (; at < word && (is_digit(*at) || *at == '/'); at++)
		two |= *at == '/';
	return at == word && (two || (next < end && *next == '[') ||
	    event_is_time(next, event_word(next, end)));
}

/* The command ends before the first number that stands alone, or with
 * another behind '/': the pid, -1 where perf knows none. */
static const char *
event_pid(const char *p, const char *end)
{
	for (const char *at = p + 1; at < end; at++) {
		const char *q = at;

		if (!is_space(*at))
			continue;
		while (q < end && is_space(*q))
			q++;
		if (q + 1 < end && *q == '-')
			q++;
		if (q == end || !is_digit(*q))
			continue;
		while (q < end && (is_digit(*q) || *q == '/' || *q == '-'))
			q++;
		if (q < end && is_space(*q) && !event_pid_follows(q, end))
			return at;
	}
	return NULL;
}

/* The number that ends at `end`; 0: there is none. */
static int64_t
event_period(const char *p, const char *end)
{
	int64_t period = 0;

	while (end > p && is_space(end[-1]))
		end--;
	for (int64_t unit = 1; end > p && is_digit(end[-1]) &&
	     unit < (int64_t)1e17; unit *= 10)
		period += (*--end - '0') * unit;
	return end > p && !is_space(end[-1]) ? 0 : period;
}

/* "... 83.1:   10101010 cpu-clock:ppp:" from its end. */
static bool
event_is_last(struct perf_event *l, const char *p, const char *end)
{
	const char *at;

	if (end == p || end[-1] != ':')
		return false;
	for (at = end - 1; at > p && !is_space(at[-1]); at--)
		;
	l->event = at;
	l->event_end = end - 1;
	l->period = event_period(p, at);
	return l->event < l->event_end;
}

/* "4711 83.1: 10101010 cycles: 55d0aaaa Get+0x10 (/usr/bin/kv)": the first
 * word behind the pid that ends in ':' and is no time. */
static bool
event_has_frame(struct perf_event *l, const char *p, const char *end)
{
	const char *fields = event_word(event_skip(p, end), end);
	const char *at = event_skip(fields, end), *word;

	if (end == p || end[-1] != ')')
		return false;
	while ((word = event_word(at, end)) < end &&
	    (word[-1] != ':' || event_is_time(at, word)))
		at = event_skip(word, end);
	if (word == end)
		return false;
	l->event = at;
	l->event_end = word - 1;
	l->period = event_period(fields, at);
	l->frame = at = event_skip(word, end);
	while (at < end && is_hex(*at))
		at++;
	return l->event < l->event_end && at > l->frame && at < end &&
	    is_space(*at);
}

bool
perf_event_read(struct perf_event *l, const char *p, const char *end)
{
	const char *begin = event_skip(p, end);

	while (end > begin && (is_space(end[-1]) || end[-1] == '\r'))
		end--;
	*l = (struct perf_event){.command = begin};
	if (begin == end ||
	    (l->command_end = event_pid(begin, end)) == NULL)
		return false;
	return begin == p && end[-1] == ':'
	    ? event_is_last(l, p, end)
	    : event_has_frame(l, l->command_end, end);
}
