/*
 * From addresses to frames, in the daemon: what is known of each (file,
 * offset), and the questions to the child process about what is not.
 *
 *	address ──► cache ──► frame number            most of the time
 *	              │
 *	              └─ unknown: queued for its file ──► symbols child
 *
 * A reference is a frame's number or, while the child has not answered, the
 * address's own number.  References are valid until symbols_trim() says that
 * it cleared the tables.
 *
 * The daemon itself parses nothing of a foreign file: it opens it, looks at
 * its inode, and hands the descriptor over.
 */
#ifndef COLLECTOR_SYMBOLS_H
#define COLLECTOR_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/model/series.h"

#define SYMBOLS_NO_FILE UINT32_MAX
#define SYMBOLS_EXPAND_MAX 8
#define SYMBOLS_UNRESOLVED 0x80000000u /* set in a reference */

struct err;
struct program_told;
struct stat;
struct symbols;

struct symbols_stats {
	uint64_t restarts;   /* of both children */
	uint64_t skipped;    /* files put aside after the child died of them */
	uint64_t unpacked;   /* files whose packed names could not be read */
	uint64_t files, addresses, frames; /* in the tables */
	uint64_t overflows;  /* addresses that found a table full */
	pid_t child, rows_child; /* 0: none at the moment */
	bool busy;           /* the first has questions to answer */
};

/*
 * Starts the child and reads `kallsyms` (a path; NULL: no kernel names; a
 * failure to read it degrades to "[kernel]").  `debug` is where separate
 * debug files are, usually "/usr/lib/debug/.build-id"; NULL: nowhere.  Both
 * paths are borrowed.
 */
const struct err *symbols_new(struct symbols **out, const char *kallsyms,
    const char *debug);
void symbols_free(struct symbols *s);

/* Says whether inlined functions shall be shown; before the first file. */
void symbols_set_inline(struct symbols *s, bool on);

/* Where debug files are that no package has installed (debug_file.h); borrowed,
 * NULL: nowhere.  Before the first file. */
void symbols_set_mirror(struct symbols *s, const char *folder);

/* Readable when a child has answered: then pump. */
int symbols_fd(const struct symbols *s);

/* Takes answers, sends questions, restarts the child; never blocks. */
void symbols_pump(struct symbols *s, int64_t now_ns);

/* Pumps until nothing is in question or max_ns have passed. */
void symbols_settle(struct symbols *s, int64_t max_ns);

/*
 * The number of the file behind an open descriptor, by device, inode, size
 * and time of change; SYMBOLS_NO_FILE when it is no regular file or the
 * table is full.  `name` (a path or what maps calls it) names it for people.
 * The descriptor stays the caller's.
 */
uint32_t symbols_file(struct symbols *s, int fd, const char *name);

/* Which file a number stands for, as file_id_is() takes it (base/file_id.h). */
void symbols_identity(const struct symbols *s, uint32_t file,
    struct stat *st);

/* The vdso that every process has; SYMBOLS_NO_FILE where there is none. */
uint32_t symbols_vdso(struct symbols *s);

/* A descriptor of the vdso's bytes, which stays the table's; -1: none. */
int symbols_vdso_fd(struct symbols *s);

/* The reference of an address: `offset` in the file, not an address. */
uint32_t symbols_user(struct symbols *s, uint32_t file, uint64_t offset);

/* The reference of data, so far `behind` where the file's first byte is, or
 * would be, at the distance to its code that the file has: a frame's offset
 * counts from there too, to where the data's symbol begins.  Not code:
 * FRAME_ADDRESS where there is no such symbol. */
uint32_t symbols_data(struct symbols *s, uint32_t file, uint64_t behind);

/*
 * The same for the map that a JIT has written (perfmap.h); offsets are
 * addresses then, and frames are FRAME_JIT.  A map that has grown since is
 * another file.
 */
uint32_t symbols_map(struct symbols *s, int fd);

/* Was an address of the map not in it since the last call? */
bool symbols_map_missed(struct symbols *s, uint32_t file);

/* Nothing will be asked of the map any more, unless symbols_map() finds it
 * again: a newer one is there, or its process is known no more. */
void symbols_map_forget(struct symbols *s, uint32_t file);

/* True when symbols_load() with a descriptor of this file would help. */
bool symbols_wants(const struct symbols *s, uint32_t file);
void symbols_load(struct symbols *s, uint32_t file, int fd);

/* The reference of a kernel address, as it was at a time of
 * CLOCK_MONOTONIC. */
uint32_t symbols_kernel(struct symbols *s, uint64_t addr, int64_t time_ns);

/* A BPF program came or went (programs.h), as the kernel says when it does;
 * and: it may have said so without being heard. */
void symbols_program(struct symbols *s, const struct program_told *told);
void symbols_programs_missed(struct symbols *s);

/* Is it code of the scheduler? */
bool symbols_is_scheduler(const struct symbols *s, uint64_t addr);
/* Where the kernel's own unwind tables are, as it says: 0 else. */
struct unwind_orc symbols_orc(const struct symbols *s);

/* The reference of a frame that the caller knows. */
uint32_t symbols_frame(struct symbols *s, const struct frame *frame);

/* Has the child answered, so that the frame will not be another one later? */
bool symbols_is_settled(const struct symbols *s, uint32_t ref);

/* Settled references of what has no name yet; makes the address
 * "module+0xoffset" where the child did not answer.  Call at the end of a
 * slot, once for each reference that is to be shown. */
uint32_t symbols_final(struct symbols *s, uint32_t ref);

/* The final references that a reference stands for: a function, then what was
 * inlined there, outermost first.  `out` has SYMBOLS_EXPAND_MAX places;
 * returns how many are used, at least 1. */
size_t symbols_expand(struct symbols *s, uint32_t ref, uint32_t *out);

/* The frame of a final reference; strings are valid until the next call that
 * makes frames. */
struct frame symbols_get(const struct symbols *s, uint32_t ref);

/*
 * Calls `fn` for at most `max` functions whose place in the source ("file:
 * line") is known and has not been told for again_ns; now_ns is any clock,
 * above 0.  Returns how many.  Only while inlined functions are shown.
 */
typedef void symbols_place_fn(void *arg, const struct frame *frame,
    const char *place);
size_t symbols_tell_places(struct symbols *s, int64_t now_ns,
    int64_t again_ns, size_t max, symbols_place_fn *fn, void *arg);

/* All files, and the kernel, are looked at anew from the next symbols_trim()
 * on. */
void symbols_forget(struct symbols *s);

/* At the end of a slot: all references are void after it.  Clears all tables
 * when they are near their bounds or to be forgotten, and returns true when it
 * did: file numbers are void, too.  Forgets what was not asked for of late
 * where that is much.  Also reads kallsyms anew now and then when addresses
 * were missing. */
bool symbols_trim(struct symbols *s, int64_t now_ns);

/* What became of a question for unwind rows. */
struct symbols_rows {
	bool lost, guilty; /* the child died; perhaps of this file */
	uint32_t status;   /* enum elf_status */
	int64_t cpu_ns;    /* that the child used */
	/* The file's code is so many regions of 1 << shift bytes from offset
	 * `base` on; 0: it has no rows. */
	uint32_t base, regions, shift;
	uint32_t n;        /* rows: struct unwind_row, in file order */
	int fd;            /* of their memory file, borrowed; -1: none */
	const uint8_t *code_id; /* files that have the same share rows: */
	size_t code_id_len;     /* unwind_read.h; 0: none */
};
typedef void symbols_rows_fn(void *arg, uint32_t table,
    const struct symbols_rows *rows);

/* Who gets the answers to symbols_unwind().  Starts another child for them:
 * behind the names of a large program, on a busy machine seconds, samples would
 * wait for their rows in vain. */
const struct err *symbols_unwind_to(struct symbols *s, symbols_rows_fn *fn,
    void *arg);

/* Asks it for the unwind rows of the region that holds an offset of an
 * open file of `size` bytes, which stays the caller's.  `table`
 * (< UNWIND_TABLES) comes back with the answer.  False when it cannot be
 * asked now. */
bool symbols_unwind(struct symbols *s, uint32_t table, int fd, uint64_t size,
    uint32_t offset);

/* Does the kernel hide its functions' addresses from us? */
bool symbols_kernel_hidden(const struct symbols *s);

void symbols_stats(const struct symbols *s, struct symbols_stats *out);

#endif
