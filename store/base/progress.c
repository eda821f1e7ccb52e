/*
 * The clock is the caller's, so that tests can make a second pass.
 */
#include "store/base/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "store/base/clock.h"

void
progress_begin(struct progress *p, int fd, const char *what, int64_t now_ns)
{
	*p = (struct progress){what, isatty(fd) ? fd : -1, now_ns, 0, false};
}

void
progress_show(struct progress *p, int64_t now_ns, double share)
{
	int64_t spent_s = (now_ns - p->began_ns) / NS_PER_S;

	if (p->fd < 0 || spent_s < 1 ||
	    (p->shown && now_ns - p->shown_ns < 100 * NS_PER_MS))
		return;
	share = share < 0 ? 0 : share > 1 ? 1 : share;
	dprintf(p->fd, "\r%s: %3.0f %%, %d s\033[K", p->what, share * 100,
	    (int)spent_s);
	p->shown = true;
	p->shown_ns = now_ns;
}

void
progress_end(struct progress *p)
{
	if (p->shown)
		dprintf(p->fd, "\r\033[K");
	p->shown = false;
}
