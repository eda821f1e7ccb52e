/*
 * Decimal digits straight into memory: what the texts with a number in every
 * few bytes are made of.
 */
#ifndef FCGI_FORMAT_DIGITS_H
#define FCGI_FORMAT_DIGITS_H

#include <stdint.h>

#include "store/base/buf.h"

#define DIGITS_U64 20     /* the most that there are */
#define DIGITS_GROUPED 53 /* of 128 bits, with commas and a sign */

/* Writes v at p, without a NUL; returns where it ends. */
char *digits_put(char *p, uint64_t v);

/* Writes v < 100 as two digits; returns where they end. */
char *digits_put_pair(char *p, unsigned v);

/* Digits with thousands apart: "-1,234". */
char *digits_put_grouped(char *p, int128 v);
/* v / 10^digits, 1 to 4 of them, zeros at the end dropped. */
char *digits_put_decimal(char *p, uint64_t v, unsigned digits);
/* part of whole as "12.34%". */
char *digits_put_percent(char *p, int128 part, int128 whole);

#endif
