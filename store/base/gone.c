#include "gone.h"

#include "err.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t gone_now;

bool
gone(void)
{
	return gone_now != 0;
}

const struct err *
gone_check(void)
{
	return gone() ? err_new(ERR_REQUEST, 499, "nobody waits for it")
	    : NULL;
}

void
gone_set(bool is)
{
	gone_now = is;
}
