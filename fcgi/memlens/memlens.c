/*
 * memlens, the operator's command: a table of subcommands, one file each
 * (cmd_*.c).  It reads what others wrote; root is not needed.
 */
#include <stdio.h>
#include <string.h>

#include "fcgi/memlens/cmd.h"
#include "fcgi/server/version.h"
#include "store/base/log.h"

static const struct cmd commands[] = {
    {"collapse", "[OPTION...] [FILE...]", "profiles as folded stacks",
        cmd_collapse},
    {"export", "DIR FROM UNTIL FILE [SELECTOR]",
        "a range as one self-contained file", cmd_export},
    {"flamegraph", "[OPTION...] [FILE...]",
        "profiles, or the difference of two, as a picture", cmd_flamegraph},
    {"graph", "[--depth N] [--root NAME] FILE",
        "what a program depends on, as DOT", cmd_graph},
    {"heap", "[OPTION...] DUMP...", "heap dumps of jemalloc and gperftools",
        cmd_heap},
    {"import", "[OPTION...] FILE... DIR|SOCKET",
        "and back, or profiles of other tools", cmd_import},
    {"purge", "DIR|SOCKET SELECTOR FROM UNTIL", "take data out for good",
        cmd_purge},
    {"repair", "[--clean] DIR", "a new manifest where it is damaged or gone",
        cmd_repair},
    {"run", "[--] COMMAND [ARGUMENT...]",
        "a program whose memory is sampled", cmd_run},
    {"stat", "DIR", "what a store holds: files, levels, series", cmd_stat},
    {"verify", "DIR", "read and check everything of a store", cmd_verify},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int
usage(FILE *out, int status)
{
	fprintf(out, "usage: memlens COMMAND [ARGUMENT...]\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s %-35s %s\n", commands[i].name,
		    commands[i].arguments, commands[i].help);
	fprintf(out, "\n  -h, --help    this\n  -V, --version the version\n");
	return status;
}

int
main(int argc, char **argv)
{
	log_init("memlens", LOG_L_WARN);
	if (argc < 2)
		return usage(stderr, 2);
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)
		return usage(stdout, 0);
	if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0) {
		printf("memlens %s\n", MEMLENS_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "memlens: no command \"%s\"\n", argv[1]);
	return usage(stderr, 2);
}
