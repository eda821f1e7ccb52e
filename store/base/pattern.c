/*
 * PCRE2's interpreter with limits: no code is made at run time, since the
 * programs have no memory that is both written and run.  What needs none of it
 * is matched without (pattern_plain.h).
 */
#include "store/base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/pattern_plain.h"
#include "store/base/text.h"

#define PATTERN_NESTED_MAX 100 /* groups in groups */
#define PATTERN_SHOWN "100"    /* bytes of an expression in a message */

struct pattern {
	struct pattern_plain *plain; /* what it is matched with, or NULL */
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *limits;
	char field[32];
	char *text;
	struct buf scratch; /* a text whose bytes are not all UTF-8 */
	int failed;         /* why a match had no answer, or 0 */
};

static const struct err *
pattern_bad(const struct pattern *p, int code, size_t at)
{
	char why[120];

	pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why));
	return err_field(ERR_REQUEST, 400, p->field, "\"%." PATTERN_SHOWN
	    "s\": %s, at byte %zu", p->text, why, at);
}

/* The end of a simple class from its [ on, or NULL. */
static const char *
pattern_class_end(const char *p, const char *end)
{
	size_t n = 1 + (p[1] == '^');

	if (p[n] == ']')
		return NULL;
	p += n + strcspn(p + n, "[]\\");
	return p < end && *p == ']' ? p : NULL;
}

/*
 * Does nothing in this part reach out of it, so far as a glance tells?  Groups
 * end in it; what is rare is refused: verbs, \Q, references, other options
 * than (?i).  *choice: it is a|b.
 */
static bool
pattern_is_part(const char *p, const char *end, bool *choice)
{
	int depth = 0;

	for (*choice = false; p < end && depth >= 0; p++) {
		if (*p == '\\') {
			if (++p == end || (isalnum((unsigned char)*p) &&
			    strchr("dDsSwWbB", *p) == NULL))
				return false;
		} else if (*p == '[') {
			if ((p = pattern_class_end(p, end)) == NULL)
				return false;
		} else if (*p == '(') {
			depth++;
			if (p[1] == '?' &&
			    *(p += 2 + strspn(p + 2, "i")) == ')')
				depth--;
			else if (p[1] == '*' || (*p != '(' && *p != ':'))
				return false;
		} else if (*p == ')') {
			depth--;
		} else if (*p == '|' && depth == 0) {
			*choice = true;
		}
	}
	return depth == 0;
}

/*
 * The x of .*x.* and .*(?:.*x.*).*, as FlameQL reads x: to search for it finds
 * the same, without a step back for each byte.  False if it is no such thing;
 * it may be no expression, as ?x of .*?x.* is none.
 */
static bool
pattern_inner(const char **text, size_t *len)
{
	const char *p = *text, *end = p + *len;
	bool choice;

	for (;;) {
		if (end - p >= 4 && memcmp(p, ".*", 2) == 0 &&
		    memcmp(end - 2, ".*", 2) == 0 &&
		    pattern_is_part(p + 2, end - 2, &choice) && !choice) {
			p += 2;
			end -= 2;
		} else if (p > *text && end - p >= 4 &&
		    memcmp(p, "(?:", 3) == 0 && end[-1] == ')' &&
		    pattern_is_part(p + 3, end - 1, &choice)) {
			p += 3;
			end--;
		} else {
			break;
		}
	}
	if (p == *text)
		return false;
	*text = p;
	*len = (size_t)(end - p);
	return true;
}

static const struct err *
pattern_compile(struct pattern *p, unsigned flags)
{
	uint32_t options = PCRE2_UTF | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY |
	    PCRE2_NEVER_BACKSLASH_C;
	pcre2_compile_context *c = pcre2_compile_context_create(NULL);
	const char *part = p->text;
	size_t at, len = strlen(part);
	bool whole = flags & PATTERN_WHOLE;
	int code;

	if (c == NULL)
		return err_nomem();
	if (flags & PATTERN_FOLD)
		options |= PCRE2_CASELESS;
	pcre2_set_parens_nest_limit(c, PATTERN_NESTED_MAX);
	if (pattern_inner(&part, &len))
		p->code = pcre2_compile((PCRE2_SPTR)part, len, options, &code,
		    &at, c);
	if (p->code != NULL)
		whole = false;
	else
		part = p->text, len = strlen(part);
	if (whole)
		options |= PCRE2_ANCHORED | PCRE2_ENDANCHORED;
	if (p->code == NULL)
		p->code = pcre2_compile((PCRE2_SPTR)part, len, options, &code,
		    &at, c);
	pcre2_compile_context_free(c);
	if (p->code == NULL)
		return pattern_bad(p, code, at);
	if (!(flags & PATTERN_FOLD))
		p->plain = pattern_plain_new(part, len, whole);
	return NULL;
}

static const struct err *
pattern_prepare(struct pattern *p)
{
	p->data = pcre2_match_data_create(1, NULL);
	p->limits = pcre2_match_context_create(NULL);
	if (p->data == NULL || p->limits == NULL)
		return err_nomem();
	pcre2_set_match_limit(p->limits, PATTERN_STEPS_MAX);
	pcre2_set_heap_limit(p->limits, PATTERN_MEMORY_MAX);
	return NULL;
}

const struct err *
pattern_new(struct pattern **out, const char *field, const char *text,
    unsigned flags)
{
	const struct err *e;
	struct pattern *p;

	*out = NULL;
	if (strlen(text) > PATTERN_MAX)
		return err_field(ERR_REQUEST, 400, field, "the expression is "
		    "longer than %u bytes", PATTERN_MAX);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_nomem();
	snprintf(p->field, sizeof(p->field), "%s", field);
	p->text = strdup(text);
	e = p->text == NULL ? err_nomem() : pattern_compile(p, flags);
	if (e == NULL)
		e = pattern_prepare(p);
	if (e != NULL)
		pattern_free(p);
	else
		*out = p;
	return e;
}

void
pattern_free(struct pattern *p)
{
	if (p == NULL)
		return;
	pattern_plain_free(p->plain);
	pcre2_code_free(p->code);
	pcre2_match_data_free(p->data);
	pcre2_match_context_free(p->limits);
	buf_fini(&p->scratch);
	free(p->text);
	free(p);
}

static int
pattern_run(struct pattern *p, const void *text, size_t n)
{
	return pcre2_match(p->code, text, n, 0, 0, p->data, p->limits);
}

/* The text once more, with U+FFFD for each byte that is not UTF-8. */
static int
pattern_run_mended(struct pattern *p, const char *text, size_t n)
{
	size_t len;

	buf_clear(&p->scratch);
	for (; n > 0; text += len, n -= len) {
		len = text_utf8(text, n);
		buf_put(&p->scratch, len > 0 ? text : "\xef\xbf\xbd",
		    len > 0 ? len : 3);
		len += len == 0;
	}
	return p->scratch.failed ? PCRE2_ERROR_NOMEMORY
	                         : pattern_run(p, p->scratch.data,
	                               p->scratch.len);
}

bool
pattern_match(struct pattern *p, const char *text)
{
	size_t n = strlen(text);
	int found;

	if (p->failed != 0)
		return false;
	if (p->plain != NULL)
		return pattern_plain_match(p->plain, text, n);
	found = pattern_run(p, text, n);
	if (found <= PCRE2_ERROR_UTF8_ERR1 && found >= PCRE2_ERROR_UTF8_ERR21)
		found = pattern_run_mended(p, text, n);
	if (found < 0 && found != PCRE2_ERROR_NOMATCH)
		p->failed = found;
	return found >= 0;
}

const struct err *
pattern_check(const struct pattern *p)
{
	char why[120];

	if (p->failed == 0)
		return NULL;
	if (p->failed == PCRE2_ERROR_NOMEMORY)
		return err_nomem();
	pcre2_get_error_message(p->failed, (PCRE2_UCHAR *)why, sizeof(why));
	return err_field(ERR_REQUEST, 400, p->field, "the expression "
	    "\"%." PATTERN_SHOWN "s\" takes too long to match: %s", p->text,
	    why);
}

void
pattern_reset(struct pattern *p)
{
	p->failed = 0;
}
