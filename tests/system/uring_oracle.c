/*
 * uring_oracle FILE MS: writes to the file and has a worker of io_uring sync
 * it, for so long.  Says how often, how long it was blocked by that, and what
 * its workers had of a CPU:
 *
 *	refused WHY
 *	synced TIMES NS CPU-NS
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "tests/system/thread_clock.h"
#include "tests/system/uring.h"

#define BLOCK (1 << 20)
#define BLOCKS 16

int
main(int argc, char **argv)
{
	static char room[BLOCK];
	struct io_uring_sqe sync = {.opcode = IORING_OP_FSYNC};
	int64_t end_ns, before, ns = 0;
	int n = 0, schedstat;
	struct uring u;

	if (argc != 3 || (sync.fd = open(argv[1], O_RDWR | O_CREAT, 0600)) < 0)
		return 2;
	if (!uring_open(&u)) {
		printf("refused %s\n", strerror(errno));
		return 0;
	}
	schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	end_ns = clock_ns(CLOCK_MONOTONIC) + atol(argv[2]) * 1000000;
	for (; clock_ns(CLOCK_MONOTONIC) < end_ns; n++) {
		if (pwrite(sync.fd, room, BLOCK, (off_t)(n % BLOCKS) * BLOCK) !=
		    BLOCK)
			return 1;
		before = thread_blocked_ns(schedstat);
		if (uring_do(&u, &sync) != 0)
			return 1;
		ns += thread_blocked_ns(schedstat) - before;
	}
	printf("synced %d %lld %lld\n", n, (long long)ns,
	    (long long)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) -
	    clock_ns(CLOCK_THREAD_CPUTIME_ID)));
	return 0;
}
