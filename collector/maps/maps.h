/*
 * Where the code of a process lies: its executable mappings, from
 * /proc/PID/maps.
 *
 * Read at first sight, after an exec, once a minute while in use, and, not
 * more than once a second, when an address lies in none.  Reads that take
 * long come less often.  The text is the kernel's; only the paths in it are
 * chosen by others.
 */
#ifndef COLLECTOR_MAPS_H
#define COLLECTOR_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPS_PROCESSES_MAX 4096 /* with mappings, at a time */
#define MAPS_EACH_MAX 4096 /* executable mappings of a process */
#define MAPS_NO_FILE UINT32_MAX

struct err;
struct maps_change;
struct process;
struct processes;

enum map_kind {
	MAPPING_FILE,
	MAPPING_VDSO,
	MAPPING_ANONYMOUS, /* machine code without a file: a JIT's */
	MAPPING_SPECIAL,   /* [vsyscall], [uprobes]: see the name */
	MAPPING_FOREIGN    /* a file that a user's program serves: not opened */
};

struct mapping {
	uint64_t start, end, offset; /* [start, end); offset in the file */
	uint64_t dev, ino;           /* as in stat, but some file systems
	                              * say another dev here */
	enum map_kind kind;
	bool tried;                  /* the caller has set `file` */
	uint32_t file;               /* the caller's; MAPS_NO_FILE at first */
	uint32_t name;               /* in the list's names */
	int64_t seen_ns;             /* since when each reading found it */
};

/* The executable mappings of one process, by address. */
struct maps_list {
	struct mapping *mappings;
	size_t n;
	char *names;
};

/* Parses the text of a maps file.  Errors: out of memory, ERR_FORMAT for a
 * line of another form, ERR_LIMIT for too many.  Free with maps_list_fini(),
 * after an error too. */
const struct err *maps_parse(const char *text, size_t n,
    struct maps_list *out);
/* The same for lines in any order: maps_list_find() does not work then. */
const struct err *maps_parse_any(const char *text, size_t n,
    struct maps_list *out);
void maps_list_fini(struct maps_list *l);

/* The mapping that holds an address, or NULL. */
struct mapping *maps_list_find(const struct maps_list *l, uint64_t addr);

/* "" for anonymous memory. */
const char *maps_name(const struct maps_list *l, const struct mapping *m);

/* Turns the mappings of devices that `text`, a mountinfo file, calls FUSE
 * into MAPPING_FOREIGN: opening such a file waits for whoever serves it.
 * Without a text (it could not be read, or is too long) all that have no block
 * device are taken for such. */
void maps_mark_foreign(struct maps_list *l, const char *text);

struct maps;
struct maps_process;

/* `proc` is "/proc", or another directory in tests; both are borrowed. */
const struct err *maps_new(struct maps **out, struct processes *table,
    const char *proc);
void maps_free(struct maps *m);

/*
 * The mappings of a process as it is now, its part PROCESS_CODE; those of
 * another image than before are read anew.  Never NULL: a process that cannot
 * be read has none.  Valid until the next call of maps_process() or
 * maps_sweep().
 */
struct maps_process *maps_process(struct maps *m, struct process *of,
    int64_t now_ns);

/* The mapping that holds an address, perhaps after reading again; NULL when
 * none does.  Valid until the next call. */
struct mapping *maps_find(struct maps *m, struct maps_process *p,
    uint64_t addr, int64_t now_ns);
const char *maps_process_name(const struct maps_process *p,
    const struct mapping *map);

/* When the list was read (CLOCK_MONOTONIC); 0: never. */
int64_t maps_process_read(const struct maps_process *p);

/* All executable mappings, valid as long as the process. */
const struct maps_list *maps_process_list(const struct maps_process *p);

/* The number under which /proc shows the memory: the process's, or a
 * thread's when the first thread has ended. */
int32_t maps_process_reader(const struct maps_process *p);

/* The same, looked for anew where that thread has ended since the mappings
 * were read. */
int32_t maps_renew_reader(const struct maps *m, struct maps_process *p);

/* Opens the mapped file itself, even if it is deleted or in another mount
 * namespace: -1 when neither /proc/PID/map_files nor the path leads to it.
 * The caller closes. */
int maps_open(const struct maps *m, const struct maps_process *p,
    const struct mapping *map);

/* Something was mapped: what was known there is not so any more, unless it is
 * just that.  Reads nothing. */
void maps_cut(struct maps *m, const struct maps_change *change,
    const char *path);

/* All rings are about to be read (maps_changes_round()). */
void maps_round(struct maps *m);

/* What processes mapped behind since_ns, up to until_ns, may not have been
 * told. */
void maps_lose(struct maps *m, int64_t since_ns, int64_t until_ns);

/* The mappings of a process that has ended, as the kernel told them from its
 * exec at since_ns on; its files are looked for in the root of the process
 * `reader`, or our own (0).  As maps_process() else. */
struct maps_process *maps_ended(struct maps *m, struct process *of,
    int64_t since_ns, int32_t reader, int64_t now_ns);

/* The path that the process mapped first from since_ns on: its executable;
 * "" when that is not known.  Valid until the next change. */
const char *maps_executable(const struct maps *m, int32_t pid,
    int64_t since_ns);

/* The file that the kernel told of there last before that moment, in a list of
 * its own, *then, which lives as long as the process; NULL: it told of none,
 * or perhaps not of all.  For libraries that have gone again since. */
struct mapping *maps_then(struct maps *m, struct maps_process *p,
    uint64_t addr, int64_t time_ns, struct maps_process **then);

/* Was the address of the process this mapping's at that moment (CLOCK_
 * MONOTONIC)?  Goes by the changes that were told so far.  Where some may be
 * missing, it has to be known from before that moment, and to lie where no
 * mapping was seen to take another's place. */
bool maps_held(const struct maps *m, const struct maps_process *p,
    const struct mapping *map, uint64_t addr, int64_t time_ns);

/* Where another file's code lay at the address until a moment before that one:
 * since when it had, else 0.  Who goes by older lists may still go by it. */
int64_t maps_replaced(const struct maps *m, const struct maps_process *p,
    uint64_t addr, int64_t time_ns);

/* The process's mappings have changed: read them anew at the next
 * opportunity, for whichever image of it is sampled next. */
void maps_renew(struct process *of);

/* Forgets the mappings of processes that had no samples for a while, and what
 * their JITs have told. */
void maps_sweep(struct maps *m, int64_t now_ns);

/* Forgets the callers' file numbers. */
void maps_forget_files(struct maps *m);

uint64_t maps_reads(const struct maps *m);

#endif
