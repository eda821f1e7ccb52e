/*
 * Small files of /proc and /sys.
 */
#include "fcgi/api/runs_host.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "fcgi/format/writer.h"

#define GOVERNOR "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"

static const struct {
	const char *name, *path;
} host_sysctls[] = {
    {"kernel.numa_balancing", "/proc/sys/kernel/numa_balancing"},
    {"net.core.somaxconn", "/proc/sys/net/core/somaxconn"},
    {"transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled"},
    {"vm.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"},
    {"vm.dirty_ratio", "/proc/sys/vm/dirty_ratio"},
    {"vm.max_map_count", "/proc/sys/vm/max_map_count"},
    {"vm.overcommit_memory", "/proc/sys/vm/overcommit_memory"},
    {"vm.swappiness", "/proc/sys/vm/swappiness"},
};

/* The first line of a file. */
static bool
host_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return *text != '\0';
}

bool
runs_host_text(const char *key, char *text, size_t size)
{
	struct utsname u;

	if (strcmp(key, "governor") == 0)
		return host_read(GOVERNOR, text, size);
	if (strcmp(key, "kernel") != 0 || uname(&u) < 0)
		return false;
	snprintf(text, size, "%s %s %s", u.sysname, u.release, u.machine);
	return true;
}

void
runs_host_sysctls(struct writer *w)
{
	for (size_t i = 0; i < sizeof(host_sysctls) / sizeof(host_sysctls[0]);
	     i++) {
		char text[200];

		if (!host_read(host_sysctls[i].path, text, sizeof(text)))
			continue;
		writer_key_str(w, host_sysctls[i].name, text);
	}
}
