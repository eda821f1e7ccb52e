/*
 * The files that addresses point into: who they are, whether the child has
 * them, and when to try again after it died of one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/elf/debug_file.h"
#include "collector/elf/elf.h"
#include "collector/symbols/symbols_private.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/log.h"
#include "store/base/text.h"

#define FREE_STRIKES 1            /* the first death may be an accident */
#define RETRY_MIN_NS (10 * NS_PER_S) /* doubles up to the next line */
#define RETRY_MAX_NS (3600 * NS_PER_S)
#define VDSO_MAX 65536

/* Is the file in the hands of the living child? */
static bool
file_is_ready(const struct symbols *s, const struct file *f)
{
	return f->state == FILE_READY &&
	    f->generation == symbols_link_generation(s->link);
}

static uint64_t
file_hash(const struct stat *st)
{
	return hash64_u64(hash64_u64(0, st->st_dev), st->st_ino);
}

void
symbols_identity(const struct symbols *s, uint32_t file, struct stat *st)
{
	file_id_stat(&s->files[file]->id, st);
}

/* "/usr/bin/x (deleted)" is "x". */
static void
file_name(char *out, size_t size, const char *name)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(name, '/');
	size_t n;

	snprintf(out, size, "%s", slash != NULL && slash[1] != '\0' ?
	    slash + 1 : name);
	n = strlen(out);
	if (n >= sizeof(deleted) &&
	    strcmp(out + n - (sizeof(deleted) - 1), deleted) == 0)
		out[n - (sizeof(deleted) - 1)] = '\0';
	text_clean(out);
	if (out[0] == '\0')
		snprintf(out, size, "?");
}

static uint32_t
file_add(struct symbols *s, int fd, const struct stat *st, const char *name,
    uint32_t slot)
{
	struct file *f;

	if (s->n_files == FILES_MAX ||
	    (f = calloc(1, sizeof(*f))) == NULL) {
		s->overflows++;
		return SYMBOLS_NO_FILE;
	}
	file_id_set(&f->id, fd, st);
	f->pending = f->next_pending = NONE;
	f->kept_fd = f->alt_fd = f->waiting_fd = -1;
	file_name(f->module, sizeof(f->module), name);
	s->files[s->n_files] = f;
	s->file_slots[slot] = s->n_files + 1;
	return s->n_files++;
}

uint32_t
symbols_file(struct symbols *s, int fd, const char *name)
{
	struct stat st;
	uint32_t i;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return SYMBOLS_NO_FILE;
	for (i = (uint32_t)file_hash(&st) % FILE_SLOTS;
	     s->file_slots[i] != 0; i = (i + 1) % FILE_SLOTS)
		if (file_id_is(&s->files[s->file_slots[i] - 1]->id, fd, &st))
			return s->file_slots[i] - 1;
	return file_add(s, fd, &st, name, i);
}

uint32_t
symbols_map(struct symbols *s, int fd)
{
	uint32_t file = symbols_file(s, fd, "[jit]");
	struct file *f;

	if (file == SYMBOLS_NO_FILE)
		return file;
	f = s->files[file];
	f->perfmap = true;
	if (f->forgotten)
		f->state = FILE_NEW;
	f->forgotten = false;
	return file;
}

bool
symbols_map_missed(struct symbols *s, uint32_t file)
{
	bool missed = s->files[file]->missed;

	s->files[file]->missed = false;
	return missed;
}

void
symbols_map_forget(struct symbols *s, uint32_t file)
{
	struct file *f = s->files[file];

	if (file_is_ready(s, f))
		symbols_link_drop(s->link, file);
	f->forgotten = f->forgotten || f->state != FILE_OPAQUE;
	f->state = FILE_OPAQUE;
}

/* A memory file with the vdso's bytes, which are one ELF file; -1 where
 * there is none.  Ours is everybody's. */
static int
vdso_open(void)
{
	const char *p = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	unsigned long start, end, size = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	int fd;

	if (maps == NULL)
		return -1;
	while (fgets(line, sizeof(line), maps) != NULL)
		if (strstr(line, "[vdso]") != NULL &&
		    sscanf(line, "%lx-%lx", &start, &end) == 2)
			size = end - start;
	fclose(maps);
	if (p == NULL || size == 0 || size > VDSO_MAX)
		return -1;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, p, size) != (ssize_t)size) {
		close(fd);
		fd = -1;
	}
	return fd;
}

uint32_t
symbols_vdso(struct symbols *s)
{
	int fd;

	if (s->vdso != SYMBOLS_NO_FILE)
		return s->vdso;
	fd = vdso_open();
	if (fd < 0)
		return SYMBOLS_NO_FILE;
	s->vdso = symbols_file(s, fd, "[vdso]");
	if (s->vdso == SYMBOLS_NO_FILE)
		close(fd);
	else
		s->files[s->vdso]->kept_fd = fd;
	return s->vdso;
}

int
symbols_vdso_fd(struct symbols *s)
{
	uint32_t file = symbols_vdso(s);

	return file != SYMBOLS_NO_FILE ? s->files[file]->kept_fd : -1;
}

bool
symbols_wants(const struct symbols *s, uint32_t file)
{
	const struct file *f = s->files[file];

	if (f->state == FILE_OPAQUE || s->now_ns < f->retry_ns ||
	    f->waiting_fd >= 0)
		return false;
	return f->state == FILE_NEW ||
	    f->generation != symbols_link_generation(s->link);
}

/* Makes room in the child: takes the file away that was used longest ago, of
 * those that nothing is to be asked of. */
static void
files_make_room(struct symbols *s)
{
	uint64_t symbols = 0;
	uint32_t i, loaded = 0, oldest = NONE;

	for (i = 1; i < s->n_files; i++) {
		const struct file *f = s->files[i];

		if (!file_is_ready(s, f))
			continue;
		loaded++;
		symbols += f->symbols;
		if (f->pending == NONE && (oldest == NONE ||
		    f->used_ns < s->files[oldest]->used_ns))
			oldest = i;
	}
	if (oldest != NONE &&
	    (loaded >= LOADED_MAX || symbols > LOADED_SYMBOLS_MAX) &&
	    symbols_link_drop(s->link, oldest))
		s->files[oldest]->state = FILE_NEW;
}

/* Sends it; false when there is no room. */
static bool
file_load(struct symbols *s, uint32_t file, int fd)
{
	struct file *f = s->files[file];

	if (!symbols_link_ready(s->link))
		return false;
	files_make_room(s);
	if (!symbols_link_file(s->link, f->perfmap ? WIRE_PERFMAP : WIRE_LOAD,
	    file, fd, f->id.size))
		return false;
	f->state = FILE_LOADING;
	f->generation = symbols_link_generation(s->link);
	f->used_ns = s->now_ns;
	return true;
}

static void
file_end_waiting(struct symbols *s, struct file *f)
{
	if (f->waiting_fd < 0)
		return;
	close(f->waiting_fd);
	f->waiting_fd = -1;
	s->waiting--;
}

void
symbols_file_list(struct symbols *s, uint32_t file)
{
	struct file *f = s->files[file];

	if (f->listed)
		return;
	f->listed = true;
	f->next_pending = s->pending;
	s->pending = file;
}

/* Nobody may ask for it again in this slot, and then its addresses had no
 * names. */
static void
file_wait(struct symbols *s, uint32_t file, int fd)
{
	struct file *f = s->files[file];

	if (f->waiting_fd >= 0 || s->waiting == WAITING_MAX)
		return;
	f->waiting_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (f->waiting_fd < 0)
		return;
	s->waiting++;
	symbols_file_list(s, file);
}

void
symbols_load(struct symbols *s, uint32_t file, int fd)
{
	struct file *f = s->files[file];
	struct stat st;

	/* The path may lead to another file by now. */
	if (fstat(fd, &st) == 0 && file_id_is(&f->id, fd, &st) &&
	    !file_load(s, file, fd))
		file_wait(s, file, fd);
}

/* Opens what packages install, or a mirror has; -1: no plain file there.  An
 * empty one is how debuginfod remembers that there is none. */
static int
debug_open(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && (fstat(fd, st) != 0 || !S_ISREG(st->st_mode) ||
	    st->st_size == 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int
debug_open_id(const struct symbols *s, const char *build_id, struct stat *st)
{
	char path[1024];
	int fd = -1;

	if (s->debug != NULL && debug_file_path(s->debug, build_id, path,
	    sizeof(path)))
		fd = debug_open(path, st);
	for (unsigned i = 0; fd < 0 && s->mirror != NULL && i < 2; i++)
		if (debug_file_mirrored(s->mirror, build_id, i, path,
		    sizeof(path)))
			fd = debug_open(path, st);
	return fd;
}

/*
 * Offers the separate debug file of a build id, if there is one here.  Until
 * it is on its way the file's addresses must wait: an answer without it
 * would be kept for good.
 */
static void
file_load_debug(struct symbols *s, uint32_t file)
{
	struct file *f = s->files[file];
	struct stat st;
	int fd = debug_open_id(s, f->build_id, &st);

	f->debug_due = false;
	if (fd < 0)
		return;
	f->debug_due = !symbols_link_file(s->link, WIRE_DEBUG, file, fd,
	    (uint64_t)st.st_size);
	f->debug_sent = !f->debug_due && s->inlines;
	close(fd);
}

/*
 * Opens the file that shares debug information, by its build id, else by its
 * name in the folder where packages have such files, beside that of build
 * ids.  The path is foreign: nothing else of it counts.
 */
static void
file_open_alt(struct symbols *s, uint32_t file, const struct wire_reply *r,
    const uint8_t *p, size_t n)
{
	static const char folder[] = "/.dwz/";
	char id[2 * WIRE_BUILD_ID_MAX + 1], link[256], path[1024];
	struct file *f = s->files[file];
	const char *name;
	struct stat st;

	if (r->alt_id_len == 0 || r->alt_id_len > WIRE_BUILD_ID_MAX ||
	    n < r->alt_id_len || n - r->alt_id_len >= sizeof(link) ||
	    f->alt_fd >= 0)
		return;
	debug_file_id(p, r->alt_id_len, id);
	n -= r->alt_id_len;
	memcpy(link, p + r->alt_id_len, n);
	link[n] = '\0';
	f->alt_fd = debug_open_id(s, id, &st);
	name = strstr(link, folder);
	if (f->alt_fd >= 0 || s->debug == NULL || name == NULL ||
	    strstr(name, "/..") != NULL)
		return;
	snprintf(path, sizeof(path), "%s/..%s", s->debug, name);
	f->alt_fd = debug_open(path, &st);
}

static void
file_close_alt(struct file *f)
{
	if (f->alt_fd >= 0)
		close(f->alt_fd);
	f->alt_fd = -1;
}

/* Sends it when there is room; before the first address. */
static void
file_load_alt(struct symbols *s, uint32_t file)
{
	struct file *f = s->files[file];
	struct stat st;

	if (fstat(f->alt_fd, &st) != 0 ||
	    symbols_link_file(s->link, WIRE_ALT, file, f->alt_fd,
	    (uint64_t)st.st_size))
		file_close_alt(f);
}

/* Is all on its way that the names of its addresses may need? */
static bool
file_is_whole(const struct file *f)
{
	return !f->debug_due && !f->debug_sent && f->alt_fd < 0;
}

/* The file has no names then but those that it exports. */
static void
file_lacks_packed(struct symbols *s, const struct file *f, uint32_t status)
{
	static const char *const why[] = {
	    [ELF_NOT_ELF] = "is no ELF file",
	    [ELF_UNSUPPORTED] = "is for another machine",
	    [ELF_DAMAGED] = "is damaged",
	    [ELF_TOO_BIG] = "is too big",
	    [ELF_NO_MEMORY] = "does not fit into memory"};

	if (status == ELF_OK)
		return;
	s->unpacked++;
	log_warn("symbols: %s: what .gnu_debugdata names %s", f->module,
	    status < sizeof(why) / sizeof(why[0]) ? why[status] : "is odd");
}

void
symbols_file_answer(struct symbols *s, uint32_t file,
    const struct wire_reply *r, const uint8_t *p, size_t n)
{
	struct file *f = s->files[file];
	uint32_t symbols = r->symbols < ELF_SYMBOLS_MAX ? r->symbols :
	    ELF_SYMBOLS_MAX;

	if (r->type == WIRE_ALT)
		return;
	if (r->type == WIRE_DEBUG) {
		f->symbols += symbols;
		f->debug_sent = false;
		file_open_alt(s, file, r, p, n);
		return;
	}
	f->debug_due = false;
	f->symbols = symbols;
	if (r->status == ELF_NO_MEMORY) {
		f->state = FILE_NEW;
		f->retry_ns = s->now_ns + RETRY_MIN_NS;
		return;
	}
	f->state = r->status == ELF_OK ? FILE_READY : FILE_OPAQUE;
	if (f->state != FILE_READY)
		return;
	file_lacks_packed(s, f, r->packed);
	debug_file_id(r->build_id, r->build_id_len, f->build_id);
	file_open_alt(s, file, r, p, n);
	if (!r->complete && !f->perfmap)
		file_load_debug(s, file);
}

void
symbols_file_lost(struct symbols *s, uint32_t file, bool guilty)
{
	struct file *f = s->files[file];
	unsigned doubled;

	f->state = FILE_NEW;
	f->debug_sent = false;
	file_close_alt(f);
	if (!guilty)
		return;
	f->strikes++;
	if (f->strikes <= FREE_STRIKES)
		return;
	doubled = f->strikes - FREE_STRIKES - 1;
	f->retry_ns = s->now_ns + (doubled < 9 ? RETRY_MIN_NS << doubled :
	    RETRY_MAX_NS);
	s->skipped++;
	log_warn("symbols: skipping %s for a while: the child died of it",
	    f->module);
}

void
symbols_file_queue(struct symbols *s, uint32_t address)
{
	struct address *a = &s->addresses[address];
	struct file *f = s->files[a->file];

	a->state = ADDRESS_QUEUED;
	a->next = f->pending;
	f->pending = address;
	symbols_file_list(s, a->file);
}

/* Sends the queue of one file, or its first part; false: the child takes no
 * more, or is dead. */
static bool
file_send(struct symbols *s, uint32_t file)
{
	struct file *f = s->files[file];
	uint64_t offsets[WIRE_OFFSETS] = {0};
	uint32_t ids[WIRE_OFFSETS] = {0}, n = 0, at = f->pending, i;

	for (; at != NONE && n < (s->inlines ? WIRE_OFFSETS_INLINE :
	    WIRE_OFFSETS); at = s->addresses[at].next) {
		ids[n] = at;
		offsets[n++] = s->addresses[at].offset;
	}
	if (!symbols_link_resolve(s->link, file, offsets, ids, n))
		return false;
	for (i = 0; i < n; i++)
		s->addresses[ids[i]].state = ADDRESS_SENT;
	f->pending = at;
	f->used_ns = s->now_ns;
	return true;
}

/* An opaque file's addresses have no answer to wait for. */
static void
file_give_up(struct symbols *s, struct file *f)
{
	uint32_t at = f->pending;

	for (; at != NONE; at = s->addresses[at].next)
		s->addresses[at].state = ADDRESS_IDLE;
	f->pending = NONE;
	file_end_waiting(s, f);
}

void
symbols_files_send(struct symbols *s)
{
	uint32_t file = s->pending, next;

	s->pending = NONE;
	for (; file != NONE; file = next) {
		struct file *f = s->files[file];

		next = f->next_pending;
		if (f->state == FILE_OPAQUE)
			file_give_up(s, f);
		if (f->waiting_fd >= 0 && file_load(s, file, f->waiting_fd))
			file_end_waiting(s, f);
		if (f->debug_due && file_is_ready(s, f) &&
		    symbols_link_ready(s->link))
			file_load_debug(s, file);
		if (f->alt_fd >= 0 && file_is_ready(s, f) &&
		    symbols_link_ready(s->link))
			file_load_alt(s, file);
		while (file_is_whole(f) && f->pending != NONE &&
		    file_is_ready(s, f) && file_send(s, file))
			continue;
		f->listed = false;
		if (f->pending != NONE || f->waiting_fd >= 0)
			symbols_file_list(s, file);
	}
}

void
symbols_files_clear(struct symbols *s)
{
	uint32_t i;

	for (i = 1; i < s->n_files; i++) {
		if (file_is_ready(s, s->files[i]))
			symbols_link_drop(s->link, i);
		if (s->files[i]->kept_fd >= 0)
			close(s->files[i]->kept_fd);
		file_close_alt(s->files[i]);
		file_end_waiting(s, s->files[i]);
		free(s->files[i]);
	}
	memset(s->file_slots, 0, sizeof(s->file_slots));
	s->n_files = 1;
	s->pending = NONE;
	s->vdso = SYMBOLS_NO_FILE;
}
