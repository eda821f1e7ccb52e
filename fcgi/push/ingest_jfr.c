/*
 * The form, and gzip around its fields.
 */
#include "fcgi/push/ingest_jfr.h"

#include <string.h>

#include "fcgi/format/gzip.h"
#include "fcgi/format/jfr/jfr.h"
#include "fcgi/push/multipart.h"
#include "fcgi/server/request.h"
#include "store/base/buf.h"
#include "store/base/err.h"

#define LABELS_MAX (8u << 20)

struct field {
	const void *data; /* NULL: not there */
	size_t n;
	struct buf plain; /* of what was packed */
};

static const struct err *
field_take(struct field *f, const struct multipart_part *part, size_t max)
{
	const struct err *e = NULL;

	f->data = part->data;
	f->n = part->n;
	buf_clear(&f->plain);
	if (gzip_looks(part->data, part->n)) {
		e = gzip_inflate(&f->plain, part->data, part->n, max);
		f->data = f->plain.data;
		f->n = f->plain.len;
	}
	return e;
}

static const struct err *
form_read(struct field *jfr, struct field *labels, const char *form,
    const void *body, size_t n)
{
	struct multipart m;
	struct multipart_part part;
	const struct err *e = multipart_begin(&m, form, body, n);
	bool more = true;

	while (e == NULL &&
	    (e = multipart_next(&m, &part, &more)) == NULL && more) {
		if (strcmp(part.name, "jfr") == 0)
			e = field_take(jfr, &part, REQUEST_PLAIN_MAX);
		else if (strcmp(part.name, "labels") == 0)
			e = field_take(labels, &part, LABELS_MAX);
	}
	if (e == NULL && jfr->data == NULL)
		e = err_new(ERR_REQUEST, 400,
		    "multipart/form-data: no field \"jfr\"");
	return e;
}

const struct err *
ingest_jfr_body(struct stacks *s, const char *form, const void *body,
    size_t n, int64_t rate)
{
	struct field jfr = {.data = body, .n = n}, labels = {0};
	const struct err *e = NULL;
	struct jfr_options o = {.rate = rate};

	if (form != NULL) {
		jfr.data = NULL;
		e = form_read(&jfr, &labels, form, body, n);
	}
	o.labels = labels.data;
	o.n_labels = labels.n;
	if (e == NULL)
		e = jfr_parse_as(s, jfr.data, jfr.n, &o);
	buf_fini(&jfr.plain);
	buf_fini(&labels.plain);
	return e;
}
