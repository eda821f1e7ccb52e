/*
 * source_pbft: rounds of each replica and how long their phases took.
 *
 *	processes by name ──► files ──► where the functions are (pbft_find.h)
 *	        │                                  │
 *	        └──► replicas, counted by the probe that is attached there
 *
 * Nothing is loaded before there is such a program.  A file that has not the
 * functions is refused with its reason.  Where a file is attached already the
 * kernel counts a new process from its first call on, and it is looked at when
 * it is heard of: between two looks rounds would be lost.  A replica that says nothing has
 * zeros; one that is gone has nothing.
 */
#include "collector/pbft/pbft.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/pbft/pbft_cluster.h"
#include "collector/pbft/pbft_find.h"
#include "collector/pbft/pbft_slots.h"
#include "collector/probe/pbft_probe.h"
#include "collector/process/instances.h"
#include "collector/process/services.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"

#define LOOK_NS INT64_C(1000000000) /* between two looks at the processes */
#define STRANGERS PBFT_LOSTS /* a reason more, of no replica */
#define PROCESS_LABELS 4
#define PORT_LOOKS 10 /* in which a process begins to listen */

enum file_state {
	FILE_FREE,
	FILE_NEW,      /* nobody has looked into it */
	FILE_LOOKED,   /* the child does */
	FILE_ATTACHED,
	FILE_REFUSED
};

/* A program, as its first process was seen to run it. */
struct pbft_file {
	enum file_state state;
	int fd; /* while it is looked into */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
	bool runs; /* a process was seen with it lately */
	char name[16];
	char why[160]; /* refused */
};

struct pbft_member {
	int32_t pid;
	uint64_t start_ns; /* of the process; 0: the place is free */
	uint32_t image, file;
	uint32_t looks; /* at its port */
	bool seen, counted;
	char service[64], instance[16];
	char cluster[PBFT_CLUSTER_MAX];
	uint64_t states[PBFT_STATES]; /* since it is counted */
	uint64_t told[PBFT_STATES], told_lost[PBFT_LOSTS];
};

struct pbft {
	const struct config *config;
	struct services *services;
	int proc_fd;
	struct pbft_probe *probe; /* NULL: not needed yet */
	struct pbft_find find;
	uint32_t looked; /* the file of find */
	int64_t look_ns;
	struct pbft_file files[PBFT_FILES];
	struct pbft_member members[PBFT_REPLICAS];
	struct pbft_slots slots;
	uint64_t heard;   /* of the probe's: those are looked at */
	uint64_t unknown; /* phases of who is no member, or without memory */
	uint64_t told_unknown, told_strangers;
	bool crowded; /* more files or processes than there is room for */
};

static const char *const pbft_states[PBFT_STATES] = {"request", "pre-prepare",
    "prepare", "commit", "execute"};
static const char *const pbft_phases[PBFT_WHATS] = {"prepare", "commit",
    "execute"};
static const char *const pbft_reasons[PBFT_LOSTS + 1] = {"sums full",
    "beginning unknown", "end not seen", "state unknown",
    "process unknown"};

/* ---- files ---- */

static bool
file_is(const struct pbft_file *f, const struct stat *st)
{
	return f->state != FILE_FREE && f->dev == st->st_dev &&
	    f->ino == st->st_ino && f->size == st->st_size &&
	    f->changed.tv_sec == st->st_mtim.tv_sec &&
	    f->changed.tv_nsec == st->st_mtim.tv_nsec;
}

static void
file_free(struct pbft *p, uint32_t i)
{
	struct pbft_file *f = &p->files[i];

	if (f->state == FILE_LOOKED)
		pbft_find_drop(&p->find);
	if (f->state == FILE_ATTACHED)
		pbft_probe_detach(p->probe, i);
	if (f->state == FILE_NEW || f->state == FILE_LOOKED)
		close(f->fd);
	*f = (struct pbft_file){0};
}

/* The number of an open file, which is its own from now on; PBFT_FILES: there
 * is no room. */
static uint32_t
file_of(struct pbft *p, int fd, const char *comm)
{
	uint32_t i = 0, room = PBFT_FILES;
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return PBFT_FILES;
	}
	for (; i < PBFT_FILES && !file_is(&p->files[i], &st); i++)
		if (p->files[i].state == FILE_FREE && room == PBFT_FILES)
			room = i;
	if (i < PBFT_FILES || room == PBFT_FILES) {
		close(fd);
		p->crowded = p->crowded || i == PBFT_FILES;
		return i;
	}
	p->files[room] = (struct pbft_file){FILE_NEW, fd, st.st_dev,
	    st.st_ino, st.st_size, st.st_mtim, true, "", ""};
	snprintf(p->files[room].name, sizeof(p->files[room].name), "%s",
	    comm);
	return room;
}

static void
file_refuse(struct pbft_file *f, const char *why)
{
	close(f->fd);
	f->state = FILE_REFUSED;
	snprintf(f->why, sizeof(f->why), "%s", why);
}

static const struct err *
file_attach(struct pbft *p, uint32_t i, const struct pbft_found *found)
{
	const struct err *e = NULL;

	if (p->probe == NULL)
		e = pbft_probe_open(&p->probe, p->config->slot_ns);
	return e != NULL ? e : pbft_probe_attach(p->probe, i,
	    p->files[i].fd, found->offsets);
}

static void
file_found(struct pbft *p, const struct pbft_found *found)
{
	struct pbft_file *f = &p->files[p->looked];
	const struct err *e;

	if (found->why[0] != '\0') {
		file_refuse(f, found->why);
		return;
	}
	e = file_attach(p, p->looked, found);
	if (e != NULL) {
		file_refuse(f, e->text);
		return;
	}
	close(f->fd);
	f->state = FILE_ATTACHED;
	p->look_ns = 0; /* its processes are counted at once */
}

/* One file at a time is looked into. */
static void
files_look(struct pbft *p)
{
	struct pbft_found found;
	const struct err *e;

	if (p->find.pid != 0) {
		if (pbft_find_end(&p->find, &found))
			file_found(p, &found);
		return;
	}
	for (p->looked = 0; p->looked < PBFT_FILES; p->looked++)
		if (p->files[p->looked].state == FILE_NEW)
			break;
	if (p->looked == PBFT_FILES)
		return;
	e = pbft_find_begin(&p->find, p->files[p->looked].fd);
	if (e != NULL)
		file_refuse(&p->files[p->looked], e->text);
	else
		p->files[p->looked].state = FILE_LOOKED;
}

/* ---- members ---- */

/* Is it one of the names in [pbft] programs, which spaces part? */
static bool
member_is_named(const char *names, const char *comm)
{
	size_t n = strlen(comm), len;

	for (; *names != '\0'; names += len) {
		names += strspn(names, " ");
		len = strcspn(names, " ");
		if (n > 0 && len == n && memcmp(names, comm, n) == 0)
			return true;
	}
	return false;
}

static struct pbft_member *
member_of(struct pbft *p, const struct process *process)
{
	struct pbft_member *room = NULL;

	for (size_t i = 0; i < PBFT_REPLICAS; i++) {
		struct pbft_member *m = &p->members[i];

		if (m->pid == process->pid && m->start_ns == process->start_ns)
			return m;
		if (m->start_ns == 0 && room == NULL)
			room = m;
	}
	return room;
}

/* Its executable, which may be another one by now. */
static void
member_open(struct pbft *p, struct pbft_member *m,
    const struct process *process)
{
	char path[32];
	int fd;

	m->pid = process->pid;
	m->image = process->image;
	m->file = PBFT_FILES;
	pbft_cluster(p->proc_fd, m->pid, m->cluster);
	snprintf(path, sizeof(path), "/proc/%d/exe", process->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0)
		m->file = file_of(p, fd, process->read->comm);
}

/* Replicas are told apart though no rule names them: by the lowest port, else
 * by their number here. */
static void
member_name(struct pbft *p, struct pbft_member *m,
    const struct process_read *r)
{
	uint16_t port;

	snprintf(m->service, sizeof(m->service), "%s", r->service);
	if (r->instance[0] != '\0') {
		snprintf(m->instance, sizeof(m->instance), "%s",
		    r->instance);
		return;
	}
	if (m->instance[0] == ':' || m->looks >= PORT_LOOKS)
		return;
	m->looks++;
	port = instances_port(p->proc_fd, m->pid);
	if (port != 0)
		snprintf(m->instance, sizeof(m->instance), ":%u", port);
	else
		snprintf(m->instance, sizeof(m->instance), "#%d",
		    (int)(m - p->members) + 1);
}

static void
member_count(struct pbft *p, struct pbft_member *m)
{
	if (m->file == PBFT_FILES)
		return;
	p->files[m->file].runs = true;
	if (p->files[m->file].state != FILE_ATTACHED || m->counted)
		return;
	m->counted = pbft_probe_add(p->probe, m->pid, m->start_ns);
	p->crowded = p->crowded || !m->counted;
}

static void
member_look(void *arg, struct process *process)
{
	struct pbft *p = arg;
	struct pbft_member *m;

	if (!member_is_named(p->config->pbft_programs, process->read->comm))
		return;
	m = member_of(p, process);
	if (m == NULL) {
		p->crowded = true;
		return;
	}
	if (m->start_ns == 0 || m->image != process->image)
		member_open(p, m, process);
	m->start_ns = process->start_ns;
	m->seen = true;
	member_name(p, m, process->read);
	member_count(p, m);
}

static void
members_look(struct pbft *p)
{
	size_t i;

	p->crowded = false;
	for (i = 0; i < PBFT_FILES; i++)
		p->files[i].runs = false;
	for (i = 0; i < PBFT_REPLICAS; i++)
		p->members[i].seen = false;
	services_each(p->services, member_look, p);
}

/* The member whose calls are those of this number, or NULL. */
static struct pbft_member *
member_counted(struct pbft *p, int32_t pid)
{
	for (size_t i = 0; i < PBFT_REPLICAS; i++)
		if (p->members[i].counted && p->members[i].pid == pid)
			return &p->members[i];
	return NULL;
}

/* What /proc says of one that calls, if it is known by the sweep or not. */
static void
member_hear(void *arg, int32_t pid, uint64_t start_ns)
{
	struct pbft *p = arg;
	struct process *process;

	if (start_ns == 0)
		p->heard--; /* as if it were not heard of yet */
	else if (member_counted(p, pid) == NULL &&
	    (process = services_look(p->services, pid)) != NULL &&
	    pbft_probe_is(start_ns, process->start_ns))
		member_look(p, process);
}

static void
members_hear(struct pbft *p)
{
	uint64_t heard = pbft_probe_heard(p->probe);

	if (heard == p->heard)
		return;
	p->heard = heard;
	pbft_probe_each(p->probe, member_hear, p);
}

/* Who is counted, is no member, and is gone. */
static void
stranger_forget(void *arg, int32_t pid, uint64_t start_ns)
{
	struct pbft *p = arg;
	const struct process *process = services_known(p->services, pid);

	if (start_ns != 0 && member_counted(p, pid) == NULL &&
	    (process == NULL || !pbft_probe_is(start_ns, process->start_ns)))
		pbft_probe_remove(p->probe, pid);
}

static void
member_forget(struct pbft *p, struct pbft_member *m)
{
	if (m->counted)
		pbft_probe_remove(p->probe, m->pid);
	memset(m, 0, sizeof(*m));
}

/* After their last slot: who is gone, and programs that nobody runs. */
static void
members_forget(struct pbft *p)
{
	pbft_probe_each(p->probe, stranger_forget, p);
	for (uint32_t i = 0; i < PBFT_REPLICAS; i++)
		if (p->members[i].start_ns != 0 && !p->members[i].seen &&
		    !pbft_slots_wait(&p->slots, i))
			member_forget(p, &p->members[i]);
	for (uint32_t i = 0; i < PBFT_FILES; i++)
		if (p->files[i].state != FILE_FREE && !p->files[i].runs)
			file_free(p, i);
}

/* ---- a slot ---- */

static void
pbft_take(void *arg, const struct sums_key *key, uint64_t count,
    uint64_t above)
{
	struct pbft *p = arg;
	const struct pbft_member *m;

	members_hear(p);
	m = member_counted(p, (int32_t)key->tgid);
	if (m == NULL || key->what >= PBFT_WHATS + PBFT_STATES ||
	    !pbft_slots_add(&p->slots, (uint32_t)(m - p->members), key, count,
	    above))
		p->unknown += count;
}

/* Labels by name; returns how many. */
static size_t
member_labels(const struct pbft_member *m, const char *name,
    const char *value, struct label l[PROCESS_LABELS])
{
	l[0] = (struct label){name, value};
	l[1] = (struct label){"service", m->service};
	l[2] = (struct label){"instance", m->instance};
	l[3] = (struct label){"cluster", m->cluster};
	return PROCESS_LABELS - (m->cluster[0] == '\0');
}

struct pbft_put {
	struct pbft *p;
	struct batch *b;
	uint64_t slot;
};

/* Of one that came late there may be a second bin: batches add. */
static void
pbft_put_bin(void *arg, uint32_t member, uint32_t what, const struct bin *bin)
{
	const struct pbft_put *put = arg;
	struct pbft_member *m = &put->p->members[member];
	struct label labels[PROCESS_LABELS];
	struct series_desc desc = {.kind = SERIES_HISTOGRAM, .labels = labels,
	    .name = "pbft_phase_seconds", .unit = "seconds", .scale = 9};

	if (what >= PBFT_WHATS) {
		m->states[what - PBFT_WHATS] += bin->count;
		return;
	}
	desc.n_labels = member_labels(m, "phase", pbft_phases[what], labels);
	bins_put(bin, put->b, batch_series(put->b, &desc), put->slot);
}

struct pbft_counter {
	const char *name, *label, *value;
	uint64_t now, told;
};

static void
member_put_counter(const struct pbft_member *m, const struct pbft_counter *c,
    struct batch *b, uint64_t slot, int64_t time_ns)
{
	struct label labels[PROCESS_LABELS];
	struct series_desc desc = {.kind = SERIES_COUNTER, .labels = labels,
	    .name = c->name, .unit = ""};

	desc.n_labels = member_labels(m, c->label, c->value, labels);
	batch_add_counter(b, batch_series(b, &desc), slot, time_ns,
	    (int64_t)(c->now - c->told), (int64_t)c->now);
}

static void
member_put(struct pbft *p, struct pbft_member *m, struct batch *b,
    uint64_t slot, int64_t time_ns)
{
	struct pbft_replica now;
	size_t i;

	if (!m->counted || !pbft_probe_read(p->probe, m->pid, &now))
		return;
	for (i = 0; i < PBFT_STATES; i++)
		member_put_counter(m, &(struct pbft_counter){
		    "pbft_rounds_total", "state", pbft_states[i],
		    m->states[i], m->told[i]}, b, slot, time_ns);
	for (i = 0; i < PBFT_LOSTS; i++)
		member_put_counter(m, &(struct pbft_counter){
		    "memlens_pbft_lost_total", "reason", pbft_reasons[i],
		    now.lost[i], m->told_lost[i]}, b, slot, time_ns);
	memcpy(m->told, m->states, sizeof(m->told));
	memcpy(m->told_lost, now.lost, sizeof(m->told_lost));
}

/* What is of no replica. */
static void
pbft_put_unknown(struct pbft *p, struct batch *b, uint64_t slot,
    int64_t time_ns)
{
	uint64_t strangers = pbft_probe_strangers(p->probe);
	struct label label = {"reason", pbft_reasons[STRANGERS]};
	struct series_desc desc = {.kind = SERIES_COUNTER, .labels = &label,
	    .n_labels = 1, .name = "memlens_pbft_lost_total", .unit = ""};

	batch_add_counter(b, batch_series(b, &desc), slot, time_ns,
	    (int64_t)(p->unknown + strangers - p->told_unknown -
	    p->told_strangers), (int64_t)(p->unknown + strangers));
	p->told_unknown = p->unknown;
	p->told_strangers = strangers;
}

static const struct err *
pbft_close_slot(void *source, uint64_t slot, struct batch *b, bool first)
{
	struct pbft *p = source;
	int64_t time_ns, present;
	size_t i;

	(void)first;
	if (p->probe == NULL)
		return NULL;
	time_ns = (int64_t)(slot + 1) * p->config->slot_ns - 1;
	pbft_probe_take(p->probe, pbft_take, p);
	present = clock_wall_ns() / p->config->slot_ns + 1; /* or just there */
	pbft_slots_take(&p->slots, slot, (uint64_t)present, pbft_put_bin,
	    &(struct pbft_put){p, b, slot});
	for (i = 0; i < PBFT_REPLICAS; i++)
		member_put(p, &p->members[i], b, slot, time_ns);
	pbft_put_unknown(p, b, slot, time_ns);
	members_forget(p);
	return NULL;
}

/* ---- the source ---- */

static const struct err *
pbft_open(void **out, const struct config *config, struct services *services)
{
	struct pbft *p;

	*out = NULL;
	if (config->pbft_programs == NULL || config->pbft_programs[0] == '\0')
		return NULL;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return err_nomem();
	p->config = config;
	p->services = services;
	p->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*out = p;
	return NULL;
}

static void
pbft_close(void *source)
{
	struct pbft *p = source;

	for (uint32_t i = 0; i < PBFT_FILES; i++)
		file_free(p, i);
	pbft_probe_close(p->probe);
	if (p->proc_fd >= 0)
		close(p->proc_fd);
	pbft_slots_fini(&p->slots);
	free(p);
}

static int
pbft_fd(const void *source)
{
	(void)source;
	return -1;
}

static const struct err *
pbft_poll(void *source, int64_t now_ns)
{
	struct pbft *p = source;
	int64_t mono_ns = clock_mono_ns();

	(void)now_ns;
	if (p->probe != NULL) {
		pbft_probe_set_clock(p->probe);
		members_hear(p);
		pbft_probe_poll(p->probe, pbft_take, p);
	}
	files_look(p);
	if (mono_ns < p->look_ns + LOOK_NS)
		return NULL;
	p->look_ns = mono_ns;
	members_look(p);
	return NULL;
}

static void
pbft_stop(void *source)
{
	struct pbft *p = source;

	if (p->probe != NULL)
		pbft_probe_stop(p->probe);
}

/* What is attached and counted stays; each file is looked at anew. */
static bool
pbft_reload(void *source, const struct config *config)
{
	struct pbft *p = source;

	if (config->pbft_programs == NULL || config->pbft_programs[0] == '\0')
		return false;
	p->config = config;
	p->look_ns = 0;
	for (uint32_t i = 0; i < PBFT_REPLICAS; i++)
		p->members[i].image = UINT32_MAX;
	for (uint32_t i = 0; i < PBFT_FILES; i++)
		if (p->files[i].state == FILE_REFUSED)
			file_free(p, i);
	return true;
}

static const char *
pbft_name(size_t part)
{
	return part == 0 ? "pbft" : NULL;
}

static enum source_state
pbft_state(const void *source, size_t part, const char **why)
{
	const struct pbft *p = source;
	size_t attached = 0;

	(void)part;
	*why = NULL;
	for (size_t i = 0; i < PBFT_FILES; i++) {
		attached += p->files[i].state == FILE_ATTACHED;
		if (p->files[i].state == FILE_REFUSED)
			*why = p->files[i].why;
	}
	if (p->crowded)
		*why = "more processes or programs than there is room for";
	if (attached == 0)
		return *why != NULL ? SOURCE_NOT_ATTACHED : SOURCE_OFF;
	return *why != NULL ? SOURCE_DEGRADED : SOURCE_ATTACHED;
}

const struct source_ops source_pbft = {
    .spends = SPENT_OTHER,
    .name = pbft_name,
    .open = pbft_open,
    .fd = pbft_fd,
    .poll = pbft_poll,
    .close_slot = pbft_close_slot,
    .state = pbft_state,
    .close = pbft_close,
    .stop = pbft_stop,
    .reload = pbft_reload,
};
