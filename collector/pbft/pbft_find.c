/*
 * A child for one file: the daemon sends the descriptor, the child what it
 * found.
 */
#include "collector/pbft/pbft_find.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/blocks.h"
#include "collector/elf/elf.h"
#include "collector/symbols/symbols_child.h"
#include "collector/symbols/symbols_wire.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define PATIENCE_NS (60 * INT64_C(1000000000))

/* As ResilientDB's compilers name them: the first one's argument is a
 * std::string, by value. */
static const struct {
	const char *symbol, *name;
} find_functions[PBFT_FUNCTIONS] = {
    [PBFT_RECORD] = {"_ZN5resdb5Stats15RecordStateTimeENSt7__cxx1112basic_"
        "stringIcSt11char_traitsIcESaIcEEE",
        "resdb::Stats::RecordStateTime(std::string)"},
    [PBFT_SUMMARY] = {"_ZN5resdb5Stats11SendSummaryEv",
        "resdb::Stats::SendSummary()"},
};

/* ---- the child ---- */

struct find_file {
	int fd;
};

static bool
find_read(void *arg, uint64_t at, void *p, size_t n)
{
	return blocks_read(((struct find_file *)arg)->fd, BLOCKS_NONE, at, p,
	    n);
}

static bool
find_function(const struct elf *e, enum pbft_function which,
    struct pbft_found *out)
{
	struct elf_symbol s;

	if (elf_find_named(e, find_functions[which].symbol, &s) &&
	    elf_offset(e, s.entry, &out->offsets[which]))
		return true;
	if (elf_has_symtab(e))
		snprintf(out->why, sizeof(out->why), "has no function %s",
		    find_functions[which].name);
	else
		snprintf(out->why, sizeof(out->why), "is stripped: without "
		    "symbols its functions cannot be found");
	return false;
}

void
pbft_find_in(int fd, uint64_t size, struct pbft_found *out)
{
	struct find_file file = {fd};
	struct elf_input in = {.read = find_read, .arg = &file, .size = size};
	struct elf *e = NULL;

	memset(out, 0, sizeof(*out));
	if (elf_open(&e, &in) != ELF_OK)
		snprintf(out->why, sizeof(out->why),
		    "cannot be read as an ELF file");
	for (int i = 0; out->why[0] == '\0' && i < PBFT_FUNCTIONS; i++)
		find_function(e, (enum pbft_function)i, out);
	elf_close(e);
}

static _Noreturn void
find_child(int socket, pid_t parent)
{
	struct pbft_found found;
	const char *step;
	uint64_t size;
	int fd;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
	    getppid() != parent || !symbols_child_sandbox(socket, &step))
		_exit(1);
	if (wire_receive(socket, &size, sizeof(size), &fd) != sizeof(size) ||
	    fd < 0)
		_exit(1);
	pbft_find_in(fd, size, &found);
	_exit(!wire_send(socket, &found, sizeof(found), -1, 0));
}

/* ---- the daemon ---- */

static const struct err *
find_fork(struct pbft_find *f, const int pair[2])
{
	pid_t parent = getpid();

	f->pid = fork();
	if (f->pid < 0) {
		f->pid = 0;
		return err_errno("forking a child that reads symbols");
	}
	if (f->pid == 0)
		find_child(pair[1], parent);
	f->socket = pair[0];
	f->until_ns = clock_mono_ns() + PATIENCE_NS;
	return NULL;
}

const struct err *
pbft_find_begin(struct pbft_find *f, int fd)
{
	const struct err *e;
	struct stat st;
	int pair[2];

	if (fstat(fd, &st) != 0)
		return err_errno("fstat");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_errno("socketpair");
	e = find_fork(f, pair);
	close(pair[1]);
	if (e != NULL) {
		close(pair[0]);
		return e;
	}
	f->size = (uint64_t)st.st_size;
	if (wire_send(f->socket, &f->size, sizeof(f->size), fd, MSG_DONTWAIT))
		return NULL;
	e = err_errno("handing a program to a child");
	pbft_find_drop(f);
	return e;
}

/* It has nothing that could keep it from dying. */
void
pbft_find_drop(struct pbft_find *f)
{
	if (f->pid == 0)
		return;
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	close(f->socket);
	*f = (struct pbft_find){0};
}

/* No byte of an answer is trusted. */
static bool
find_is_sane(const struct pbft_find *f, const struct pbft_found *found)
{
	for (size_t i = 0; i < PBFT_FUNCTIONS; i++)
		if (found->offsets[i] >= f->size)
			return false;
	for (const char *p = found->why; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			return false;
	return true;
}

bool
pbft_find_end(struct pbft_find *f, struct pbft_found *out)
{
	ssize_t n = recv(f->socket, out, sizeof(*out), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR) &&
	    clock_mono_ns() < f->until_ns)
		return false;
	out->why[sizeof(out->why) - 1] = '\0';
	if (n != sizeof(*out) || !find_is_sane(f, out)) {
		memset(out, 0, sizeof(*out));
		snprintf(out->why, sizeof(out->why), "%s", n < 0 ?
		    "took too long to be looked into" :
		    "has symbols that the child could not read");
	}
	pbft_find_drop(f);
	return true;
}
