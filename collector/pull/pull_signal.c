/*
 * The process is held by a descriptor from before it is looked at until it is
 * told: its number may be another's by then.
 */
#include "collector/pull/pull_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store/base/err.h"

static const struct {
	const char *name;
	int number;
} signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}};

int
pull_signal_parse(const char *name)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (strcmp(name, signals[i].name) == 0)
			return signals[i].number;
	return 0;
}

/* The beginning of a file as text; false where it cannot be read. */
static bool
signal_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

static bool
signal_is_caught(long pid, int signal)
{
	char path[40], status[8192];
	const char *caught;

	snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	if (!signal_read(path, status, sizeof(status)) ||
	    (caught = strstr(status, "\nSigCgt:\t")) == NULL)
		return false;
	return (strtoull(caught + 9, NULL, 16) >> (signal - 1) & 1) != 0;
}

static const struct err *
signal_send(int process, long pid, int signal)
{
	if (!signal_is_caught(pid, signal))
		return err_new(ERR_CONFIG, 0, "process %ld does not catch the "
		    "signal and would end by it: none was sent", pid);
	if (syscall(SYS_pidfd_send_signal, process, signal, NULL, 0) != 0)
		return err_errno("the signal for process %ld", pid);
	return NULL;
}

const struct err *
pull_signal_send(const char *pid_file, int signal)
{
	char text[32];
	const struct err *e;
	int process;
	long pid;

	if (!signal_read(pid_file, text, sizeof(text)))
		return err_errno("%s", pid_file);
	pid = strtol(text, NULL, 10);
	if (pid <= 1 || pid > INT32_MAX)
		return err_new(ERR_CONFIG, 0, "%s: no number of a process",
		    pid_file);
	process = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (process < 0)
		return err_errno("process %ld of %s", pid, pid_file);
	e = signal_send(process, pid, signal);
	close(process);
	return e;
}
