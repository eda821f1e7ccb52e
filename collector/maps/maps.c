/*
 * When the mappings of a process are read, and what changes of them say.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collector/base/spent.h"
#include "collector/maps/mapping_open.h"
#include "collector/maps/maps_private.h"
#include "collector/maps/maps_told.h"
#include "collector/process/process.h"
#include "collector/process/reader.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

#define TEXT_MAX (16u << 20)
#define REREAD_NS (60 * NS_PER_S)       /* while in use */
#define UNKNOWN_MIN_NS (1 * NS_PER_S)   /* after an unknown address; */
#define UNKNOWN_MAX_NS (16 * NS_PER_S)  /* doubles while that is in vain */
#define COST_FACTOR 500 /* at most 0.2 % of a CPU for one process */
#define UNUSED_NS (300 * NS_PER_S)

static void
process_free(struct maps_process *p)
{
	if (p->then != NULL)
		process_free(p->then);
	maps_list_fini(&p->list);
	free(p);
}

static void
maps_gone(void *arg, void *code)
{
	struct maps *m = arg;

	process_free(code);
	m->n--;
}

const struct err *
maps_new(struct maps **out, struct processes *table, const char *proc)
{
	struct maps *m = calloc(1, sizeof(*m));

	*out = m;
	if (m == NULL)
		return err_nomem();
	m->table = table;
	m->proc = proc;
	processes_serve(table, PROCESS_CODE, maps_gone, m);
	return NULL;
}

void
maps_free(struct maps *m)
{
	if (m == NULL)
		return;
	processes_serve(m->table, PROCESS_CODE, NULL, NULL);
	maps_list_fini(&m->nobody.list);
	buf_fini(&m->text);
	free(m);
}

/* Reads /proc/PID/WHAT into m->text, NUL-terminated; false when it cannot be
 * read or is too long. */
static bool
maps_read_text(struct maps *m, int32_t pid, const char *what)
{
	char path[256];
	ssize_t n = -1;
	int fd;

	buf_clear(&m->text);
	snprintf(path, sizeof(path), "%s/%" PRId32 "/%s", m->proc, pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (m->text.len < TEXT_MAX && buf_reserve(&m->text, 65536)) {
		n = read(fd, m->text.data + m->text.len, 65535);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		m->text.len += (size_t)n;
	}
	close(fd);
	if (n != 0 || m->text.failed)
		return false;
	m->text.data[m->text.len] = '\0';
	return true;
}

/* FUSE has no block device, so its files have a device of major 0. */
static bool
maps_may_be_foreign(const struct maps_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->mappings[i].kind == MAPPING_FILE &&
		    major(l->mappings[i].dev) == 0)
			return true;
	return false;
}

/* Says when an unknown address may be a reason to read again. */
static void
process_wait(struct maps_process *p, int64_t wait_ns, int64_t now_ns)
{
	int64_t fair_ns = p->cost_ns * COST_FACTOR;

	p->wait_ns = wait_ns < UNKNOWN_MAX_NS ? wait_ns : UNKNOWN_MAX_NS;
	p->again_ns = now_ns + (fair_ns > p->wait_ns ? fair_ns : p->wait_ns);
}

static bool
maps_read_process(struct maps *m, struct maps_process *p)
{
	int32_t reader;

	p->reader = p->pid;
	if (!maps_read_text(m, p->pid, "maps"))
		return false;
	if (m->text.len > 0)
		return true;
	reader = reader_find(m->proc, p->pid, p->pid);
	if (reader == 0 || !maps_read_text(m, reader, "maps") ||
	    m->text.len == 0)
		return false;
	p->reader = reader;
	return true;
}

void
maps_find_foreign(struct maps *m, struct maps_process *p)
{
	if (maps_may_be_foreign(&p->list))
		maps_mark_foreign(&p->list,
		    maps_read_text(m, p->reader, "mountinfo") ?
		    (char *)m->text.data : NULL);
}

/* Where one mapping has taken another's place, it may happen again. */
static void
process_note_turn(struct maps_process *p, const struct mapping *map)
{
	if (p->turns_end == 0 || map->start < p->turns)
		p->turns = map->start;
	if (map->end > p->turns_end)
		p->turns_end = map->end;
}

/* What was there when the list was read before is known since then. */
static void
process_compare(struct maps_process *p, const struct maps_list *old)
{
	size_t i, k = 0;

	for (i = 0; i < p->list.n; i++) {
		struct mapping *map = &p->list.mappings[i];

		map->seen_ns = p->list_ns;
		for (; k < old->n && old->mappings[k].end <= map->start; k++)
			continue;
		if (k == old->n || old->mappings[k].start >= map->end)
			continue;
		if (map->ino == old->mappings[k].ino &&
		    map->start - map->offset ==
		    old->mappings[k].start - old->mappings[k].offset)
			map->seen_ns = old->mappings[k].seen_ns;
		else
			process_note_turn(p, map);
	}
}

/* Replaces the list; a process that has just ended keeps the old one. */
static void
process_read(struct maps *m, struct maps_process *p, int64_t now_ns)
{
	enum spent_on before = spent_begin(SPENT_NAMES);
	int64_t began = clock_mono_ns(), cpu = clock_thread_cpu_ns();
	struct maps_list old = p->list;
	const struct err *e;

	m->reads++;
	p->read_ns = now_ns;
	if (maps_read_process(m, p)) {
		p->list = (struct maps_list){0};
		e = maps_parse((char *)m->text.data, m->text.len, &p->list);
		if (e != NULL)
			log_debug("%" PRId32 ": %s", p->pid, e->text);
		p->list_ns = now_ns + clock_mono_ns() - began;
		process_compare(p, &old);
		maps_list_fini(&old);
		maps_find_foreign(m, p);
	}
	p->cost_ns = clock_thread_cpu_ns() - cpu;
	process_wait(p, UNKNOWN_MIN_NS, now_ns);
	spent_begin(before);
}

/* Takes away what is known of the code of a process. */
static void
maps_drop(struct maps *m, struct process *p)
{
	process_drop(m->table, p, PROCESS_JIT);
	process_drop(m->table, p, PROCESS_CODE);
}

static struct maps_process *
maps_of(const struct process *p)
{
	return p != NULL ? p->part[PROCESS_CODE] : NULL;
}

/* Takes away the list that was used longest ago. */
static void
maps_evict(struct maps *m)
{
	struct process *p = NULL, *oldest = NULL;

	while ((p = processes_next(m->table, p)) != NULL)
		if (maps_of(p) != NULL && (oldest == NULL ||
		    maps_of(p)->used_ns < maps_of(oldest)->used_ns))
			oldest = p;
	maps_drop(m, oldest);
}

static struct maps_process *
maps_get(struct maps *m, struct process *of, int64_t now_ns)
{
	struct maps_process *p = maps_of(of);

	if (p == NULL && m->n == MAPS_PROCESSES_MAX)
		maps_evict(m);
	if (p == NULL) {
		of->part[PROCESS_CODE] = p = calloc(1, sizeof(*p));
		if (p == NULL)
			return &m->nobody;
		p->pid = p->reader = of->pid;
		m->n++;
	}
	if (p->image != of->image) {
		maps_list_fini(&p->list);
		p->read_ns = 0;
		p->turns = p->turns_end = 0;
	}
	p->image = of->image;
	p->used_ns = now_ns;
	return p;
}

struct maps_process *
maps_process(struct maps *m, struct process *of, int64_t now_ns)
{
	struct maps_process *p = maps_get(m, of, now_ns);

	if (of->read != NULL)
		p->parent = of->read->stat.parent;
	if (p->read_ns == 0 || (now_ns - p->read_ns > REREAD_NS &&
	    now_ns >= p->again_ns))
		process_read(m, p, now_ns);
	return p;
}

/* Made at first sight, and kept: nothing is added any more. */
struct maps_process *
maps_ended(struct maps *m, struct process *of, int64_t since_ns,
    int32_t reader, int64_t now_ns)
{
	struct maps_process *p = maps_get(m, of, now_ns);
	const struct err *e;

	if (p->read_ns != 0 && p->list.n > 0)
		return p;
	maps_list_fini(&p->list);
	p->read_ns = now_ns;
	p->reader = reader > 0 ? reader : (int32_t)getpid();
	process_wait(p, UNKNOWN_MAX_NS, now_ns);
	buf_clear(&m->text);
	maps_told(&m->changes, of->pid, since_ns, &m->text);
	if (m->text.failed)
		return p;
	e = maps_parse((char *)m->text.data, m->text.len - 1, &p->list);
	if (e != NULL)
		log_debug("%" PRId32 ": %s", of->pid, e->text);
	maps_find_foreign(m, p);
	return p;
}

static bool
maps_is_first(void *arg, const struct maps_change *change)
{
	const struct maps_change **first = arg;

	if (*first == NULL || change->time_ns < (*first)->time_ns)
		*first = change;
	return true;
}

const char *
maps_executable(const struct maps *m, int32_t pid, int64_t since_ns)
{
	const struct maps_change *first = NULL;

	maps_changes_each(&m->changes, pid, since_ns, maps_is_first, &first);
	return first != NULL && first->ino != 0 ?
	    maps_changes_path(&m->changes, first) : "";
}

void
maps_round(struct maps *m)
{
	maps_changes_round(&m->changes);
}

void
maps_cut(struct maps *m, const struct maps_change *change, const char *path)
{
	struct maps_process *p = maps_of(process_last(m->table, change->pid));
	size_t i, n = 0;

	maps_changes_add(&m->changes, change, path);
	for (i = 0; p != NULL && i < p->list.n; i++) {
		const struct mapping *map = &p->list.mappings[i];

		if (map->start >= change->end || map->end <= change->start ||
		    maps_change_is(change, map))
			p->list.mappings[n++] = *map;
		else
			process_note_turn(p, map);
	}
	if (p != NULL)
		p->list.n = n;
}

void
maps_lose(struct maps *m, int64_t since_ns, int64_t until_ns)
{
	maps_changes_lose(&m->changes, since_ns, until_ns);
}

void
maps_renew(struct process *of)
{
	process_renew(of);
	if (maps_of(of) != NULL)
		maps_of(of)->read_ns = 0;
}

/* Nothing is mapped in the first pages and in the upper half. */
static bool
maps_plausible(uint64_t addr)
{
	return addr >= 65536 && addr < UINT64_C(1) << 47;
}

struct mapping *
maps_find(struct maps *m, struct maps_process *p, uint64_t addr,
    int64_t now_ns)
{
	struct mapping *map = maps_list_find(&p->list, addr);
	int64_t wait_ns;

	if (map != NULL || now_ns < p->again_ns || !maps_plausible(addr))
		return map;
	wait_ns = p->wait_ns * 2;
	process_read(m, p, now_ns);
	map = maps_list_find(&p->list, addr);
	/* Code without frame pointers yields addresses that are none, again
	 * and again. */
	if (map == NULL)
		process_wait(p, wait_ns, now_ns);
	return map;
}

const char *
maps_process_name(const struct maps_process *p, const struct mapping *map)
{
	return maps_name(&p->list, map);
}

int64_t
maps_process_read(const struct maps_process *p)
{
	return p->list_ns;
}

const struct maps_list *
maps_process_list(const struct maps_process *p)
{
	return &p->list;
}

int32_t
maps_process_reader(const struct maps_process *p)
{
	return p->reader;
}

int32_t
maps_renew_reader(const struct maps *m, struct maps_process *p)
{
	int32_t reader = reader_find(m->proc, p->pid, p->reader);

	if (reader != 0)
		p->reader = reader;
	return p->reader;
}

/* The process has ended since its mappings were read: what it had may be found
 * by the same path, where its parent is, or where we are. */
static int
maps_open_after(const struct maps *m, const struct maps_process *p,
    const struct mapping *map)
{
	const char *name = maps_name(&p->list, map);
	int fd = p->parent > 0 ?
	    mapping_open_path(m->proc, p->parent, name, map) : -1;

	return fd >= 0 ? fd :
	    mapping_open_path(m->proc, (int32_t)getpid(), name, map);
}

int
maps_open(const struct maps *m, const struct maps_process *p,
    const struct mapping *map)
{
	enum spent_on before = spent_begin(SPENT_NAMES);
	const char *name = maps_name(&p->list, map);
	int32_t other;
	int fd = -1;

	if (map->kind == MAPPING_FILE) {
		fd = mapping_open(m->proc, p->reader, name, map);
		/* The thread may have ended since they were read. */
		if (fd < 0 && (other = reader_find(m->proc, p->pid,
		    p->pid)) != 0 && other != p->reader)
			fd = mapping_open(m->proc, other, name, map);
		if (fd < 0)
			fd = maps_open_after(m, p, map);
	}
	spent_begin(before);
	return fd;
}

void
maps_sweep(struct maps *m, int64_t now_ns)
{
	struct process *p = NULL;

	while ((p = processes_next(m->table, p)) != NULL)
		if (maps_of(p) != NULL &&
		    now_ns - maps_of(p)->used_ns >= UNUSED_NS)
			maps_drop(m, p);
}

static void
process_forget_files(struct maps_process *p)
{
	size_t i;

	for (i = 0; p != NULL && i < p->list.n; i++)
		p->list.mappings[i].tried = false;
	if (p != NULL)
		process_forget_files(p->then);
}

void
maps_forget_files(struct maps *m)
{
	struct process *p = NULL;

	while ((p = processes_next(m->table, p)) != NULL)
		process_forget_files(maps_of(p));
}

uint64_t
maps_reads(const struct maps *m)
{
	return m->reads;
}
