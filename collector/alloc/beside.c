/*
 * By what /proc says of this program: how it was called does not matter.
 */
#include "collector/alloc/beside.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
beside_find(const char *name, char *out, size_t size)
{
	static const char *const places[] = {"", "../lib/memlens/"};
	char self[PATH_MAX], path[PATH_MAX + 64], real[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n <= 0)
		return false;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash == NULL)
		return false;
	slash[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s%s", self, places[i], name);
		if (realpath(path, real) == NULL || access(real, R_OK) != 0 ||
		    strlen(real) >= size)
			continue;
		memcpy(out, real, strlen(real) + 1);
		return true;
	}
	return false;
}
