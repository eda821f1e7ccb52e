/*
 * capget(2), capset(2) and prctl(2) straight, with numbers for capabilities
 * that are younger than the headers of the system that builds it.
 */
#include "collector/base/priv.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/readfile.h"
#include "store/base/err.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

static const struct priv_row {
	int cap;
	const char *name, *reason;
	int until; /* wanted only by kernels that do not know this one */
} priv_table[] = {
    {CAP_BPF, "CAP_BPF", "making BPF maps and loading the sampler", -1},
    {CAP_PERFMON, "CAP_PERFMON",
        "opening perf events for every process, tracing programs", -1},
    {CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
        "reading /proc/PID/io, maps, exe and fd of other users", -1},
    {CAP_SYSLOG, "CAP_SYSLOG",
        "addresses in /proc/kallsyms, to name kernel functions", -1},
    {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
        "opening profiled programs that only their owner may read", -1},
    {CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE",
        "following /proc/PID/map_files to programs that were replaced", -1},
    {CAP_SYS_ADMIN, "CAP_SYS_ADMIN",
        "BPF and perf events on kernels before 5.8, perf events where "
        "kernel.perf_event_paranoid is above 2", CAP_BPF},
};

#define PRIV_ROWS (sizeof(priv_table) / sizeof(priv_table[0]))

static bool
priv_known(int cap)
{
	return prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0;
}

/*
 * Debian's kernel knows a level above the upstream ones, which it also
 * starts with: opening a perf event then asks for CAP_SYS_ADMIN, and
 * CAP_PERFMON does not do.
 */
static bool
priv_paranoid(void)
{
	char text[16];

	return readfile_at(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid",
	    text, sizeof(text)) > 0 && atoi(text) > 2;
}

static bool
priv_row_wanted(const struct priv_row *r)
{
	if (!priv_known(r->cap))
		return false;
	if (r->cap == CAP_SYS_ADMIN && priv_paranoid())
		return true;
	return r->until < 0 || !priv_known(r->until);
}

uint64_t
priv_wanted(enum priv_use use)
{
	uint64_t set = 0;

	for (size_t i = 0; i < PRIV_ROWS && use == PRIV_LIVE; i++) {
		if (priv_row_wanted(&priv_table[i]))
			set |= UINT64_C(1) << priv_table[i].cap;
	}
	return set;
}

static const struct err *
priv_get(uint64_t *permitted)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d) != 0)
		return err_errno("capget");
	*permitted = (uint64_t)d[1].permitted << 32 | d[0].permitted;
	return NULL;
}

static const struct err *
priv_set(uint64_t set)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2] = {
	    {(uint32_t)set, (uint32_t)set, 0},
	    {(uint32_t)(set >> 32), (uint32_t)(set >> 32), 0}};

	if (syscall(SYS_capset, &h, d) != 0)
		return err_errno("capset");
	return NULL;
}

/* Takes the rest out of the bounding set, while CAP_SETPCAP lasts. */
static const struct err *
priv_bound(uint64_t set)
{
	for (int cap = 0; priv_known(cap); cap++) {
		if ((set >> cap & 1) == 0 &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			return err_errno("PR_CAPBSET_DROP");
	}
	return NULL;
}

const struct err *
priv_drop(enum priv_use use, uint64_t *missing)
{
	uint64_t wanted = priv_wanted(use), had = 0;
	const struct err *e;

	*missing = 0;
	if ((e = priv_get(&had)) != NULL)
		return e;
	*missing = wanted & ~had;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return err_errno("PR_SET_NO_NEW_PRIVS");
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if ((had >> CAP_SETPCAP & 1) != 0 &&
	    (e = priv_bound(wanted & had)) != NULL)
		return e;
	return priv_set(wanted & had);
}

static const struct priv_row *
priv_find(int cap)
{
	for (size_t i = 0; i < PRIV_ROWS; i++) {
		if (priv_table[i].cap == cap)
			return &priv_table[i];
	}
	return NULL;
}

const char *
priv_name(int cap)
{
	const struct priv_row *r = priv_find(cap);

	return r == NULL ? "?" : r->name;
}

const char *
priv_reason(int cap)
{
	const struct priv_row *r = priv_find(cap);

	return r == NULL ? "?" : r->reason;
}
