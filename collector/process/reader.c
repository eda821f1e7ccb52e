/*
 * What has memory has a program.
 */
#include "collector/process/reader.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* It has, too, where we may not see it. */
static bool
reader_has_memory(const char *proc, int32_t tid)
{
	char path[256], exe[1];

	snprintf(path, sizeof(path), "%s/%" PRId32 "/exe", proc, tid);
	return readlink(path, exe, sizeof(exe)) >= 0 || errno == EACCES;
}

int32_t
reader_find(const char *proc, int32_t pid, int32_t first)
{
	int32_t tid = 0, other;
	struct dirent *d;
	char path[256];
	DIR *dir;

	if (reader_has_memory(proc, first))
		return first;
	snprintf(path, sizeof(path), "%s/%" PRId32 "/task", proc, pid);
	dir = opendir(path);
	while (dir != NULL && tid == 0 && (d = readdir(dir)) != NULL) {
		other = (int32_t)atol(d->d_name);
		if (other > 0 && other != first &&
		    reader_has_memory(proc, other))
			tid = other;
	}
	if (dir != NULL)
		closedir(dir);
	return tid;
}
