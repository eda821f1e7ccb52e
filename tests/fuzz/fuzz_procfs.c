/*
 * Files of /proc hold names that any process can choose.  The first byte of
 * the input says which file the rest is.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/process/pidstat.h"
#include "collector/process/services_rules.h"
#include "collector/procfs/procfs.h"
#include "store/batch/meter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static procfs_parse_fn *const parsers[] = {procfs_parse_stat,
    procfs_parse_meminfo, procfs_parse_vmstat, procfs_parse_loadavg,
    procfs_parse_diskstats, procfs_parse_netdev, procfs_parse_filenr,
    procfs_parse_netstat, procfs_parse_pressure_cpu,
    procfs_parse_pressure_io};

#define PARSERS (sizeof(parsers) / sizeof(parsers[0]))

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *device, *point, *type;
	struct pidstat stat;
	struct meter *m;
	char *text, out[128];
	size_t which;

	if (n == 0 || (text = malloc(n)) == NULL)
		return 0;
	which = *data;
	memcpy(text, data + 1, n - 1);
	text[n - 1] = '\0';
	m = meter_new(1000);
	if (which < PARSERS)
		parsers[which](&(struct procfs_reading){m, 1, NULL}, text);
	else if (which == PARSERS)
		(void)pidstat_parse(text, n - 1, &stat);
	else if (which == PARSERS + 1)
		services_cgroup(text, out, sizeof(out));
	else
		(void)procfs_mount_parse(text, &device, &point, &type);
	meter_free(m);
	free(text);
	return 0;
}
