/*
 * A folder is read name by name; what is in a name decides whose dump it is.
 */
#include "collector/pull/pull_dumps.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"

#define ENDING ".heap"
#define MINUTE_NS INT64_C(60000000000)

static int
dumps_open_folder(const char *prefix, const char **base)
{
	const char *slash = strrchr(prefix, '/');
	char folder[4096];

	*base = slash + 1;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - prefix + 1),
	    prefix);
	return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* "jp.4711.12.i12.heap" is of process 4711, "jp_4711.0012.heap" too. */
static bool
dumps_is_one(const char *name, const char *base, uint64_t *run)
{
	size_t n = strlen(name), b = strlen(base), e = strlen(ENDING);
	char *end;

	if (n < b + e + 2 || strncmp(name, base, b) != 0 ||
	    strcmp(name + n - e, ENDING) != 0 || !isdigit(
	    (unsigned char)name[b + 1]) || (name[b] != '.' &&
	    name[b] != '_'))
		return false;
	*run = strtoull(name + b + 1, &end, 10);
	/* a number alone is the dump's */
	if (name[b] == '.' && strcmp(end, ENDING) == 0)
		*run = 0;
	return *end == '.';
}

static size_t
dumps_oldest(const struct pull_dumps *found)
{
	size_t oldest = 0;

	for (size_t i = 0; i < found->n; i++)
		if (found->all[i].time_ns < found->all[oldest].time_ns)
			oldest = i;
	return oldest;
}

static void
dumps_note(struct pull_dumps *found, const struct pull_dump *d)
{
	size_t i = 0;

	while (i < found->n && found->all[i].run != d->run)
		i++;
	if (i < found->n && found->all[i].time_ns >= d->time_ns)
		return;
	if (i == PULL_DUMPS_MAX) {
		i = dumps_oldest(found);
		found->left_out++;
		if (found->all[i].time_ns >= d->time_ns)
			return;
	} else if (i == found->n) {
		found->n++;
	}
	found->all[i] = *d;
}

static int
dumps_order(const void *a, const void *b)
{
	const struct pull_dump *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

const struct err *
pull_dumps_find(const char *prefix, int64_t after_ns,
    int64_t before_ns, struct pull_dumps *found)
{
	const char *base;
	int fd = dumps_open_folder(prefix, &base);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct pull_dump d;
	struct stat st;

	found->n = found->left_out = 0;
	found->any = found->future = false;
	if (folder == NULL) {
		const struct err *e = err_errno("the folder of %s", prefix);

		if (fd >= 0)
			close(fd);
		return e;
	}
	while ((entry = readdir(folder)) != NULL) {
		if (!dumps_is_one(entry->d_name, base, &d.run) ||
		    fstatat(dirfd(folder), entry->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
			continue;
		snprintf(d.name, sizeof(d.name), "%s", entry->d_name);
		d.time_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 +
		    st.st_mtim.tv_nsec;
		d.bytes = (uint64_t)st.st_size;
		found->any = true;
		found->future |= d.time_ns > before_ns + MINUTE_NS;
		if (d.time_ns > after_ns && d.time_ns < before_ns)
			dumps_note(found, &d);
	}
	closedir(folder);
	qsort(found->all, found->n, sizeof(found->all[0]), dumps_order);
	return NULL;
}

const struct err *
pull_dumps_read(const char *prefix, const struct pull_dump *d, size_t max,
    struct buf *out)
{
	const char *base;
	int folder = dumps_open_folder(prefix, &base);
	int fd = folder < 0 ? -1 : openat(folder, d->name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const struct err *e = fd < 0 ? err_errno("%s", d->name) : NULL;
	struct stat st;
	ssize_t got = 1;

	if (folder >= 0)
		close(folder);
	/* it may be another one by now */
	if (e == NULL && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
		e = err_new(ERR_FORMAT, 0, "%s: no regular file", d->name);
	while (e == NULL && got > 0) {
		if (out->len > max)
			e = err_new(ERR_LIMIT, 0, "%s: over %zu bytes",
			    d->name, max);
		else if (!buf_reserve(out, 65536))
			e = err_nomem();
		else if ((got = read(fd, out->data + out->len, 65536)) < 0)
			e = err_errno("%s", d->name);
		else
			out->len += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	return e;
}
