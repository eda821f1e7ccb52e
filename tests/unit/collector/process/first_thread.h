/*
 * A process whose first thread ends when it is told to, while another one
 * lives on: what /proc/PID says of memory is gone then, what /proc/TID says is
 * not.
 */
#ifndef TESTS_UNIT_COLLECTOR_PROCESS_FIRST_THREAD_H
#define TESTS_UNIT_COLLECTOR_PROCESS_FIRST_THREAD_H

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/test.h"

struct first_thread {
	int to[2], from[2]; /* pipes of one byte each */
	pid_t pid;
};

static void *
first_thread_other(void *fd)
{
	char byte;

	while (read(*(int *)fd, &byte, 1) > 0)
		;
	_exit(0);
}

/* The first thread says byte by byte how far it is, and ends. */
static _Noreturn void
first_thread_run(struct first_thread *f)
{
	pthread_t other;
	char byte = 0;

	close(f->to[1]);
	if (read(f->to[0], &byte, 1) != 1 || pthread_create(&other, NULL,
	    first_thread_other, &f->to[0]) != 0)
		_exit(1);
	if (write(f->from[1], &byte, 1) != 1)
		_exit(1);
	pthread_exit(NULL);
}

static void
first_thread_begin(struct first_thread *f)
{
	CHECK_INT(pipe(f->to), 0);
	CHECK_INT(pipe(f->from), 0);
	fflush(stdout);
	f->pid = fork();
	if (f->pid == 0)
		first_thread_run(f);
}

/* Returns when it has ended. */
static void
first_thread_end(const struct first_thread *f)
{
	char path[64], byte = 1;
	int tries;

	CHECK_INT(write(f->to[1], &byte, 1), 1);
	CHECK_INT(read(f->from[0], &byte, 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/root", (int)f->pid);
	for (tries = 0; tries < 2000 && access(path, F_OK) == 0; tries++)
		usleep(5000);
	CHECK(access(path, F_OK) != 0);
}

/* Ends the other one, too. */
static void
first_thread_fini(const struct first_thread *f)
{
	close(f->to[1]);
	waitpid(f->pid, NULL, 0);
	close(f->to[0]);
	close(f->from[0]);
	close(f->from[1]);
}

#endif
