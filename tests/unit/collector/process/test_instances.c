/*
 * Numbers of instances that listen nowhere, over a /proc that the test makes.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/process/instances.h"
#include "collector/process/process.h"
#include "store/base/clock.h"
#include "tests/unit/test.h"

static char proc[] = "/tmp/memlens-test-proc-XXXXXX";
static int proc_fd;
static struct instances *in;

struct started {
	struct process p;
	struct process_read read;
};

/* A process of that command line and working directory is named. */
static const char *
begin(struct started *s, int pid, const char *command, const char *cwd)
{
	char path[100];
	FILE *f;

	*s = (struct started){.p = {.pid = pid}, .read = {.service = "db"}};
	s->p.read = &s->read;
	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	CHECK_INT(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/%d/cmdline", proc, pid);
	f = fopen(path, "w");
	fprintf(f, "%s", command);
	fclose(f);
	snprintf(path, sizeof(path), "%s/%d/cwd", proc, pid);
	CHECK_INT(symlink(cwd, path), 0);
	instances_name(in, proc_fd, &s->p, NULL);
	return s->read.instance;
}

static void
end(struct started *s)
{
	instances_leave(in, &s->p);
}

/* The number of one that died was another's at once; two of one command line
 * were told by their order alone. */
TEST(numbers_are_told_by_folder_and_held)
{
	struct started a, b, c, d, e;

	in = instances_new();
	CHECK_STR(begin(&a, 10, "db", "/a"), "#1");
	CHECK_STR(begin(&b, 11, "db", "/b"), "#2");
	end(&a);
	end(&b);
	CHECK_STR(begin(&c, 12, "other", "/a"), "#3");
	CHECK_STR(begin(&d, 13, "db", "/b"), "#2");
	CHECK_STR(begin(&e, 14, "db", "/a"), "#1");
	CHECK_INT(e.read.number, 1);
	instances_free(in);
}

/* What lived for a moment holds no number: a program that is started again
 * and again with other arguments would have them all. */
TEST(a_moment_holds_no_number)
{
	struct started s;

	in = instances_new();
	for (int i = 0; i < 4; i++) {
		CHECK_STR(begin(&s, 20 + i, i % 2 ? "one" : "two", "/"), "#1");
		s.p.start_ns = (uint64_t)clock_boot_ns();
		end(&s);
	}
	instances_free(in);
}

/* Where all are held the one that was given up first is. */
TEST(the_first_given_up_goes_first)
{
	struct started all[INSTANCES_MAX], s;
	char command[16];

	in = instances_new();
	for (int i = 0; i < INSTANCES_MAX; i++) {
		snprintf(command, sizeof(command), "db %d", i);
		begin(&all[i], 100 + i, command, "/");
	}
	CHECK_STR(begin(&s, 200, "db more", "/"), INSTANCES_OTHER);
	CHECK_INT(s.read.number, 0);
	end(&s);
	end(&all[7]);
	end(&all[3]);
	CHECK_STR(begin(&s, 201, "db more", "/"), "#8");
	instances_free(in);
}

int
main(void)
{
	char command[64];
	int r;

	if (mkdtemp(proc) == NULL)
		return 1;
	proc_fd = open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC);
	RUN(numbers_are_told_by_folder_and_held);
	RUN(a_moment_holds_no_number);
	RUN(the_first_given_up_goes_first);
	snprintf(command, sizeof(command), "rm -rf %s", proc);
	r = system(command);
	(void)r;
	return test_done();
}
