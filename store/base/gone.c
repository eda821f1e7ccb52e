/*
 * One word that signal handlers write and work reads.
 */
#include "store/base/gone.h"

#include <signal.h>
#include <stddef.h>

#include "store/base/err.h"

static volatile sig_atomic_t gone_now;

bool
gone(void)
{
	return gone_now != GONE_NOT;
}

enum gone_why
gone_why(void)
{
	return (enum gone_why)gone_now;
}

const struct err *
gone_check(void)
{
	switch (gone_why()) {
	case GONE_CLIENT:
		return err_new(ERR_REQUEST, 499, "nobody waits for it");
	case GONE_LATE:
		return err_new(ERR_REQUEST, 503, "it took too long: ask for "
		    "less, or when less is asked for");
	default:
		return NULL;
	}
}

void
gone_set(enum gone_why why)
{
	gone_now = (sig_atomic_t)why;
}
