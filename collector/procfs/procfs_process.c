/*
 * Reads /proc/PID/io, status, fd and smaps_rollup.  A file that may not be
 * read is no number, and not 0; a process that ends meanwhile is no error.
 */
#include "collector/procfs/procfs_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/readfile.h"
#include "collector/process/pidstat.h"
#include "collector/procfs/procfs_groups.h"
#include "store/base/clock.h"

static void
put_count(struct group_reading *r, enum group_count which, uint64_t value)
{
	r->count[which] = value;
	r->have_count |= 1u << which;
}

static void
put_level(struct group_reading *r, enum group_level which, int64_t value)
{
	r->level[which] = value;
	r->have_level |= 1u << which;
}

void
procfs_process_stat(const struct pidstat *s, struct group_reading *r)
{
	r->read_ns[GROUP_STAT] = s->read_ns;
	put_count(r, GROUP_USER, s->user_ticks);
	put_count(r, GROUP_SYSTEM, s->system_ticks);
	put_count(r, GROUP_MINOR_FAULTS, s->minor_faults);
	put_count(r, GROUP_MAJOR_FAULTS, s->major_faults);
	put_level(r, GROUP_THREADS, (int64_t)s->threads);
	if (s->state == 'Z') /* what has ended has no memory: not 0 of it */
		return;
	put_level(r, GROUP_VIRTUAL, (int64_t)s->virtual_bytes);
	put_level(r, GROUP_RESIDENT, (int64_t)s->resident_pages *
	    sysconf(_SC_PAGESIZE));
}

/* The number after "\nKEY" in the text. */
static bool
find_number(const char *text, const char *key, uint64_t *value)
{
	const char *p = strstr(text, key);

	if (p == NULL)
		return false;
	*value = strtoull(p + strlen(key), NULL, 10);
	return true;
}

/* False when reading is forbidden; a process that is gone is no matter. */
static bool
read_io(int proc_fd, int32_t pid, struct group_reading *r)
{
	char path[32], text[512];
	uint64_t value;

	snprintf(path, sizeof(path), "%d/io", pid);
	if (readfile_at(proc_fd, path, text, sizeof(text)) <= 0)
		return errno != EACCES && errno != EPERM;
	if (find_number(text, "\nread_bytes:", &value))
		put_count(r, GROUP_READ_BYTES, value);
	if (find_number(text, "\nwrite_bytes:", &value))
		put_count(r, GROUP_WRITE_BYTES, value);
	return true;
}

static void
read_status(int proc_fd, int32_t pid, struct group_reading *r)
{
	static const struct {
		const char *key;
		enum group_level which;
	} kilobytes[] = {{"\nRssAnon:", GROUP_ANONYMOUS},
	    {"\nRssFile:", GROUP_FILE}, {"\nRssShmem:", GROUP_SHARED},
	    {"\nVmSwap:", GROUP_SWAPPED}};
	char path[32], text[4096];
	uint64_t value;

	snprintf(path, sizeof(path), "%d/status", pid);
	if (readfile_at(proc_fd, path, text, sizeof(text)) <= 0)
		return;
	for (size_t i = 0; i < sizeof(kilobytes) / sizeof(kilobytes[0]); i++)
		if (find_number(text, kilobytes[i].key, &value))
			put_level(r, kilobytes[i].which,
			    (int64_t)value * 1024);
	if (find_number(text, "\nvoluntary_ctxt_switches:", &value))
		put_count(r, GROUP_VOLUNTARY, value);
	if (find_number(text, "\nnonvoluntary_ctxt_switches:", &value))
		put_count(r, GROUP_INVOLUNTARY, value);
}

void
procfs_process_pss(int proc_fd, int32_t pid, struct group_reading *r)
{
	char path[32], text[4096];
	uint64_t value;

	snprintf(path, sizeof(path), "%d/smaps_rollup", pid);
	if (readfile_at(proc_fd, path, text, sizeof(text)) > 0 &&
	    find_number(text, "\nPss:", &value))
		put_level(r, GROUP_PROPORTIONAL, (int64_t)value * 1024);
}

/* Before Linux 6.2 the folder's size is 0 and its entries must be counted. */
static void
read_fds(int proc_fd, int32_t pid, struct group_reading *r)
{
	struct stat st;
	char path[32];
	int64_t n = 0;
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "%d/fd", pid);
	if (fstatat(proc_fd, path, &st, 0) == 0 && st.st_size > 0) {
		put_level(r, GROUP_FDS, st.st_size);
		return;
	}
	fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return;
	}
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	put_level(r, GROUP_FDS, n > 2 ? n - 2 : 0);
}

bool
procfs_process_details(int proc_fd, int32_t pid, struct group_reading *r)
{
	bool allowed;

	r->read_ns[GROUP_DETAILS] = clock_wall_ns();
	allowed = read_io(proc_fd, pid, r);
	read_status(proc_fd, pid, r);
	read_fds(proc_fd, pid, r);
	return allowed;
}
