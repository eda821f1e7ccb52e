/*
 * Files of another process, opened without being led out of its root.
 */
#include "collector/maps/mapping_open.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/maps/maps.h"

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* The pid, the place or the path may be another's by now. */
static int
mapping_check(int fd, const struct mapping *map)
{
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && st.st_ino == map->ino))
		return fd;
	close(fd);
	return -1;
}

/* The path must not lead out of the process's root. */
int
mapping_open_path(const char *proc, int32_t pid, const char *name,
    const struct mapping *map)
{
	struct open_how how = {.flags = OPEN_FLAGS,
	    .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	char root[256];
	int dir, fd;

	snprintf(root, sizeof(root), "%s/%" PRId32 "/root", proc, pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, dir, name + 1, &how, sizeof(how));
	close(dir);
	return mapping_check(fd, map);
}

int
mapping_open(const char *proc, int32_t pid, const char *name,
    const struct mapping *map)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%" PRId32 "/map_files/%" PRIx64
	    "-%" PRIx64, proc, pid, map->start, map->end);
	fd = mapping_check(open(path, OPEN_FLAGS), map);
	return fd >= 0 ? fd : mapping_open_path(proc, pid, name, map);
}
