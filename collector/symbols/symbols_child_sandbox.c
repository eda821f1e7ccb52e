/*
 * The walls around the symbols child.  A fork inherits memory, descriptors,
 * signals and rights of the daemon; each step below takes one of them away.
 * The last one, the table of system calls, has no open, no socket, no fork
 * and no way to make memory executable.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector/symbols/symbols_child.h"

#define TITLE "memlensd: symbols" /* of the process */
#define COMM "memlens-symbols"    /* of its thread: 15 bytes */
#define MEMORY_MAX (384u << 20) /* beyond what the fork came with */
#define FILES_MAX 1024
#define ROWS_BYTES_MAX (128u << 20) /* of a memory file; opens no other */

/* Everything that serving needs; anything else ends the child. */
static const int allowed[] = {
    SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(pread64),
    SCMP_SYS(fstat), /* of what it was given: is it still the same? */
    /* ppoll where there is no poll; and when a debugger was there */
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(restart_syscall),
    SCMP_SYS(close), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(brk),
    SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(getrandom),
    SCMP_SYS(sysinfo), /* qsort asks how much memory there is */
    /* unwind rows go out in a memory file */
    SCMP_SYS(memfd_create), SCMP_SYS(write),
#ifdef __SANITIZE_ADDRESS__
    SCMP_SYS(sigaltstack), SCMP_SYS(sched_yield), SCMP_SYS(getpid),
    SCMP_SYS(gettid), SCMP_SYS(rt_sigprocmask), SCMP_SYS(prlimit64),
    SCMP_SYS(clock_gettime), /* its allocator, when it maps a region */
#endif
    SCMP_SYS(rt_sigreturn), SCMP_SYS(exit), SCMP_SYS(exit_group)};

/* Allowed as long as their third argument has no PROT_EXEC. */
static const int allowed_not_exec[] = {
    SCMP_SYS(mmap), SCMP_SYS(mprotect)};

/* The ring buffer and the like are shared with the daemon, and stay so
 * across a fork. */
static bool
sandbox_unmap_shared(int socket)
{
	uintptr_t start, end;
	char line[512], perms[5];
	FILE *f = fopen("/proc/self/maps", "re");

	(void)socket;
	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &start, &end,
		    perms) != 3 || perms[3] != 's')
			continue;
		munmap((char *)start, end - start);
	}
	fclose(f);
	return true;
}

/* ps shows the arguments' memory, which begins at argv[0]. */
static bool
sandbox_title(int socket)
{
	char old[4096];
	FILE *f = fopen("/proc/self/cmdline", "re");
	size_t n = f != NULL ? fread(old, 1, sizeof(old), f) : 0;

	(void)socket;
	if (f != NULL)
		fclose(f);
	prctl(PR_SET_NAME, COMM, 0, 0, 0);
	if (n > 1 && strcmp(old, program_invocation_name) == 0) {
		memset(program_invocation_name, 0, n);
		snprintf(program_invocation_name, n, "%s", TITLE);
	}
	return true;
}

/* Signals for the daemon's group are not for us: the end of the socket is. */
static bool
sandbox_signals(int socket)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	sigset_t none;
	size_t i;
	int s;

	(void)socket;
	for (s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* Leaves the socket, and nothing behind 0, 1 and 2. */
static bool
sandbox_descriptors(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fd;

	if (null < 0)
		return false;
	for (fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return false;
	if (socket > 3 && close_range(3, (unsigned)socket - 1, 0) != 0)
		return false;
	return close_range((unsigned)socket + 1, ~0u, 0) == 0;
}

static bool
sandbox_limit(int which, rlim_t n)
{
	struct rlimit now, limit;

	if (getrlimit(which, &now) != 0)
		return false;
	if (now.rlim_max != RLIM_INFINITY && n > now.rlim_max)
		n = now.rlim_max;
	limit = (struct rlimit){.rlim_cur = n, .rlim_max = n};
	return setrlimit(which, &limit) == 0;
}

static bool
sandbox_limits(int socket)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	(void)socket;
	if (f == NULL || fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f != NULL)
		fclose(f);
#ifndef __SANITIZE_ADDRESS__
	if (pages == 0 || !sandbox_limit(RLIMIT_AS,
	    pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_MAX))
		return false;
#endif
	return sandbox_limit(RLIMIT_NOFILE, FILES_MAX) &&
	    sandbox_limit(RLIMIT_CORE, 0) &&
	    sandbox_limit(RLIMIT_FSIZE, ROWS_BYTES_MAX);
}

static bool
sandbox_capabilities(int socket)
{
	cap_t none = cap_init();
	bool ok = none != NULL && cap_set_proc(none) == 0;

	(void)socket;
	cap_free(none);
	return ok && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

static bool
sandbox_system_calls(int socket)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	size_t i;
	int r = 0;

	(void)socket;
	if (ctx == NULL)
		return false;
	for (i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (i = 0; i < 2; i++)
		r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW,
		    allowed_not_exec[i], 1,
		    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	r |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
	    SCMP_A1(SCMP_CMP_EQ, F_ADD_SEALS));
	/* libdw asks what a file in memory is called, and takes no for an
	 * answer. */
	r |= seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EACCES),
	    SCMP_SYS(readlink), 0);
	r |= seccomp_load(ctx);
	seccomp_release(ctx);
	return r == 0;
}

static const struct {
	const char *name;
	bool (*take)(int socket);
} steps[] = {
    {"shared memory", sandbox_unmap_shared},
    {"title", sandbox_title},
    {"signals", sandbox_signals},
    {"descriptors", sandbox_descriptors},
    {"limits", sandbox_limits},
    {"capabilities", sandbox_capabilities},
    {"system calls", sandbox_system_calls},
};

bool
symbols_child_sandbox(int socket, const char **step)
{
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		*step = steps[i].name;
		if (!steps[i].take(socket))
			return false;
	}
	return true;
}
