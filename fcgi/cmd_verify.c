/*
 * memlens verify: reads all of a store and says what is wrong.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "store/base/err.h"
#include "store/verify.h"

/* A line that is written over, on a terminal, after the first second. */
struct progress {
	time_t began;
	int shown;
};

static void
verify_say(void *arg, const char *what, double done)
{
	struct progress *p = arg;

	if (what != NULL) {
		fprintf(stderr, "%smemlens verify: %s\n",
		    p->shown ? "\r\033[K" : "", what);
		p->shown = 0;
	} else if (isatty(STDERR_FILENO) && time(NULL) > p->began + 1) {
		fprintf(stderr, "\r%3.0f %%", done * 100);
		p->shown = 1;
	}
}

int
cmd_verify(int argc, char **argv)
{
	struct progress p = {time(NULL), 0};
	struct verify_report r;
	const struct err *e;

	if (argc != 2) {
		fprintf(stderr, "usage: memlens verify DIR\n");
		return 2;
	}
	e = store_verify(argv[1], verify_say, &p, &r);
	if (p.shown)
		fprintf(stderr, "\r\033[K");
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
	return r.problems != 0;
}
