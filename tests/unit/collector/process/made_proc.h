/*
 * A /proc that a test makes, `proc`: the test makes it with mkdtemp(proc).
 */
#ifndef TESTS_UNIT_COLLECTOR_PROCESS_MADE_PROC_H
#define TESTS_UNIT_COLLECTOR_PROCESS_MADE_PROC_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/test.h"

static char proc[] = "/tmp/memlens-test-proc-XXXXXX";

static inline void
put_file(int pid, const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, name);
	f = fopen(path, "w"); /* the same inode, as in /proc */
	fputs(text, f);
	fclose(f);
}

static inline void
put_stat(int pid, const char *comm, unsigned flags, unsigned long start,
    unsigned long image)
{
	char text[600];

	snprintf(text, sizeof(text), "%d (%s) S 1 1 1 0 -1 %u 11 0 3 0 70 30 "
	    "0 0 20 0 5 0 %lu 4096000 250 18446744073709551615 %lu 2 3 0 0 0 "
	    "0 0\n", pid, comm, flags, start, image);
	put_file(pid, "stat", text);
}

static inline void
put_born(int pid, int parent, const char *comm, long start)
{
	char text[600];

	snprintf(text, sizeof(text), "%d (%s) S %d 1 1 0 -1 0 11 0 3 0 70 30 "
	    "0 0 20 0 5 0 %ld 4096000 250 18446744073709551615 1 2 3 0 0 0 "
	    "0 0\n", pid, comm, parent, start);
	put_file(pid, "stat", text);
}

static inline void
put_child(int pid, int parent, const char *comm)
{
	put_born(pid, parent, comm, 100);
}

/* The process has the socket `inode`, which listens on `port` of this
 * machine with another that is not its own. */
static inline void
put_listener(int pid, unsigned port, unsigned inode)
{
	char path[200], target[64], text[2000];

	snprintf(path, sizeof(path), "%s/%d/net", proc, pid);
	mkdir(path, 0755);
	snprintf(text, sizeof(text), "  sl  local_address rem_address   st\n"
	    "   0: 0100007F:%04X 00000000:0000 0A 00000000:00000000 "
	    "00:00000000 00000000     0        0 %u 1 0 100 0 0 10 0\n"
	    "   1: 00000000:0016 00000000:0000 0A 00000000:00000000 "
	    "00:00000000 00000000     0        0 77 1 0 100 0 0 10 0\n"
	    "   2: 0100007F:0050 0100007F:9999 01 00000000:00000000 "
	    "00:00000000 00000000     0        0 %u 1 0 100 0 0 10 0\n",
	    port, inode, inode);
	put_file(pid, "net/tcp", text);
	snprintf(path, sizeof(path), "%s/%d/fd", proc, pid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%d/fd/3", proc, pid);
	snprintf(target, sizeof(target), "socket:[%u]", inode);
	unlink(path);
	CHECK(symlink(target, path) == 0);
}

static inline void
remove_listener(int pid)
{
	static const char *const names[] = {"net/tcp", "fd/3"};
	char path[200];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, names[i]);
		unlink(path);
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
}

static inline void
put_exe(int pid, const char *target)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%d/exe", proc, pid);
	unlink(path);
	CHECK(symlink(target, path) == 0);
}

static inline void
remove_process(int pid)
{
	static const char *const names[] = {"stat", "exe", "cmdline",
	    "cgroup"};
	char path[200];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	rmdir(path);
}

#endif
