/*
 * A table of the system calls that libraries need to draw; they take no for
 * an answer, so that what is not in it fails and does not end the process.
 */
#include "fcgi/draw/walls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>

static const int allowed[] = {
    /* input, output, fonts and plugins */
    SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(write),
    SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(lseek), SCMP_SYS(fstat),
    SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(newfstatat), SCMP_SYS(statx),
    SCMP_SYS(statfs), SCMP_SYS(fstatfs), SCMP_SYS(access),
    SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink),
    SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(getcwd),
    SCMP_SYS(fcntl), SCMP_SYS(fadvise64), SCMP_SYS(poll), SCMP_SYS(ppoll),
    /* memory */
    SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap),
    SCMP_SYS(mprotect), SCMP_SYS(madvise),
    /* oneself */
    SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid),
    SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
    SCMP_SYS(getrusage), SCMP_SYS(sysinfo), SCMP_SYS(uname),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_yield),
    SCMP_SYS(clock_gettime), SCMP_SYS(getrandom), SCMP_SYS(prctl),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(tgkill),
    SCMP_SYS(exit), SCMP_SYS(exit_group),
    /* threads */
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
    SCMP_SYS(set_tid_address)};

#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC)

static int
walls_arguments(scmp_filter_ctx ctx)
{
	int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
	    SCMP_A1(SCMP_CMP_MASKED_EQ, WRITES, O_RDONLY));

	r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
	    SCMP_A2(SCMP_CMP_MASKED_EQ, WRITES, O_RDONLY));
	/* limits of one's own are looked at, not changed */
	r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
	    SCMP_A2(SCMP_CMP_EQ, 0));
	r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
	    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	/* whose arguments cannot be seen: the C library asks clone() then */
	r |= seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3),
	    0);
	return r;
}

bool
walls_enter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = 0;

	if (ctx == NULL)
		return false;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	r |= walls_arguments(ctx);
	if (r == 0) /* which takes the way to new rights as well */
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}
