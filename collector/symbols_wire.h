/*
 * What the daemon and its child "memlensd: symbols" say to each other, over
 * a SOCK_SEQPACKET pair on one machine: native byte order, one message each.
 *
 *	daemon                          child
 *	LOAD file, size + descriptor →  LOADED status, symbols, build id
 *	DEBUG file, size + descriptor → LOADED (names now from this file)
 *	PERFMAP file, size + descriptor → LOADED (a JIT's map: its offsets
 *	                                are addresses of memory)
 *	DROP file →                     (no answer)
 *	RESOLVE file, n offsets →       RESOLVED n answers
 *	UNWIND table, size, limit +
 *	    descriptor                → UNWOUND rows + sealed memory file
 *
 * The child answers in order.  The daemon trusts no byte of an answer: it
 * checks lengths, counts and order, and cleans the names.  UNWIND stands by
 * itself: its number is the asker's and no file of the child's.
 */
#ifndef COLLECTOR_SYMBOLS_WIRE_H
#define COLLECTOR_SYMBOLS_WIRE_H

#include <stdint.h>

#define WIRE_OFFSETS 64      /* addresses in one RESOLVE */
#define WIRE_OFFSETS_INLINE 8 /* where inlined functions are asked for */
#define WIRE_INLINED_MAX 7   /* of an address */
#define WIRE_NAME_MAX 512    /* bytes of a name, without NUL */
#define WIRE_BUILD_ID_MAX 64
#define WIRE_FILES_MAX 4096  /* file numbers are below this */

/* LOAD and DEBUG with n 1: inlined functions will be asked for.  With
 * WIRE_OFFSETS_INLINE addresses of WIRE_INLINED_MAX names each, an answer
 * stays within WIRE_REPLY_MAX. */
enum wire_type {
	WIRE_LOAD = 1,
	WIRE_DEBUG,
	WIRE_DROP,
	WIRE_RESOLVE,
	WIRE_UNWIND,
	WIRE_PERFMAP
};

struct wire_request {
	uint32_t type, seq, file, n;
	uint64_t size;                 /* with a file: its bytes */
	uint64_t offsets[WIRE_OFFSETS]; /* RESOLVE: n are sent; UNWIND: the
	                                 * first is the limit of rows */
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
	uint16_t inlined;  /* names that follow that, outermost first, each
	                    * behind its length in 16 bits */
	uint16_t zero;
};

/* Head of every answer.  LOADED: status, symbols, build id in bytes.
 * RESOLVED: n answers, each followed by its name.  UNWOUND: as LOADED; where
 * there are rows (`symbols` of them), their memory file comes with it. */
struct wire_reply {
	uint32_t type, seq, file, n;
	uint32_t status;   /* enum elf_status */
	uint32_t symbols;
	uint8_t complete;  /* names are from .symtab */
	uint8_t build_id_len;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint8_t zero[6];
};

#define WIRE_REPLY_MAX (sizeof(struct wire_reply) + WIRE_OFFSETS * \
	(sizeof(struct wire_answer) + WIRE_NAME_MAX))

#endif
