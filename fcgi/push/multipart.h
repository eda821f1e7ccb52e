/*
 * multipart/form-data: the parts of a body, where they lie.
 */
#ifndef FCGI_MULTIPART_H
#define FCGI_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

struct err;

struct multipart {
	const char *p, *end;
	char boundary[80]; /* with the two dashes before it */
	size_t n_boundary;
};

struct multipart_part {
	char name[64];    /* of the field; cut where it is longer */
	const char *data; /* borrowed */
	size_t n;
};

/* Errors: ERR_REQUEST 400 for a Content-Type without a boundary, or a body
 * that does not begin with it. */
const struct err *multipart_begin(struct multipart *m,
    const char *content_type, const void *body, size_t n);

/* The next part; *more false when there is none.  Errors: ERR_REQUEST 400
 * for a body that ends within a part. */
const struct err *multipart_next(struct multipart *m,
    struct multipart_part *part, bool *more);

#endif
