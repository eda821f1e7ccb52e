/*
 * What symbols.c (addresses and frames) and symbols_files.c share.
 */
#ifndef COLLECTOR_SYMBOLS_PRIVATE_H
#define COLLECTOR_SYMBOLS_PRIVATE_H

#include "collector/base/file_id.h"
#include "collector/symbols/frames.h"
#include "collector/symbols/kallsyms.h"
#include "collector/symbols/programs.h"
#include "collector/symbols/symbols.h"
#include "collector/symbols/symbols_link.h"

struct cur;

#define FILES_MAX WIRE_FILES_MAX
#define FILE_SLOTS (2 * FILES_MAX)
#define ADDRESSES_MAX (1u << 18)
#define FRAMES_MAX (1u << 18)
#define FRAMES_MAX_BYTES (32u << 20)
#define LOADED_MAX 256          /* files open in the child */
#define WAITING_MAX 256         /* that are to be, open here */
#define LOADED_SYMBOLS_MAX (1u << 18) /* of all of them, where there are
                                     * several */
#define INLINED_MAX (1u << 18)  /* of all addresses together */
#define NONE UINT32_MAX
#define KERNEL_FILE 0           /* its offsets are addresses */

enum file_state {
	FILE_NEW,     /* the child does not have it */
	FILE_LOADING,
	FILE_READY,
	FILE_OPAQUE   /* nothing to be found in it, ever */
};

struct file {
	struct file_id id;
	enum file_state state;
	uint32_t generation;   /* of the child that has it */
	uint32_t symbols;
	uint32_t pending;      /* list of addresses to ask about */
	uint32_t next_pending; /* list of files that have some */
	bool listed;           /* it has some, or waits itself */
	bool perfmap;          /* a JIT's map: offsets are addresses */
	bool missed;           /* of a map: an address was not in it */
	bool forgotten;        /* of a map: opaque until it is asked for */
	bool debug_due;        /* its debug file has not been offered yet */
	bool debug_sent;       /* and what that one shares is to be seen */
	int alt_fd;            /* shared debug information, to be sent; or -1 */
	int kept_fd;           /* the vdso's memory; else -1 */
	int waiting_fd;        /* the file, until there is room to send it; or
	                        * -1 */
	int64_t used_ns, retry_ns;
	unsigned strikes;      /* how often the child died of it */
	char module[256];
	char build_id[2 * WIRE_BUILD_ID_MAX + 1];
};

enum address_state {
	ADDRESS_IDLE,
	ADDRESS_QUEUED, /* in its file's list */
	ADDRESS_SENT
};

struct address {
	uint64_t offset;
	uint32_t file, frame; /* frame NONE: not known */
	uint32_t next;
	uint32_t used;     /* symbols.slot when it was last asked for */
	uint32_t inlined;  /* its first frame in symbols.inlined, */
	uint8_t n_inlined; /* and how many */
	uint8_t state;     /* enum address_state */
};

/* Where a function was written. */
struct place {
	uint32_t frame;
	int64_t told_ns; /* by the caller's clock; 0: not yet */
};

struct symbols {
	int epoll;         /* of both children's answers */
	struct symbols_link *link, *rows_link; /* the latter NULL: no rows */
	struct kallsyms *kallsyms;
	struct frames *frames;
	const char *kallsyms_path, *debug, *mirror;
	struct file *files[FILES_MAX]; /* [0] is the kernel */
	uint32_t file_slots[FILE_SLOTS];
	uint32_t n_files, pending; /* pending: first file of the list */
	uint32_t waiting;  /* files that wait to be sent */
	struct address *addresses;
	uint32_t *address_slots;
	uint32_t n_addresses, cap_addresses, address_mask;
	uint32_t slot;     /* counts symbols_trim() */
	size_t most;       /* bytes of tables before they are swept */
	uint32_t vdso;
	int64_t now_ns;
	int64_t kallsyms_at_ns, kallsyms_wait_ns;
	bool kernel_missed;
	struct programs programs; /* told since kallsyms was read first */
	bool programs_missed;     /* or not told */
	int64_t trimmed_ns;
	bool forget;      /* at the next symbols_trim() */
	bool inlines;     /* ask for inlined functions */
	uint32_t *inlined; /* frames */
	uint32_t n_inlined, cap_inlined;
	struct place *places; /* of frames where it is known */
	uint32_t n_places, cap_places, next_place;
	uint64_t skipped, unpacked, overflows;
	symbols_rows_fn *rows;
	void *rows_arg;
};


/* Enters an address into symbols.address_slots, which has room. */
void symbols_put_address(struct symbols *s, uint32_t id);

/* symbols_sweep.c: where the tables have grown by a quarter of what they kept
 * the last time, forgets what no sample has had in three slots.  All references
 * are void, files stay.  Where there is no memory for it nothing is done. */
#define SWEEP_LEAST (3u << 20) /* bytes that are not worth the time */
void symbols_sweep(struct symbols *s);

/* Sends what is queued for the files that are ready. */
void symbols_files_send(struct symbols *s);

/* Forgets all files but the kernel; the child forgets them too. */
void symbols_files_clear(struct symbols *s);

/* The link's callbacks for LOAD, DEBUG and ALT; n bytes behind the head. */
void symbols_file_answer(struct symbols *s, uint32_t file,
    const struct wire_reply *r, const uint8_t *p, size_t n);
void symbols_file_lost(struct symbols *s, uint32_t file, bool guilty);

/* symbols_inlined.c.  The child's bytes as a clean string; false when they
 * end too soon or it does not fit. */
bool symbols_take_text(struct cur *c, size_t n, char *out, size_t size);

/* Takes what follows the name of an answer: the function's place, and what
 * was inlined at the address.  False as above. */
bool symbols_take_inlined(struct symbols *s, uint32_t id,
    const struct wire_answer *a, struct cur *c);

/* There is something to be sent of a file: it, or addresses. */
void symbols_file_list(struct symbols *s, uint32_t file);

/* Queues an address for its file. */
void symbols_file_queue(struct symbols *s, uint32_t address);

#endif
