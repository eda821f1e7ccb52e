/*
 * What is kept of a process with anonymous code lies with the process, in a
 * place of its caller's.
 */
#include "collector/symbols/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/readfile.h"
#include "collector/symbols/symbols.h"
#include "store/base/clock.h"

#define LOOK_MIN_NS (1 * NS_PER_S) /* doubles, while in vain, up to ... */
#define LOOK_MAX_NS (60 * NS_PER_S)
#define LOOK_BYTE_NS 10000 /* a map is parsed whole: 1000 times what it costs */
#define MOUNTS_MAX (1u << 20)

struct jit {
	int32_t reader;
	uint32_t file; /* SYMBOLS_NO_FILE: no map */
	int64_t looked_ns, wait_ns;
};

struct jits {
	struct symbols *symbols;
	const char *proc;
};

struct jits *
jits_new(struct symbols *symbols, const char *proc)
{
	struct jits *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->symbols = symbols;
	j->proc = proc;
	return j;
}

void
jits_free(struct jits *j)
{
	free(j);
}

/* ---- the file ---- */

/* 0 when it is gone. */
static int32_t
jit_inner_pid(const char *proc, int32_t reader)
{
	char path[256], text[4096];

	snprintf(path, sizeof(path), "%s/%" PRId32 "/status", proc, reader);
	return readfile_at(AT_FDCWD, path, text, sizeof(text)) <= 0 ? 0 :
	    readfile_inner_pid(text);
}

/* A line of mountinfo. */
struct mount {
	char device[32]; /* MAJOR:MINOR */
	char point[16];  /* as far as it fits */
	char type[32];
};

/* The next line that can be read; false at the end. */
static bool
mount_next(const char **p, struct mount *m)
{
	while (**p != '\0') {
		const char *line = *p, *end = line + strcspn(line, "\n");
		const char *dash = strstr(line, " - ");

		*p = *end != '\0' ? end + 1 : end;
		if (dash != NULL && dash < end && sscanf(line,
		    "%*s %*s %31s %*s %15s", m->device, m->point) == 2 &&
		    sscanf(dash + 3, "%31s", m->type) == 1)
			return true;
	}
	return false;
}

static bool
mount_is_foreign(const struct mount *m)
{
	return strncmp(m->type, "fuse", 4) == 0;
}

enum jit_root
jits_judge_root(const char *mountinfo)
{
	enum jit_root root = JIT_ROOT_UNTOLD;
	struct mount m;

	while (mount_next(&mountinfo, &m)) {
		bool is_root = strcmp(m.point, "/") == 0;

		if ((is_root || strcmp(m.point, "/tmp") == 0) &&
		    mount_is_foreign(&m))
			return JIT_ROOT_FOREIGN;
		if (is_root)
			root = JIT_ROOT_OURS;
	}
	return root;
}

/* NULL when it cannot be read, or is too long; the caller frees it. */
static char *
jit_mounts(const char *proc, const char *who)
{
	char path[256], *text = malloc(MOUNTS_MAX);
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s/mountinfo", proc, who);
	n = text != NULL ? readfile_at(AT_FDCWD, path, text, MOUNTS_MAX) : -1;
	if (n >= 0 && n < (ssize_t)MOUNTS_MAX - 1)
		return text;
	free(text);
	return NULL;
}

/* The root of a process in a chroot is no mount that it sees: by its device,
 * which is known without asking whoever serves it, it is one that we see. */
static bool
jit_root_is_ours(const char *proc, const char *who)
{
	char path[256], device[32], *text = jit_mounts(proc, "self");
	const char *p = text;
	struct statx st;
	struct mount m;
	bool ours = false;

	snprintf(path, sizeof(path), "%s/%s/root", proc, who);
	if (text == NULL || statx(AT_FDCWD, path, AT_STATX_DONT_SYNC,
	    STATX_TYPE, &st) != 0) {
		free(text);
		return false;
	}
	snprintf(device, sizeof(device), "%u:%u", st.stx_dev_major,
	    st.stx_dev_minor);
	while (!ours && mount_next(&p, &m))
		ours = strcmp(m.device, device) == 0 && !mount_is_foreign(&m);
	free(text);
	return ours;
}

/* Where the mounts cannot be read, or are too many, one may be foreign. */
static bool
jit_may_block(const char *proc, int32_t reader)
{
	enum jit_root root = JIT_ROOT_FOREIGN;
	char who[16], *text;

	snprintf(who, sizeof(who), "%" PRId32, reader);
	text = jit_mounts(proc, who);
	if (text != NULL)
		root = jits_judge_root(text);
	free(text);
	return root == JIT_ROOT_FOREIGN ||
	    (root == JIT_ROOT_UNTOLD && !jit_root_is_ours(proc, who));
}

/* Is the open file one that the process, or root, has written? */
static bool
jit_is_trusted(const char *proc, int32_t reader, int fd)
{
	struct stat file, process;
	char path[256];

	snprintf(path, sizeof(path), "%s/%" PRId32, proc, reader);
	return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
	    stat(path, &process) == 0 &&
	    (file.st_uid == 0 || file.st_uid == process.st_uid);
}

int
jits_open(const char *proc, int32_t reader)
{
	struct open_how how = {
	    .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
	    .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
	int32_t inner = jit_inner_pid(proc, reader);
	char path[256], name[64];
	int root, fd;

	if (inner <= 0 || jit_may_block(proc, reader))
		return -1;
	snprintf(path, sizeof(path), "%s/%" PRId32 "/root", proc, reader);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	snprintf(name, sizeof(name), "tmp/perf-%" PRId32 ".map", inner);
	fd = (int)syscall(SYS_openat2, root, name, &how, sizeof(how));
	close(root);
	if (fd >= 0 && !jit_is_trusted(proc, reader, fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* ---- when ---- */

/* Looks at the map; one that has grown is another file, and handed over at
 * once, since it may grow again at any time. */
static void
jit_look(struct jits *j, struct jit *p, int64_t now_ns)
{
	uint32_t file = SYMBOLS_NO_FILE, old = p->file;
	int fd = jits_open(j->proc, p->reader);
	int64_t least_ns = LOOK_MIN_NS;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0) {
		if (st.st_size > LOOK_MIN_NS / LOOK_BYTE_NS)
			least_ns = st.st_size < LOOK_MAX_NS / LOOK_BYTE_NS ?
			    st.st_size * LOOK_BYTE_NS : LOOK_MAX_NS;
		file = symbols_map(j->symbols, fd);
		if (file != SYMBOLS_NO_FILE && symbols_wants(j->symbols, file))
			symbols_load(j->symbols, file, fd);
	}
	if (fd >= 0)
		close(fd);
	if (file == SYMBOLS_NO_FILE)
		file = old; /* it may have been taken away: names stay */
	else if (old != SYMBOLS_NO_FILE && old != file)
		symbols_map_forget(j->symbols, old);
	p->looked_ns = now_ns;
	p->wait_ns = p->wait_ns == 0 || file != old ? least_ns :
	    p->wait_ns * 2 < LOOK_MAX_NS ? p->wait_ns * 2 : LOOK_MAX_NS;
	p->file = file;
}

void
jits_drop(void *jits, void *jit)
{
	struct jits *j = jits;
	struct jit *p = jit;

	if (p->file != SYMBOLS_NO_FILE)
		symbols_map_forget(j->symbols, p->file);
	free(p);
}

/* NULL when out of memory. */
static struct jit *
jit_get(void **place, int32_t reader)
{
	struct jit *p = *place;

	if (p == NULL && (*place = p = calloc(1, sizeof(*p))) != NULL)
		p->file = SYMBOLS_NO_FILE;
	if (p != NULL)
		p->reader = reader;
	return p;
}

/* Without a map, with one that lacks an address or is not in the child's
 * hands, soon; else once a minute, since places are used again. */
static bool
jit_is_due(struct jits *j, const struct jit *p, int64_t now_ns)
{
	int64_t since_ns = now_ns - p->looked_ns;

	if (p->wait_ns == 0 || since_ns >= LOOK_MAX_NS)
		return true;
	if (since_ns < p->wait_ns)
		return false;
	return p->file == SYMBOLS_NO_FILE ||
	    symbols_map_missed(j->symbols, p->file) ||
	    symbols_wants(j->symbols, p->file);
}

bool
jits_ref(struct jits *j, void **place, int32_t reader, uint64_t addr,
    int64_t now_ns, uint32_t *ref)
{
	struct jit *p = jit_get(place, reader);

	if (p == NULL)
		return false;
	if (jit_is_due(j, p, now_ns))
		jit_look(j, p, now_ns);
	if (p->file == SYMBOLS_NO_FILE)
		return false;
	*ref = symbols_user(j->symbols, p->file, addr);
	return true;
}

void
jits_forget_file(void *jit)
{
	struct jit *p = jit;

	p->file = SYMBOLS_NO_FILE;
	p->wait_ns = 0;
}
