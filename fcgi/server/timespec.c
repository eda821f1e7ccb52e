/*
 * One cursor over the text; every form is tried by its first character.
 */
#include "fcgi/server/timespec.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"

struct timespec_unit {
	const char *name;
	int64_t ns;
};

static const struct timespec_unit units[] = {
    {"ms", NS_PER_MS},
    {"s", NS_PER_S},
    {"m", 60 * NS_PER_S},
    {"h", 3600 * NS_PER_S},
    {"d", 86400 * NS_PER_S},
    {"w", 7 * 86400 * NS_PER_S},
    {"y", 365 * 86400 * NS_PER_S},
};

static const struct err *
timespec_bad(const char *text, const char *at, const char *why)
{
	return err_new(ERR_REQUEST, 400, "%s at byte %zu of \"%.64s\"", why,
	    (size_t)(at - text), text);
}

static bool
timespec_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits from *s on, at most 19; false when there is none or too many. */
static bool
timespec_number(const char **s, int64_t *n)
{
	const char *p = *s;

	*n = 0;
	for (; timespec_is_digit(*p); p++)
		if (__builtin_mul_overflow(*n, 10, n) ||
		    __builtin_add_overflow(*n, *p - '0', n))
			return false;
	if (p == *s)
		return false;
	*s = p;
	return true;
}

/* Exactly `width` digits. */
static bool
timespec_fixed(const char **s, int width, int *n)
{
	*n = 0;
	for (; width > 0; width--, (*s)++) {
		if (!timespec_is_digit(**s))
			return false;
		*n = *n * 10 + (**s - '0');
	}
	return true;
}

/* ".5" as nanoseconds; digits after the ninth are read and dropped. */
static bool
timespec_fraction(const char **s, int64_t *ns)
{
	int64_t unit = NS_PER_S / 10;
	const char *p = *s;

	*ns = 0;
	if (*p != '.')
		return true;
	for (p++; timespec_is_digit(*p); p++, unit /= 10)
		*ns += (*p - '0') * unit;
	if (p == *s + 1)
		return false;
	*s = p;
	return true;
}

/* (digits unit)+ to the end of the text. */
static const struct err *
timespec_spans(const char *text, const char *p, int64_t *ns)
{
	int64_t n;

	*ns = 0;
	do {
		const struct timespec_unit *u = NULL;

		if (!timespec_number(&p, &n))
			return timespec_bad(text, p, "no number");
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
			size_t len = strlen(units[i].name);

			if (strncmp(p, units[i].name, len) == 0 &&
			    (u == NULL || len > strlen(u->name)))
				u = &units[i];
		}
		if (u == NULL)
			return timespec_bad(text, p, "no unit (ms, s, m, h, d, "
			    "w or y)");
		p += strlen(u->name);
		if (__builtin_mul_overflow(n, u->ns, &n) ||
		    __builtin_add_overflow(*ns, n, ns))
			return timespec_bad(text, p, "too long a time");
	} while (*p != '\0');
	return NULL;
}

static const struct err *
timespec_relative(const char *text, int64_t now_ns, int64_t *ns)
{
	const char *p = text + 3;
	const struct err *e;

	*ns = now_ns;
	if (*p == '\0')
		return NULL;
	if (*p != '-')
		return timespec_bad(text, p, "\"now\" is followed by neither "
		    "\"-\" nor the end");
	if ((e = timespec_spans(text, p + 1, ns)) != NULL)
		return e;
	*ns = now_ns > *ns ? now_ns - *ns : 0;
	return NULL;
}

static const struct err *
timespec_digits(const char *text, int64_t *ns)
{
	static const int64_t factor[] = {NS_PER_S, NS_PER_MS, 1000, 1};
	static const size_t digits[] = {11, 14, 17, 19};
	const char *p = text;
	int64_t n, fraction;
	size_t len, i = 0;

	if (!timespec_number(&p, &n))
		return timespec_bad(text, p, "too large a number");
	len = (size_t)(p - text);
	while (i < 3 && len > digits[i])
		i++;
	if (!timespec_fraction(&p, &fraction) || *p != '\0')
		return timespec_bad(text, p, "not a time");
	if (__builtin_mul_overflow(n, factor[i], &n) ||
	    __builtin_add_overflow(n, fraction / (NS_PER_S / factor[i]), ns))
		return timespec_bad(text, p, "a time after the year 2262");
	return NULL;
}

static bool
timespec_is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int
timespec_month_days(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30,
	    31};

	return days[month - 1] + (month == 2 && timespec_is_leap(year));
}

/* Days from 1970-01-01 to the first of the year. */
static int64_t
timespec_year_days(int year)
{
	int64_t y = year - 1;

	return y * 365 + y / 4 - y / 100 + y / 400 - 719162;
}

/* "Z", "+01:00", "-08:00"; a blank is what becomes of a "+" that was not
 * percent-encoded. */
static bool
timespec_offset(const char **s, int64_t *seconds)
{
	char sign = **s;
	int hours, minutes;

	*seconds = 0;
	(*s)++;
	if (sign == 'Z' || sign == 'z')
		return true;
	if ((sign != '+' && sign != '-' && sign != ' ') ||
	    !timespec_fixed(s, 2, &hours) || *(*s)++ != ':' ||
	    !timespec_fixed(s, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*seconds = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
	return true;
}

struct timespec_date {
	int year, month, day, hour, minute, second;
};

static bool
timespec_read_date(const char **s, struct timespec_date *d)
{
	if (!timespec_fixed(s, 4, &d->year) || **s != '-' ||
	    ((*s)++, !timespec_fixed(s, 2, &d->month)) || **s != '-' ||
	    ((*s)++, !timespec_fixed(s, 2, &d->day)) ||
	    (**s != 'T' && **s != 't' && **s != ' ') ||
	    ((*s)++, !timespec_fixed(s, 2, &d->hour)) || **s != ':' ||
	    ((*s)++, !timespec_fixed(s, 2, &d->minute)) || **s != ':' ||
	    ((*s)++, !timespec_fixed(s, 2, &d->second)))
		return false;
	return d->month >= 1 && d->month <= 12 && d->day >= 1 &&
	    d->day <= timespec_month_days(d->year, d->month) &&
	    d->hour <= 23 && d->minute <= 59 && d->second <= 60;
}

static const struct err *
timespec_rfc3339(const char *text, int64_t *ns)
{
	struct timespec_date d;
	int64_t days, seconds, fraction, offset;
	const char *p = text;

	if (!timespec_read_date(&p, &d) || !timespec_fraction(&p, &fraction))
		return timespec_bad(text, p, "not a date and time");
	if (*p == '\0' || !timespec_offset(&p, &offset) || *p != '\0')
		return timespec_bad(text, p, "no offset (Z or +01:00)");
	days = timespec_year_days(d.year) + d.day - 1;
	for (int m = 1; m < d.month; m++)
		days += timespec_month_days(d.year, m);
	seconds = ((days * 24 + d.hour) * 60 + d.minute) * 60 + d.second -
	    offset;
	if (seconds < 0)
		return timespec_bad(text, text, "a time before 1970");
	if (__builtin_mul_overflow(seconds, NS_PER_S, ns) ||
	    __builtin_add_overflow(*ns, fraction, ns))
		return timespec_bad(text, text, "a time after the year 2262");
	return NULL;
}

static const struct err *
timespec_read(const char *text, int64_t now_ns, int64_t *ns)
{
	if (strncmp(text, "now", 3) == 0)
		return timespec_relative(text, now_ns, ns);
	if (strlen(text) > 4 && text[4] == '-')
		return timespec_rfc3339(text, ns);
	if (timespec_is_digit(text[0]))
		return timespec_digits(text, ns);
	return timespec_bad(text, text, "not a time");
}

const struct err *
timespec_parse(const char *text, int64_t now_ns, int64_t *ns)
{
	const struct err *e;

	*ns = 0;
	if ((e = timespec_read(text, now_ns, ns)) == NULL &&
	    *ns > TIMESPEC_MAX)
		*ns = TIMESPEC_MAX;
	return e;
}

const struct err *
timespec_parse_range(const char *from, const char *until, int64_t now_ns,
    int64_t *from_ns, int64_t *until_ns)
{
	const struct err *e;

	if ((e = timespec_parse(from, now_ns, from_ns)) != NULL)
		return err_wrap(e, "from");
	if ((e = timespec_parse(until, now_ns, until_ns)) != NULL)
		return err_wrap(e, "until");
	if (*from_ns >= *until_ns)
		return err_field(ERR_REQUEST, 400, "from", "from %.64s is not "
		    "before until %.64s", from, until);
	return NULL;
}

const struct err *
timespec_parse_duration(const char *text, int64_t *ns)
{
	const struct err *e = NULL;
	const char *p = text;
	int64_t n, fraction;

	*ns = 0;
	if (!timespec_number(&p, &n) || !timespec_fraction(&p, &fraction))
		return timespec_bad(text, p, "not a length of time");
	if (*p != '\0')
		e = timespec_spans(text, text, ns);
	else if (__builtin_mul_overflow(n, NS_PER_S, &n) ||
	    __builtin_add_overflow(n, fraction, ns))
		e = timespec_bad(text, p, "too long a time");
	if (e == NULL && *ns <= 0)
		e = timespec_bad(text, text, "not above 0");
	if (e == NULL && *ns > TIMESPEC_MAX)
		e = timespec_bad(text, p, "too long a time");
	return e;
}

void
timespec_put(struct buf *out, int64_t ns)
{
	time_t t = (time_t)(ns / NS_PER_S);
	char text[40];
	struct tm tm;

	if (gmtime_r(&t, &tm) != NULL &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) > 0)
		buf_printf(out, "%s", text);
}
