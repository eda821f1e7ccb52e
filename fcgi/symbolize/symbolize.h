/*
 * Addresses of program files to functions, inlined calls and lines, for the
 * operator's command: it reads files that the person who runs it names or
 * that a dump points to.
 *
 *	address 0x12ee of bin/db ->  thr        db.c:52     outermost
 *	                             small      db.c:40     _[i]
 *	                             inl        db.c:12     _[i]
 *
 * Debug information comes from the file itself, else from the debug file
 * with its build id, else by .gnu_debuglink with the right checksum.
 * Without any, the symbol table gives the function.
 */
#ifndef FCGI_SYMBOLIZE_H
#define FCGI_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct symbolizer;

struct symbolized {
	const char *name; /* demangled; NULL where nothing is known */
	const char *file; /* or NULL */
	int line;         /* or 0 */
	bool inlined;
	uint64_t entry;   /* of the function in the file's addresses, or 0 */
};

#define SYMBOLIZED_MAX 256 /* frames of one address */

/* Opens a program or library; errors: errno, ERR_FORMAT for what is no ELF
 * file or is damaged. */
const struct err *symbolizer_open(struct symbolizer **out, const char *path);
void symbolizer_close(struct symbolizer *s); /* NULL is fine */

/* Hexadecimal, or "". */
const char *symbolizer_build_id(const struct symbolizer *s);

/* A byte of the file as the address that debug information knows it by. */
bool symbolizer_address(const struct symbolizer *s, uint64_t offset,
    uint64_t *address);

/*
 * The frames at an address, outermost first; 0 where nothing is known.
 * Strings live as long as `s`.  Fastest where addresses come sorted.
 */
size_t symbolizer_find(struct symbolizer *s, uint64_t address,
    struct symbolized frames[SYMBOLIZED_MAX]);

#endif
