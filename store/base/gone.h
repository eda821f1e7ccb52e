/*
 * Whether what is being computed is still of use: its client may have gone,
 * or the time for it may be over.  Signal handlers of a worker tell
 * (fcgi/server/watch.h, fcgi/server/serve.c); work that takes
 * long asks, between two steps that leave everything in order:
 *
 *	for (i = 0; i < n && (e = gone_check()) == NULL; i++)
 *
 * In other programs it always is.
 */
#ifndef STORE_BASE_GONE_H
#define STORE_BASE_GONE_H

#include <stdbool.h>

struct err;

enum gone_why {
	GONE_NOT,
	GONE_LATE,   /* an answer is still waited for, but not that one */
	GONE_CLIENT, /* nobody waits */
};

/* Either of them: the work is to end. */
bool gone(void);
enum gone_why gone_why(void);

/* ERR_REQUEST 499, which nobody will read, or 503 that says it took too long;
 * NULL: go on. */
const struct err *gone_check(void);

/* Safe in a signal handler. */
void gone_set(enum gone_why why);

#endif
