/*
 * Statuses, headers, ETags and error bodies: one place for all pages.
 */
#include "fcgi/server/respond.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/server/request.h"
#include "fcgi/server/version.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/store.h"

static const struct {
	int status;
	const char *reason, *error;
} statuses[] = {
    {200, "OK", "ok"},
    {304, "Not Modified", "not modified"},
    {400, "Bad Request", "bad request"},
    {403, "Forbidden", "not allowed here"},
    {404, "Not Found", "not found"},
    {405, "Method Not Allowed", "method not allowed"},
    {409, "Conflict", "conflict"},
    {413, "Content Too Large", "too large"},
    {414, "URI Too Long", "address too long"},
    {415, "Unsupported Media Type", "unsupported media type"},
    {422, "Unprocessable Content", "cannot be answered"},
    {429, "Too Many Requests", "too many requests"},
    {500, "Internal Server Error", "internal error"},
    {501, "Not Implemented", "not implemented"},
    {502, "Bad Gateway", "the target failed"},
    {503, "Service Unavailable", "not yet"},
    {504, "Gateway Timeout", "the target does not answer"},
    {507, "Insufficient Storage", "disk full"},
};

static size_t
response_find(int status)
{
	size_t n = sizeof(statuses) / sizeof(statuses[0]);

	for (size_t i = 0; i < n; i++)
		if (statuses[i].status == status)
			return i;
	return response_find(500);
}

/* "Not Found" for 404. */
static const char *
response_reason(int status)
{
	return statuses[response_find(status)].reason;
}

void
response_init(struct response *rs)
{
	*rs = (struct response){.status = 200, .type = TYPE_JSON};
}

void
response_fini(struct response *rs)
{
	buf_fini(&rs->partial);
	buf_fini(&rs->body);
}

/* Does a list of tags (`"a", W/"b"`, or `*`) hold ours?  A proxy that
 * compresses makes our tag a weak one. */
static bool
response_tag_listed(const char *list, const char *tag)
{
	const char *p;
	size_t n = strlen(tag);

	if (strcmp(list, "*") == 0)
		return true;
	for (p = list; (p = strstr(p, tag)) != NULL; p += n)
		if (p == list || p[-1] == ' ' || p[-1] == ',' || p[-1] == '/')
			return true;
	return false;
}

static uint64_t
response_hash(const struct request *rq, uint64_t seed)
{
	uint64_t h = hash64(seed, MEMLENS_VERSION, strlen(MEMLENS_VERSION));

	h = hash64(h, rq->path, strlen(rq->path));
	for (size_t i = 0; i < rq->n_params; i++) {
		const struct request_param *p = &rq->params[i];

		h = hash64(h, p->name, strlen(p->name));
		h = hash64(h, p->value, strlen(p->value));
	}
	return h;
}

bool
response_unchanged_tag(struct response *rs, const struct request *rq,
    uint64_t tag)
{
	uint64_t a = response_hash(rq, tag);

	snprintf(rs->etag, sizeof(rs->etag), "\"%016llx%016llx\"",
	    (unsigned long long)a,
	    (unsigned long long)response_hash(rq, ~tag));
	if (!response_tag_listed(rq->if_none_match, rs->etag))
		return false;
	rs->status = 304;
	return true;
}

bool
response_unchanged(struct response *rs, const struct request *rq,
    const struct store *s, int64_t from_ns, int64_t until_ns)
{
	bool closed = false;
	uint64_t tag = store_tag(s, from_ns, until_ns, &closed);

	if (!closed || until_ns >= rq->now_ns)
		return false;
	tag = hash64_u64(hash64_u64(tag, (uint64_t)from_ns),
	    (uint64_t)until_ns);
	return response_unchanged_tag(rs, rq, tag);
}

static int
response_status(const struct err *e)
{
	if (e->domain == ERR_REQUEST && e->code >= 400)
		return e->code;
	if (e->domain == ERR_LIMIT)
		return e->code >= 400 ? e->code : 413;
	return e->domain == ERR_ERRNO && e->code == EAGAIN ? 503 : 500;
}

void
response_error(struct response *rs, const struct err *e)
{
	struct writer w = writer_of(&rs->body);
	size_t i = response_find(response_status(e));

	buf_clear(&rs->body);
	buf_clear(&rs->partial);
	rs->status = statuses[i].status;
	rs->type = TYPE_JSON;
	rs->etag[0] = '\0';
	rs->file[0] = '\0';
	rs->scripted = false;
	if (rs->status == 503 && rs->retry_after_s == 0)
		rs->retry_after_s = 5;
	writer_open(&w, '{');
	writer_key_str(&w, "error", statuses[i].error);
	writer_key(&w, "field");
	if (e->field[0] != '\0')
		writer_str(&w, e->field);
	else
		writer_null(&w);
	writer_key_str(&w, "detail", e->text);
	writer_close(&w, '}');
	buf_put_u8(&rs->body, '\n');
}

/* A picture may run its own script and nothing else, a page hold one; what is
 * no document may do nothing. */
static const char *
response_policy(const struct response *rs)
{
	if (rs->scripted)
		return "default-src 'none'; style-src 'unsafe-inline'; "
		    "script-src 'unsafe-inline'; frame-src data:; "
		    "frame-ancestors 'self'";
	if (strcmp(rs->type, TYPE_SVG) == 0)
		return "default-src 'none'; style-src 'unsafe-inline'; "
		    "frame-ancestors 'self'";
	return "default-src 'none'; frame-ancestors 'none'";
}

void
response_unit(struct response *rs, const char *unit)
{
	snprintf(rs->unit, sizeof(rs->unit), "%s", unit);
	for (char *c = rs->unit; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && strchr("-./_", *c) == NULL)
			*c = '_';
}

void
response_range(struct response *rs, int64_t from_ns, int64_t until_ns)
{
	size_t n = strlen(rs->range);

	snprintf(rs->range + n, sizeof(rs->range) - n, "%s%lld-%lld",
	    n > 0 ? "; " : "", (long long)(from_ns / NS_PER_S),
	    (long long)((until_ns + NS_PER_S - 1) / NS_PER_S));
}

void
response_head(const struct response *rs, struct buf *out)
{
	buf_printf(out, "Status: %d %s\r\n", rs->status,
	    response_reason(rs->status));
	if (rs->status != 304)
		buf_printf(out, "Content-Type: %s\r\n"
		    "Content-Length: %zu\r\n", rs->type, rs->body.len);
	if (rs->etag[0] != '\0')
		buf_printf(out, "ETag: %s\r\nCache-Control: no-cache\r\n",
		    rs->etag);
	else
		buf_printf(out, "Cache-Control: no-store\r\n");
	if (rs->partial.len > 0)
		buf_printf(out, "MemLens-Partial: %.*s\r\n",
		    (int)rs->partial.len, (const char *)rs->partial.data);
	if (rs->allow != NULL)
		buf_printf(out, "Allow: %s\r\n", rs->allow);
	if (rs->file[0] != '\0' && rs->status != 304)
		buf_printf(out, "Content-Disposition: %s; "
		    "filename=\"%s\"\r\n", rs->shown ? "inline"
		    : "attachment", rs->file);
	if (rs->range[0] != '\0' && rs->status == 200)
		buf_printf(out, "MemLens-Range: %s\r\n", rs->range);
	if (rs->unit[0] != '\0' && rs->status == 200)
		buf_printf(out, "MemLens-Unit: %s\r\n", rs->unit);
	if (rs->retry_after_s > 0)
		buf_printf(out, "Retry-After: %d\r\n", rs->retry_after_s);
	buf_printf(out, "X-Content-Type-Options: nosniff\r\n"
	    "Content-Security-Policy: %s\r\n\r\n", response_policy(rs));
}
