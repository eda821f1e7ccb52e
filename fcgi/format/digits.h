/*
 * Decimal digits straight into memory: what the texts with a number in every
 * few bytes are made of.
 */
#ifndef FCGI_FORMAT_DIGITS_H
#define FCGI_FORMAT_DIGITS_H

#include <stdint.h>

#define DIGITS_U64 20 /* the most that there are */

/* Writes v at p, without a NUL; returns where it ends. */
char *digits_put(char *p, uint64_t v);

/* Writes v < 100 as two digits; returns where they end. */
char *digits_put_pair(char *p, unsigned v);

#endif
