/*
 * Asking CMake for its model of a build.
 */
#include "fcgi/memlens/cmake_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"

static const char *const folders[] = {".cmake", ".cmake/api", ".cmake/api/v1",
    ".cmake/api/v1/query", ".cmake/api/v1/query/client-memlens"};
#define QUESTION ".cmake/api/v1/query/client-memlens/codemodel-v2"

const struct err *
cmake_ask(const char *folder)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/CMakeCache.txt", folder);
	if (access(path, F_OK) < 0)
		return err_new(ERR_REQUEST, 422, "%.200s is no build folder of "
		    "CMake: it has no CMakeCache.txt", folder);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return err_errno("%s", path);
	}
	snprintf(path, sizeof(path), "%s/%s", folder, QUESTION);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_errno("%s", path);
	close(fd);
	return NULL;
}
