/*
 * /etc/ld.so.cache: which file the dynamic linker takes for a name.
 *
 *	OFFSET SIZE  of glibc's format 1.1, in the machine's byte order
 *	0      20    "glibc-ld.so.cache1.1"
 *	20     4     number of entries
 *	24     4     bytes of strings
 *	28     20    flags, extension, unused
 *	48     24 n  entries: flags, name, file (4 each), OS version, hardware
 *	             capabilities (4, 8); name and file are offsets of strings
 *	             from the beginning of the file
 */
#ifndef FCGI_LD_CACHE_H
#define FCGI_LD_CACHE_H

#include <stddef.h>

struct ld_cache;

/* NULL when it cannot be read or is of another format: do without. */
struct ld_cache *ld_cache_open(const char *path);
void ld_cache_close(struct ld_cache *c);

/* The first file for a name, or NULL; lives as long as the cache.  A NULL
 * cache knows nothing. */
const char *ld_cache_find(const struct ld_cache *c, const char *name);

#endif
