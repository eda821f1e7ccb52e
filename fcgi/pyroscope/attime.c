/*
 * Pyroscope's attime; what it cannot read goes to timespec.c.
 */
#include "fcgi/pyroscope/attime.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fcgi/server/request.h"
#include "fcgi/server/timespec.h"
#include "store/base/clock.h"
#include "store/base/err.h"

/* Seconds: further than from now to either end of time, and what still goes
 * into nanoseconds beside it. */
#define OFFSET_MAX INT64_C(7200000000)

static const struct {
	const char *prefix;
	int64_t seconds;
} units[] = { /* the first that fits */
    {"s", 1}, {"mon", 30 * 86400}, {"M", 30 * 86400}, {"m", 60},
    {"h", 3600}, {"d", 86400}, {"w", 7 * 86400}, {"y", 365 * 86400},
};

static int64_t
attime_unit(const char *p, size_t n)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i].prefix);

		if (len <= n && strncmp(p, units[i].prefix, len) == 0)
			return units[i].seconds;
	}
	return 0;
}

/* (digits)(letters)+ as seconds, OFFSET_MAX at most; what is none counts
 * nothing. */
static int64_t
attime_offset(const char *p)
{
	int64_t sum = 0;

	while (isdigit((unsigned char)*p)) {
		int64_t n = strtoll(p, NULL, 10);
		size_t letters = 0;

		while (isdigit((unsigned char)*p))
			p++;
		while (isalpha((unsigned char)p[letters]))
			letters++;
		if (__builtin_mul_overflow(n, attime_unit(p, letters), &n) ||
		    __builtin_add_overflow(sum, n, &sum) || sum > OFFSET_MAX)
			return OFFSET_MAX;
		p += letters;
	}
	return sum;
}

/* Past the end of time is its end. */
static int64_t
attime_add(int64_t ns, int64_t seconds)
{
	int64_t sum;

	if (__builtin_add_overflow(ns, seconds * NS_PER_S, &sum))
		return INT64_MAX;
	return sum;
}

static bool
attime_day(const char *p, int64_t *ns)
{
	struct tm t = {0};

	if (sscanf(p, "%4d%2d%2d", &t.tm_year, &t.tm_mon, &t.tm_mday) != 3 ||
	    t.tm_year <= 1900 || t.tm_mon < 1 || t.tm_mon > 12 ||
	    t.tm_mday < 1 || t.tm_mday > 31)
		return false;
	t.tm_year -= 1900;
	t.tm_mon--;
	if (__builtin_mul_overflow((int64_t)timegm(&t), NS_PER_S, ns))
		*ns = INT64_MAX;
	return true;
}

static const struct err *
attime_number(const char *p, size_t n, int64_t *ns)
{
	int64_t v, factor = n == 13 ? NS_PER_MS : n == 16 ? 1000 :
	    n == 19 ? 1 : NS_PER_S;

	if (n == 8 && attime_day(p, ns))
		return NULL;
	if (n > 19)
		return err_new(ERR_REQUEST, 400, "%zu digits are no time", n);
	v = strtoll(p, NULL, 10);
	if (__builtin_mul_overflow(v, factor, ns))
		*ns = INT64_MAX;
	return NULL;
}

/* "2026-11-21", and what may follow it in RFC 3339: Pyroscope takes that for
 * now less something. */
static bool
attime_is_date(const char *p)
{
	for (size_t i = 0; i < 10; i++)
		if (i == 4 || i == 7 ? p[i] != '-'
		                     : !isdigit((unsigned char)p[i]))
			return false;
	return true;
}

static const struct err *
attime_date(const char *text, int64_t now_ns, int64_t *ns)
{
	char day[32];

	if (text[10] != '\0')
		return timespec_parse(text, now_ns, ns);
	snprintf(day, sizeof(day), "%sT00:00:00Z", text);
	return timespec_parse(day, now_ns, ns);
}

static const struct err *
attime_read(const char *text, int64_t now_ns, int64_t *ns)
{
	char copy[128];
	size_t n = 0;
	const char *at;

	if (attime_is_date(text))
		return attime_date(text, now_ns, ns);
	for (; *text != '\0'; text++) {
		if (strchr("_, \t\n", *text) != NULL)
			continue;
		if (n + 1 == sizeof(copy))
			return err_new(ERR_REQUEST, 400, "too long a time");
		copy[n++] = *text;
	}
	copy[n] = '\0';
	if (n > 0 && strspn(copy, "0123456789") == n)
		return attime_number(copy, n, ns);
	*ns = now_ns;
	if ((at = strchr(copy, '+')) != NULL)
		*ns = attime_add(now_ns, attime_offset(at + 1));
	else if ((at = strchr(copy, '-')) != NULL)
		*ns = attime_add(now_ns, -attime_offset(at + 1));
	else if (n > 0 && strcmp(copy, "now") != 0)
		return timespec_parse(copy, now_ns, ns);
	return NULL;
}

const struct err *
attime_parse(const char *text, int64_t now_ns, int64_t *ns)
{
	const struct err *e = attime_read(text, now_ns, ns);

	if (e == NULL && *ns < 0)
		*ns = 0;
	if (e == NULL && *ns > REQUEST_UNTIL_MAX)
		*ns = REQUEST_UNTIL_MAX;
	return e;
}
