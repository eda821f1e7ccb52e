/*
 * Rounds over all processes; time is that of this thread on the CPU.
 */
#include "collector/procfs/procfs_pss.h"

#include <time.h>

#include "collector/procfs/procfs_groups.h"
#include "collector/procfs/procfs_process.h"

static int64_t
pss_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void
procfs_pss_begin(struct procfs_pss *p, int64_t now_ns)
{
	int64_t since_ns = now_ns - p->last_ns;
	int64_t more_ns = since_ns / PROCFS_PSS_PART;

	if (since_ns < 0 || p->last_ns == 0)
		more_ns = 0;
	if (more_ns > PROCFS_PSS_EVERY_NS / PROCFS_PSS_PART)
		more_ns = PROCFS_PSS_EVERY_NS / PROCFS_PSS_PART;
	/* what was not needed is not saved up */
	p->left_ns = p->left_ns < 0 ? p->left_ns + more_ns : more_ns;
	/* all have been passed, and a minute: from the first again */
	if (p->at >= p->now && now_ns - p->round_ns >= PROCFS_PSS_EVERY_NS) {
		p->at = 0;
		p->round_ns = now_ns;
	} else if (now_ns < p->round_ns) {
		p->round_ns = now_ns; /* the clock was set back */
	}
	p->last_ns = now_ns;
	p->now = 0;
}

void
procfs_pss_read(struct procfs_pss *p, int proc_fd, int32_t pid,
    struct group_reading *r)
{
	int64_t began_ns;

	if (p->now++ != p->at || p->left_ns <= 0)
		return;
	began_ns = pss_cpu_ns();
	procfs_process_pss(proc_fd, pid, r);
	r->proportional_ns = p->last_ns;
	p->left_ns -= pss_cpu_ns() - began_ns;
	p->at++;
}
