/*
 * Lines of libbpf, as lines of ours that only a debugger wants.
 */
#include "collector/probe/bpf_log.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#include "store/base/log.h"

static int
bpf_log_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[512];

	(void)level;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	log_debug("libbpf: %s", line);
	return 0;
}

void
bpf_log_begin(void)
{
	libbpf_set_print(bpf_log_print);
}
