/*
 * What a control group leaves, of trees as both versions of the kernel's
 * interface have them; and which allocator mappings tell.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/process/process.h"
#include "collector/procfs/procfs_allocator.h"
#include "collector/procfs/procfs_groups.h"
#include "collector/procfs/procfs_limits.h"
#include "tests/unit/test.h"

#define MB (INT64_C(1) << 20)

static char root[] = "/tmp/memlens-test-XXXXXX";

static void
put(const char *path, const char *file, const char *text)
{
	char name[256], command[300];
	FILE *f;

	snprintf(command, sizeof(command), "mkdir -p %s/%s", root, path);
	CHECK_INT(system(command), 0);
	snprintf(name, sizeof(name), "%s/%s/%s", root, path, file);
	f = fopen(name, "w");
	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* Left of a control group; -1: nobody limits it. */
static int64_t
left(const char *cgroup)
{
	struct limits *l = limits_new(root);
	struct limit limit = {0, 0};
	bool any = limits_of(l, cgroup, &limit);

	limits_free(l);
	return any ? limit.left : -1;
}

TEST(the_tightest_limit_above_counts)
{
	put("db.slice", "memory.max", "1073741824\n");
	put("db.slice", "memory.current", "1048576000\n");
	put("db.slice", "memory.stat", "anon 1\ninactive_file 10485760\n"
	    "active_file 1048576\n");
	put("db.slice/db.service", "memory.max", "536870912\n");
	put("db.slice/db.service", "memory.current", "104857600\n");
	put("free.slice", "memory.max", "max\n");
	put("free.slice", "memory.current", "5\n");
	CHECK_INT(left("/db.slice/db.service"), 24 * MB + 11 * MB);
	CHECK_INT(left("/db.slice"), 35 * MB);
	CHECK_INT(left("/free.slice"), -1);
	CHECK_INT(left("/nosuch"), -1);
}

TEST(over_the_limit_nothing_is_left)
{
	put("over", "memory.max", "1000\n");
	put("over", "memory.current", "2000\n");
	CHECK_INT(left("/over"), 0);
}

TEST(version_1_says_the_same_in_other_words)
{
	put("memory/box", "memory.limit_in_bytes", "67108864\n");
	put("memory/box", "memory.usage_in_bytes", "33554432\n");
	put("memory/box", "memory.stat", "cache 1\ninactive_file 1\n"
	    "total_inactive_file 1048576\ntotal_active_file 0\n");
	put("memory/all", "memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/all", "memory.usage_in_bytes", "33554432\n");
	CHECK_INT(left("/box"), 33 * MB);
	CHECK_INT(left("/all"), -1);
}

TEST(a_path_that_leads_out_is_not_followed)
{
	put("inner", "memory.max", "5000\n");
	put("inner", "memory.current", "1000\n");
	CHECK_INT(left("/inner"), 4000);
	CHECK_INT(left("/x/../inner"), -1);
	CHECK_INT(left("/../inner"), -1);
	CHECK_INT(left("inner"), -1);
	CHECK_INT(left(""), -1);
}

/* ---- allocators ---- */

static enum allocator
of(const char *maps)
{
	FILE *f = fmemopen((void *)(uintptr_t)maps, strlen(maps), "r");
	enum allocator a = allocator_of_maps(f);

	fclose(f);
	return a;
}

#define LINE(path) "7f00-7f01 r-xp 0000 fe:01 42     " path "\n"

TEST(an_allocator_is_told_by_what_is_mapped)
{
	CHECK_INT(of(LINE("/usr/bin/db") LINE("/usr/lib/libc.so.6")),
	    ALLOCATOR_GLIBC);
	CHECK_INT(of(LINE("/usr/lib/libjemalloc.so.2")
	    LINE("/usr/lib/libc.so.6")), ALLOCATOR_JEMALLOC);
	CHECK_INT(of(LINE("/usr/lib/libc-2.31.so")
	    LINE("/opt/a b/libtcmalloc_minimal.so.4 (deleted)")),
	    ALLOCATOR_TCMALLOC);
	CHECK_INT(of(LINE("/lib/ld-musl-x86_64.so.1")), ALLOCATOR_MUSL);
	CHECK_INT(of(LINE("/usr/lib/x86_64-linux-musl/libc.so")),
	    ALLOCATOR_MUSL);
	CHECK_INT(of(LINE("/usr/bin/a-program") LINE("[heap]")
	    LINE("/usr/lib/notlibc.so.6") "no line"), ALLOCATOR_UNKNOWN);
	CHECK_INT(of(LINE("/usr/bin/a-program") LINE("[vdso]")),
	    ALLOCATOR_STATIC);
	CHECK_INT(of(LINE("[vdso]")), ALLOCATOR_UNKNOWN);
	CHECK_INT(of(LINE("/usr/bin/go-program")
	    "c000000000-c000400000 rw-p 00000000 00:00 0\n"
	    LINE("/usr/lib/libc.so.6")), ALLOCATOR_GO);
	CHECK_INT(of(LINE("/usr/bin/go-program")
	    "7f00-7f01 rw-p 00000000 00:00 0   [anon: Go: heap]\n"),
	    ALLOCATOR_GO);
	/* of 1.26 on it begins anywhere */
	CHECK_INT(of(LINE("/usr/bin/go-program")
	    "1a5d88000000-1a5d8b400000 ---p 00000000 00:00 0 \n"
	    "1a5d8b400000-1a5d8e000000 rw-p 00000000 00:00 0 \n"
	    "1a5d8e000000-1a5d90000000 ---p 00000000 00:00 0 \n"
	    LINE("/usr/lib/libc.so.6")), ALLOCATOR_GO);
	/* a browser's */
	CHECK_INT(of("1a5c00000000-1a5c04000000 rw-p 00000000 00:00 0 \n"
	    "1a5c04000000-1a6000000000 ---p 00000000 00:00 0 \n"
	    LINE("/usr/lib/libc.so.6")), ALLOCATOR_GLIBC);
	/* as glibc's arenas, which are beside libraries */
	CHECK_INT(of("7fba90000000-7fba90021000 rw-p 00000000 00:00 0 \n"
	    "7fba90021000-7fba94000000 ---p 00000000 00:00 0 \n"
	    LINE("/usr/lib/libc.so.6")), ALLOCATOR_GLIBC);
	CHECK_INT(of(LINE("/usr/lib/libc.so.6") LINE("/usr/lib/jvm/libjvm.so")
	    LINE("/usr/lib/libjemalloc.so.2")), ALLOCATOR_JAVA);
	CHECK_STR(allocator_name(ALLOCATOR_JEMALLOC), "jemalloc");
}

TEST(our_own_mappings_tell_our_own)
{
	FILE *f = fopen("/proc/self/maps", "r");

	CHECK(allocator_of_maps(f) >= ALLOCATOR_GLIBC);
	fclose(f);
}

/* Ourselves as a process of so many seconds, for one pass. */
static uint32_t
told(struct process *p, int64_t age_s, int left)
{
	struct allocator_pass pass = {left, age_s * 1000000000};
	struct group_reading r = {0};
	int proc = open("/proc", O_PATH | O_DIRECTORY);

	procfs_process_allocator(&pass, proc, p, &r);
	close(proc);
	return r.have_level;
}

TEST(a_process_is_read_once_for_each_program)
{
	struct process_read read = {0};
	struct process p = {.pid = getpid(), .read = &read};
	uint32_t any = ((1u << (ALLOCATORS - 1)) - 1) << GROUP_ALLOCATOR;

	CHECK_INT(told(&p, 1, 9), 0); /* the loader may be at work */
	CHECK_INT(told(&p, 5, 0), 0); /* others were read */
	CHECK((told(&p, 5, 9) & any) != 0);
	CHECK_INT(told(&p, 6, 9), 0);
	p.image++;
	CHECK((told(&p, 7, 9) & any) != 0);
}

int
main(void)
{
	char command[64];

	CHECK(mkdtemp(root) != NULL);
	RUN(the_tightest_limit_above_counts);
	RUN(over_the_limit_nothing_is_left);
	RUN(version_1_says_the_same_in_other_words);
	RUN(a_path_that_leads_out_is_not_followed);
	RUN(an_allocator_is_told_by_what_is_mapped);
	RUN(our_own_mappings_tell_our_own);
	RUN(a_process_is_read_once_for_each_program);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	CHECK_INT(system(command), 0);
	return test_done();
}
