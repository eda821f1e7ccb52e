/*
 * One read(2) where one does: of thousands of small files in each slot the
 * second call, which only says that nothing is left, would be half of the cost.
 */
#include "collector/base/readfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t
readfile_fd(int fd, char *buf, size_t cap)
{
	size_t used = 0;
	ssize_t n;

	while (used < cap - 1) {
		n = pread(fd, buf + used, cap - 1 - used, (off_t)used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		/* A short read is nearly always the end, and a second one
		 * to make sure would double the price of /proc. */
		used += (size_t)n;
		if (n == 0 || n < 3072)
			break;
	}
	buf[used] = '\0';
	return (ssize_t)used;
}

ssize_t
readfile_at(int dirfd, const char *path, char *buf, size_t cap)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY), saved;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = readfile_fd(fd, buf, cap);
	saved = errno;
	close(fd);
	errno = saved;
	return n;
}

char *
readfile_line(char **text)
{
	char *line = *text, *end;

	if (line == NULL || *line == '\0')
		return NULL;
	end = strchr(line, '\n');
	if (end != NULL)
		*end++ = '\0';
	*text = end;
	return line;
}

int32_t
readfile_inner_pid(const char *status)
{
	static const char key[] = "\nNSpid:";
	const char *line = strstr(status, key), *end, *last = NULL;

	if (line == NULL)
		return 0;
	line += sizeof(key) - 1;
	end = line + strcspn(line, "\n");
	for (; line < end; line++)
		if (*line == '\t')
			last = line + 1;
	return last != NULL ? (int32_t)atol(last) : 0;
}
