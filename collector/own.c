/*
 * The store is an argument, `-s DIR`, or the one that is built in.
 */
#include "collector/own.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/readfile.h"

#define OWN_DEFAULT "/var/lib/memlens" /* as in memlens-fcgi */

/* The last of the arguments "-s DIR", "-sDIR", "--store DIR" and
 * "--store=DIR" of n bytes, of which each ends with a NUL. */
static const char *
own_store(const char *text, size_t n)
{
	const char *end = text + n, *found = OWN_DEFAULT;

	for (const char *p = text; p < end; p += strlen(p) + 1) {
		const char *next = p + strlen(p) + 1;

		if (strncmp(p, "--store=", 8) == 0)
			found = p + 8;
		else if (strcmp(p, "-s") == 0 || strcmp(p, "--store") == 0)
			found = next < end ? next : OWN_DEFAULT;
		else if (strncmp(p, "-s", 2) == 0)
			found = p + 2;
	}
	return found;
}

/* A path as the process sees it; as we do where its root is closed to us. */
static bool
own_stat(int32_t pid, const char *path, struct stat *st)
{
	char at[PATH_MAX + 32];

	snprintf(at, sizeof(at), "/proc/%d/%s/%s", pid,
	    path[0] == '/' ? "root" : "cwd", path);
	return stat(at, st) == 0 || (path[0] == '/' && stat(path, st) == 0);
}

/* "Uid: REAL EFFECTIVE ..." and "Gid: ..." of status. */
static bool
own_ids(int32_t pid, unsigned *uid, unsigned *gid)
{
	char path[32], text[4096];
	const char *u, *g;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	n = readfile_at(AT_FDCWD, path, text, sizeof(text));
	if (n <= 0)
		return false;
	u = strstr(text, "\nUid:");
	g = strstr(text, "\nGid:");
	return u != NULL && g != NULL &&
	    sscanf(u, "\nUid: %*u %u", uid) == 1 &&
	    sscanf(g, "\nGid: %*u %u", gid) == 1;
}

int
own_worker(int32_t pid, const char *directory)
{
	char path[32], text[4096];
	struct stat ours, its;
	unsigned uid, gid;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	n = readfile_at(AT_FDCWD, path, text, sizeof(text));
	if (n <= 0 || stat(directory, &ours) != 0 || !own_ids(pid, &uid, &gid))
		return -1;
	return (uid == 0 || uid == ours.st_uid || gid == ours.st_gid) &&
	    own_stat(pid, own_store(text, (size_t)n), &its) &&
	    its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}
