/*
 * One alternative is texts in a row, with a gap before each but maybe the
 * first, and maybe one after the last:
 *
 *	^kv::.*lock.+   [kv::] (0 or more) [lock] (1 or more)
 *
 * The first place where a text is found is as good as any later one, since
 * what a gap may hold has no end: no step back is ever needed.  A text that
 * is UTF-8 is found where a character begins, in whatever bytes.
 */
#include "store/base/pattern_plain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/text.h"

/* A text and what may stand before it. */
struct plain_part {
	char *text;   /* in p->texts */
	size_t n;     /* bytes; 0 only in the last part */
	size_t least; /* characters of the gap */
	bool gap;
};

/* Its last part is what may stand behind all texts, and has none. */
struct plain_choice {
	size_t first, n; /* parts */
	bool end;        /* of the text: $ */
};

struct pattern_plain {
	char *texts;
	struct plain_part *parts;
	struct plain_choice *choices;
	size_t n_texts, n_parts, n_choices;
};

void
pattern_plain_free(struct pattern_plain *p)
{
	if (p == NULL)
		return;
	free(p->texts);
	free(p->parts);
	free(p->choices);
	free(p);
}

/* ---- reading ---- */

struct plain_reader {
	struct pattern_plain *p;
	const char *at, *end;
	bool whole;
};

static struct plain_part *
plain_begin_part(struct pattern_plain *p, bool gap)
{
	p->parts[p->n_parts] = (struct plain_part){.gap = gap,
	    .text = p->texts + p->n_texts};
	return &p->parts[p->n_parts++];
}

/* A character that means itself, or '\0'. */
static char
plain_char(struct plain_reader *r)
{
	char c = *r->at;

	if (c == '\\') {
		if (r->end - r->at < 2 || r->at[1] & 0x80 ||
		    isalnum((unsigned char)r->at[1]))
			return '\0';
		r->at += 2;
		return r->at[-1];
	}
	if (strchr("^$.[|()?*+{", c) != NULL)
		return '\0';
	r->at++;
	return c;
}

/* .* and .+ with what may follow them: as few as can be is all the same. */
static bool
plain_gap(struct plain_reader *r, struct plain_part **part)
{
	char how = r->end - r->at > 1 ? r->at[1] : '\0';

	if (how != '*' && how != '+')
		return false;
	r->at += 2;
	if (r->at < r->end && *r->at == '?')
		r->at++;
	if ((*part)->n > 0)
		*part = plain_begin_part(r->p, true);
	(*part)->gap = true;
	(*part)->least += how == '+';
	return true;
}

static bool
plain_choice(struct plain_reader *r)
{
	struct pattern_plain *p = r->p;
	struct plain_choice *choice = &p->choices[p->n_choices++];
	struct plain_part *part;
	bool begin = r->whole;

	*choice = (struct plain_choice){.first = p->n_parts, .end = r->whole};
	if (r->at < r->end && *r->at == '^') {
		begin = true;
		r->at++;
	}
	part = plain_begin_part(p, !begin);
	while (r->at < r->end && *r->at != '|') {
		char c;

		if (*r->at == '$' && (r->at + 1 == r->end ||
		    r->at[1] == '|')) {
			choice->end = true;
			r->at++;
		} else if (*r->at == '.') {
			if (!plain_gap(r, &part))
				return false;
		} else if ((c = plain_char(r)) != '\0') {
			p->texts[p->n_texts++] = c;
			part->n++;
		} else {
			return false;
		}
	}
	if (part->n > 0)
		plain_begin_part(p, false);
	choice->n = p->n_parts - choice->first;
	return true;
}

static bool
plain_read(struct plain_reader *r)
{
	bool fine = plain_choice(r);

	while (fine && r->at < r->end) {
		r->at++; /* the bar */
		fine = plain_choice(r);
	}
	return fine;
}

struct pattern_plain *
pattern_plain_new(const char *text, size_t n, bool whole)
{
	struct pattern_plain *p = calloc(1, sizeof(*p));
	struct plain_reader r = {p, text, text + n, whole};

	/* what stands for a byte that is not UTF-8 would match that */
	if (p == NULL || memmem(text, n, "\xef\xbf\xbd", 3) != NULL) {
		free(p);
		return NULL;
	}
	p->texts = malloc(n + 1);
	p->parts = calloc(2 * n + 3, sizeof(*p->parts));
	p->choices = calloc(n + 2, sizeof(*p->choices));
	if (p->texts == NULL || p->parts == NULL || p->choices == NULL ||
	    !plain_read(&r)) {
		pattern_plain_free(p);
		return NULL;
	}
	return p;
}

/* ---- matching ---- */

/* Where so many characters end, or NULL: there are not that many. */
static const char *
plain_skip(const char *at, const char *end, size_t n)
{
	for (; n > 0; n--) {
		size_t len;

		if (at == end)
			return NULL;
		len = text_utf8(at, (size_t)(end - at));
		at += len > 0 ? len : 1;
	}
	return at;
}

/* Where the part ends that begins at `at` or behind it, or NULL. */
static const char *
plain_find(const struct plain_part *part, const char *at, const char *end)
{
	at = plain_skip(at, end, part->least);
	if (at == NULL || (size_t)(end - at) < part->n)
		return NULL;
	if (part->gap)
		at = memmem(at, (size_t)(end - at), part->text, part->n);
	else if (memcmp(at, part->text, part->n) != 0)
		at = NULL;
	return at != NULL ? at + part->n : NULL;
}

/* The last text, where nothing may stand behind it. */
static bool
plain_ends(const struct plain_part *part, const char *at, const char *end)
{
	at = plain_skip(at, end, part->least);
	return at != NULL && (size_t)(end - at) >= part->n &&
	    (part->gap || (size_t)(end - at) == part->n) &&
	    memcmp(end - part->n, part->text, part->n) == 0;
}

static bool
plain_match(const struct pattern_plain *p, const struct plain_choice *c,
    const char *at, const char *end)
{
	const struct plain_part *part = &p->parts[c->first];
	const struct plain_part *last = part + c->n - 1;

	for (; part < last; part++) {
		if (part + 1 == last && c->end && !last->gap)
			return plain_ends(part, at, end);
		if ((at = plain_find(part, at, end)) == NULL)
			return false;
	}
	at = plain_skip(at, end, last->least);
	return at != NULL && (!c->end || last->gap || at == end);
}

bool
pattern_plain_match(const struct pattern_plain *p, const char *text, size_t n)
{
	for (size_t i = 0; i < p->n_choices; i++) {
		if (plain_match(p, &p->choices[i], text, text + n))
			return true;
	}
	return false;
}
