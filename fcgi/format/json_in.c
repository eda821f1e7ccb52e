/* Reads JSON (RFC 8259) from memory. */
#include "fcgi/format/json_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"

struct json_in
json_in_of(const void *data, size_t n)
{
	return (struct json_in){.start = data, .p = data,
	    .end = (const char *)data + n};
}

char
json_in_peek(struct json_in *j)
{
	while (!j->bad && j->p < j->end && (*j->p == ' ' || *j->p == '\n' ||
	    *j->p == '\r' || *j->p == '\t'))
		j->p++;
	return j->bad || j->p == j->end ? '\0' : *j->p;
}

/* Passes a character; false, and bad, where another one stands. */
static bool
take(struct json_in *j, char c)
{
	if (json_in_peek(j) != c || c == '\0') {
		j->bad = true;
		return false;
	}
	j->p++;
	return true;
}

bool
json_in_open(struct json_in *j, char bracket)
{
	j->first = true;
	return take(j, bracket);
}

/* Is there more before the closing bracket? */
static bool
more(struct json_in *j, char bracket)
{
	bool first = j->first;

	j->first = false;
	if (json_in_peek(j) == bracket) {
		j->p++;
		return false;
	}
	return first ? json_in_peek(j) != '\0' || !(j->bad = true)
	    : take(j, ',');
}

bool
json_in_item(struct json_in *j)
{
	return more(j, ']');
}

bool
json_in_member(struct json_in *j, struct buf *key)
{
	if (!more(j, '}'))
		return false;
	json_in_string(j, key);
	return take(j, ':');
}

bool
json_in_is(const struct buf *s, const char *text)
{
	return s->len == strlen(text) && memcmp(s->data, text, s->len) == 0;
}

/* ---- strings ---- */

static bool
take_hex4(struct json_in *j, uint32_t *v)
{
	*v = 0;
	if (j->end - j->p < 4)
		return false;
	for (unsigned i = 0; i < 4; i++) {
		unsigned c = (unsigned char)*j->p++, digit = c - '0';

		if (digit > 9) {
			digit = (c | 0x20) - 'a' + 10;
			if (digit < 10 || digit > 15)
				return false;
		}
		*v = *v << 4 | digit;
	}
	return true;
}

static void
put_utf8(struct buf *out, uint32_t v)
{
	if (v < 0x80) {
		buf_put_u8(out, (uint8_t)v);
	} else if (v < 0x800) {
		buf_put_u8(out, (uint8_t)(0xc0 | v >> 6));
		buf_put_u8(out, (uint8_t)(0x80 | (v & 63)));
	} else if (v < 0x10000) {
		buf_put_u8(out, (uint8_t)(0xe0 | v >> 12));
		buf_put_u8(out, (uint8_t)(0x80 | (v >> 6 & 63)));
		buf_put_u8(out, (uint8_t)(0x80 | (v & 63)));
	} else {
		buf_put_u8(out, (uint8_t)(0xf0 | v >> 18));
		buf_put_u8(out, (uint8_t)(0x80 | (v >> 12 & 63)));
		buf_put_u8(out, (uint8_t)(0x80 | (v >> 6 & 63)));
		buf_put_u8(out, (uint8_t)(0x80 | (v & 63)));
	}
}

/* What follows "\u": one half of a pair without the other is U+FFFD. */
static bool
take_unicode(struct json_in *j, struct buf *out)
{
	uint32_t v, low;

	if (!take_hex4(j, &v))
		return false;
	if (v >= 0xd800 && v < 0xdc00 && j->end - j->p >= 6 &&
	    j->p[0] == '\\' && j->p[1] == 'u') {
		j->p += 2;
		if (!take_hex4(j, &low))
			return false;
		v = low >= 0xdc00 && low < 0xe000
		    ? 0x10000 + ((v & 0x3ff) << 10 | (low & 0x3ff)) : 0xfffd;
	}
	put_utf8(out, (v >= 0xd800 && v < 0xe000) || v == 0 ? 0xfffd : v);
	return true;
}

static bool
take_escape(struct json_in *j, struct buf *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (j->p == j->end)
		return false;
	if (*j->p == 'u') {
		j->p++;
		return take_unicode(j, out);
	}
	at = *j->p == '\0' ? NULL : strchr(from, *j->p);
	if (at == NULL)
		return false;
	buf_put_u8(out, (uint8_t)to[at - from]);
	j->p++;
	return true;
}

void
json_in_string(struct json_in *j, struct buf *out)
{
	buf_clear(out);
	if (!take(j, '"'))
		return;
	while (j->p < j->end && *j->p != '"') {
		const char *run = j->p;

		while (j->p < j->end && *j->p != '"' && *j->p != '\\' &&
		    (unsigned char)*j->p >= 0x20)
			j->p++;
		buf_put(out, run, (size_t)(j->p - run));
		if (j->p == j->end || *j->p == '"')
			break;
		if (*j->p++ != '\\' || !take_escape(j, out)) {
			j->bad = true;
			return;
		}
	}
	if (out->failed)
		j->bad = j->nomem = true;
	take(j, '"');
}

/* ---- numbers ---- */

void
json_in_number(struct json_in *j, double *v)
{
	char text[64], *end;
	size_t n = 0;

	*v = 0;
	json_in_peek(j);
	while (j->p + n < j->end && n < sizeof(text) - 1 &&
	    strchr("+-.0123456789eE", j->p[n]) != NULL && j->p[n] != '\0') {
		text[n] = j->p[n];
		n++;
	}
	text[n] = '\0';
	if (j->bad || n == 0 || (text[0] != '-' &&
	    (text[0] < '0' || text[0] > '9'))) {
		j->bad = true;
		return;
	}
	*v = strtod(text, &end);
	if (*end != '\0' || !isfinite(*v))
		j->bad = true;
	else
		j->p += n;
}

void
json_in_index(struct json_in *j, size_t *v)
{
	double d;

	*v = 0;
	json_in_number(j, &d);
	if (d < 0 || d > 0x1p53 || d != floor(d))
		j->bad = true;
	else
		*v = (size_t)d;
}

/* ---- what is passed over ---- */

static void
skip_word(struct json_in *j)
{
	static const char *const words[] = {"true", "false", "null"};

	for (unsigned i = 0; i < 3; i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(j->end - j->p) >= n &&
		    memcmp(j->p, words[i], n) == 0) {
			j->p += n;
			return;
		}
	}
	j->bad = true;
}

static void
skip_string(struct json_in *j)
{
	for (j->p++; j->p < j->end && *j->p != '"'; j->p++) {
		if (*j->p == '\\' && j->p + 1 < j->end)
			j->p++;
	}
	take(j, '"');
}

static void
skip_deep(struct json_in *j, unsigned depth)
{
	char c = json_in_peek(j);
	double v;

	if (c == '"') {
		skip_string(j);
	} else if ((c == '{' || c == '[') && depth < JSON_IN_DEPTH) {
		json_in_open(j, c);
		while (more(j, c == '{' ? '}' : ']')) {
			if (c == '{') {
				if (json_in_peek(j) != '"') {
					j->bad = true;
					return;
				}
				skip_string(j);
				take(j, ':');
			}
			skip_deep(j, depth + 1);
		}
	} else if (c == '-' || (c >= '0' && c <= '9')) {
		json_in_number(j, &v);
	} else {
		skip_word(j);
	}
}

void
json_in_skip(struct json_in *j)
{
	skip_deep(j, 0);
}

bool
json_in_find(struct json_in object, const char *member,
    struct json_in *value)
{
	struct buf key = {0};
	bool found = false;

	if (json_in_peek(&object) == '{' && json_in_open(&object, '{'))
		while (!found && json_in_member(&object, &key)) {
			found = json_in_is(&key, member);
			if (!found)
				json_in_skip(&object);
		}
	buf_fini(&key);
	*value = object;
	return found && !object.bad;
}

void
json_in_find_string(struct json_in object, const char *member,
    struct buf *out)
{
	struct json_in value;

	buf_clear(out);
	if (json_in_find(object, member, &value) &&
	    json_in_peek(&value) == '"')
		json_in_string(&value, out);
}

bool
json_in_head(struct json_in array, struct json_in *value)
{
	bool found = json_in_peek(&array) == '[' &&
	    json_in_open(&array, '[') && json_in_item(&array);

	*value = array;
	return found && !array.bad;
}

const struct err *
json_in_error(const struct json_in *j)
{
	if (!j->bad)
		return NULL;
	if (j->nomem)
		return err_nomem();
	return err_new(ERR_FORMAT, (int)(j->p - j->start),
	    "no such JSON as was expected at byte %zu",
	    (size_t)(j->p - j->start));
}
