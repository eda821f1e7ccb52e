/*
 * disk_children FOLDER: reads straight from a device in children that are over
 * before anybody looks at them, then in many threads at once.
 *
 *	reads N BYTES      of all of them
 *	done
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 4096
#define BLOCKS 4096 /* of the file */
#define CHILDREN 250
#define AT_ONCE 8
#define THREADS 100
#define READS 20 /* of each */

static int fd;

static void
read_some(uint32_t seed)
{
	char *room = aligned_alloc(BLOCK, BLOCK);

	for (int i = 0; i < READS; i++) {
		seed = seed * 1664525 + 1013904223;
		if (room == NULL || pread(fd, room, BLOCK,
		    (off_t)(seed >> 8) % BLOCKS * BLOCK) != BLOCK)
			err(1, "read");
	}
	free(room);
}

static void
fill(void)
{
	char *room = aligned_alloc(BLOCK, BLOCK);

	fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC | O_DIRECT, 0600);
	if (fd < 0 || room == NULL)
		err(1, "file");
	memset(room, 'x', BLOCK);
	for (int i = 0; i < BLOCKS; i++)
		if (write(fd, room, BLOCK) != BLOCK)
			err(1, "file");
	free(room);
	if (fsync(fd) != 0)
		err(1, "file");
}

static void
wait_all(int n)
{
	int status;

	while (n-- > 0)
		if (wait(&status) < 0 || status != 0)
			errx(1, "a child did not end well");
}

static void
children(void)
{
	fflush(stdout);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (pid == 0) {
			read_some((uint32_t)i * 7919);
			_exit(0);
		}
		if (i % AT_ONCE == AT_ONCE - 1)
			wait_all(AT_ONCE);
	}
	wait_all(CHILDREN % AT_ONCE);
}

static void *
thread(void *arg)
{
	read_some((uint32_t)(uintptr_t)arg);
	return NULL;
}

static void
threads(void)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)i) != 0)
			errx(1, "no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

int
main(int argc, char **argv)
{
	int n = (CHILDREN + THREADS) * READS;

	if (argc != 2 || chdir(argv[1]) != 0)
		errx(2, "usage: disk_children FOLDER");
	fill();
	children();
	threads();
	close(fd);
	if (chdir("/") != 0)
		err(1, "/");
	printf("reads %d %d\ndone\n", n, n * BLOCK);
	fflush(stdout);
	for (;;)
		pause();
}
