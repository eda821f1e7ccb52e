/*
 * JSON in, value by value, without building a tree of it: files of any size
 * take no memory, and nothing is deeper than JSON_IN_DEPTH.
 *
 *	if (json_in_open(j, '{'))
 *		while (json_in_member(j, &key)) {
 *			if (json_in_is(&key, "at"))
 *				json_in_number(j, &at);
 *			else
 *				json_in_skip(j);
 *		}
 *
 * The first thing that is not as expected makes it `bad`, with the place,
 * after which nothing more is found: check once, at the end.
 */
#ifndef FCGI_FORMAT_JSON_IN_H
#define FCGI_FORMAT_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>

#include "store/base/buf.h"

#define JSON_IN_DEPTH 64

struct err;

/* A copy of it is a place to come back to. */
struct json_in {
	const char *start, *p, *end; /* borrowed */
	bool bad;
	bool first; /* no comma before the next item */
	bool nomem;
};

struct json_in json_in_of(const void *data, size_t n);

/* The first character of the value that follows; 0 at the end. */
char json_in_peek(struct json_in *j);

/* Enters an object or array; false, and bad, where it is none. */
bool json_in_open(struct json_in *j, char bracket);
/* Is there another item before the end of the array, which is passed? */
bool json_in_item(struct json_in *j);
/* The same of an object; its name replaces what `key` holds. */
bool json_in_member(struct json_in *j, struct buf *key);
/* Is a string this one? */
bool json_in_is(const struct buf *s, const char *text);

/* A string, decoded, replaces what `out` holds. */
void json_in_string(struct json_in *j, struct buf *out);
void json_in_number(struct json_in *j, double *v);
/* A whole number from 0 to 2^53. */
void json_in_index(struct json_in *j, size_t *v);
void json_in_skip(struct json_in *j);

/* The value of an object's member, to be read apart: `object` stays where it
 * is.  False when it has none, or is no object. */
bool json_in_find(struct json_in object, const char *member,
    struct json_in *value);
/* The same of a member that is a string; an empty one where there is none. */
void json_in_find_string(struct json_in object, const char *member,
    struct buf *out);
/* The value of a[0], where there is one. */
bool json_in_head(struct json_in array, struct json_in *value);

/* NULL, ERR_FORMAT with the byte offset, or ENOMEM. */
const struct err *json_in_error(const struct json_in *j);

#endif
