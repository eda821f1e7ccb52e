/*
 * Prometheus's selector language: parser and matcher.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/pattern.h"
#include "store/model/series.h"
#include "store/model/unit.h"

#define SELECTOR_MATCHERS 32
#define SELECTOR_TEXT 512

enum matcher_op { MATCH_EQ, MATCH_NE, MATCH_RE, MATCH_NRE };

struct matcher {
	char *label, *value;
	enum matcher_op op;
	struct pattern *pattern; /* of MATCH_RE and MATCH_NRE */
};

struct selector {
	char *name;
	struct matcher matchers[SELECTOR_MATCHERS];
	size_t n;
};

struct selector_parser {
	const char *text, *p;
	struct selector *s;
};

static const struct err *
selector_bad(const struct selector_parser *sp, const char *what)
{
	return err_field(ERR_REQUEST, 400, "query", "%s at byte %zu of \"%s\"",
	    what, (size_t)(sp->p - sp->text), sp->text);
}

static void
selector_skip(struct selector_parser *sp)
{
	while (*sp->p == ' ' || *sp->p == '\t' || *sp->p == '\n')
		sp->p++;
}

static bool
selector_name_char(char c, bool first)
{
	return isalpha((unsigned char)c) || c == '_' || c == ':' || c == '.' ||
	    (!first && isdigit((unsigned char)c));
}

/* A bare name: letters, digits, _ : . */
static const struct err *
selector_take_name(struct selector_parser *sp, char **out)
{
	const char *start = sp->p;

	while (selector_name_char(*sp->p, sp->p == start))
		sp->p++;
	*out = strndup(start, (size_t)(sp->p - start));
	return *out ? NULL : err_nomem();
}

static int
selector_unescape(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

/* A quoted value: "..." or '...', with \\ \" \n \t. */
static const struct err *
selector_take_value(struct selector_parser *sp, char **out)
{
	char value[SELECTOR_TEXT], quote = *sp->p;
	size_t n = 0;

	if (quote != '"' && quote != '\'')
		return selector_bad(sp, "expected a quoted value");
	for (sp->p++; *sp->p != quote; sp->p++) {
		if (*sp->p == '\\' && sp->p[1] != '\0')
			value[n++] = (char)selector_unescape(*++sp->p);
		else
			value[n++] = *sp->p;
		if (*sp->p == '\0')
			return selector_bad(sp, "unfinished value");
		if (n == sizeof(value))
			return selector_bad(sp, "value too long");
	}
	sp->p++;
	*out = strndup(value, n);
	return *out ? NULL : err_nomem();
}

static const struct err *
selector_take_op(struct selector_parser *sp, enum matcher_op *op)
{
	static const struct {
		char text[3];
		enum matcher_op op;
	} ops[] = {
	    {"!=", MATCH_NE},
	    {"!~", MATCH_NRE},
	    {"=~", MATCH_RE},
	    {"=", MATCH_EQ},
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		size_t n = strlen(ops[i].text);

		if (strncmp(sp->p, ops[i].text, n) == 0) {
			sp->p += n;
			*op = ops[i].op;
			return NULL;
		}
	}
	return selector_bad(sp, "expected =, !=, =~ or !~");
}

static const struct err *
selector_take_matcher(struct selector_parser *sp)
{
	const struct err *e;
	struct matcher *m;

	if (sp->s->n == SELECTOR_MATCHERS)
		return selector_bad(sp, "too many matchers");
	m = &sp->s->matchers[sp->s->n];
	if (*sp->p == '"')
		e = selector_take_value(sp, &m->label);
	else
		e = selector_take_name(sp, &m->label);
	if (e != NULL)
		return e;
	sp->s->n++; /* from here on selector_free() frees it */
	if (m->label[0] == '\0')
		return selector_bad(sp, "expected a label name");
	selector_skip(sp);
	if ((e = selector_take_op(sp, &m->op)) != NULL)
		return e;
	selector_skip(sp);
	if ((e = selector_take_value(sp, &m->value)) != NULL)
		return e;
	return m->op == MATCH_EQ || m->op == MATCH_NE ? NULL :
	    pattern_new(&m->pattern, "query", m->value, PATTERN_WHOLE);
}

static const struct err *
selector_take_braces(struct selector_parser *sp)
{
	const struct err *e;

	sp->p++;
	selector_skip(sp);
	while (*sp->p != '}') {
		if ((e = selector_take_matcher(sp)) != NULL)
			return e;
		selector_skip(sp);
		if (*sp->p == ',')
			sp->p++;
		else if (*sp->p != '}')
			return selector_bad(sp, "expected , or }");
		selector_skip(sp);
	}
	sp->p++;
	return NULL;
}

/* {__name__="x"} is another way to say x. */
static const struct err *
selector_adopt_name(struct selector_parser *sp)
{
	const char *name = selector_equals(sp->s, "__name__");

	if (name == NULL || sp->s->name[0] != '\0')
		return NULL;
	free(sp->s->name);
	sp->s->name = strdup(name);
	return sp->s->name ? NULL : err_nomem();
}

static const struct err *
selector_take(struct selector_parser *sp)
{
	const struct err *e;

	selector_skip(sp);
	if ((e = selector_take_name(sp, &sp->s->name)) != NULL)
		return e;
	selector_skip(sp);
	if (*sp->p == '{' && (e = selector_take_braces(sp)) != NULL)
		return e;
	selector_skip(sp);
	if (*sp->p != '\0')
		return selector_bad(sp, "unexpected text");
	if (sp->s->name[0] == '\0' && sp->s->n == 0)
		return selector_bad(sp, "empty selector");
	return selector_adopt_name(sp);
}

const struct err *
selector_parse(const char *text, struct selector **out)
{
	struct selector_parser sp = {text, text, NULL};
	const struct err *e;

	*out = NULL;
	sp.s = calloc(1, sizeof(*sp.s));
	if (sp.s == NULL)
		return err_nomem();
	e = selector_take(&sp);
	if (e != NULL)
		selector_free(sp.s);
	else
		*out = sp.s;
	return e;
}

void
selector_free(struct selector *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++) {
		free(s->matchers[i].label);
		free(s->matchers[i].value);
		pattern_free(s->matchers[i].pattern);
	}
	free(s->name);
	free(s);
}

const char *
selector_name(const struct selector *s)
{
	return s->name;
}

bool
selector_has(const struct selector *s, const char *label)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->matchers[i].label, label) == 0)
			return true;
	return false;
}

/* Of an expression that is nothing but names: a|b|c. */
static bool
selector_any_of(const char *names, bool (*fn)(const void *, const char *),
    const void *arg)
{
	char name[256];

	for (;;) {
		size_t n = strcspn(names, "|");

		if (n >= sizeof(name))
			return true;
		memcpy(name, names, n);
		name[n] = '\0';
		if (fn(arg, name))
			return true;
		if (names[n] == '\0')
			return false;
		names += n + 1;
	}
}

static bool
selector_is_plain(const char *expression)
{
	while (isalnum((unsigned char)*expression) || *expression == '_' ||
	    *expression == '|')
		expression++;
	return *expression == '\0';
}

bool
selector_may_name(const struct selector *s,
    bool (*fn)(const void *, const char *), const void *arg)
{
	if (s->name[0] != '\0')
		return fn(arg, s->name);
	for (size_t i = 0; i < s->n; i++) {
		const struct matcher *m = &s->matchers[i];

		if (m->op == MATCH_RE && strcmp(m->label, "__name__") == 0 &&
		    selector_is_plain(m->value))
			return selector_any_of(m->value, fn, arg);
	}
	return true;
}

const char *
selector_equals(const struct selector *s, const char *label)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->matchers[i].op == MATCH_EQ &&
		    strcmp(s->matchers[i].label, label) == 0)
			return s->matchers[i].value;
	}
	return NULL;
}

static bool
matcher_accepts(const struct matcher *m, const char *value)
{
	if (value == NULL)
		value = "";
	switch (m->op) {
	case MATCH_EQ:
		return strcmp(m->value, value) == 0;
	case MATCH_NE:
		return strcmp(m->value, value) != 0;
	case MATCH_RE:
		return pattern_match(m->pattern, value);
	default:
		return !pattern_match(m->pattern, value);
	}
}

const struct err *
selector_check(const struct selector *s)
{
	const struct err *e = NULL;

	for (size_t i = 0; s != NULL && i < s->n && e == NULL; i++)
		if (s->matchers[i].pattern != NULL)
			e = pattern_check(s->matchers[i].pattern);
	return e;
}

/* Does the series itself carry the label?  A profile's other labels live on
 * its stacks. */
static bool
selector_of_series(const struct series_desc *d, const char *label)
{
	return !series_is_profile(d->kind) || strcmp(label, "service") == 0 ||
	    strcmp(label, "__name__") == 0 ||
	    strcmp(label, "__unit__") == 0 ||
	    strcmp(label, "__kind__") == 0 ||
	    label_find(d->labels, d->n_labels, label) != NULL;
}

static const char *
selector_series_value(const struct series_desc *d, const char *label)
{
	if (strcmp(label, "__name__") == 0)
		return d->name;
	if (strcmp(label, "__unit__") == 0)
		return unit_of_type(d->name, d->unit, NULL);
	if (strcmp(label, "__kind__") == 0)
		return series_kind_name(d->kind);
	return label_find(d->labels, d->n_labels, label);
}

/* Is it no label, but what every series has? */
static bool
selector_is_name(const struct matcher *m)
{
	return strcmp(m->label, "__name__") == 0 ||
	    strcmp(m->label, "__unit__") == 0 ||
	    strcmp(m->label, "__kind__") == 0;
}

static bool
selector_match_half(const struct selector *s, const struct series_desc *d,
    bool name)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct matcher *m = &s->matchers[i];

		if (selector_is_name(m) == name &&
		    selector_of_series(d, m->label) &&
		    !matcher_accepts(m, selector_series_value(d, m->label)))
			return false;
	}
	return true;
}

bool
selector_match_name(const struct selector *s, const struct series_desc *d)
{
	return (s->name[0] == '\0' || strcmp(s->name, d->name) == 0) &&
	    selector_match_half(s, d, true);
}

bool
selector_match_labels(const struct selector *s, const struct series_desc *d)
{
	return selector_match_half(s, d, false);
}

bool
selector_match_series(const struct selector *s, const struct series_desc *d)
{
	return selector_match_name(s, d) && selector_match_labels(s, d);
}

bool
selector_asks_beyond(const struct selector *s, const struct label *labels,
    size_t n)
{
	const struct series_desc any = {.kind = SERIES_FLOW, .labels = labels,
	    .n_labels = n};

	for (size_t i = 0; i < s->n; i++) {
		if (!selector_of_series(&any, s->matchers[i].label))
			return true;
	}
	return false;
}

bool
selector_asks_stacks(const struct selector *s)
{
	return selector_asks_beyond(s, NULL, 0);
}

bool
selector_match_stack(const struct selector *s, const struct series_desc *d,
    const struct label *labels, size_t n)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct matcher *m = &s->matchers[i];

		if (!selector_of_series(d, m->label) &&
		    !matcher_accepts(m, label_find(labels, n, m->label)))
			return false;
	}
	return true;
}
