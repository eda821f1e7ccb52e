/*
 * Processes that run such programs, from the first call that the kernel has
 * heard of to their last slot.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/config.h"
#include "collector/pbft/pbft_private.h"
#include "collector/process/instances.h"
#include "collector/process/services.h"

#define PORT_LOOKS 10 /* in which a process begins to listen */

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
		m->file = pbft_file_of(p, fd, process->read->comm);
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

	if (process->read->zombie || /* no zeros of what is dead */
	    !member_is_named(p->config->pbft_programs, process->read->comm))
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

void
pbft_members_look(struct pbft *p)
{
	size_t i;

	p->crowded = false;
	for (i = 0; i < PBFT_FILES; i++)
		p->files[i].runs = false;
	for (i = 0; i < PBFT_REPLICAS; i++)
		p->members[i].seen = false;
	services_each(p->services, member_look, p);
}

struct pbft_member *
pbft_member_counted(struct pbft *p, int32_t pid)
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
	else if (pbft_member_counted(p, pid) == NULL &&
	    (process = services_look(p->services, pid)) != NULL &&
	    pbft_probe_is(start_ns, process->start_ns))
		member_look(p, process);
}

void
pbft_members_hear(struct pbft *p)
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

	if (start_ns != 0 && pbft_member_counted(p, pid) == NULL &&
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

void
pbft_members_forget(struct pbft *p)
{
	pbft_probe_each(p->probe, stranger_forget, p);
	for (uint32_t i = 0; i < PBFT_REPLICAS; i++)
		if (p->members[i].start_ns != 0 && !p->members[i].seen &&
		    !pbft_slots_wait(&p->slots, i))
			member_forget(p, &p->members[i]);
	for (uint32_t i = 0; i < PBFT_FILES; i++)
		if (p->files[i].state != FILE_FREE && !p->files[i].runs)
			pbft_file_free(p, i);
}
