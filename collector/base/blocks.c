/*
 * Each block has the one place that its file and number give it.  What is as
 * large as a block does not stay.
 */
#include "collector/base/blocks.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 4096u
#define BLOCKS 64u

static struct block {
	uint64_t file, at; /* of its first byte */
	size_t n;          /* bytes that are there: fewer at a file's end */
	char bytes[BLOCK];
} blocks[BLOCKS];
static uint64_t last_file = BLOCKS_NONE;

uint64_t
blocks_file(void)
{
	return ++last_file;
}

/* As many bytes as are there. */
static size_t
blocks_fill(int fd, uint64_t at, char *to, size_t n)
{
	size_t done = 0;
	ssize_t got = 1;

	while (done < n && got > 0) {
		got = pread(fd, to + done, n - done, (off_t)(at + done));
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			done += (size_t)got;
	}
	return done;
}

static const struct block *
blocks_get(int fd, uint64_t file, uint64_t at)
{
	struct block *b = &blocks[(at / BLOCK * 31 + file * 7) % BLOCKS];

	if (b->file != file || b->at != at) {
		b->n = blocks_fill(fd, at, b->bytes, BLOCK);
		b->file = file;
		b->at = at;
	}
	return b;
}

bool
blocks_read(int fd, uint64_t file, uint64_t at, void *p, size_t n)
{
	size_t in = at % BLOCK, part = n < BLOCK - in ? n : BLOCK - in;
	const struct block *b;

	if (file == BLOCKS_NONE || n >= BLOCK)
		return blocks_fill(fd, at, p, n) == n;
	b = blocks_get(fd, file, at - in);
	if (b->n < in + part) /* it may have grown */
		return blocks_fill(fd, at, p, n) == n;
	memcpy(p, b->bytes + in, part);
	return part == n || blocks_read(fd, file, at + part, (char *)p + part,
	    n - part);
}
