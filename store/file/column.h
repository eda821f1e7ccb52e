/*
 * Some numbers as bytes, in the shortest of a few ways.
 *
 * A column of n numbers: u8 mode, then
 *	0  all equal: zigzag128
 *	1  zigzag128 each
 *	2  u8 power of ten, then zigzag of the differences as varints
 *	3  the same as nibbles, three bits each, least significant first,
 *	   high bit = more follow; low nibble of a byte first
 *	4, 5  as 2 and 3, of the numbers instead of the differences
 */
#ifndef STORE_COLUMN_H
#define STORE_COLUMN_H

#include "store/base/buf.h"

#define COLUMN_MOST 64 /* numbers */

/* n is 1 or more. */
void column_put(struct buf *out, const int128 *v, size_t n);
/* What is malformed makes the cursor bad. */
void column_take(struct cur *c, int128 *v, size_t n);

#endif
