/*
 * Amounts for people: what the number of a unit is called, where samples say
 * more than it does, and how bytes and time are written.
 *
 *	unit          with samples            without
 *	nanoseconds   1,234 samples, 12.46 s  12,460,000,000 ns, 12.46 s
 *	bytes         1.23 MB                 1.23 MB
 *	count         77 count                77 count
 *
 * What has a number in every few bytes is written through a pointer, into
 * room for AMOUNT_MAX bytes; nothing of it ends in a NUL.
 */
#ifndef FCGI_FORMAT_AMOUNT_H
#define FCGI_FORMAT_AMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct profile_samples;

#define AMOUNT_WORD_MAX 64
#define AMOUNT_MAX 128

struct amount {
	const char *word; /* behind the number: "samples", "ns", "count" */
	size_t n_word;
	bool time, bytes; /* what the unit is, and nobody calls it otherwise */
	bool counted;     /* the number is one of samples */
};

/* `called` is what a person calls the number, or NULL; `sampled`: samples are
 * known.  Borrows both texts. */
struct amount amount_of(const char *unit, const char *called, bool sampled);

char *amount_put_word(char *p, const struct amount *a);
/* "1.23 MB": three digits, or all of them where they are bytes. */
char *amount_put_bytes(char *p, int128 bytes);
/* "12.465 s", of what is not negative. */
char *amount_put_seconds(char *p, int128 ns);

/* "12.465 s, 1,234 samples", "1,234 samples", "77 bytes", all digits;
 * `samples` NULL: not known. */
void amount_put(struct buf *out, const char *unit, int128 v,
    const struct profile_samples *samples);

/* The unit of a column of whole numbers, "ms" for time, and how many of
 * `unit` are one of it. */
const char *amount_column(const char *unit, int64_t *divisor);

#endif
