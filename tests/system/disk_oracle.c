/*
 * disk_oracle FOLDER: reads straight from a device, in order and not, and
 * writes and syncs, itself and by io_uring, by its own clock.
 *
 *	reads N BYTES      the O_DIRECT ones
 *	sync CALL NS       each call
 *	done
 *
 * Then it waits to be ended: who asks whose a process is finds it.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/uring.h"

#define BLOCK 4096
#define BLOCKS 1024 /* of the file that is read */
#define IN_ORDER 200
#define STRIDE 37 /* blocks; so that none follows the one before */
#define SYNCS 45
#define WORKED 8 /* few: a worker comes some time behind its call */

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int
file(const char *name, int flags)
{
	int fd = open(name, flags | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		err(1, "%s", name);
	return fd;
}

static void
fill(const char *name, char *room)
{
	int fd = file(name, O_WRONLY);

	memset(room, 'x', BLOCK);
	for (int i = 0; i < BLOCKS; i++)
		if (write(fd, room, BLOCK) != BLOCK)
			err(1, "%s", name);
	if (fsync(fd) != 0)
		err(1, "%s", name);
	close(fd);
}

static void
read_straight(const char *name, char *room)
{
	int fd = file(name, O_RDONLY | O_DIRECT), n = 0;

	for (int i = 0; i < IN_ORDER; i++, n++)
		if (pread(fd, room, BLOCK, (off_t)i * BLOCK) != BLOCK)
			err(1, "%s", name);
	for (int i = 2 * STRIDE; i < BLOCKS; i += STRIDE, n++)
		if (pread(fd, room, BLOCK, (off_t)(BLOCKS - i) * BLOCK) !=
		    BLOCK)
			err(1, "%s", name);
	printf("reads %d %d\n", n, n * BLOCK);
	close(fd);
}

static void
sync_often(const char *name, const char *room)
{
	int fd = file(name, O_RDWR);
	char *map;

	if (ftruncate(fd, BLOCK * SYNCS) != 0)
		err(1, "%s", name);
	map = mmap(NULL, BLOCK * SYNCS, PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0);
	if (map == MAP_FAILED)
		err(1, "mmap");
	for (int i = 0; i < SYNCS; i++) {
		const char *call = i % 3 == 0 ? "fsync" : i % 3 == 1 ?
		    "fdatasync" : "msync";
		int64_t began;
		int r;

		if (pwrite(fd, room, BLOCK, (off_t)i * BLOCK) != BLOCK)
			err(1, "%s", name);
		map[i * BLOCK] = 'y';
		began = now_ns();
		r = i % 3 == 0 ? fsync(fd) : i % 3 == 1 ? fdatasync(fd) :
		    msync(map, BLOCK * SYNCS, MS_SYNC);
		printf("sync %s %lld\n", call, (long long)(now_ns() - began));
		if (r != 0)
			err(1, "%s", call);
	}
	munmap(map, BLOCK * SYNCS);
	close(fd);
}

/* Each of them is a sync, which no call asks for. */
static void
write_synced(const char *name, const char *room)
{
	int fd = file(name, O_RDWR | O_SYNC);

	for (int i = 0; i < SYNCS; i++) {
		int64_t began = now_ns();

		if (pwrite(fd, room, BLOCK, (off_t)i * BLOCK) != BLOCK)
			err(1, "%s", name);
		printf("sync other %lld\n", (long long)(now_ns() - began));
	}
	close(fd);
}

static void
do_timed(struct uring *u, const struct io_uring_sqe *request, const char *call)
{
	int64_t began = now_ns();

	if (uring_do(u, request) < 0)
		errx(1, "io_uring: %s", call);
	printf("sync %s %lld\n", call, (long long)(now_ns() - began));
}

/* By workers of io_uring, where there is one: in no call of their own. */
static void
sync_by_workers(const char *name, const char *synced, const char *room)
{
	int fd = file(name, O_RDWR), direct = file(synced, O_RDWR | O_SYNC);
	struct io_uring_sqe sync = {.opcode = IORING_OP_FSYNC, .fd = fd};
	struct io_uring_sqe put = {.opcode = IORING_OP_WRITE, .fd = direct,
	    .addr = (uintptr_t)room, .len = BLOCK};
	struct uring u;

	if (!uring_open(&u))
		return;
	for (int i = 0; i < WORKED; i++) {
		if (pwrite(fd, room, BLOCK, (off_t)i * BLOCK) != BLOCK)
			err(1, "%s", name);
		sync.fsync_flags = i % 2 == 0 ? 0 : IORING_FSYNC_DATASYNC;
		do_timed(&u, &sync, i % 2 == 0 ? "fsync" : "fdatasync");
		put.off = (uint64_t)i * BLOCK;
		do_timed(&u, &put, "other");
	}
	close(fd);
	close(direct);
}

int
main(int argc, char **argv)
{
	char *room = aligned_alloc(BLOCK, BLOCK);

	if (argc != 2 || room == NULL || chdir(argv[1]) != 0)
		errx(2, "usage: disk_oracle FOLDER");
	fill("read", room);
	read_straight("read", room);
	sync_often("written", room);
	write_synced("synced", room);
	sync_by_workers("written", "synced", room);
	free(room);
	if (chdir("/") != 0)
		err(1, "/");
	puts("done");
	fflush(stdout);
	for (;;)
		pause();
}
