/*
 * memlens verify: reads all of a store and says what is wrong.
 */
#include <stdio.h>
#include <unistd.h>

#include "fcgi/memlens/cmd.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/progress.h"
#include "store/check/repair.h"
#include "store/check/verify.h"

static void
verify_say(void *arg, const char *what, double done)
{
	struct progress *p = arg;

	if (what == NULL) {
		progress_show(p, clock_mono_ns(), done);
		return;
	}
	progress_end(p);
	fprintf(stderr, "memlens verify: %s\n", what);
}

/* No problem, but it takes room. */
static void
verify_aside(const char *dir)
{
	struct aside_report r;

	if (store_aside(dir, false, &r) == NULL && r.files > 0)
		printf("set aside as .old, since others hold the same: %llu "
		    "files, %llu bytes; memlens repair --clean deletes them\n",
		    (unsigned long long)r.files, (unsigned long long)r.bytes);
}

int
cmd_verify(int argc, char **argv)
{
	struct verify_report r;
	const struct err *e;
	struct progress p;

	if (argc != 2) {
		fprintf(stderr, "usage: memlens verify DIR\n");
		return 2;
	}
	progress_begin(&p, STDERR_FILENO, "memlens verify", clock_mono_ns());
	e = store_verify(argv[1], verify_say, &p, &r);
	progress_end(&p);
	if (e != NULL) {
		fprintf(stderr, "memlens verify: %s\n", e->text);
		return 1;
	}
	printf("%llu files, %llu blocks, %llu journals, %llu batches: ",
	    (unsigned long long)r.files, (unsigned long long)r.blocks,
	    (unsigned long long)r.journals, (unsigned long long)r.batches);
	if (r.problems == 0)
		printf("clean\n");
	else
		printf("%llu problems\n", (unsigned long long)r.problems);
	verify_aside(argv[1]);
	return r.problems != 0;
}
