/*
 * Starts a program as a service manager does that allows it some system calls
 * only: the others fail with EPERM.
 *
 *	filtered FILE PROGRAM [ARGUMENT...]
 *
 * FILE has a name a line; what this kernel's architecture has not is skipped.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static scmp_filter_ctx
filter_read(FILE *f)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	char name[64];
	unsigned n = 0;

	while (fscanf(f, "%63s", name) == 1) {
		int call = seccomp_syscall_resolve_name(name);

		if (call >= 0 &&
		    seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 0) == 0)
			n++;
	}
	return n > 100 ? ctx : NULL;
}

int
main(int argc, char **argv)
{
	FILE *f = argc > 2 ? fopen(argv[1], "re") : NULL;
	scmp_filter_ctx ctx = f != NULL ? filter_read(f) : NULL;

	if (ctx == NULL || seccomp_load(ctx) != 0) {
		fprintf(stderr, "filtered: no filter\n");
		return 2;
	}
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 2;
}
