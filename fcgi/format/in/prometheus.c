/*
 * One pass over the bytes, a line at a time, into memory of the line at hand;
 * only families outlive it, for their types and units.
 */
#include "fcgi/format/in/prometheus.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "store/base/array.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/intern.h"

#define NUMBER_MAX 63

struct prom_family {
	enum prom_type type;
	char unit[24];
};

struct prom_parser {
	struct intern names;
	struct prom_family *families;
	size_t cap;
	struct buf strings; /* of the line at hand: names and values */
	size_t at[2 * PROM_LABELS_MAX]; /* where they begin in it */
	struct label labels[PROM_LABELS_MAX];
	struct prom_sample sample;
	struct prom_counts *counts;
	prom_fn *fn;
	void *arg;
	bool failed; /* out of memory */
};

static const struct {
	const char *text;
	enum prom_type type;
} prom_types[] = {
    {"counter", PROM_COUNTER},
    {"gauge", PROM_GAUGE},
    {"histogram", PROM_HISTOGRAM},
    {"gaugehistogram", PROM_GAUGE_HISTOGRAM},
    {"summary", PROM_SUMMARY},
};

/* ---- families ---- */

/* The family of that name, made when `make`; NULL when there is none. */
static struct prom_family *
prom_family_get(struct prom_parser *p, const char *name, size_t n, bool make)
{
	uint32_t i = intern_find(&p->names, name, n);

	if (i != INTERN_NONE)
		return &p->families[i];
	if (!make || p->names.n >= PROM_FAMILIES_MAX)
		return NULL;
	if (!array_room(&p->families, p->names.n + 1, &p->cap)) {
		p->failed = true;
		return NULL;
	}
	if ((i = intern_put(&p->names, name, n)) == INTERN_NONE) {
		p->failed = true;
		return NULL;
	}
	p->families[i] = (struct prom_family){PROM_UNTYPED, ""};
	return &p->families[i];
}

/* The family of a sample: of its own name, or of that without a suffix. */
static const struct prom_family *
prom_family_of(struct prom_parser *p, const char *name)
{
	static const char *const suffixes[] = {"_total", "_bucket", "_count",
	    "_sum", "_created"};
	const struct prom_family *f;
	size_t n = strlen(name);

	f = prom_family_get(p, name, n, false);
	for (size_t i = 0; f == NULL && i < 5; i++) {
		size_t len = strlen(suffixes[i]);

		if (n > len && strcmp(name + n - len, suffixes[i]) == 0)
			f = prom_family_get(p, name, n - len, false);
	}
	return f;
}

/* ---- characters ---- */

static bool
name_char(int c, bool first)
{
	return isalpha(c) || c == '_' || c == ':' || (!first && isdigit(c));
}

static const char *
skip_blanks(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	return s;
}

static const char *
skip_word(const char *s, const char *end)
{
	while (s < end && *s != ' ' && *s != '\t')
		s++;
	return s;
}

/* Copies a name into strings; NULL when there is none. */
static const char *
prom_name(struct prom_parser *p, const char *s, const char *end)
{
	const char *from = s;

	while (s < end && name_char((unsigned char)*s, s == from))
		s++;
	if (s == from || s - from > PROM_NAME_MAX)
		return NULL;
	buf_put(&p->strings, from, (size_t)(s - from));
	buf_put_u8(&p->strings, 0);
	return s;
}

/* Copies a quoted value, unescaped; NULL when it has no end. */
static const char *
prom_quoted(struct prom_parser *p, const char *s, const char *end)
{
	for (s++; s < end && *s != '"'; s++) {
		char c = *s;

		if (c == '\\' && s + 1 < end) {
			c = *++s;
			if (c == 'n')
				c = '\n';
		}
		if (c == '\0')
			return NULL;
		buf_put_u8(&p->strings, (uint8_t)c);
	}
	buf_put_u8(&p->strings, 0);
	return s < end ? s + 1 : NULL;
}

/* ---- one sample ---- */

static int
label_order(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* "{a="b",c="d"}": what follows it, or NULL. */
static const char *
prom_labels(struct prom_parser *p, const char *s, const char *end, size_t *n)
{
	for (s = skip_blanks(s + 1, end); s < end && *s != '}';
	    s = skip_blanks(s, end)) {
		if (*n == PROM_LABELS_MAX)
			return NULL;
		p->at[2 * *n] = p->strings.len;
		if ((s = prom_name(p, s, end)) == NULL)
			return NULL;
		s = skip_blanks(s, end);
		if (s == end || *s != '=')
			return NULL;
		s = skip_blanks(s + 1, end);
		if (s == end || *s != '"')
			return NULL;
		p->at[2 * *n + 1] = p->strings.len;
		if ((s = prom_quoted(p, s, end)) == NULL)
			return NULL;
		++*n;
		s = skip_blanks(s, end);
		if (s < end && *s == ',')
			s++;
	}
	return s < end ? s + 1 : NULL;
}

/* False when the word is no number. */
static bool
prom_number(struct prom_sample *s, const char *word, size_t n)
{
	char text[NUMBER_MAX + 1], *end;

	if (n == 0 || n > NUMBER_MAX)
		return false;
	memcpy(text, word, n);
	text[n] = '\0';
	if (strpbrk(text, "xXpP") != NULL)
		return false;
	s->value = strtold(text, &end);
	if (*end != '\0')
		return false;
	s->kind = isnan(s->value) ? PROM_NAN :
	    isinf(s->value) ? PROM_INFINITE : PROM_NUMBER;
	return true;
}

/* Two labels of one name would be two answers. */
static bool
prom_finish_labels(struct prom_parser *p, size_t n)
{
	const char *base = (const char *)p->strings.data;

	for (size_t i = 0; i < n; i++)
		p->labels[i] = (struct label){base + p->at[2 * i],
		    base + p->at[2 * i + 1]};
	qsort(p->labels, n, sizeof(p->labels[0]), label_order);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(p->labels[i - 1].name, p->labels[i].name) == 0)
			return false;
	}
	p->sample.labels = p->labels;
	p->sample.n_labels = n;
	return true;
}

static bool
prom_sample_line(struct prom_parser *p, const char *s, const char *end)
{
	const struct prom_family *f;
	const char *word;
	size_t n = 0;

	buf_clear(&p->strings);
	if ((s = prom_name(p, s, end)) == NULL)
		return false;
	s = skip_blanks(s, end);
	if (s < end && *s == '{' &&
	    (s = prom_labels(p, s, end, &n)) == NULL)
		return false;
	word = skip_blanks(s, end);
	s = skip_word(word, end);
	if (!prom_number(&p->sample, word, (size_t)(s - word)))
		return false;
	if (p->strings.failed) {
		p->failed = true;
		return false;
	}
	if (!prom_finish_labels(p, n))
		return false;
	p->sample.name = (const char *)p->strings.data;
	f = prom_family_of(p, p->sample.name);
	p->sample.type = f == NULL ? PROM_UNTYPED : f->type;
	p->sample.unit = f == NULL ? "" : f->unit;
	p->counts->samples++;
	p->fn(p->arg, &p->sample);
	return true;
}

/* "# TYPE name type", "# UNIT name unit"; all else is a comment. */
static void
prom_comment(struct prom_parser *p, const char *s, const char *end)
{
	const char *key = skip_blanks(s + 1, end), *key_end, *name, *name_end;
	const char *value, *value_end;
	struct prom_family *f;

	key_end = skip_word(key, end);
	name = skip_blanks(key_end, end);
	name_end = skip_word(name, end);
	value = skip_blanks(name_end, end);
	value_end = skip_word(value, end);
	if (key_end - key != 4 || name == name_end || value == value_end ||
	    name_end - name > PROM_NAME_MAX ||
	    (memcmp(key, "TYPE", 4) != 0 && memcmp(key, "UNIT", 4) != 0))
		return;
	f = prom_family_get(p, name, (size_t)(name_end - name), true);
	if (f == NULL)
		return;
	if (key[0] == 'U') {
		size_t n = (size_t)(value_end - value);

		n = n < sizeof(f->unit) ? n : sizeof(f->unit) - 1;
		memcpy(f->unit, value, n);
		f->unit[n] = '\0';
		return;
	}
	for (size_t i = 0; i < sizeof(prom_types) / sizeof(prom_types[0]);
	    i++) {
		size_t n = strlen(prom_types[i].text);

		if ((size_t)(value_end - value) == n &&
		    memcmp(value, prom_types[i].text, n) == 0)
			f->type = prom_types[i].type;
	}
}

static void
prom_line(struct prom_parser *p, const char *s, const char *end)
{
	if (end > s && end[-1] == '\r')
		end--;
	s = skip_blanks(s, end);
	if (s == end)
		return;
	if (*s == '#')
		prom_comment(p, s, end);
	else if (!prom_sample_line(p, s, end))
		p->counts->bad++;
}

const struct err *
prom_parse(const char *text, size_t n, prom_fn *fn, void *arg,
    struct prom_counts *counts)
{
	struct prom_parser p = {.counts = counts, .fn = fn, .arg = arg};
	const char *end = text + n, *next;

	*counts = (struct prom_counts){0};
	for (; text < end && !p.failed; text = next + 1) {
		next = memchr(text, '\n', (size_t)(end - text));
		if (next == NULL)
			next = end;
		prom_line(&p, text, next);
	}
	intern_fini(&p.names);
	free(p.families);
	buf_fini(&p.strings);
	return p.failed ? err_nomem() : NULL;
}

/* ---- how it is stored ---- */

static bool
has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), len = strlen(suffix);

	return n >= len && strcmp(name + n - len, suffix) == 0;
}

static const struct {
	const char *suffix, *unit;
} prom_units[] = {
    {"_bytes", "bytes"},
    {"_bytes_total", "bytes"},
    {"_bytes_sum", "bytes"},
    {"_seconds", "seconds"},
    {"_seconds_total", "seconds"},
    {"_seconds_sum", "seconds"},
    {"_ratio", "ratio"},
    {"_celsius", "celsius"},
    {"_hertz", "hertz"},
    {"_volts", "volts"},
    {"_joules_total", "joules"},
};

static const char *
prom_unit(const struct prom_sample *s)
{
	static const char *const known[] = {"bytes", "seconds", "ratio"};
	bool part = has_suffix(s->name, "_count") ||
	    has_suffix(s->name, "_bucket");

	for (size_t i = 0; i < 3 && !part; i++) {
		if (strcmp(s->unit, known[i]) == 0)
			return known[i];
	}
	for (size_t i = 0; i < sizeof(prom_units) / sizeof(prom_units[0]);
	    i++) {
		if (has_suffix(s->name, prom_units[i].suffix))
			return prom_units[i].unit;
	}
	return "";
}

void
prom_describe(const struct prom_sample *s, struct series_desc *d)
{
	bool grows = s->type == PROM_HISTOGRAM || s->type == PROM_SUMMARY;
	bool whole = has_suffix(s->name, "_count") ||
	    has_suffix(s->name, "_bucket");
	bool count;

	*d = (struct series_desc){.name = s->name, .labels = s->labels,
	    .n_labels = s->n_labels};
	d->kind = s->type == PROM_COUNTER || (grows &&
	    (whole || has_suffix(s->name, "_sum"))) ? SERIES_COUNTER :
	    SERIES_GAUGE;
	d->unit = prom_unit(s);
	count = d->unit[0] == '\0' && (s->type == PROM_COUNTER ||
	    ((grows || s->type == PROM_GAUGE_HISTOGRAM) && whole));
	d->scale = count || strcmp(d->unit, "bytes") == 0 ? 0 : 6;
}

bool
prom_scale(long double value, uint8_t scale, int64_t *out)
{
	long double scaled = roundl(value * (long double)scale_factor(scale));

	if (!(scaled > -9.2e18L && scaled < 9.2e18L))
		return false;
	*out = (int64_t)scaled;
	return true;
}
