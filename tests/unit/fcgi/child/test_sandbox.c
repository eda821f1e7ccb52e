/*
 * What a worker cannot do any more; each case in a child of its own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fcgi/child/sandbox.h"
#include "tests/unit/test.h"

static int version;

/* The status of fn() in a child behind the wall. */
static int
behind(uint16_t port, const char *program, int (*fn)(void))
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		sandbox_enter(port, program);
		_exit(fn());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
what_version(void)
{
	return sandbox_enter(0, NULL);
}

static int
write_a_file(void)
{
	return open("/tmp/memlens-test-sandbox", O_WRONLY | O_CREAT, 0600) < 0
	    ? errno : 0;
}

static int
change_a_folder(void)
{
	return mkdir("/tmp/memlens-test-sandbox.d", 0700) < 0 ? errno : 0;
}

static int
start_a_program(void)
{
	execl("/bin/true", "true", (char *)NULL);
	return errno;
}

static int
read_a_file(void)
{
	return open("/etc/passwd", O_RDONLY) < 0 ? errno : 0;
}

static int
write_nothing(void)
{
	return open("/dev/null", O_WRONLY) < 0 ? errno : 0;
}

static int
connect_to_9(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(9),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? errno : 0;
}

TEST(files)
{
	CHECK_INT(behind(0, NULL, write_a_file), EACCES);
	CHECK_INT(behind(0, NULL, change_a_folder), EACCES);
	CHECK_INT(behind(0, NULL, start_a_program), EACCES);
	CHECK_INT(behind(0, NULL, read_a_file), 0);
	CHECK_INT(behind(0, NULL, write_nothing), 0);
}

static int
start_another(void)
{
	execl("/bin/false", "false", (char *)NULL);
	return errno;
}

/* Only what is asked for starts. */
TEST(one_program)
{
	CHECK_INT(behind(0, "/bin/true", start_a_program), 0);
	CHECK_INT(behind(0, "/bin/true", start_another), EACCES);
	CHECK_INT(behind(0, "/nonexistent", start_a_program), EACCES);
}

TEST(network)
{
	if (version < 4)
		return;
	CHECK_INT(behind(0, NULL, connect_to_9), EACCES);
	CHECK_INT(behind(8, NULL, connect_to_9), EACCES);
	CHECK(behind(9, NULL, connect_to_9) != EACCES);
}

int
main(void)
{
	version = behind(0, NULL, what_version);
	if (version <= 0) {
		puts("skip - sandbox: this kernel has no Landlock");
		return 77;
	}
	RUN(files);
	RUN(one_program);
	RUN(network);
	return test_done();
}
