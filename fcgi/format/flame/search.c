/*
 * A walk in pre-order: below a match nothing is looked at until the walk is
 * out of it again, so that no stack counts twice.
 */
#include "fcgi/format/flame/search.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flame.h"
#include "fcgi/format/flame/table.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/base/intern.h"
#include "store/base/pattern.h"

struct search {
	char *text; /* what is contained, or the expression */
	struct pattern *pattern; /* or NULL */
	struct map64 seen; /* a name's address -> does it match? */
};

/* Is it "/.../imsu"?  The slash that ends the expression, else NULL. */
static const char *
search_end(const char *text)
{
	const char *end = strrchr(text, '/');

	if (text[0] != '/' || end < text + 2 ||
	    end[1 + strspn(end + 1, "imsu")] != '\0')
		return NULL;
	return end;
}

/* A backslash that a browser reads as something else, or NULL. */
static const char *
search_foreign(const char *text)
{
	for (const char *at = text; *at != '\0'; at++) {
		if (*at != '\\')
			continue;
		if (isalpha((unsigned char)at[1]) &&
		    strchr("wWsSdDbBtnrf", at[1]) == NULL)
			return at;
		at += at[1] != '\0';
	}
	return NULL;
}

static const struct err *
search_compile(struct search *s, bool fold)
{
	const char *foreign = search_foreign(s->text);

	if (foreign != NULL)
		return err_field(ERR_REQUEST, 400, "search", "\"%.2s\" is not "
		    "known here: only \\w \\d \\s \\b", foreign);
	return pattern_new(&s->pattern, "search", s->text,
	    fold ? PATTERN_FOLD : 0);
}

const struct err *
search_new(struct search **out, const char *text)
{
	const char *end = search_end(text);
	const struct err *e = NULL;
	struct search *s;

	*out = NULL;
	if (strlen(text) > SEARCH_MAX)
		return err_field(ERR_REQUEST, 400, "search",
		    "is longer than %d bytes", SEARCH_MAX);
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_nomem();
	s->text = end == NULL ? strdup(text)
			      : strndup(text + 1, (size_t)(end - text) - 1);
	if (s->text == NULL)
		e = err_nomem();
	else if (end != NULL)
		e = search_compile(s, strchr(end, 'i') != NULL);
	if (e != NULL) {
		search_free(s);
		return e;
	}
	*out = s;
	return NULL;
}

void
search_free(struct search *s)
{
	if (s == NULL)
		return;
	pattern_free(s->pattern);
	map64_fini(&s->seen);
	free(s->text);
	free(s);
}

bool
search_test(struct search *s, const char *name)
{
	uint32_t known = map64_get(&s->seen, (uintptr_t)name);

	if (known == INTERN_NONE) {
		/* the C locale's strcasestr(): letters of ASCII */
		known = s->pattern != NULL
		    ? !gone() && pattern_match(s->pattern, name)
		    : strcasestr(name, s->text) != NULL;
		/* without memory it is matched each time */
		map64_add(&s->seen, (uintptr_t)name, known);
	}
	return known == 1;
}

const struct err *
search_check(const struct search *s)
{
	const struct err *e = gone_check();

	return e != NULL || s->pattern == NULL ? e : pattern_check(s->pattern);
}

void
search_flame(struct search *s, const struct flame *f, struct search_sum *out)
{
	uint32_t inside = 0; /* level of the open match; 0: none */
	struct profile_samples n;

	*out = (struct search_sum){.sampled = flame_samples(f, 0, &n)};

	for (size_t i = 1; i < f->n_frames; i++) {
		const struct flame_frame *frame = &f->frames[i];

		if (inside != 0 && frame->level > inside)
			continue;
		inside = 0;
		if (search_test(s, f->names[frame->name].text)) {
			flame_samples(f, i, &n);
			out->amount += frame->total;
			out->samples += n.total;
			out->unknown += n.total_unknown;
			inside = frame->level;
		}
	}
}

void
search_diff(struct search *s, const struct diff *d, int128 sum[2])
{
	uint32_t inside = 0;

	sum[DIFF_A] = sum[DIFF_B] = 0;
	for (size_t i = 1; i < d->tree.n_nodes; i++) {
		const struct profile_node *n = &d->tree.nodes[i];

		if (inside != 0 && n->depth > inside)
			continue;
		inside = 0;
		if (search_test(s, n->name)) {
			sum[DIFF_A] += d->sides[i].total[DIFF_A];
			sum[DIFF_B] += d->sides[i].total[DIFF_B];
			inside = n->depth;
		}
	}
}

void
search_table(struct search *s, struct table *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		if (search_test(s, t->rows[i].name))
			t->rows[n++] = t->rows[i];
	t->n_rows = n;
}
