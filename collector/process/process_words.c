/*
 * What /proc says in words of a process: its command, its control group.
 */
#include "collector/process/process_words.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/readfile.h"
#include "collector/process/process.h"
#include "collector/process/reader.h"
#include "collector/process/services_rules.h"
#include "store/base/text.h"

static void
words_read_exe(int proc_fd, int32_t pid, char *out, size_t cap)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "%d/exe", pid);
	n = readlinkat(proc_fd, path, out, cap - 1);
	out[n > 0 ? n : 0] = '\0';
}

/* Is the first argument the executable, by a path that begins where nobody
 * knows?  A title that a program has given itself is not. */
static bool
words_are_relative(const char *first, const char *exe)
{
	const char *slash = strrchr(first, '/'), *end = strrchr(exe, '/');

	return first[0] != '/' && end != NULL &&
	    strcmp(slash != NULL ? slash + 1 : first, end + 1) == 0;
}

/* Joined by spaces; the executable's path is whole. */
static void
words_read_arguments(int proc_fd, int32_t pid, char *out, size_t cap)
{
	char path[32], text[sizeof(((struct process_read *)0)->command)];
	size_t first = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "%d/cmdline", pid);
	n = readfile_at(proc_fd, path, text, sizeof(text));
	text[n > 0 ? n : 0] = '\0';
	words_read_exe(proc_fd, pid, out, cap);
	if (words_are_relative(text, out))
		first = strlen(text);
	else
		out[0] = '\0';
	while (n > 0 && text[n - 1] == '\0')
		n--;
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] == '\0')
			text[i] = ' ';
	}
	text[n > (ssize_t)first ? n : (ssize_t)first] = '\0';
	snprintf(out + strlen(out), cap - strlen(out), "%s", text + first);
}

void
process_read_command(const char *path, int proc_fd, bool arguments,
    struct process *p)
{
	struct process_read *r = p->read;
	char rest[sizeof(r->command) - sizeof(r->comm) - 1];
	int32_t reader = r->stat.state != 'Z' ? p->pid :
	    reader_find(path, p->pid, p->pid);

	if (arguments)
		words_read_arguments(proc_fd, reader, rest, sizeof(rest));
	else
		words_read_exe(proc_fd, reader, rest, sizeof(rest));
	text_clean(rest);
	snprintf(r->command, sizeof(r->command), "%s %s", r->comm, rest);
}

void
process_read_cgroup(int proc_fd, struct process *p)
{
	struct process_read *r = p->read;
	char path[32], text[4096];

	snprintf(path, sizeof(path), "%d/cgroup", p->pid);
	r->cgroup[0] = '\0';
	if (readfile_at(proc_fd, path, text, sizeof(text)) > 0)
		services_cgroup(text, r->cgroup, sizeof(r->cgroup));
	text_clean(r->cgroup);
}
