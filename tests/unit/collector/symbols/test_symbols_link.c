/*
 * Who frees a link leaves no child behind, dead or alive.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/symbols/symbols_link.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "tests/unit/test.h"

#define LINKS 12 /* more than may be left lying */

static void
answer(void *arg, const struct link_request *q, const struct wire_reply *r,
    const uint8_t *p, size_t n, int fd)
{
	(void)arg, (void)q, (void)r, (void)p, (void)n, (void)fd;
}

static void
lost(void *arg, const struct link_request *q, bool guilty)
{
	(void)arg, (void)q, (void)guilty;
}

/* How many children there are yet, and gathers the dead. */
static int
children(void)
{
	int n = 0;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		n++;
	return errno == ECHILD ? n : n + 1;
}

TEST(freed_links_leave_no_child)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct symbols_link *l;

	for (int i = 0; i < LINKS; i++) {
		CHECK_OK(symbols_link_new(&l, epoll, answer, lost, NULL));
		if (i % 2 == 0)
			symbols_link_pump(l, clock_mono_ns());
		symbols_link_free(l);
	}
	CHECK_INT(children(), 0);
	close(epoll);
}

int
main(void)
{
	log_init("test_symbols_link", LOG_L_ERR);
	RUN(freed_links_leave_no_child);
	return test_done();
}
