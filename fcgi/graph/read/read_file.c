/*
 * Reading whole files.
 */
#include "fcgi/graph/read/read_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/clock.h"

/* What is left of it; false at errors. */
static bool
file_rest(int fd, struct buf *out)
{
	ssize_t n;

	do {
		if (out->len > READ_FILE_MAX || !buf_reserve(out, 65536))
			return false;
		n = read(fd, out->data + out->len, 65535);
		if (n < 0)
			return false;
		out->len += (size_t)n;
	} while (n > 0);
	out->data[out->len] = 0;
	return true;
}

bool
read_file(const char *path, struct buf *out, int64_t *time_ns)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int64_t at_ns;
	bool fine;

	buf_clear(out);
	if (fd < 0)
		return false;
	fine = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    file_rest(fd, out);
	close(fd);
	if (!fine)
		return false;
	at_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
	if (at_ns > *time_ns)
		*time_ns = at_ns;
	return true;
}

bool
read_json(const char *path, struct buf *out, struct json_in *json,
    int64_t *time_ns)
{
	struct json_in all;

	if (!read_file(path, out, time_ns))
		return false;
	*json = all = json_in_of(out->data, out->len);
	json_in_skip(&all);
	return !all.bad && json_in_peek(&all) == '\0';
}

bool
read_join(char *out, size_t room, const char *a, const char *b)
{
	int n = snprintf(out, room, "%s%s%s", a, *a != '\0' ? "/" : "", b);

	return n >= 0 && (size_t)n < room;
}

bool
read_join_name(char *out, size_t room, const char *a, const char *name)
{
	return strchr(name, '/') == NULL && strcmp(name, "..") != 0 &&
	    *name != '\0' && read_join(out, room, a, name);
}

bool
read_has(const char *folder, const char *name)
{
	char path[4096];

	return read_join(path, sizeof(path), folder, name) &&
	    access(path, F_OK) == 0;
}

const char *
read_text(struct buf *b)
{
	buf_put_u8(b, 0);
	return b->failed ? "" : (const char *)b->data;
}
