/*
 * What an ELF file asks for: its DT_NEEDED entries and where it wants them
 * looked up.  The file is foreign; every offset is checked.
 */
#ifndef FCGI_ELF_DEPS_H
#define FCGI_ELF_DEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define ELF_NEEDED_MAX 512

struct elf_deps {
	int machine, class; /* e_machine, ELFCLASS* */
	char *needed[ELF_NEEDED_MAX];
	size_t n_needed;
	char *rpath, *runpath; /* or NULL */
	int64_t code_bytes;    /* in sections that are executed, or in such
	                        * segments where there are no sections */
	char build_id[129];    /* hexadecimal, or "" */
	bool partly;           /* something lies beyond the file's end, or
	                        * could not be read */
};

/* Reads a file; elf_deps_fini() after any outcome.  Errors: errno, or
 * ERR_FORMAT for what is no ELF file of a program or library. */
const struct err *elf_deps_read(struct elf_deps *d, const char *path);
void elf_deps_fini(struct elf_deps *d);

#endif
