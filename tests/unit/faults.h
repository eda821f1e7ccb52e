/*
 * Faults for tests: allocations and system calls that fail when a test says
 * so.  The functions below stand in front of the C library's, for the program
 * that includes this and for the libraries that it loads; include it once.
 *
 *	fault_begin(FAULT_WRITE | FAULT_SYNC, 10, 2);
 *	...the 11th and the 12th of these calls fail...
 *	fault_end();
 */
#ifndef TESTS_UNIT_FAULTS_H
#define TESTS_UNIT_FAULTS_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define MALLOC_FAILS false /* the sanitizer has its own */
#else
#define MALLOC_FAILS true
#endif

/* ---- faults ---- */

enum fault {
	FAULT_MALLOC = 1,
	FAULT_WRITE = 2,
	FAULT_SHORT = 4,
	FAULT_SYNC = 8,
	FAULT_RENAME = 16,
	FAULT_OPEN = 32,
	FAULT_CUT = 64 /* ftruncate, with the write before it */
};

static atomic_int fault_kinds; /* 0: none */
static atomic_int fault_after; /* so many calls go well first */
static atomic_int fault_last;  /* then so many fail */
static atomic_int fault_count; /* that did */

static atomic_int fault_death = -1; /* calls until the process is killed */

/* In the middle of a call that reaches the disk, as kill -9 does. */
static bool
fault_dies(void)
{
	return fault_death >= 0 && fault_death-- == 0;
}

static bool
fault_hits(enum fault kind)
{
	if (kind != FAULT_MALLOC && kind != FAULT_WRITE && fault_dies())
		raise(SIGKILL);
	if ((fault_kinds & (int)kind) == 0 || fault_after-- > 0)
		return false;
	if (fault_last-- <= 0) {
		fault_kinds = 0;
		return false;
	}
	fault_count++;
	return true;
}

static void
fault_begin(int kinds, int after, int last)
{
	fault_kinds = 0;
	fault_after = after;
	fault_last = last;
	fault_kinds = kinds;
}

static void
fault_end(void)
{
	fault_kinds = 0;
}

#define REAL(name)                                                             \
	static __typeof__(&name) real;                                         \
	if (real == NULL)                                                      \
		real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#if MALLOC_FAILS
/*
 * Berkeley DB's own allocations are spared: db_create() and DB->open() of
 * 5.3.28 follow null pointers when memory ends inside them.
 */
static uintptr_t db_first, db_end;

static int
db_find(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (strstr(info->dlpi_name, "libdb-") == NULL)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (db_first == 0)
			db_first = at;
		if (at + info->dlpi_phdr[i].p_memsz > db_end)
			db_end = at + info->dlpi_phdr[i].p_memsz;
	}
	return 1;
}

static bool
no_memory(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	if (fault_kinds == 0 || (at >= db_first && at < db_end) ||
	    !fault_hits(FAULT_MALLOC))
		return false;
	errno = ENOMEM;
	return true;
}

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *
malloc(size_t n)
{
	return no_memory(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	return no_memory(__builtin_return_address(0)) ? NULL
						      : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	return no_memory(__builtin_return_address(0)) ? NULL
						      : __libc_realloc(p, n);
}
#endif

ssize_t
write(int fd, const void *p, size_t n)
{
	REAL(write);
	if (fault_dies()) {
		(void)!real(fd, p, n / 2);
		raise(SIGKILL);
	}
	if (fault_hits(FAULT_WRITE)) {
		errno = ENOSPC;
		return -1;
	}
	return real(fd, p, fault_hits(FAULT_SHORT) ? n / 2 : n);
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	REAL(pwrite);
	if (fault_hits(FAULT_WRITE)) {
		errno = ENOSPC;
		return -1;
	}
	return real(fd, p, n, at);
}

ssize_t
pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	REAL(pwrite64);
	if (fault_dies()) {
		(void)!real(fd, p, n / 2, at);
		raise(SIGKILL);
	}
	if (fault_hits(FAULT_WRITE)) {
		errno = EIO;
		return -1;
	}
	return real(fd, p, n, at);
}

int
fsync(int fd)
{
	REAL(fsync);
	if (fault_hits(FAULT_SYNC)) {
		errno = EIO;
		return -1;
	}
	return real(fd);
}

int
fdatasync(int fd)
{
	REAL(fdatasync);
	if (fault_hits(FAULT_SYNC)) {
		errno = EIO;
		return -1;
	}
	return real(fd);
}

int
rename(const char *from, const char *to)
{
	REAL(rename);
	if (fault_hits(FAULT_RENAME)) {
		errno = EIO;
		return -1;
	}
	return real(from, to);
}

int
renameat(int a, const char *from, int b, const char *to)
{
	REAL(renameat);
	if (fault_hits(FAULT_RENAME)) {
		errno = ENOSPC;
		return -1;
	}
	return real(a, from, b, to);
}

int
ftruncate(int fd, off_t n)
{
	REAL(ftruncate);
	if (fault_hits(FAULT_CUT)) {
		errno = EIO;
		return -1;
	}
	return real(fd, n);
}

static mode_t
open_mode(int flags, va_list ap)
{
	return flags & O_CREAT ? va_arg(ap, mode_t) : 0;
}

/* Berkeley DB opens by open64; both are the same on this C library. */
#define OPEN(name)                                                             \
	int name(const char *path, int flags, ...)                             \
	{                                                                      \
		va_list ap;                                                    \
		mode_t mode;                                                   \
		REAL(name);                                                    \
		va_start(ap, flags);                                           \
		mode = open_mode(flags, ap);                                   \
		va_end(ap);                                                    \
		if (fault_hits(FAULT_OPEN)) {                                  \
			errno = EACCES; /* at EMFILE it sleeps */              \
			return -1;                                             \
		}                                                              \
		return real(path, flags, mode);                                \
	}
OPEN(open)
OPEN(open64)

int
openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	REAL(openat);
	va_start(ap, flags);
	mode = open_mode(flags, ap);
	va_end(ap);
	if (fault_hits(FAULT_OPEN)) {
		errno = EMFILE;
		return -1;
	}
	return real(dir, path, flags, mode);
}

/* Call it first in main. */
static void
fault_init(void)
{
#if MALLOC_FAILS
	dl_iterate_phdr(db_find, NULL);
#endif
}

#endif
