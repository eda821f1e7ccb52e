/*
 * The first process of a small virtual machine: mounts what is needed, runs
 * the daemon beside a program of known shape, says on the console what the
 * kernel thinks of the daemon's BPF programs, sends the daemon's recording
 * through the second serial line, switches the machine off.
 *
 * Lines on the console begin with "init: ".
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define RECORDING "/tmp/recording"
#define LINE "/dev/ttyS1"
#define SLOTS 4
#define SLOT_S 10
#define PATIENCE_S 300 /* an emulated machine is slow */

static void
mount_all(void)
{
	static const char *const mounts[][2] = {{"proc", "/proc"},
	    {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}};
	size_t i;

	for (i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		mkdir(mounts[i][1], 0755);
		if (mount(mounts[i][0], mounts[i][1], mounts[i][0], 0,
		    NULL) != 0)
			perror(mounts[i][1]);
	}
}

static pid_t
begin(const char *const argv[])
{
	pid_t pid = fork();

	if (pid == 0) {
		/* execv() does not write to them. */
		execv(argv[0], (char *const *)(uintptr_t)argv);
		perror(argv[0]);
		_exit(127);
	}
	return pid;
}

static void
end(pid_t pid, int signal)
{
	int status;

	kill(pid, signal);
	waitpid(pid, &status, 0);
	printf("init: ended with status %d\n", status);
}

static void
show(const char *path)
{
	char text[64] = "";
	FILE *f = fopen(path, "r");

	if (f != NULL && fgets(text, sizeof(text), f) != NULL)
		text[strcspn(text, "\n")] = '\0';
	if (f != NULL)
		fclose(f);
	printf("init: %s is %s\n", path, text);
}

static off_t
recorded(void)
{
	struct stat st;

	return stat(RECORDING, &st) == 0 ? st.st_size : 0;
}

/* The recording grows once a slot. */
static void
await_slots(int slots)
{
	off_t size = 0, now;
	int s, seen = 0;

	for (s = 0; s < PATIENCE_S && seen < slots; s++) {
		sleep(1);
		now = recorded();
		seen += now > size;
		size = now;
	}
	printf("init: %d slots in %d s\n", seen, s);
}

static void
send_recording(void)
{
	int from = open(RECORDING, O_RDONLY), to = open(LINE, O_WRONLY);
	struct termios t;
	char buf[4096];
	ssize_t n, at, r;

	if (from < 0 || to < 0 || tcgetattr(to, &t) != 0) {
		perror(LINE);
		return;
	}
	cfmakeraw(&t);
	tcsetattr(to, TCSANOW, &t);
	while ((n = read(from, buf, sizeof(buf))) > 0)
		for (at = 0; at < n; at += r)
			if ((r = write(to, buf + at, (size_t)(n - at))) <= 0)
				return;
	tcdrain(to);
}

int
main(void)
{
	static const char *const busy_args[] = {"/cpu_busy", "600", NULL};
	static const char *const daemon_args[] = {"/memlensd", "-f",
	    "/memlens.conf", "-s", "/tmp/store", "-w", RECORDING, NULL};
	static const char *const programs_args[] = {"/bpf_programs", "-w", "5",
	    NULL};
	struct utsname name;
	pid_t busy, lens;
	int null;

	setvbuf(stdout, NULL, _IOLBF, 0);
	mount_all();
	null = open("/dev/console", O_RDWR);
	dup2(null, 0);
	uname(&name);
	printf("init: kernel %s\n", name.release);
	show("/proc/sys/kernel/perf_event_paranoid");
	busy = begin(busy_args);
	lens = begin(daemon_args);
	await_slots(SLOTS);
	waitpid(begin(programs_args), NULL, 0);
	end(lens, SIGTERM);
	end(busy, SIGKILL);
	send_recording();
	printf("init: done\n");
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
