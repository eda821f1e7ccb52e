/*
 * Files with debug information: how they are known and found, for the daemon
 * and its child as for the command.
 */
#ifndef COLLECTOR_DEBUG_FILE_H
#define COLLECTOR_DEBUG_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A build id in hexadecimal: 2 n characters and NUL. */
void debug_file_id(const uint8_t *id, size_t n, char *out);

/* Where packages install the debug file of a build id in hexadecimal, below
 * `folder`; false when the id is too short or the path too long. */
bool debug_file_path(const char *folder, const char *id, char *out,
    size_t size);

/* Where a mirror has it: as packages do below `folder`/.build-id, and as the
 * cache of debuginfod does, `folder`/ID/debuginfo.  `n` from 0 on; false when
 * there is no such place, or as above. */
bool debug_file_mirrored(const char *folder, const char *id, unsigned n,
    char *out, size_t size);

/* A section of an open file by its name, or NULL. */
Elf_Scn *debug_file_section(Elf *elf, const char *name);

#endif
