/*
 * Capabilities: after priv_drop() the sets are exactly the table's.  Each
 * case drops in a child; without rights to begin with there is less to see.
 */
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/priv.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static uint64_t
status_mask(const char *key)
{
	char line[200];
	uint64_t mask = 1;
	FILE *f = fopen("/proc/self/status", "r");

	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, key, strlen(key)) == 0)
			mask = strtoull(line + strlen(key), NULL, 16);
	}
	fclose(f);
	return mask;
}

/* Drops and compares, in this process; the number of differences. */
static int
drop_and_compare(enum priv_use use)
{
	uint64_t had = status_mask("CapPrm:"), missing;
	uint64_t want = priv_wanted(use) & had;
	bool setpcap = (had >> CAP_SETPCAP & 1) != 0;
	const struct err *e = priv_drop(use, &missing);

	if (e != NULL) {
		printf("# %s\n", e->text);
		return 1;
	}
	return (status_mask("CapEff:") != want) +
	    (status_mask("CapPrm:") != want) +
	    (status_mask("CapInh:") != 0) + (status_mask("CapAmb:") != 0) +
	    (setpcap && status_mask("CapBnd:") != want) +
	    (status_mask("NoNewPrivs:") != 1) +
	    (missing != (priv_wanted(use) & ~had));
}

static int
in_child(int (*fn)(enum priv_use), enum priv_use use)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(fn(use));
	if (waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(live)
{
	CHECK_INT(in_child(drop_and_compare, PRIV_LIVE), 0);
}

TEST(replay)
{
	CHECK_INT(in_child(drop_and_compare, PRIV_REPLAY), 0);
	CHECK_INT(priv_wanted(PRIV_REPLAY), 0);
}

/* Whoever has none keeps none, and is told what is missing. */
static int
drop_without(enum priv_use use)
{
	uint64_t missing;

	if (priv_drop(PRIV_REPLAY, &missing) != NULL ||
	    priv_drop(use, &missing) != NULL)
		return 1;
	return missing != priv_wanted(use) || status_mask("CapEff:") != 0;
}

TEST(without_rights)
{
	CHECK_INT(in_child(drop_without, PRIV_LIVE), 0);
}

static bool
paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	int level = 0;

	if (f == NULL || fscanf(f, "%d", &level) != 1)
		level = 0;
	if (f != NULL)
		fclose(f);
	return level > 2;
}

/* On a kernel with CAP_BPF the big one is not asked for, unless the level of
 * Debian's own is set at which perf events need it. */
TEST(table)
{
	uint64_t set = priv_wanted(PRIV_LIVE);

	CHECK((set >> CAP_SYS_PTRACE & 1) != 0);
	CHECK(((set >> CAP_SYS_ADMIN & 1) != 0) ==
	    ((set >> 39 & 1) == 0 || paranoid()));
	for (int cap = 0; cap < 64; cap++) {
		if ((set >> cap & 1) == 0)
			continue;
		CHECK(strncmp(priv_name(cap), "CAP_", 4) == 0);
		CHECK(strlen(priv_reason(cap)) > 10);
	}
	CHECK_STR(priv_name(63), "?");
}

int
main(void)
{
	RUN(live);
	RUN(replay);
	RUN(without_rights);
	RUN(table);
	return test_done();
}
