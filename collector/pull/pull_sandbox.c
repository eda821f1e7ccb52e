/*
 * As around the symbols child, but for what names need: files are opened, to
 * be read alone.  Other system calls fail.
 */
#include "collector/pull/pull_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define MEMORY_MAX (512u << 20) /* written to; files that are read are none */

static const int allowed[] = {
    SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(read), SCMP_SYS(pread64),
    SCMP_SYS(write), SCMP_SYS(close), SCMP_SYS(lseek), SCMP_SYS(munmap),
    SCMP_SYS(mremap), SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(futex),
    SCMP_SYS(getrandom), SCMP_SYS(sysinfo), SCMP_SYS(memfd_create),
    SCMP_SYS(fstat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(newfstatat),
    SCMP_SYS(statx), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    SCMP_SYS(access), SCMP_SYS(clock_gettime), SCMP_SYS(getpid),
    SCMP_SYS(gettid), SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigaction), SCMP_SYS(sigaltstack), SCMP_SYS(sched_yield),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(exit), SCMP_SYS(exit_group)};

/* Allowed as long as their third argument has none of these bits. */
static const struct {
	int call;
	uint64_t bits;
} allowed_without[] = {
    {SCMP_SYS(mmap), PROT_EXEC},
    {SCMP_SYS(mprotect), PROT_EXEC},
    {SCMP_SYS(openat), O_ACCMODE | O_CREAT | O_TRUNC},
};

/* Nothing of the scraper's but its words. */
static bool
sandbox_descriptors(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		return false;
	if (socket > 3 && close_range(3, (unsigned)socket - 1, 0) != 0)
		return false;
	return close_range((unsigned)socket + 1, ~0u, 0) == 0;
}

static bool
sandbox_signals(int socket)
{
	sigset_t none;

	(void)socket;
	sigemptyset(&none);
	signal(SIGINT, SIG_IGN); /* of the scraper's terminal */
	signal(SIGHUP, SIG_IGN);
	return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

static bool
sandbox_limits(int socket)
{
	struct rlimit memory = {MEMORY_MAX, MEMORY_MAX}, none = {0, 0};

	(void)socket;
#ifdef __SANITIZE_ADDRESS__
	memory.rlim_cur = memory.rlim_max = RLIM_INFINITY;
#endif
	return setrlimit(RLIMIT_DATA, &memory) == 0 &&
	    setrlimit(RLIMIT_CORE, &none) == 0 &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

static bool
sandbox_system_calls(int socket)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = 0;

	(void)socket;
	if (ctx == NULL)
		return false;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; i < sizeof(allowed_without) /
	    sizeof(allowed_without[0]); i++)
		r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW,
		    allowed_without[i].call, 1, SCMP_A2(SCMP_CMP_MASKED_EQ,
		    allowed_without[i].bits, 0));
	r |= seccomp_load(ctx);
	seccomp_release(ctx);
	return r == 0;
}

static const struct {
	const char *name;
	bool (*take)(int socket);
} steps[] = {
    {"descriptors", sandbox_descriptors},
    {"signals", sandbox_signals},
    {"limits", sandbox_limits},
    {"system calls", sandbox_system_calls},
};

bool
pull_sandbox_enter(int socket, const char **step)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		*step = steps[i].name;
		if (!steps[i].take(socket))
			return false;
	}
	return true;
}
