/*
 * RFC 7578 as agents use it: CRLF, no nesting, no transfer encoding.
 */
#include "fcgi/push/multipart.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "store/base/err.h"

static const struct err *
multipart_bad(const char *why)
{
	return err_new(ERR_REQUEST, 400, "multipart/form-data: %s", why);
}

const struct err *
multipart_begin(struct multipart *m, const char *content_type,
    const void *body, size_t n)
{
	const char *b = strcasestr(content_type, "boundary=");
	size_t len;

	if (b == NULL)
		return multipart_bad("no boundary in Content-Type");
	b += strlen("boundary=");
	len = *b == '"' ? strcspn(++b, "\"") : strcspn(b, "; \t");
	if (len == 0 || len > 70)
		return multipart_bad("a boundary has 1 to 70 characters");
	m->n_boundary = (size_t)snprintf(m->boundary, sizeof(m->boundary),
	    "--%.*s", (int)len, b);
	m->p = body;
	m->end = m->p + n;
	m->p = n > 0 ? memmem(m->p, n, m->boundary, m->n_boundary) : NULL;
	if (m->p == NULL)
		return multipart_bad("the boundary is not in the body");
	m->p += m->n_boundary;
	return NULL;
}

/* name="x" of a Content-Disposition line; filename= is another one. */
static void
multipart_take_name(struct multipart_part *part, const char *line,
    size_t n)
{
	static const char key[] = "name=\"";
	const char *end = line + n, *p = line, *quote;

	while ((p = memmem(p, (size_t)(end - p), key, 6)) != NULL) {
		if (p > line && (p[-1] == ' ' || p[-1] == ';'))
			break;
		p += 6;
	}
	if (p == NULL)
		return;
	p += 6;
	quote = memchr(p, '"', (size_t)(end - p));
	if (quote != NULL)
		snprintf(part->name, sizeof(part->name), "%.*s",
		    (int)((quote - p) < 60 ? quote - p : 60), p);
}

static const char *
multipart_headers(struct multipart *m, struct multipart_part *part)
{
	static const char header[] = "Content-Disposition:";
	const char *p = m->p;

	for (;;) {
		const char *eol = memmem(p, (size_t)(m->end - p), "\r\n", 2);

		if (eol == NULL)
			return NULL;
		if (eol == p)
			return p + 2;
		if ((size_t)(eol - p) > sizeof(header) &&
		    strncasecmp(p, header, sizeof(header) - 1) == 0)
			multipart_take_name(part, p, (size_t)(eol - p));
		p = eol + 2;
	}
}

const struct err *
multipart_next(struct multipart *m, struct multipart_part *part, bool *more)
{
	char mark[84];
	int n;

	*more = false;
	part->name[0] = '\0';
	if (m->end - m->p >= 2 && memcmp(m->p, "--", 2) == 0)
		return NULL;
	if (m->end - m->p < 2 || memcmp(m->p, "\r\n", 2) != 0)
		return multipart_bad("ends within a boundary");
	m->p += 2;
	part->data = multipart_headers(m, part);
	if (part->data == NULL)
		return multipart_bad("ends within the head of a part");
	n = snprintf(mark, sizeof(mark), "\r\n%s", m->boundary);
	m->p = memmem(part->data - 2, (size_t)(m->end - part->data) + 2, mark,
	    (size_t)n);
	if (m->p == NULL)
		return multipart_bad("ends within a part");
	part->n = m->p < part->data ? 0 : (size_t)(m->p - part->data);
	m->p += n;
	*more = true;
	return NULL;
}
