/*
 * Subcommands of memlens.  Each gets its own argc and argv (argv[0] is its
 * name), prints to stdout, complains to stderr, and returns the exit status:
 * 0 fine, 1 something is wrong with the store, 2 used wrongly.
 */
#ifndef FCGI_CMD_H
#define FCGI_CMD_H

#include <stdbool.h>

struct cmd {
	const char *name, *arguments, *help;
	int (*run)(int argc, char **argv);
};

int cmd_collapse(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_flamegraph(int argc, char **argv);
int cmd_graph(int argc, char **argv);
int cmd_heap(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_purge(int argc, char **argv);
int cmd_repair(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_verify(int argc, char **argv);

/* Is this the daemon's socket (or was to be: it ends in .sock)? */
bool cmd_is_socket(const char *path);

#endif
