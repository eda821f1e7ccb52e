/*
 * What the daemon and its child "memlensd: symbols" say to each other, over
 * a SOCK_SEQPACKET pair on one machine: native byte order, one message each.
 *
 *	daemon                          child
 *	LOAD file, size + descriptor →  LOADED status, symbols, build id
 *	DEBUG file, size + descriptor → LOADED (names now from this file)
 *	PERFMAP file, size + descriptor → LOADED (a JIT's map: its offsets
 *	                                are addresses of memory)
 *	ALT file, size + descriptor →   LOADED (debug information that the
 *	                                program or its debug file shares)
 *	DROP file →                     (no answer)
 *	RESOLVE file, n offsets →       RESOLVED n answers
 *	UNWIND table, size, offset +
 *	    descriptor                → UNWOUND regions of the code, rows of the
 *	                                offset's one + sealed memory file
 *
 * The child answers in order.  The daemon trusts no byte of an answer: it
 * checks lengths, counts and order, and cleans the names.  UNWIND stands by
 * itself: its number is the asker's and no file of the child's.
 */
#ifndef COLLECTOR_SYMBOLS_WIRE_H
#define COLLECTOR_SYMBOLS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WIRE_OFFSETS 64      /* addresses in one RESOLVE */
#define WIRE_OFFSETS_INLINE 8 /* where inlined functions are asked for */
#define WIRE_INLINED_MAX 7   /* of an address */
#define WIRE_NAME_MAX 512    /* bytes of a name, without NUL */
#define WIRE_PLACE_MAX 255   /* of "file:line", likewise */
#define WIRE_BUILD_ID_MAX 64
/* In an offset: it is data's, from where the file's first byte is by its code;
 * the answer's address counts from there, too. */
#define WIRE_DATA (UINT64_C(1) << 63)
#define WIRE_FILES_MAX 4096  /* file numbers are below this */

/* LOAD and DEBUG with n 1: inlined functions will be asked for.  With
 * WIRE_OFFSETS_INLINE addresses of WIRE_INLINED_MAX names each, an answer
 * stays within WIRE_REPLY_MAX.  The answer to them then names the file that
 * ALT is to bring. */
enum wire_type {
	WIRE_LOAD = 1,
	WIRE_DEBUG,
	WIRE_DROP,
	WIRE_RESOLVE,
	WIRE_UNWIND,
	WIRE_PERFMAP,
	WIRE_ALT
};

struct wire_request {
	uint32_t type, seq, file, n;
	uint64_t size;                 /* with a file: its bytes */
	uint64_t offsets[WIRE_OFFSETS]; /* RESOLVE: n are sent; UNWIND: the
	                                 * first is an offset of code */
};

/* How an address came out. */
enum wire_found {
	WIRE_NOTHING,  /* address: of the code itself */
	WIRE_FUNCTION, /* address: of a function without a name */
	WIRE_NAMED     /* address: of the function */
};

struct wire_answer {
	uint64_t address;  /* virtual address in the file */
	uint16_t found;    /* enum wire_found */
	uint16_t name;     /* bytes of name that follow, no NUL */
	uint16_t inlined;  /* how many names follow that, outermost first */
	uint16_t place;    /* bytes of "file:line" behind the name */
};

/* Head of each inlined name: its bytes and those of its place follow. */
struct wire_inlined {
	uint16_t name, place;
};

/* Head of every answer.  LOADED: status, symbols, build id in bytes; where
 * alt_id_len is not 0, that many bytes of a build id and a path follow.
 * RESOLVED: n answers, each followed by its name.  UNWOUND: as LOADED; where
 * there are rows (`symbols` of them), their memory file comes with it. */
struct wire_reply {
	uint32_t type, seq, file, n;
	uint32_t status;   /* enum elf_status */
	uint32_t symbols;
	uint8_t complete;  /* names are from .symtab */
	uint8_t build_id_len;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint8_t alt_id_len;
	uint8_t packed;    /* of the names packed into the file: status, too */
	uint8_t zero[4];
};

/* Behind the head of UNWOUND: the code is of n regions of 1 << shift bytes from
 * base on; 0: the file has no rows. */
struct wire_unwound {
	uint32_t base, n, shift, zero;
};

#define WIRE_REPLY_PLAIN (WIRE_OFFSETS * \
	(sizeof(struct wire_answer) + WIRE_NAME_MAX))
#define WIRE_REPLY_INLINE (WIRE_OFFSETS_INLINE * (WIRE_INLINED_MAX + 1) * \
	(sizeof(struct wire_answer) + WIRE_NAME_MAX + WIRE_PLACE_MAX))
#define WIRE_REPLY_MAX (sizeof(struct wire_reply) + \
	(WIRE_REPLY_INLINE > WIRE_REPLY_PLAIN ? WIRE_REPLY_INLINE : \
	WIRE_REPLY_PLAIN))

/* Sends a message, with a descriptor unless it is -1; false when it could not
 * be sent.  `flags`: 0 or MSG_DONTWAIT. */
bool wire_send(int socket, const void *p, size_t n, int fd, int flags);

/*
 * recv() with at most one descriptor, -1 when none came.  The room ends
 * behind it (CMSG_SPACE would leave room for two): the kernel does not hand
 * over what does not fit, so that neither end can fill the other's table.
 */
ssize_t wire_receive(int socket, void *p, size_t size, int *fd);

#endif
