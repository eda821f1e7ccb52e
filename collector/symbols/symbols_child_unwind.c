/*
 * The child's answer to WIRE_UNWIND: rows of .eh_frame in a memory file that
 * nobody can change any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/blocks.h"
#include "collector/symbols/symbols_child.h"
#include "collector/symbols/symbols_wire.h"
#include "collector/symbols/unwind_read.h"

struct unwind_input {
	int fd;
	uint64_t blocks;
};

static bool
unwind_input(void *arg, uint64_t at, void *p, size_t n)
{
	const struct unwind_input *in = arg;

	return blocks_read(in->fd, in->blocks, at, p, n);
}

/* A sealed memory file of the rows; -1 when it could not be made. */
static int
unwind_file(const struct unwind_row *rows, size_t n)
{
	const char *p = (const char *)rows;
	size_t left = n * sizeof(*rows);
	ssize_t r;
	int fd = memfd_create("unwind", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	while (fd >= 0 && left > 0) {
		r = write(fd, p, left);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		p += r;
		left -= (size_t)r;
	}
	if (fd >= 0 && (left > 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL |
	    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool
symbols_child_unwind(int socket, const struct wire_request *q, int fd)
{
	struct unwind_input of = {fd, blocks_file()};
	struct elf_input in = {.read = unwind_input, .arg = &of,
	    .size = q->size};
	struct {
		struct wire_reply head;
		struct wire_unwound code;
	} out = {.head = {.type = q->type, .seq = q->seq,
	    .file = q->file, .n = q->n}};
	struct wire_reply *r = &out.head;
	struct unwind_file f;
	int rows = -1;
	bool ok;

	r->status = unwind_read(&in, q->offsets[0], UNWIND_ROWS_MAX, &f);
	close(fd);
	out.code = (struct wire_unwound){.base = f.code.base, .n = f.code.n,
	    .shift = f.code.shift};
	if (f.rows.n > 0) {
		rows = unwind_file(f.rows.rows, f.rows.n);
		if (rows < 0)
			r->status = ELF_NO_MEMORY;
	}
	free(f.rows.rows);
	r->symbols = (uint32_t)f.rows.n;
	r->build_id_len = (uint8_t)f.id_len;
	memcpy(r->build_id, f.id, f.id_len);
	ok = wire_send(socket, &out, sizeof(out), rows, 0);
	if (rows >= 0)
		close(rows);
	return ok;
}
