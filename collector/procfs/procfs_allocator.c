/*
 * The loader maps libraries in the first milliseconds of a program; whoever is
 * looked at once a slot has his.
 */
#include "collector/procfs/procfs_allocator.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "collector/process/process.h"
#include "collector/procfs/procfs_groups.h"

#define LINES_MAX 8192
#define TRIES 3 /* of a process without any */
#define AGE_NS (INT64_C(2) * 1000000000)

/* The beginnings of names of files. */
static const struct {
	const char *file;
	enum allocator is;
} allocator_files[] = {{"libjemalloc", ALLOCATOR_JEMALLOC},
    {"libtcmalloc", ALLOCATOR_TCMALLOC}, {"libmimalloc", ALLOCATOR_MIMALLOC},
    {"libc.musl", ALLOCATOR_MUSL}, {"ld-musl", ALLOCATOR_MUSL},
    {"libc.so\n", ALLOCATOR_MUSL}, /* glibc's is a text for the linker */
    {"libc.so.6", ALLOCATOR_GLIBC}, {"libc-2.", ALLOCATOR_GLIBC},
    {"libjvm.so", ALLOCATOR_JAVA}};

/* Where Go's heap begins, by architecture, and what it calls it of late. */
static const char *const allocator_go[] = {"c000000000-", "4000000000-"};
#define GO_HEAP "[anon: Go: heap"

const char *
allocator_name(enum allocator a)
{
	static const char *const names[ALLOCATORS] = {
	    [ALLOCATOR_STATIC] = "static",
	    [ALLOCATOR_JAVA] = "java", [ALLOCATOR_GO] = "go",
	    [ALLOCATOR_GLIBC] = "glibc", [ALLOCATOR_MUSL] = "musl",
	    [ALLOCATOR_MIMALLOC] = "mimalloc",
	    [ALLOCATOR_TCMALLOC] = "tcmalloc",
	    [ALLOCATOR_JEMALLOC] = "jemalloc"};

	return names[a];
}

static enum allocator
allocator_of_file(const char *name)
{
	for (size_t i = 0; i < sizeof(allocator_files) /
	    sizeof(allocator_files[0]); i++)
		if (strncmp(name, allocator_files[i].file,
		        strlen(allocator_files[i].file)) == 0)
			return allocator_files[i].is;
	return ALLOCATOR_UNKNOWN;
}

/* "7f..-7f.. r-xp 0001 fe:01 42   /usr/lib/libc.so.6" */
static enum allocator
allocator_of_line(const char *line, bool *library)
{
	const char *name = strrchr(line, '/');

	for (size_t i = 0; name == NULL && i < sizeof(allocator_go) /
	    sizeof(allocator_go[0]); i++)
		if (strncmp(line, allocator_go[i],
		        strlen(allocator_go[i])) == 0)
			return ALLOCATOR_GO;
	if (name == NULL)
		return strstr(line, GO_HEAP) != NULL ? ALLOCATOR_GO
		    : ALLOCATOR_UNKNOWN;
	*library |= strstr(name, ".so") != NULL;
	return allocator_of_file(name + 1);
}

/* Go's newer heaps begin anywhere: memory of no file in arenas of 64 MiB, some
 * of it in use and the rest reserved, below where the kernel puts what names no
 * place.  Browsers reserve such, too, but 16 GiB of it. */
#define ARENA (UINT64_C(64) << 20)
#define ARENAS_MAX (UINT64_C(8) << 30)
#define ARENAS_FROM (UINT64_C(1) << 36)
#define ARENAS_UNTIL (UINT64_C(0x5000) << 32)

/* Lines one right after the other. */
struct arenas {
	uint64_t from, until;
	bool used, rest;
};

static bool
arenas_are_go(const struct arenas *x)
{
	return x->used && x->rest && x->from % ARENA == 0 &&
	    x->until % ARENA == 0 && x->from >= ARENAS_FROM &&
	    x->until < ARENAS_UNTIL && x->until - x->from <= ARENAS_MAX;
}

/* Takes one more line; was what it ends Go's? */
static bool
arenas_take(struct arenas *x, const char *line)
{
	bool found = false, no_file = strpbrk(line, "/[") == NULL;
	uint64_t from, until;
	char may[5];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &from, &until,
	    may) != 3)
		return false;
	if (from != x->until || !no_file) {
		found = arenas_are_go(x);
		*x = (struct arenas){.from = from};
	}
	x->until = until;
	x->used |= no_file && strcmp(may, "rw-p") == 0;
	x->rest |= no_file && strcmp(may, "---p") == 0;
	return found;
}

enum allocator
allocator_of_maps(FILE *maps)
{
	enum allocator best = ALLOCATOR_UNKNOWN, a;
	char line[4352]; /* a path has 4,096 bytes at most */
	bool library = false, code = false;
	struct arenas arenas = {0};

	for (int i = 0; i < LINES_MAX && fgets(line, sizeof(line), maps) !=
	    NULL; i++) {
		code |= strstr(line, " r-xp ") != NULL &&
		    strchr(line, '/') != NULL;
		a = arenas_take(&arenas, line) ? ALLOCATOR_GO
		    : allocator_of_line(line, &library);
		if (a > best)
			best = a;
	}
	return best == ALLOCATOR_UNKNOWN && code && !library
	    ? ALLOCATOR_STATIC : best;
}

static enum allocator
allocator_read(int proc_fd, int32_t pid)
{
	enum allocator a = ALLOCATOR_UNKNOWN;
	char path[32];
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "%d/maps", pid);
	if ((fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC)) < 0)
		return a;
	if ((f = fdopen(fd, "r")) == NULL) {
		close(fd);
		return a;
	}
	a = allocator_of_maps(f);
	fclose(f);
	return a;
}

static void
allocator_put(struct group_reading *r, enum allocator a, int64_t value)
{
	int level = GROUP_ALLOCATOR + (int)a - 1;

	if (a == ALLOCATOR_UNKNOWN)
		return;
	r->level[level] = value;
	r->have_level |= 1u << level;
}

void
procfs_process_allocator(struct allocator_pass *pass, int proc_fd,
    const struct process *p, struct group_reading *r)
{
	struct process_read *read = p->read;
	enum allocator before = (enum allocator)read->allocator;

	if (read->allocator_image != p->image) {
		read->allocator_image = p->image;
		read->allocator_tries = 0;
	} else if (before != ALLOCATOR_UNKNOWN && read->allocator_tries > 0) {
		return; /* as it was */
	}
	if (read->young || pass->left <= 0 || pass->now_ns -
	    (int64_t)p->start_ns < AGE_NS || read->allocator_tries >= TRIES)
		return;
	pass->left--;
	read->allocator_tries++;
	read->allocator = (uint8_t)allocator_read(proc_fd, p->pid);
	if (read->allocator != before)
		allocator_put(r, before, 0);
	allocator_put(r, (enum allocator)read->allocator, 1);
}
