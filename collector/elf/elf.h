/*
 * Just enough ELF to name a function: 64-bit x86 files, their loadable
 * segments, build id, symbol table and the index of .eh_frame.
 *
 * The files belong to profiled processes and may be crafted.  Everything is
 * read through one bounded function into memory of our own; every number of
 * the file is checked before it is used; nothing is mapped.  This code runs
 * in the symbols child only.
 */
#ifndef COLLECTOR_ELF_H
#define COLLECTOR_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX 64
#define ELF_NAME_MAX 4096     /* bytes of a raw symbol with NUL */
#define ELF_SYMBOLS_MAX 2000000u

struct elf;

/* Where the bytes come from.  read() fills n bytes from offset `at` or
 * returns false; it is never asked beyond `size`. */
struct elf_input {
	bool (*read)(void *arg, uint64_t at, void *p, size_t n);
	void *arg;
	uint64_t size;
};

enum elf_status {
	ELF_OK,
	ELF_NOT_ELF,     /* another kind of file */
	ELF_UNSUPPORTED, /* another machine or class */
	ELF_DAMAGED,     /* a number points outside */
	ELF_TOO_BIG,     /* over a bound of ours */
	ELF_NO_MEMORY
};

/* A function: [entry, entry + size) in the file's virtual addresses. */
struct elf_symbol {
	uint64_t entry, size;
};

/* Reads headers and symbols.  The input must outlive the result. */
enum elf_status elf_open(struct elf **out, const struct elf_input *in);
/* Reads headers only: the file has no symbols then. */
enum elf_status elf_open_headers(struct elf **out,
    const struct elf_input *in);
/* The symbols that a distribution has packed into a stripped file
 * (.gnu_debugdata), as a file of its own that needs `outer` no more; ELF_OK
 * and NULL: there are none. */
enum elf_status elf_open_mini(struct elf **out, const struct elf *outer);
void elf_close(struct elf *e); /* NULL is fine */

/* The GNU build id; *n is 0 when there is none. */
const uint8_t *elf_build_id(const struct elf *e, size_t *n);

/* True when names come from .symtab: then no debug file knows more. */
bool elf_has_symtab(const struct elf *e);
size_t elf_symbols(const struct elf *e);

/* The virtual address of a byte of the file; false outside of segments. */
bool elf_vaddr(const struct elf *e, uint64_t offset, uint64_t *vaddr);
/* The inverse. */
bool elf_offset(const struct elf *e, uint64_t vaddr, uint64_t *offset);

/*
 * The function that contains vaddr, by its symbol's size: a gap between two
 * symbols belongs to neither, but a symbol without a size has the gap behind
 * it.  `name` receives the raw name (ELF_NAME_MAX
 * bytes).  Of symbols at one address the global one wins, then the weak.
 */
bool elf_lookup(const struct elf *e, uint64_t vaddr, struct elf_symbol *out,
    char *name);

/* The function of this raw name; looks at all of them. */
bool elf_find_named(const struct elf *e, const char *name,
    struct elf_symbol *out);

/* The variable that contains vaddr, as elf_lookup() does; reads the table of
 * symbols for each, which is not kept. */
bool elf_find_data(const struct elf *e, uint64_t vaddr,
    struct elf_symbol *out, char *name);

/* The function that contains vaddr, by the index of .eh_frame: knows the
 * borders of functions without symbols too, but no names. */
bool elf_function(const struct elf *e, uint64_t vaddr,
    struct elf_symbol *out);

/* The last function that begins at vaddr or before, by the same index. */
bool elf_function_before(const struct elf *e, uint64_t vaddr,
    struct elf_symbol *out);

/* The code that a signal's handler returns to, __restore_rt in the GNU C
 * library, by its bytes at vaddr. */
bool elf_signal_return(const struct elf *e, uint64_t vaddr,
    struct elf_symbol *out);

/* Where the program begins, _start by its linker's and debuggers' name, in
 * programs that have lost it: by the first bytes of what the GNU C library and
 * musl have there. */
bool elf_start(const struct elf *e, uint64_t vaddr, struct elf_symbol *out);

/* The same of the GNU C library's loader, which has no .eh_frame there: up to
 * the return of its only call. */
bool elf_start_of_loader(const struct elf *e, struct elf_symbol *out);

/* The code that the function of makecontext() returns to, __start_context in
 * the GNU C library, by its bytes at the file's offsets from low to high - 1:
 * `out` has its offset. */
bool elf_find_context(const struct elf *e, uint64_t low, uint64_t high,
    struct elf_symbol *out);

/* The same, when the address vaddr is in it or, of a caller, of the byte
 * before it. */
bool elf_context(const struct elf *e, uint64_t vaddr, struct elf_symbol *out);

/*
 * The addresses of the entries in .eh_frame of the functions that begin from
 * low to high, of a few before and of the next one, by the index; at most
 * `max`.  Returns their number, 0 when there is no index.
 */
#define ELF_ENTRIES_BEFORE 4
size_t elf_function_entries(const struct elf *e, uint64_t low, uint64_t high,
    uint64_t *out, size_t max);

/* Where .eh_frame lies in the file and in memory. */
struct elf_eh_frame {
	uint64_t offset, size, vaddr;
	bool exact; /* the section's size; otherwise up to the segment's end */
};

/* By the section's name, else by PT_GNU_EH_FRAME; false when there is none
 * with bytes. */
bool elf_find_eh_frame(const struct elf *e, struct elf_eh_frame *out);

/*
 * The file with debug information that this one shares with others, as dwz
 * makes them (.gnu_debugaltlink: a path, NUL, a build id).  False when there
 * is none.
 */
#define ELF_PATH_MAX 256

struct elf_debug_alt {
	char path[ELF_PATH_MAX];
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t n_build_id; /* > 0 */
};

bool elf_debug_alt(const struct elf *e, struct elf_debug_alt *out);

/* The executable parts of the file, at most `max`; returns their number. */
struct elf_code {
	uint64_t vaddr, offset, size;
};
size_t elf_code_segments(const struct elf *e, struct elf_code *out,
    size_t max);

#endif
