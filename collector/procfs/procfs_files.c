/*
 * Folders are opened below /proc/PID/root: the program may live in another
 * mount namespace.  Before anything of a file system is asked, the type of its
 * mount is read from /proc.
 */
#include "collector/procfs/procfs_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/readfile.h"
#include "collector/process/process.h"
#include "collector/procfs/procfs.h"
#include "store/base/clock.h"
#include "store/base/intern.h"
#include "store/base/text.h"

#define FILES_EVERY 6 /* slots */
#define FILES_OPEN_MAX 32 /* of a folder that are remembered */
#define FILES_MOUNTS_MAX 256
#define FILES_SERVICES 64
#define BLOCK_BYTES 512 /* of st_blocks */

enum files_kind { FILES_DATA, FILES_LOG, FILES_KINDS };

static const char *const files_kinds[FILES_KINDS] = {"data", "log"};

struct folder_sums {
	int64_t bytes[FILES_KINDS], files[FILES_KINDS];
};

struct folder {
	char service[64], comm[16];
	char path[256];
	int32_t pid; /* by whose root it is opened */
	uid_t uid;
	ino_t open[FILES_OPEN_MAX];
	size_t n_open;
	struct folder_sums held; /* deleted files that are open */
};

struct folders_of {
	char service[64];
	int64_t found, read;
};

struct files {
	int64_t every_ns, round; /* round: the time of the last one, in those */
	bool due;
	struct folder folders[FILES_FOLDERS_MAX];
	size_t n;
	struct folders_of services[FILES_SERVICES];
	size_t n_services;
	uint64_t left[FILES_FOLDERS_MAX]; /* of folders without room: hashes */
	size_t n_left;
	struct map64 counted; /* files of several names, or of none: hashes */
	int64_t until_ns; /* thread's CPU: when the time is over */
};

struct files *
files_new(int64_t slot_ns)
{
	struct files *f = calloc(1, sizeof(*f));

	if (f != NULL)
		f->every_ns = slot_ns * FILES_EVERY;
	return f;
}

void
files_free(struct files *f)
{
	if (f != NULL)
		map64_fini(&f->counted);
	free(f);
}

void
files_begin(struct files *f, int64_t now_ns)
{
	f->due = now_ns / f->every_ns != f->round;
	f->round = now_ns / f->every_ns;
	f->n = f->n_services = f->n_left = 0;
	map64_fini(&f->counted);
	f->until_ns = clock_thread_cpu_ns() + FILES_CPU_NS;
}

static bool
files_has_time(const struct files *f)
{
	return clock_thread_cpu_ns() < f->until_ns;
}

/* ---- names ---- */

/* Ends the first n bytes of a name with it, behind others, and whichever way
 * it is written? */
static bool
name_ends(const char *name, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n > k && strncasecmp(name + n - k, end, k) == 0;
}

/* How much of a name stands before a number or date that begins with a dot, a
 * dash or an underline. */
static size_t
name_before_number(const char *name, size_t n)
{
	size_t at = n, before = n;

	while (at > 0 && strchr("0123456789.-_", name[at - 1]) != NULL)
		if (strchr(".-_", name[--at]) != NULL && at + 1 < n)
			before = at;
	return before;
}

/* How much of a name stands before what logrotate and others put behind it:
 * "app.log-20261124.gz", "app.log.1", "LOG.old". */
static size_t
name_rotated(const char *name)
{
	static const char *const ends[] = {".gz", ".bz2", ".xz", ".zst",
	    ".lz4", ".zip", ".old", ".bak", "~"};
	size_t n = strlen(name), before;

	do {
		before = n;
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			if (name_ends(name, n, ends[i]))
				n -= strlen(ends[i]);
		n = name_before_number(name, n);
	} while (n < before);
	return n;
}

bool
files_is_log(const char *name)
{
	static const char *const within[] = {".log.", ".INFO", ".WARNING",
	    ".ERROR", ".FATAL"};
	static const char *const ends[] = {".log", ".out", ".err", ".stdout",
	    ".stderr"};
	size_t n = name_rotated(name), digits = strspn(name, "0123456789");

	if (n == 3 && strncmp(name, "LOG", 3) == 0)
		return true;
	for (size_t i = 0; i < sizeof(within) / sizeof(within[0]); i++)
		if (strstr(name, within[i]) != NULL)
			return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (name_ends(name, n, ends[i]))
			return digits < n - strlen(ends[i]);
	return false;
}

/* ---- mounts of a process, by their numbers ---- */

struct mounts {
	int32_t local[FILES_MOUNTS_MAX]; /* those that never hang */
	size_t n;
};

static bool
mount_is_local(const char *type)
{
	static const char *const types[] = {"ext2", "ext3", "ext4", "xfs",
	    "btrfs", "zfs", "f2fs", "bcachefs", "tmpfs", "overlay"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw" */
static void
mounts_read(struct mounts *m, int proc_fd, int32_t pid)
{
	char path[40], text[65536], type[32], *rest = text, *line, *dash;

	m->n = 0;
	snprintf(path, sizeof(path), "%d/mountinfo", pid);
	if (readfile_at(proc_fd, path, text, sizeof(text)) <= 0)
		return;
	while (m->n < FILES_MOUNTS_MAX &&
	    (line = readfile_line(&rest)) != NULL) {
		dash = strstr(line, " - ");
		if (dash == NULL || sscanf(dash, " - %31s", type) != 1 ||
		    !mount_is_local(type))
			continue;
		m->local[m->n++] = atoi(line);
	}
}

/* By fdinfo, which asks no file system. */
static bool
mounts_has_fd(const struct mounts *m, int proc_fd, int32_t pid,
    const char *fd)
{
	char path[64], text[1024], *at;
	int32_t id;

	snprintf(path, sizeof(path), "%d/fdinfo/%.16s", pid, fd);
	if (readfile_at(proc_fd, path, text, sizeof(text)) <= 0 ||
	    (at = strstr(text, "mnt_id:")) == NULL)
		return false;
	id = atoi(at + strlen("mnt_id:"));
	for (size_t i = 0; i < m->n; i++)
		if (m->local[i] == id)
			return true;
	return false;
}

/* ---- folders of processes ---- */

static struct folders_of *
files_service(struct files *f, const char *service)
{
	struct folders_of *s;

	for (size_t i = 0; i < f->n_services; i++)
		if (strcmp(f->services[i].service, service) == 0)
			return &f->services[i];
	if (f->n_services == FILES_SERVICES)
		return NULL;
	s = &f->services[f->n_services++];
	*s = (struct folders_of){.found = 0};
	snprintf(s->service, sizeof(s->service), "%s", service);
	return s;
}

/* May a path be a label's value? */
static bool
files_is_text(const char *path)
{
	size_t n = strlen(path), k;

	for (size_t i = 0; i < n; i += k) {
		k = text_utf8(path + i, n - i);
		if (k == 0 || (unsigned char)path[i] < 0x20)
			return false;
	}
	return true;
}

/* A folder that has no room is counted once. */
static void
files_leave(struct files *f, struct folders_of *s, const char *path)
{
	uint64_t hash = hash64(hash64(1, path, strlen(path)), s->service,
	    strlen(s->service));

	for (size_t i = 0; i < f->n_left; i++)
		if (f->left[i] == hash)
			return;
	if (f->n_left < FILES_FOLDERS_MAX)
		f->left[f->n_left++] = hash;
	s->found++;
}

/* The folder of that path, new or known; NULL: there is no room. */
static struct folder *
files_folder(struct files *f, const struct process *p, const char *path)
{
	struct folders_of *s = files_service(f, p->read->service);
	size_t known = 0;
	struct folder *o;

	for (size_t i = 0; i < f->n; i++) {
		if (strcmp(f->folders[i].service, p->read->service) != 0)
			continue;
		if (strcmp(f->folders[i].path, path) == 0)
			return &f->folders[i];
		known++;
	}
	if (s == NULL)
		return NULL;
	if (f->n == FILES_FOLDERS_MAX || known == FILES_SERVICE_MAX ||
	    !files_is_text(path) || strlen(path) >= sizeof(o->path)) {
		files_leave(f, s, path);
		return NULL;
	}
	s->found++;
	o = &f->folders[f->n++];
	*o = (struct folder){.pid = p->pid};
	snprintf(o->service, sizeof(o->service), "%s", p->read->service);
	snprintf(o->comm, sizeof(o->comm), "%s", p->read->comm);
	snprintf(o->path, sizeof(o->path), "%s", path);
	return o;
}

/* A descriptor: is it a file that is open for writing?  The link's own mode
 * says it. */
static bool
files_is_written(int dir_fd, const char *fd, char *target, size_t size)
{
	struct stat link;
	ssize_t n;

	if (fstatat(dir_fd, fd, &link, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (link.st_mode & S_IWUSR) == 0)
		return false;
	n = readlinkat(dir_fd, fd, target, size - 1);
	if (n <= 0 || target[0] != '/')
		return false;
	target[n] = '\0';
	return strncmp(target, "/dev/", 5) != 0 &&
	    strncmp(target, "/memfd:", 7) != 0;
}

/* Is it the first time that a file is counted for a service? */
static bool
files_count(struct files *f, const char *service, const struct stat *st)
{
	uint64_t hash = hash64(hash64(1, service, strlen(service)),
	    &st->st_dev, sizeof(st->st_dev));

	hash = hash64(hash, &st->st_ino, sizeof(st->st_ino));
	return map64_get(&f->counted, hash) == INTERN_NONE &&
	    map64_add(&f->counted, hash, 1);
}

static void
folder_sums_add(struct folder_sums *sums, const char *name,
    const struct stat *st)
{
	enum files_kind kind = files_is_log(name) ? FILES_LOG : FILES_DATA;

	sums->bytes[kind] += st->st_blocks * BLOCK_BYTES;
	sums->files[kind]++;
}

/* A file without a name takes the disk as long as it is open.  The kernel puts
 * a word behind the name that it had. */
static void
files_hold(struct files *f, struct folder *o, const char *target,
    const struct stat *st)
{
	static const char word[] = " (deleted)";
	char name[300]; /* and the word */
	size_t n;

	snprintf(name, sizeof(name), "%s", strrchr(target, '/') + 1);
	n = strlen(name);
	if (name_ends(name, n, word))
		name[n - strlen(word)] = '\0';
	if (files_count(f, o->service, st))
		folder_sums_add(&o->held, name, st);
}

static void
files_add_fd(struct files *f, int dir_fd, const char *fd,
    const struct process *p, const char *target)
{
	char path[4096];
	struct folder *o;
	struct stat st;
	char *slash;

	if (fstatat(dir_fd, fd, &st, 0) != 0 || !S_ISREG(st.st_mode))
		return;
	snprintf(path, sizeof(path), "%s", target);
	slash = strrchr(path, '/');
	slash[slash == path] = '\0';
	o = files_folder(f, p, path);
	if (o == NULL)
		return;
	if (st.st_nlink == 0)
		files_hold(f, o, target, &st);
	else if (o->n_open < FILES_OPEN_MAX)
		o->open[o->n_open++] = st.st_ino;
}

void
files_add(struct files *f, int proc_fd, const struct process *p)
{
	char path[32], target[4096];
	struct mounts mounts;
	struct dirent *d;
	DIR *dir;
	int fd;

	if (!f->due || !p->read->ruled || p->read->kernel_thread ||
	    !files_has_time(f))
		return;
	snprintf(path, sizeof(path), "%d/fd", p->pid);
	fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return;
	}
	mounts_read(&mounts, proc_fd, p->pid);
	for (int i = 0; i < FILES_FDS_MAX && (d = readdir(dir)) != NULL; i++)
		if (d->d_name[0] != '.' && files_is_written(dirfd(dir),
		    d->d_name, target, sizeof(target)) &&
		    mounts_has_fd(&mounts, proc_fd, p->pid, d->d_name))
			files_add_fd(f, dirfd(dir), d->d_name, p, target);
	closedir(dir);
}

/* ---- files of folders ---- */

static bool
folder_has(const struct folder *o, const char *name, const struct stat *st,
    bool strict)
{
	for (size_t i = 0; i < o->n_open; i++)
		if (o->open[i] == st->st_ino)
			return true;
	return st->st_uid == o->uid && (!strict ||
	    strncmp(name, o->comm, strlen(o->comm)) == 0);
}

static bool
folder_sum(struct files *f, const struct folder *o, DIR *dir,
    struct folder_sums *sums)
{
	struct dirent *d;
	struct stat st;
	bool strict;
	int n = 0;

	if (fstat(dirfd(dir), &st) != 0)
		return false;
	strict = (st.st_mode & (S_ISVTX | S_IWOTH)) != 0 || o->uid == 0;
	while ((d = readdir(dir)) != NULL) {
		if (n++ == FILES_ENTRIES_MAX || !files_has_time(f))
			return false;
		if (fstatat(dirfd(dir), d->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		    folder_has(o, d->d_name, &st, strict) &&
		    (st.st_nlink == 1 || files_count(f, o->service, &st)))
			folder_sums_add(sums, d->d_name, &st);
	}
	return true;
}

/* Nothing in it is followed: a link in its path leads where its program's
 * does. */
static bool
folder_read(struct files *f, int proc_fd, struct folder *o,
    struct folder_sums *sums)
{
	char path[sizeof(o->path) + 32];
	struct stat st;
	bool whole;
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "%d", o->pid);
	if (!files_has_time(f) || fstatat(proc_fd, path, &st, 0) != 0)
		return false;
	o->uid = st.st_uid;
	snprintf(path, sizeof(path), "%d/root%s", o->pid, o->path);
	fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
	    O_NONBLOCK);
	*sums = o->held;
	if (fd < 0) /* deleted, with files that are still open */
		return errno == ENOENT && sums->files[FILES_DATA] +
		    sums->files[FILES_LOG] > 0;
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return false;
	}
	whole = folder_sum(f, o, dir, sums);
	closedir(dir);
	return whole;
}

static void
folder_put(const struct folder *o, const struct folder_sums *sums,
    const struct procfs_reading *r)
{
	static const struct procfs_metric bytes =
	    GAUGE("memlens_service_files_bytes", "bytes", 0);
	static const struct procfs_metric files =
	    GAUGE("memlens_service_files", "", 0);

	for (int i = 0; i < FILES_KINDS; i++) {
		const struct label labels[] = {{"folder", o->path},
		    {"kind", files_kinds[i]}, {"service", o->service}};

		procfs_put(r, &bytes, labels, 3, sums->bytes[i]);
		procfs_put(r, &files, labels, 3, sums->files[i]);
	}
}

static void
files_put_service(const struct folders_of *s, const struct procfs_reading *r)
{
	static const struct procfs_metric folders =
	    GAUGE("memlens_service_folders", "", 0);
	const struct label read[] = {{"service", s->service},
	    {"state", "read"}}, left[] = {{"service", s->service},
	    {"state", "left out"}};

	procfs_put(r, &folders, read, 2, s->read);
	procfs_put(r, &folders, left, 2, s->found - s->read);
}

void
files_put(struct files *f, int proc_fd, const struct procfs_reading *r)
{
	if (!f->due)
		return;
	for (size_t i = 0; i < f->n; i++) {
		struct folder *o = &f->folders[i];
		struct folders_of *s = files_service(f, o->service);
		struct folder_sums sums = {{0}, {0}};

		if (!folder_read(f, proc_fd, o, &sums))
			continue;
		folder_put(o, &sums, r);
		if (s != NULL)
			s->read++;
	}
	for (size_t i = 0; i < f->n_services; i++)
		files_put_service(&f->services[i], r);
}
