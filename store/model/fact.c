/*
 * Facts, written and read: parts of a text that a blank, a tab or a colon
 * ends.
 */
#include "store/model/fact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- in a section ---- */

void
fact_put(struct buf *out, const struct fact *f)
{
	buf_put_zigzag(out, f->time_ns);
	buf_put_u8(out, f->kind);
	buf_put_varint(out, f->subject);
	buf_put_bytes(out, f->data, f->n);
}

void
fact_take(struct cur *c, struct fact *f)
{
	f->time_ns = cur_zigzag(c);
	f->kind = cur_u8(c);
	f->subject = cur_varint(c);
	f->data = cur_bytes(c, &f->n);
	if (f->data == NULL)
		c->bad = true;
}

/* ---- parts ---- */

struct fact_part
fact_part_of(const char *text)
{
	return (struct fact_part){text, strlen(text)};
}

bool
fact_part_is(struct fact_part a, struct fact_part b)
{
	return (a.p == NULL) == (b.p == NULL) && a.n == b.n &&
	    (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

void
fact_part_copy(struct fact_part part, char *out, size_t room)
{
	snprintf(out, room, "%.*s", (int)part.n, part.p != NULL ? part.p : "");
}

static void
fact_put_part(struct buf *out, struct fact_part part)
{
	buf_put(out, part.p, part.n);
}

static bool
fact_part_fine(struct fact_part part)
{
	return part.n == 0 || (memchr(part.p, '\t', part.n) == NULL &&
	    memchr(part.p, '\n', part.n) == NULL);
}

/* Takes the part before `end`; what is behind it stays in *text, which is
 * not there (p NULL) where the end does not come. */
static struct fact_part
fact_cut(struct fact_part *text, char end)
{
	const char *at = text->n > 0 ? memchr(text->p, end, text->n) : NULL;
	struct fact_part part = *text;

	if (at == NULL) {
		*text = (struct fact_part){NULL, 0};
		return part;
	}
	part.n = (size_t)(at - part.p);
	text->p = at + 1;
	text->n -= part.n + 1;
	return part;
}

/* A whole number in decimal, all of the part. */
static bool
fact_number(struct fact_part part, int64_t *v)
{
	bool negative = part.n > 0 && part.p[0] == '-';
	size_t i = negative;

	*v = 0;
	if (i == part.n)
		return false;
	for (; i < part.n; i++) {
		int digit = part.p[i] - '0';

		if (digit < 0 || digit > 9 ||
		    __builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, digit, v))
			return false;
	}
	if (negative)
		*v = -*v;
	return true;
}

/* ---- processes ---- */

void
fact_put_process(struct buf *out, const struct fact_process *p)
{
	buf_printf(out, "%" PRId64 " %" PRId64 " ", p->pid, p->started_ns);
	fact_put_part(out, p->comm);
	if (p->command.p == NULL)
		return;
	buf_put_u8(out, '\t');
	fact_put_part(out, p->command);
}

bool
fact_take_process(const void *data, size_t n, struct fact_process *p)
{
	struct fact_part rest = {data, n};

	*p = (struct fact_process){0};
	if (!fact_number(fact_cut(&rest, ' '), &p->pid) ||
	    !fact_number(fact_cut(&rest, ' '), &p->started_ns) ||
	    rest.p == NULL)
		return false;
	p->comm = fact_cut(&rest, '\t');
	p->command = rest;
	return true;
}

/* ---- sources ---- */

void
fact_put_source(struct buf *out, const struct fact_source *s)
{
	fact_put_part(out, s->state);
	if (s->why.n == 0)
		return;
	buf_put(out, ": ", 2);
	fact_put_part(out, s->why);
}

void
fact_take_source(const void *data, size_t n, struct fact_source *s)
{
	struct fact_part rest = {data, n};

	s->state = fact_cut(&rest, ':');
	for (; rest.n > 0 && *rest.p == ' '; rest.n--)
		rest.p++;
	s->why = rest;
}

/* ---- slots ---- */

void
fact_put_seen(struct buf *out, const struct fact_seen *s)
{
	buf_printf(out, "%" PRId64 " ", s->seen_ns);
	fact_put_part(out, s->type);
}

bool
fact_take_seen(const void *data, size_t n, struct fact_seen *s)
{
	s->type = (struct fact_part){data, n};
	return fact_number(fact_cut(&s->type, ' '), &s->seen_ns) &&
	    s->type.n > 0;
}

/* ---- places ---- */

bool
fact_put_place(struct buf *out, const struct fact_place *p)
{
	if (!fact_part_fine(p->file) || !fact_part_fine(p->module) ||
	    !fact_part_fine(p->build_id) || !fact_part_fine(p->service))
		return false;
	fact_put_part(out, p->file);
	buf_printf(out, ":%" PRId64 "%s\t", p->line, p->seen ? "+" : "");
	fact_put_part(out, p->module);
	buf_put_u8(out, '\t');
	fact_put_part(out, p->build_id);
	if (p->service.p != NULL) {
		buf_put_u8(out, '\t');
		fact_put_part(out, p->service);
	}
	return true;
}

bool
fact_take_line(struct fact_part at, struct fact_place *p)
{
	const char *colon = at.n > 0 ? memrchr(at.p, ':', at.n) : NULL;
	struct fact_part line;

	if (colon == NULL)
		return false;
	p->file = (struct fact_part){at.p, (size_t)(colon - at.p)};
	line = (struct fact_part){colon + 1, at.n - p->file.n - 1};
	p->seen = line.n > 0 && line.p[line.n - 1] == '+';
	line.n -= p->seen;
	return fact_number(line, &p->line);
}

bool
fact_take_place(const void *data, size_t n, struct fact_place *p)
{
	struct fact_part rest = {data, n};

	*p = (struct fact_place){0};
	if (!fact_take_line(fact_cut(&rest, '\t'), p) || rest.p == NULL)
		return false;
	p->module = fact_cut(&rest, '\t');
	if (rest.p == NULL)
		return false;
	p->build_id = fact_cut(&rest, '\t');
	p->service = rest;
	return true;
}
