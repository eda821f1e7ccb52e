/*
 * Text out: JSON and XML written straight into a buffer, with numbers that
 * are exact.  Answers with tens of thousands of nodes are made here in
 * milliseconds; small answers use it too, so that numbers and strings look
 * the same everywhere.
 *
 * Commas are put by themselves.  Nesting is the caller's business: every
 * writer_open() needs its writer_close(), every key a value.
 *
 * Strings may hold any bytes: what is not UTF-8, and what XML cannot hold,
 * becomes U+FFFD, so that the answer is always well-formed.  What acts on
 * who shows it (text.h) is escaped: JSON's strings are the same, XML has
 * \u202e as text.
 */
#ifndef FCGI_FORMAT_WRITER_H
#define FCGI_FORMAT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct writer {
	struct buf *out; /* borrowed; its `failed` tells of a lack of memory */
	bool comma;      /* the next value needs one before it */
};

struct writer writer_of(struct buf *out);

/* '{' or '['; and the bracket that closes it. */
void writer_open(struct writer *w, char bracket);
void writer_close(struct writer *w, char bracket);
/* The name of the member that follows; plain ASCII without quotes. */
void writer_key(struct writer *w, const char *key);
/* A name that comes from outside. */
void writer_key_any(struct writer *w, const char *key);

void writer_null(struct writer *w);
void writer_bool(struct writer *w, bool v);
void writer_int(struct writer *w, int64_t v);
void writer_int128(struct writer *w, int128 v);
void writer_str(struct writer *w, const char *s);
void writer_strn(struct writer *w, const char *s, size_t n);
/* Ready JSON, as it is. */
void writer_raw(struct writer *w, const char *json, size_t n);

/* A member: its name, and its value or the bracket that opens it. */
void writer_key_open(struct writer *w, const char *key, char bracket);
void writer_key_int(struct writer *w, const char *key, int64_t v);
void writer_key_int128(struct writer *w, const char *key, int128 v);
void writer_key_str(struct writer *w, const char *key, const char *s);
void writer_key_seconds(struct writer *w, const char *key, int64_t ns);

/* value / 10^scale, all its digits and no more. */
void writer_decimal(struct writer *w, int128 value, unsigned scale);
/* num / den / 10^scale, at most 17 significant digits, rounded half up
 * (away from zero); exact where that is shorter.  den > 0; a negative scale
 * multiplies. */
void writer_quotient(struct writer *w, int128 num, uint128 den, int scale);
/* Nanoseconds as seconds. */
void writer_seconds(struct writer *w, int64_t ns);

/* The digits alone, without JSON's commas, for other formats. */
void writer_put_int(struct buf *out, int128 v);
void writer_put_decimal(struct buf *out, int128 value, unsigned scale);
/* With thousands separated: 1,234,567. */
void writer_put_grouped(struct buf *out, int128 v);

/* Text for XML content and attribute values. */
void writer_put_xml(struct buf *out, const char *s, size_t n);

/* Is all of it UTF-8, as text.h has it? */
bool writer_utf8_valid(const char *s, size_t n);

#endif
