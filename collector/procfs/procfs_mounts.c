/*
 * File systems.  Only those on local block devices: asking one that hangs on
 * a network would stop the daemon.  So would asking one that an ordinary
 * user's program serves, whatever device it claims to be on.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "collector/base/readfile.h"
#include "collector/procfs/procfs.h"

#define MOUNTS_BYTES 65536
#define MOUNTS_MAX 64

static const char *const types_without_device[] = {"zfs", "btrfs", "bcachefs"};
static const char *const types_left_out[] = {"iso9660", "squashfs", "udf",
    "fuseblk", "fuse"};

/* "\040" is a space, in place. */
static void
mount_unescape(char *s)
{
	char *to = s;

	while (*s != '\0') {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' &&
		    s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
			    (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

static bool
one_of(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i], s) == 0)
			return true;
	}
	return false;
}

bool
procfs_mount_parse(char *line, const char **device, const char **point,
    const char **type)
{
	char *field[3], *rest;

	for (int i = 0; i < 3; i++) {
		field[i] = strtok_r(i == 0 ? line : NULL, " ", &rest);
		if (field[i] == NULL)
			return false;
		mount_unescape(field[i]);
	}
	*device = field[0];
	*point = field[1];
	*type = field[2];
	if (strncmp(*type, "fuse.", 5) == 0 ||
	    one_of(*type, types_left_out, sizeof(types_left_out) /
	        sizeof(types_left_out[0])))
		return false;
	return strncmp(*device, "/dev/", 5) == 0 ||
	    one_of(*type, types_without_device,
	        sizeof(types_without_device) /
	        sizeof(types_without_device[0]));
}

static void
mount_put(const struct procfs_reading *r, const struct label *labels,
    const struct statvfs *v)
{
	static const struct procfs_metric
	    size = {"node_filesystem_size_bytes", "bytes", SERIES_GAUGE, 0},
	    free_bytes = {"node_filesystem_free_bytes", "bytes", SERIES_GAUGE,
	        0},
	    avail = {"node_filesystem_avail_bytes", "bytes", SERIES_GAUGE, 0},
	    files = {"node_filesystem_files", "", SERIES_GAUGE, 0},
	    files_free = {"node_filesystem_files_free", "", SERIES_GAUGE, 0};
	int64_t unit = (int64_t)v->f_frsize;

	procfs_put(r, &size, labels, 3, (int64_t)v->f_blocks * unit);
	procfs_put(r, &free_bytes, labels, 3, (int64_t)v->f_bfree * unit);
	procfs_put(r, &avail, labels, 3, (int64_t)v->f_bavail * unit);
	procfs_put(r, &files, labels, 3, (int64_t)v->f_files);
	procfs_put(r, &files_free, labels, 3, (int64_t)v->f_ffree);
}

void
procfs_mounts_read(const struct procfs_reading *r)
{
	char *text = malloc(MOUNTS_BYTES), *next = text, *line;
	const char *device, *point, *type;
	struct statvfs v;
	size_t n = 0;

	/* The first process sees the host's mounts; we may be in a sandbox. */
	if (text == NULL || (readfile_at(AT_FDCWD, "/proc/1/mounts", text,
	        MOUNTS_BYTES) <= 0 &&
	    readfile_at(AT_FDCWD, "/proc/self/mounts", text, MOUNTS_BYTES) <=
	        0)) {
		free(text);
		return;
	}
	while ((line = readfile_line(&next)) != NULL && n < MOUNTS_MAX) {
		if (!procfs_mount_parse(line, &device, &point, &type) ||
		    statvfs(point, &v) != 0)
			continue;
		mount_put(r, (struct label[]){{"device", device},
		    {"fstype", type}, {"mountpoint", point}}, &v);
		n++;
	}
	free(text);
}
