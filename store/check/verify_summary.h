/*
 * Compares a summary with the full spans that it was made of.  A part of
 * memlens verify.
 */
#ifndef STORE_VERIFY_SUMMARY_H
#define STORE_VERIFY_SUMMARY_H

#include "store/batch/symtab.h"
#include "store/file/sealed.h"

/* A summary that is open for comparison; symbols of both sides meet here. */
struct verify_summary {
	struct sealed *file;
	struct symtab syms;
	struct symtab_map map;
	uint32_t *series; /* symbol -> number in the summary, or none */
	uint32_t n_series;
	int128 *values;   /* by node of syms or bucket; all 0 between blocks */
	size_t n_values;
};

/* Opens a summary; verify_summary_close() also after an error. */
const struct err *verify_summary_open(struct verify_summary *v,
    const char *path);
void verify_summary_close(struct verify_summary *v);

/* ERR_FORMAT when the summary's block of a span is not the span's own, for
 * any series of either. */
const struct err *verify_summary_span(struct verify_summary *v,
    struct sealed *span);

/* Do two blocks hold the same numbers (entries left aside)? */
bool verify_same_numbers(enum series_kind kind, const struct block *a,
    const struct block *b);

#endif
