/*
 * Two codecs and a table of codes.
 */
#include "fcgi/server/connect.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "fcgi/format/arena.h"
#include "fcgi/format/protojson.h"
#include "fcgi/format/writer.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/err.h"

#define TYPE_PROTO "application/proto"

static bool
connect_is(const struct request *rq, const char *type)
{
	size_t n = strlen(type);

	return strncasecmp(rq->content_type, type, n) == 0 &&
	    (rq->content_type[n] == '\0' || rq->content_type[n] == ';' ||
	    rq->content_type[n] == ' ');
}

const struct err *
connect_read(struct request *rq, struct arena *a,
    const ProtobufCMessageDescriptor *d, ProtobufCMessage **out)
{
	bool proto = connect_is(rq, TYPE_PROTO);
	const struct err *e;

	if (!proto && !connect_is(rq, TYPE_JSON))
		return err_new(ERR_REQUEST, 415, "Content-Type \"%.60s\": "
		    TYPE_PROTO " and " TYPE_JSON " are known",
		    rq->content_type);
	if ((e = request_unpack(rq)) != NULL)
		return e;
	if (!proto)
		return protojson_parse(a, d, rq->body.len > 0
		    ? (const char *)rq->body.data : "{}",
		    rq->body.len > 0 ? rq->body.len : 2, out);
	*out = protobuf_c_message_unpack(d, &a->allocator, rq->body.len,
	    rq->body.len > 0 ? rq->body.data : (const uint8_t *)"");
	if (*out != NULL)
		return NULL;
	if (a->over)
		return err_new(ERR_REQUEST, 413, "too large a message");
	return err_new(ERR_REQUEST, 400, "not a %s: protobuf does not parse",
	    d->short_name);
}

const struct err *
connect_write(const struct request *rq, struct response *rs,
    const ProtobufCMessage *m)
{
	struct writer w = writer_of(&rs->body);
	size_t n;

	if (!connect_is(rq, TYPE_PROTO)) {
		rs->type = TYPE_JSON;
		protojson_put(&w, m);
		return NULL;
	}
	rs->type = TYPE_PROTO;
	n = protobuf_c_message_get_packed_size(m);
	if (n > RESPONSE_BODY_MAX)
		return err_new(ERR_REQUEST, 413, "too large an answer");
	if (!buf_reserve(&rs->body, n + 1))
		return err_nomem();
	rs->body.len = protobuf_c_message_pack(m, rs->body.data);
	return NULL;
}

static const struct {
	int status, answer;
	const char *code;
} codes[] = { /* the last row: what is not known */
    {400, 400, "invalid_argument"},
    {403, 403, "permission_denied"},
    {404, 404, "not_found"},
    {413, 413, "resource_exhausted"},
    {415, 415, "invalid_argument"},
    {422, 400, "invalid_argument"},
    {429, 429, "resource_exhausted"},
    {501, 501, "unimplemented"},
    {503, 503, "unavailable"},
    {507, 507, "resource_exhausted"},
    {0, 500, "internal"},
};

/* Connect has no member for a field: the text begins with it. */
static void
connect_put_message(struct writer *w, const struct err *e)
{
	struct buf text = {0};

	buf_printf(&text, "%s%s%s", e->field, e->field[0] != '\0' ? ": " : "",
	    e->text);
	writer_strn(w, (const char *)text.data, text.len);
	w->out->failed |= text.failed;
	buf_fini(&text);
}

void
connect_error(struct response *rs, const struct err *e)
{
	struct writer w = writer_of(&rs->body);
	size_t i = 0, last = sizeof(codes) / sizeof(codes[0]) - 1;
	int status;

	response_error(rs, e); /* the status, and Retry-After */
	status = rs->status;
	while (i < last && codes[i].status != status)
		i++;
	buf_clear(&rs->body);
	rs->status = codes[i].answer;
	rs->type = TYPE_JSON;
	writer_open(&w, '{');
	writer_key_str(&w, "code", codes[i].code);
	writer_key(&w, "message");
	connect_put_message(&w, e);
	writer_close(&w, '}');
}
