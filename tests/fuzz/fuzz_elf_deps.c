/*
 * The dynamic section of programs, and ld.so.cache.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fcgi/graph/read/elf_deps.h"
#include "fcgi/graph/read/ld_cache.h"
#include "store/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct ld_cache *cache;
	struct elf_deps d;
	char path[40];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	elf_deps_read(&d, path);
	elf_deps_fini(&d);
	cache = ld_cache_open(path);
	ld_cache_find(cache, "libc.so.6");
	ld_cache_close(cache);
	close(fd);
	return 0;
}
