/*
 * Resident memory by kind against what the kernel says of each mapping, of a
 * process that holds known amounts and stands still; when the dear part of it
 * is read.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/process/pidstat.h"
#include "collector/procfs/procfs_groups.h"
#include "collector/procfs/procfs_process.h"
#include "collector/procfs/procfs_pss.h"
#include "tests/unit/test.h"

#define S INT64_C(1000000000)
#define MB (1 << 20)

/* Sums of smaps: the kind of each mapping is that of its inode. */
struct kinds {
	long long anonymous, resident, pss, swapped;
	int mappings;
};

static struct kinds
smaps_of(pid_t pid)
{
	struct kinds k = {0};
	char path[64], line[512];
	long long kb;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "Rss: %lld", &kb) == 1)
			k.resident += kb * 1024, k.mappings++;
		else if (sscanf(line, "Anonymous: %lld", &kb) == 1)
			k.anonymous += kb * 1024;
		else if (sscanf(line, "Pss: %lld", &kb) == 1)
			k.pss += kb * 1024;
		else if (sscanf(line, "Swap: %lld", &kb) == 1)
			k.swapped += kb * 1024;
	}
	if (f != NULL)
		fclose(f);
	return k;
}

/* It touches 8 MB of its own and 4 MB that are shared, and stands still. */
static pid_t
start_holder(void)
{
	int ready[2], byte = 0;
	pid_t pid;

	CHECK(pipe(ready) == 0);
	if ((pid = fork()) == 0) {
		char *own = mmap(NULL, 8 * MB, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		char *shared = mmap(NULL, 4 * MB, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		memset(own, 1, 8 * MB);
		memset(shared, 1, 4 * MB);
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static bool
near(long long got, long long want, long long by)
{
	if (llabs(got - want) <= by)
		return true;
	printf("# %lld, not %lld\n", got, want);
	return false;
}

TEST(kinds_of_memory_are_those_of_the_mappings)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY);
	struct group_reading r = {0};
	pid_t pid = start_holder();
	struct kinds k;
	const int64_t *level = r.level;

	procfs_process_details(proc, pid, &r);
	procfs_process_pss(proc, pid, &r);
	k = smaps_of(pid);
	CHECK((r.have_level & (1u << GROUP_ANONYMOUS | 1u << GROUP_FILE |
	    1u << GROUP_SHARED | 1u << GROUP_SWAPPED)) != 0);
	/* each CPU of the kernel's counters may hold some pages back */
	CHECK(near(level[GROUP_ANONYMOUS], k.anonymous, MB));
	CHECK(near(level[GROUP_ANONYMOUS] + level[GROUP_FILE] +
	    level[GROUP_SHARED], k.resident, MB));
	CHECK(level[GROUP_ANONYMOUS] >= 7 * MB);
	CHECK(near(level[GROUP_SHARED], 4 * MB, MB));
	CHECK(near(level[GROUP_SWAPPED], k.swapped, MB));
	if ((r.have_level >> GROUP_PROPORTIONAL & 1) != 0)
		CHECK(near(level[GROUP_PROPORTIONAL], k.pss,
		    1024 * k.mappings + 65536));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(proc);
}

/* It counted as one with 0 bytes, and spoilt the mean of a slot. */
TEST(what_has_ended_has_no_memory)
{
	struct group_reading r = {0};

	procfs_process_stat(&(struct pidstat){.state = 'Z', .threads = 1}, &r);
	CHECK_INT(r.have_level, 1u << GROUP_THREADS);
	procfs_process_stat(&(struct pidstat){.state = 'S', .threads = 1}, &r);
	CHECK((r.have_level >> GROUP_RESIDENT & 1) == 1);
}

/* How many of n processes were read at a reading. */
static int
read_of(struct procfs_pss *p, int64_t now_s, int n)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY), got = 0;

	procfs_pss_begin(p, now_s * S);
	for (int i = 0; i < n; i++) {
		struct group_reading r = {0};

		procfs_pss_read(p, proc, getpid(), &r);
		got += r.have_level != 0;
		CHECK_INT(r.proportional_ns, r.have_level != 0 ? now_s * S
		    : 0);
	}
	close(proc);
	return got;
}

TEST(each_is_read_once_a_minute_as_far_as_there_is_time)
{
	struct procfs_pss p = {0};
	int all = 0, before;

	if (access("/proc/self/smaps_rollup", R_OK) != 0)
		return;
	CHECK_INT(read_of(&p, 1000, 5), 0); /* nothing is paid for */
	for (int i = 1; i < 60 && all < 5; i++)
		all += read_of(&p, 1000 + i, 5);
	CHECK_INT(all, 5);
	CHECK_INT(read_of(&p, 1059, 5), 0); /* the minute is not over */
	CHECK(read_of(&p, 1061, 5) > 0);
	/* one that was dear: none before it is paid for */
	p.left_ns = -3 * S / PROCFS_PSS_PART;
	p.at = 2;
	before = (int)p.at;
	CHECK_INT(read_of(&p, 1063, 5), 0);
	CHECK_INT(p.at, before);
	while (p.at < 5 && all < 1000)
		all += read_of(&p, 1064 + all, 5);
	CHECK_INT(p.at, 5);
	/* the clock is set back */
	CHECK_INT(read_of(&p, 500, 5), 0);
	CHECK(read_of(&p, 561, 5) > 0);
}

int
main(void)
{
	RUN(kinds_of_memory_are_those_of_the_mappings);
	RUN(what_has_ended_has_no_memory);
	RUN(each_is_read_once_a_minute_as_far_as_there_is_time);
	return test_done();
}
