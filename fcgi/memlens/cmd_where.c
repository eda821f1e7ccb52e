/*
 * What an operator names: a store's directory, or the socket of the daemon
 * that writes it.
 */
#include <string.h>
#include <sys/stat.h>

#include "fcgi/memlens/cmd.h"

bool
cmd_is_socket(const char *path)
{
	size_t n = strlen(path);
	struct stat st;

	if (stat(path, &st) == 0)
		return S_ISSOCK(st.st_mode);
	return n > 5 && strcmp(path + n - 5, ".sock") == 0;
}
