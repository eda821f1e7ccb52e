/*
 * The k-th largest of some values.
 *
 *	int128 least = kth_largest(totals, n, 100);
 */
#ifndef STORE_BASE_KTH_H
#define STORE_BASE_KTH_H

#include <stddef.h>

#include "store/base/buf.h"

/* Of a[0..n), n > 0, k from 1 to n.  Reorders a; on average linear in n. */
int128 kth_largest(int128 *a, size_t n, size_t k);

#endif
