/*
 * Whether somebody still waits for what is being computed.  A worker's signal
 * handler tells (fcgi/watch.h); work that takes long asks, between two steps
 * that leave everything in order:
 *
 *	for (i = 0; i < n && (e = gone_check()) == NULL; i++)
 *
 * In other programs somebody always does.
 */
#ifndef STORE_BASE_GONE_H
#define STORE_BASE_GONE_H

#include <stdbool.h>

struct err;

bool gone(void);

/* ERR_REQUEST 499, which nobody will read, or NULL. */
const struct err *gone_check(void);

/* Safe in a signal handler. */
void gone_set(bool is);

#endif
