/*
 * The linker's map of a program, which somebody's build has written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fcgi/graph/model/graph.h"
#include "fcgi/memlens/program_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct program_symbol items[] = {
	    {0x1000, 16, (char *)(uintptr_t)"main", true, false},
	    {0x1010, 16, (char *)(uintptr_t)"parse", true, false}};
	static struct program_range code[] = {{0x1000, 0x2000}};
	struct program_symbols s = {items, 2, code, 1};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct program_files files = {0};
	struct graph *g = graph_new();
	char path[40];

	if (fd < 0 || g == NULL || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	graph_node(g, "program");
	program_map_load(g, path, path, &s, &files);
	graph_settle(g);
	program_files_fini(&files);
	graph_free(g);
	close(fd);
	return 0;
}
