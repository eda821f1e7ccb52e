/*
 * Names come from what outlives a restart: ports from /proc/PID/net/tcp,
 * parents, then arguments.  A number remembers whose it was, so that the
 * database that comes back is the series that it was.
 */
#include "collector/process/instances.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/readfile.h"
#include "collector/process/services.h"
#include "store/base/clock.h"
#include "store/base/intern.h"

#define LISTENERS_MAX 512
#define FDS_MAX 4096 /* looked at: who listens does so early in life */

/* A name in use, or a number that remembers whose it was. */
struct instance {
	char service[64], name[16];
	uint64_t command; /* hash of the arguments, for numbers */
	uint32_t processes;
	int64_t held_ns; /* boot time until which nobody else gets it */
};

struct instances {
	struct instance *all;
	size_t n, cap;
};

struct instances *
instances_new(void)
{
	return calloc(1, sizeof(struct instances));
}

void
instances_free(struct instances *in)
{
	if (in != NULL)
		free(in->all);
	free(in);
}

/* ---- ports ---- */

struct listener {
	unsigned long inode;
	uint16_t port;
};

/* Adds the listening sockets of /proc/PID/net/tcp or tcp6, which come before
 * all others. */
static size_t
listeners_read(int proc_fd, int32_t pid, const char *file,
    struct listener *list, size_t n)
{
	char path[32], text[65536], *rest = text, *line;
	unsigned long inode;
	unsigned port, state;

	snprintf(path, sizeof(path), "%d/net/%s", pid, file);
	if (readfile_at(proc_fd, path, text, sizeof(text)) <= 0)
		return n;
	readfile_line(&rest); /* the head */
	while (n < LISTENERS_MAX && (line = readfile_line(&rest)) != NULL) {
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x "
		    "%*s %*s %*s %*d %*d %lu", &port, &state, &inode) != 3 ||
		    state != 10)
			break;
		list[n++] = (struct listener){inode, (uint16_t)port};
	}
	return n;
}

/* The port of a descriptor that is one of the sockets, else 0. */
static uint16_t
listeners_port(const struct listener *list, size_t n, int dir_fd,
    const char *name)
{
	char target[64];
	ssize_t len = readlinkat(dir_fd, name, target, sizeof(target) - 1);
	unsigned long inode;

	if (len <= 0)
		return 0;
	target[len] = '\0';
	if (sscanf(target, "socket:[%lu]", &inode) != 1)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (list[i].inode == inode)
			return list[i].port;
	return 0;
}

uint16_t
instances_port(int proc_fd, int32_t pid)
{
	struct listener list[LISTENERS_MAX];
	size_t n = listeners_read(proc_fd, pid, "tcp", list, 0), seen = 0;
	uint16_t lowest = 0, port;
	char path[32];
	struct dirent *d;
	DIR *dir;
	int fd;

	n = listeners_read(proc_fd, pid, "tcp6", list, n);
	snprintf(path, sizeof(path), "%d/fd", pid);
	fd = n == 0 ? -1 : openat(proc_fd, path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC);
	if (fd < 0)
		return 0;
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return 0;
	}
	while (seen++ < FDS_MAX && (d = readdir(dir)) != NULL) {
		port = listeners_port(list, n, dirfd(dir), d->d_name);
		if (port != 0 && (lowest == 0 || port < lowest))
			lowest = port;
	}
	closedir(dir);
	return lowest;
}

/* ---- names ---- */

static struct instance *
instances_find(const struct instances *in, const char *service,
    const char *name)
{
	for (size_t i = 0; i < in->n; i++)
		if (strcmp(in->all[i].name, name) == 0 &&
		    strcmp(in->all[i].service, service) == 0)
			return &in->all[i];
	return NULL;
}

/* The record of a name: the one it has, one that is of no use any more, or a
 * new one.  NULL when out of memory. */
static struct instance *
instances_get(struct instances *in, const char *service, const char *name)
{
	struct instance *it = instances_find(in, service, name), *grown;

	for (size_t i = 0; it == NULL && i < in->n; i++)
		if (in->all[i].processes == 0 && in->all[i].name[0] != '#')
			it = &in->all[i];
	if (it == NULL && in->n == in->cap) {
		in->cap = in->cap ? in->cap * 2 : 32;
		grown = realloc(in->all, in->cap * sizeof(*grown));
		if (grown == NULL) {
			in->cap = in->n;
			return NULL;
		}
		in->all = grown;
	}
	if (it == NULL)
		it = &in->all[in->n++];
	else if (it->processes > 0 || it->name[0] == '#')
		return it;
	*it = (struct instance){.command = 0};
	snprintf(it->service, sizeof(it->service), "%s", service);
	snprintf(it->name, sizeof(it->name), "%s", name);
	return it;
}

static size_t
instances_count(const struct instances *in, const char *service)
{
	size_t n = 0;

	for (size_t i = 0; i < in->n; i++)
		n += in->all[i].processes > 0 &&
		    strcmp(in->all[i].service, service) == 0;
	return n;
}

static uint64_t
instances_command(int proc_fd, const struct process *p)
{
	char path[32], text[4096];
	uint64_t hash;
	ssize_t n;

	snprintf(path, sizeof(path), "%d/cmdline", p->pid);
	n = readfile_at(proc_fd, path, text, sizeof(text));
	hash = hash64(1, text, n > 0 ? (size_t)n : 0);
	snprintf(path, sizeof(path), "%d/cwd", p->pid);
	n = readlinkat(proc_fd, path, text, sizeof(text));
	hash = hash64(hash, text, n > 0 ? (size_t)n : 0);
	return hash64(hash, p->read->cgroup, strlen(p->read->cgroup));
}

/* 0: all have a process.  Where all others are held it is the one that was
 * given up first. */
static int
instances_number(const struct instances *in, const char *service,
    uint64_t command)
{
	int64_t held_ns, now_ns = clock_boot_ns(), least_ns = INT64_MAX;
	char name[16];
	int best = 0;

	for (int i = 1; i <= INSTANCES_MAX; i++) {
		const struct instance *it;

		snprintf(name, sizeof(name), "#%d", i);
		it = instances_find(in, service, name);
		if (it != NULL && it->processes > 0)
			continue;
		if (it != NULL && it->command == command)
			return i;
		held_ns = it != NULL && it->held_ns > now_ns ? it->held_ns : 0;
		if (held_ns < least_ns) {
			best = i;
			least_ns = held_ns;
		}
	}
	return best;
}

static void
instances_join(struct instances *in, struct process *p, const char *name,
    uint64_t command)
{
	struct instance *it = instances_find(in, p->read->service, name);

	if ((it == NULL || it->processes == 0) &&
	    instances_count(in, p->read->service) >= INSTANCES_MAX)
		name = INSTANCES_OTHER;
	if ((it = instances_get(in, p->read->service, name)) == NULL)
		return;
	if (it->processes++ == 0)
		it->command = command;
	memcpy(p->read->instance, it->name, sizeof(it->name));
}

void
instances_leave(struct instances *in, struct process *p)
{
	int64_t now_ns = clock_boot_ns();
	struct instance *it;

	if (p->read->instance[0] == '\0')
		return;
	it = instances_find(in, p->read->service, p->read->instance);
	if (it != NULL && it->processes > 0)
		it->processes--;
	if (it != NULL && (p->read->port != 0 ||
	    now_ns - (int64_t)p->start_ns >= INSTANCES_MOMENT_NS))
		it->held_ns = now_ns + INSTANCES_HELD_NS;
	p->read->instance[0] = '\0';
	p->read->follows = false;
}

void
instances_follow(struct instances *in, struct process *p,
    const struct process *parent)
{
	if (parent->read->instance[0] == '\0' ||
	    strcmp(parent->read->instance, p->read->instance) == 0)
		return;
	instances_leave(in, p);
	instances_join(in, p, parent->read->instance, 0);
	p->read->follows = true;
}

static void
instances_join_number(struct instances *in, int proc_fd, struct process *p)
{
	uint64_t command = instances_command(proc_fd, p);
	int number = p->read->number != 0 ? p->read->number :
	    instances_number(in, p->read->service, command);
	char name[sizeof(p->read->instance)];

	snprintf(name, sizeof(name), "#%d", number);
	instances_join(in, p, name, command);
	p->read->number = p->read->instance[0] == '#' ? (uint8_t)number : 0;
}

static void
instances_join_port(struct instances *in, struct process *p, uint16_t port)
{
	char name[sizeof(p->read->instance)];

	p->read->port = port;
	snprintf(name, sizeof(name), ":%u", port);
	if (strcmp(name, p->read->instance) == 0)
		return;
	instances_leave(in, p);
	instances_join(in, p, name, 0);
}

void
instances_name(struct instances *in, int proc_fd, struct process *p,
    const struct process *parent)
{
	uint16_t port = instances_port(proc_fd, p->pid);

	if (port != 0)
		instances_join_port(in, p, port);
	else if (p->read->instance[0] != '\0')
		return; /* as it was */
	else if (parent != NULL && parent->read->instance[0] != '\0')
		instances_follow(in, p, parent);
	else
		instances_join_number(in, proc_fd, p);
}
